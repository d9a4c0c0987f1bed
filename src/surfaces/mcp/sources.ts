import type { Shelved } from '../../catalogue/shelf.ts'
import { hidden } from '../../credentials/redactor.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { isPlural } from '../../search/profile.ts'
import { findVerb, nounsOf, splitWords, toTerms } from '../../search/words.ts'
import type { RecordedAnswer, RecordedInput } from '../../store/calls.ts'

/** What is known of the caller: what it may use, and what it was answered of late. */
export interface Known {
  readonly usable: readonly Shelved[]
  readonly answers: readonly RecordedAnswer[]
}

/**
 * A schema that says of required fields which action gives them: by what the caller has sent before, where the value stood
 * in an earlier answer; else, of ids, by the names of actions, where one of the same app searches or lists what the id is
 * of. No value is told, and no action that the caller may not use. `left` is what remains of the budget, in characters.
 */
export function withSources(
  one: Shelved,
  sent: readonly RecordedInput[],
  { usable, answers }: Known,
  budget: number,
): { schema: JsonObject; left: number } {
  const schema = one.offer.shown
  const properties = isObject(schema.properties) ? (schema.properties as JsonObject) : {}
  const fields = requiredOf(schema).filter((field) => isObject(properties[field]))
  const others = usable.filter(({ tool, action }) => action.id !== one.action.id || tool.id !== one.tool.id)
  const hinted: JsonObject = {}
  let left = budget
  for (const field of fields.slice(0, mostFields)) {
    const property = properties[field] as JsonObject
    const told = typeof property.description === 'string' ? property.description.trim() : ''
    const hint = usualSource(field, one, sent, { usable: others, answers }) ?? likelySource(field, one, others)
    if (hint === undefined) continue
    const description = `${told}${told === '' || /[.!?]$/.test(told) ? '' : '.'} ${hint}`.trim()
    const cost = description.length - told.length
    if (cost > left) continue
    left -= cost
    hinted[field] = { ...property, description } as Json
  }
  return { schema: left === budget ? schema : { ...schema, properties: { ...properties, ...hinted } }, left }
}

const mostFields = 10
const mostValues = 5

/** Where more than half of the values that were sent of late had stood in the last answer of one action before. */
function usualSource(
  field: string,
  { action: { app } }: Shelved,
  sent: readonly RecordedInput[],
  { usable, answers }: Known,
): string | undefined {
  const values = sent.slice(0, mostValues).flatMap(({ id, input }) => {
    const value = input[field]
    return isTelling(value) ? [{ id, text: String(value) }] : []
  })
  const votes = new Map<Shelved, number>()
  for (const { id, text } of values) {
    const answer = answers.find((one) => one.id < id && stands(text, one.response) && !stands(text, one.request))
    const source =
      answer && usable.find(({ tool, action }) => tool.id === answer.tool_id && action.id === answer.action)
    if (source) votes.set(source, (votes.get(source) ?? 0) + 1)
  }
  const [source] = [...votes].find(([, count]) => 2 * count > values.length) ?? []
  if (!source) return undefined
  const where = source.action.app === app ? '' : ` of \`${source.action.app}\``
  return `Usually comes from \`${source.action.name}\`${where}.`
}

/** So seldom by chance in two places that it tells where it came from. */
const isTelling = (value: Json | undefined): value is string | number =>
  typeof value === 'number'
    ? Number.isInteger(value) && Math.abs(value) >= 1000
    : typeof value === 'string' && value.length >= 4 && value.length <= 200 && !value.includes(hidden)

/** As a whole: "12" does not stand in "123". */
function stands(value: string, text: string): boolean {
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    const [before = '', after = ''] = [text[at - 1], text[at + value.length]]
    if (!/[\w-]/.test(before) && !/[\w-]/.test(after)) return true
  }
  return false
}

/** An action of the same app that searches or lists what an id is of. */
function likelySource(field: string, { action }: Shelved, others: readonly Shelved[]): string | undefined {
  if (!isId.test(field)) return undefined
  const neighbours = others.filter((other) => other.action.app === action.app)
  const source = sourceOf(thingOf(field, action), neighbours)
  return source && `May come from \`${source}\`.`
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
