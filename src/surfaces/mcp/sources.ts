import type { ServerAction } from '../../catalogue/server-catalogue.ts'
import { hidden } from '../../credentials/redactor.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { isPlural } from '../../search/indexed-action.ts'
import { findVerb, nounsOf, splitWords, toTerms } from '../../search/words.ts'
import type { RecordedAnswer, RecordedInput } from '../../store/calls.ts'

/** The actions that the caller can use, and the latest responses it got. */
export interface RecentAnswer {
  readonly usable: readonly ServerAction[]
  readonly answers: readonly RecordedAnswer[]
}

/**
 * Adds hints to required fields: the action that their value comes from. It is found in the caller's recent calls, if
 * the value was in an earlier response. For ids without such calls, it is an action of the same app that searches or
 * lists that kind of record. Hints never contain values or actions that the caller cannot use. `left` is the remaining
 * budget, in characters.
 */
export function withSources(
  one: ServerAction,
  sent: readonly RecordedInput[],
  { usable, answers }: RecentAnswer,
  budget: number,
): { schema: JsonObject; left: number } {
  const schema = one.prepared.publicSchema
  const properties = isObject(schema.properties) ? schema.properties : {}
  const fields = requiredOf(schema).filter((field) => isObject(properties[field]))
  const others = usable.filter(({ tool, action }) => action.id !== one.action.id || tool.id !== one.tool.id)
  const hinted: JsonObject = {}
  let left = budget
  for (const field of fields.slice(0, maxFields)) {
    const property = properties[field]
    if (!isObject(property)) continue
    const told = typeof property.description === 'string' ? property.description.trim() : ''
    const hint = usualSource(field, one, sent, { usable: others, answers }) ?? likelySource(field, one, others)
    if (hint === undefined) continue
    const description = `${told}${told === '' || /[.!?]$/.test(told) ? '' : '.'} ${hint}`.trim()
    const cost = description.length - told.length
    if (cost > left) continue
    left -= cost
    hinted[field] = { ...property, description }
  }
  return { schema: left === budget ? schema : { ...schema, properties: { ...properties, ...hinted } }, left }
}

const maxFields = 10
const maxValues = 5

/** The action whose latest response contained more than half of the recently sent values. */
function usualSource(
  field: string,
  { action: { app } }: ServerAction,
  sent: readonly RecordedInput[],
  { usable, answers }: RecentAnswer,
): string | undefined {
  const values = sent.slice(0, maxValues).flatMap(({ id, input }) => {
    const value = input[field]
    return isTelling(value) ? [{ id, text: String(value) }] : []
  })
  const votes = new Map<ServerAction, number>()
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

/** Whether a value is distinctive enough that finding it in a response is not a coincidence. */
const isTelling = (value: Json | undefined): value is string | number =>
  typeof value === 'number'
    ? Number.isInteger(value) && Math.abs(value) >= 1000
    : typeof value === 'string' && value.length >= 4 && value.length <= 200 && !value.includes(hidden)

/** Whether the text contains the value as a whole: "123" does not contain "12". */
function stands(value: string, text: string): boolean {
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    const [before = '', after = ''] = [text[at - 1], text[at + value.length]]
    if (!/[\w-]/.test(before) && !/[\w-]/.test(after)) return true
  }
  return false
}

/** An action of the same app that searches or lists the kind of record that an id identifies. */
function likelySource(field: string, { action }: ServerAction, others: readonly ServerAction[]): string | undefined {
  if (!isId.test(field)) return undefined
  const neighbours = others.filter((other) => other.action.app === action.app)
  const source = sourceOf(thingOf(field, action), neighbours)
  return source && `May come from \`${source}\`.`
}

const isId = /(^|_|-)(ids?|uuid|guid)$|[a-z](Ids?|ID|IDs|Uuid|UUID)$/

const requiredOf = ({ required }: JsonObject): string[] =>
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

const isSame = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((one) => others.includes(one))

/** In order of preference: a search finds the right record fastest. */
const best = ['search', 'list', 'get']

function sourceOf(thing: readonly string[], neighbours: readonly ServerAction[]): string | undefined {
  const ranked = neighbours.flatMap(({ action, prepared }) => {
    const words = splitWords(action.name)
    const rank = best.indexOf(findVerb(toTerms(words)) ?? '')
    const fits = thing.length > 0 && isSame(aboutOf(action), thing)
    // An action that gets a single record needs the id itself.
    const givesMany = rank < 2 || words.some((word) => isPlural(word) || word === 'all')
    const needsId = requiredOf(prepared.publicSchema).some(
      (field) => isId.test(field) && isSame(thingOf(field, action), thing),
    )
    return rank >= 0 && fits && givesMany && !needsId ? [{ rank, name: action.name }] : []
  })
  return ranked.sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1))[0]?.name
}
