import type { Index } from './postings.ts'
import type { Profile } from './profile.ts'
import { inSlices } from './slices.ts'

/** An app as one caller sees it. */
export interface AppView {
  readonly app: string
  readonly ids: number[]
  readonly terms: Set<string>
  /** What its actions are about. */
  readonly nouns: Set<string>
}

/**
 * The part of the index that one caller may use. Everything that a score is made of is counted within it, so that nobody
 * learns from a score what others have.
 */
export interface View {
  readonly ids: Uint32Array
  /** 1 for each action in the view, by its number. */
  readonly mask: Uint8Array
  readonly apps: readonly AppView[]
  /** The place of an action's app in `apps`, by the action's number. */
  readonly appOf: Uint32Array
  readonly byTerm: ReadonlyMap<string, readonly number[]>
  readonly bySpelling: ReadonlyMap<string, readonly number[]>
}

export async function viewOf(index: Index, ids: Uint32Array): Promise<View> {
  const mask = new Uint8Array(index.size)
  const appOf = new Uint32Array(index.size)
  const apps: AppView[] = []
  const places = new Map<string, number>()
  const spellings = new Map<string, Set<number>>()
  for await (const some of inSlices(ids)) {
    for (const id of some) {
      const profile = index.profiles[id] as Profile
      mask[id] = 1
      let place = places.get(profile.app)
      if (place === undefined) {
        place = apps.length
        places.set(profile.app, place)
        apps.push({ app: profile.app, ids: [], terms: new Set(), nouns: new Set() })
      }
      appOf[id] = place
      const app = apps[place] as AppView
      app.ids.push(id)
      for (const term of profile.appTerms) app.terms.add(term)
      for (const noun of profile.nouns) app.nouns.add(noun)
      for (const spelling of profile.appSpellings) at(spellings, spelling).add(place)
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
