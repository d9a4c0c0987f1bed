import type { ServerAction } from '../../catalogue/server-catalogue.ts'
import type { JsonObject } from '../../lib/json.ts'
import { inSlices } from '../../lib/slices.ts'
import { isPlural } from '../../search/indexed-action.ts'
import { findVerb, nounsOf, splitWords, toTerms } from '../../search/words.ts'

/** Where ids come from: the actions that search or list records, by app and by the kind of record. */
export class RecordSources {
  readonly #byKind = new Map<string, (Source & { readonly one: ServerAction })[]>()

  /** Reads the names of all actions, which takes long if there are thousands. What they mean is kept with each action. */
  static async of(actions: readonly ServerAction[]): Promise<RecordSources> {
    const sources = new RecordSources()
    for await (const some of inSlices(actions)) for (const one of some) sources.#add(one)
    return sources
  }

  /** The name of the best action for the field of an action; undefined if the field is no id. */
  find(field: string, { action, tool }: ServerAction): string | undefined {
    if (!isId.test(field)) return undefined
    const thing = thingOf(field, action)
    const found = (this.#byKind.get(keyOf(action.app, thing)) ?? []).filter(
      ({ one }) => (one.action.id !== action.id || one.tool.id !== tool.id) && !needsId(one, thing),
    )
    return found.sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1))[0]?.name
  }

  #add(one: ServerAction): void {
    let source = known.get(one.action)
    if (source === undefined) {
      source = sourceOf(one.action) ?? null
      known.set(one.action, source)
    }
    if (source === null) return
    const key = keyOf(one.action.app, source.thing)
    const others = this.#byKind.get(key)
    if (others) others.push({ ...source, one })
    else this.#byKind.set(key, [{ ...source, one }])
  }
}

interface Source {
  readonly rank: number
  readonly name: string
  readonly thing: readonly string[]
}

/** Null for actions that are no source. */
const known = new WeakMap<ServerAction['action'], Source | null>()

const keyOf = (app: string, thing: readonly string[]): string => [app, ...[...thing].sort()].join('\n')

const isId = /(^|_|-)(ids?|uuid|guid)$|[a-z](Ids?|ID|IDs|Uuid|UUID)$/

export const requiredOf = ({ required }: JsonObject): string[] =>
  Array.isArray(required) ? required.filter((field) => typeof field === 'string') : []

/** The kind of record that an id identifies: a customer for `customer_id`, the action's own subject for `id`. */
function thingOf(field: string, action: ServerAction['action']): readonly string[] {
  const words = splitWords(field.replace(/IDs?$/, 'Id')).filter((word) => !/^(ids?|uuid|guid)$/.test(word))
  return words.length > 0 ? toTerms(words) : aboutOf(action)
}

/** The subject of an action: its name without the verb and the app. */
function aboutOf({ app, name }: ServerAction['action']): string[] {
  const ofApp = new Set(toTerms(splitWords(app)))
  const nouns = nounsOf(toTerms(splitWords(name)))
  const own = nouns.filter((noun) => !ofApp.has(noun))
  return own.length > 0 ? own : nouns
}

/** In order of preference: a search finds the right record fastest. */
const best = ['search', 'list', 'get']

function sourceOf(action: ServerAction['action']): Source | undefined {
  const words = splitWords(action.name)
  const rank = best.indexOf(findVerb(toTerms(words)) ?? '')
  // An action that gets a single record needs the id itself.
  const givesMany = rank < 2 || words.some((word) => isPlural(word) || word === 'all')
  const thing = rank >= 0 && givesMany ? aboutOf(action) : []
  return thing.length > 0 ? { rank, name: action.name, thing } : undefined
}

const needsId = ({ action, prepared }: ServerAction, thing: readonly string[]): boolean =>
  requiredOf(prepared.publicSchema).some(
    (field) => isId.test(field) && keyOf('', thingOf(field, action)) === keyOf('', thing),
  )
