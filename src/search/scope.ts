import { inSlices } from '../lib/slices.ts'
import type { IndexedAction } from './indexed-action.ts'
import type { Index } from './postings.ts'

/** An app as one caller sees it. */
export interface AppScope {
  readonly app: string
  readonly ids: number[]
  readonly terms: Set<string>
  /** The nouns of its actions. */
  readonly nouns: Set<string>
}

/**
 * The part of the index that one caller can use. Scores depend on nothing outside it, so they reveal nothing about
 * other tenants.
 */
export interface Scope {
  readonly ids: Uint32Array
  /** 1 for each action in the scope, by action number. */
  readonly mask: Uint8Array
  readonly apps: readonly AppScope[]
  /** Index into `apps`, by action number. */
  readonly appOf: Uint32Array
  readonly byTerm: ReadonlyMap<string, readonly number[]>
  readonly bySpelling: ReadonlyMap<string, readonly number[]>
}

export async function scopeOf(index: Index, ids: Uint32Array): Promise<Scope> {
  const mask = new Uint8Array(index.size)
  const appOf = new Uint32Array(index.size)
  const apps: AppScope[] = []
  const places = new Map<string, number>()
  const spellings = new Map<string, Set<number>>()
  for await (const some of inSlices(ids)) {
    for (const id of some) {
      const action = index.actions[id] as IndexedAction
      mask[id] = 1
      let place = places.get(action.app)
      if (place === undefined) {
        place = apps.length
        places.set(action.app, place)
        apps.push({ app: action.app, ids: [], terms: new Set(), nouns: new Set() })
      }
      appOf[id] = place
      const app = apps[place] as AppScope
      app.ids.push(id)
      for (const term of action.appTerms) app.terms.add(term)
      for (const noun of action.nouns) app.nouns.add(noun)
      for (const spelling of action.appSpellings) at(spellings, spelling).add(place)
    }
  }
  const terms = new Map<string, Set<number>>()
  for (const [place, app] of apps.entries()) for (const term of app.terms) at(terms, term).add(place)
  return { ids, mask, apps, appOf, byTerm: listed(terms), bySpelling: listed(spellings) }
}

function at(map: Map<string, Set<number>>, key: string): Set<number> {
  const known = map.get(key)
  if (known) return known
  const made = new Set<number>()
  map.set(key, made)
  return made
}

const listed = (map: Map<string, Set<number>>) => new Map([...map].map(([key, places]) => [key, [...places]]))
