import { isObject, type Json, type JsonObject } from './json.ts'

const usualNames = ['data', 'items', 'results', 'value', 'values', 'records', 'entries', 'list', 'objects', 'members']

/** The field of an object that holds its list, as in `{"data":[…],"has_more":true}`. */
export function listField(value: JsonObject): string | undefined {
  const lists = Object.keys(value).filter((key) => Array.isArray(value[key]))
  return usualNames.find((name) => lists.includes(name)) ?? (lists.length === 1 ? lists[0] : undefined)
}

/** A list, or the list within an object. */
export function listIn(value: Json): Json[] | undefined {
  if (Array.isArray(value)) return value
  const field = isObject(value) ? listField(value) : undefined
  return field === undefined ? undefined : ((value as JsonObject)[field] as Json[])
}

export interface FirstItems {
  /** The value with the first items only, as JSON. */
  readonly text: string
  /** The JSON of the whole value up to the last of these items. */
  readonly start: string
  readonly kept: number
  readonly total: number
}

/** As many whole items of a list as fit into a number of bytes; undefined if not even one fits, or all of them do. */
export function firstItems(value: Json, most: number): FirstItems | undefined {
  const items = listIn(value)
  if (!items || items.length < 2) return undefined
  const { before, after } = around(value)
  let size = Buffer.byteLength(before) + Buffer.byteLength(after)
  const printed: string[] = []
  for (const item of items) {
    const text = JSON.stringify(item)
    size += Buffer.byteLength(text) + 1
    if (size > most) break
    printed.push(text)
  }
  if (printed.length === 0 || printed.length === items.length) return undefined
  const start = before + printed.join(',')
  return { text: start + after, start, kept: printed.length, total: items.length }
}

/** The JSON before the first item and after the last. */
function around(value: Json): { readonly before: string; readonly after: string } {
  const field = isObject(value) ? listField(value) : undefined
  if (!isObject(value) || field === undefined) return { before: '[', after: ']' }
  const entries = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}:${JSON.stringify(inner)}`)
  const at = Object.keys(value).indexOf(field)
  return {
    before: `{${[...entries.slice(0, at), `${JSON.stringify(field)}:[`].join(',')}`,
    after: `${[']', ...entries.slice(at + 1)].join(',')}}`,
  }
}
