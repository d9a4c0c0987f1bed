import { isPlural } from '../../catalogue/resolve/profile.ts'
import { findVerb, nounsOf, splitWords, toTerms } from '../../catalogue/resolve/words.ts'
import type { Shelved } from '../../catalogue/shelf.ts'
import { isObject, type Json, type JsonObject } from '../../model/json.ts'

/**
 * A schema that says of each required id which action usually gives it: one of the same app that searches or lists what
 * the id is of. Told from names alone, and only of actions that are handed in, so nobody learns of what they may not use.
 * `left` is what remains of the budget, in characters.
 */
export function withSources(
  schema: JsonObject,
  { action }: Shelved,
  usable: readonly Shelved[],
  budget: number,
): { schema: JsonObject; left: number } {
  const properties = isObject(schema.properties) ? (schema.properties as JsonObject) : {}
  const fields = requiredOf(schema).filter((field) => isId.test(field) && isObject(properties[field]))
  if (fields.length === 0) return { schema, left: budget }
  const neighbours = usable.filter((one) => one.action.app === action.app && one.action.id !== action.id)
  const hinted: JsonObject = {}
  let left = budget
  for (const field of fields) {
    const property = properties[field] as JsonObject
    const source = sourceOf(thingOf(field, action), neighbours)
    const told = typeof property.description === 'string' ? property.description.trim() : ''
    if (source === undefined || told.includes(source)) continue
    const description =
      `${told}${told === '' || /[.!?]$/.test(told) ? '' : '.'} Usually comes from \`${source}\`.`.trim()
    const cost = description.length - told.length
    if (cost > left) continue
    left -= cost
    hinted[field] = { ...property, description } as Json
  }
  return { schema: left === budget ? schema : { ...schema, properties: { ...properties, ...hinted } }, left }
}

const isId = /(^|_|-)(ids?|uuid|guid)$|[a-z](Ids?|ID|IDs|Uuid|UUID)$/

const requiredOf = ({ required }: JsonObject): string[] =>
  Array.isArray(required) ? required.filter((field) => typeof field === 'string') : []

/** What an id is of: a `customer_id` of a customer, an `id` of that which the action is about. */
function thingOf(field: string, action: Shelved['action']): readonly string[] {
  const words = splitWords(field.replace(/IDs?$/, 'Id')).filter((word) => !/^(ids?|uuid|guid)$/.test(word))
  return words.length > 0 ? toTerms(words) : aboutOf(action)
}

/** What an action is about, without its verb and the name of its app. */
function aboutOf({ app, name }: Shelved['action']): string[] {
  const ofApp = new Set(toTerms(splitWords(app)))
  const nouns = nounsOf(toTerms(splitWords(name)))
  const own = nouns.filter((noun) => !ofApp.has(noun))
  return own.length > 0 ? own : nouns
}

const isSame = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((one) => others.includes(one))

/** Whoever searches finds the one that is meant soonest. */
const best = ['search', 'list', 'get']

function sourceOf(thing: readonly string[], neighbours: readonly Shelved[]): string | undefined {
  const ranked = neighbours.flatMap(({ action, offer }) => {
    const words = splitWords(action.name)
    const rank = best.indexOf(findVerb(toTerms(words)) ?? '')
    const fits = thing.length > 0 && isSame(aboutOf(action), thing)
    // To get one of them takes the id that is looked for.
    const givesMany = rank < 2 || words.some((word) => isPlural(word) || word === 'all')
    const needsId = requiredOf(offer.shown).some((field) => isId.test(field) && isSame(thingOf(field, action), thing))
    return rank >= 0 && fits && givesMany && !needsId ? [{ rank, name: action.name }] : []
  })
  return ranked.sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1))[0]?.name
}
