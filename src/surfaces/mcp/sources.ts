import type { ServerAction } from '../../catalogue/server-catalogue.ts'
import { hidden } from '../../credentials/redactor.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { RecordedAnswer, RecordedInput } from '../../store/calls.ts'
import { type RecordSources, requiredOf } from './record-sources.ts'

/** The actions that the caller can use, and the latest responses it got. */
export interface RecentAnswer {
  readonly usable: readonly ServerAction[]
  readonly answers: readonly RecordedAnswer[]
  readonly records: RecordSources
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
  { usable, answers, records }: RecentAnswer,
  budget: number,
): { schema: JsonObject; left: number } {
  const schema = one.prepared.publicSchema
  const properties = isObject(schema.properties) ? schema.properties : {}
  const fields = requiredOf(schema).filter((field) => isObject(properties[field]))
  const hinted: JsonObject = {}
  let left = budget
  for (const field of fields.slice(0, maxFields)) {
    const property = properties[field]
    if (!isObject(property)) continue
    const told = typeof property.description === 'string' ? property.description.trim() : ''
    const hint = usualSource(field, one, sent, { usable, answers }) ?? likelySource(field, one, records)
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
  one: ServerAction,
  sent: readonly RecordedInput[],
  { usable, answers }: Omit<RecentAnswer, 'records'>,
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
    if (source?.action.id === one.action.id && source.tool.id === one.tool.id) continue
    if (source) votes.set(source, (votes.get(source) ?? 0) + 1)
  }
  const [source] = [...votes].find(([, count]) => 2 * count > values.length) ?? []
  if (!source) return undefined
  const where = source.action.app === one.action.app ? '' : ` of \`${source.action.app}\``
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
function likelySource(field: string, one: ServerAction, records: RecordSources): string | undefined {
  const source = records.find(field, one)
  return source && `May come from \`${source}\`.`
}
