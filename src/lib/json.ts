import { z } from 'zod'

/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | JsonObject
export type JsonObject = { [key: string]: Json }

/** Only for JSON values: also true for dates, maps and other class instances. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Accepts any JSON value, such as the result of a tool. */
export const AnyJson = z.custom<Json>()

/** Deeper than any realistic value, and shallow enough for every recursive function. */
export const maxJsonDepth = 100
/** More than any realistic call or result. Parsing, hashing and redacting this many takes about 50 ms each. */
const maxValues = 250_000
/**
 * The maximum number of different field names, and of fields in large objects. V8 stores such objects as dictionaries, and
 * every step takes a microsecond or more for each of their fields.
 */
const maxFields = 10_000
const wideFrom = 64

/** Whether JSON text is nested too deeply. Text that deep has at least two brackets per level, so short text is skipped. */
export const isTooDeep = (text: string, most = maxJsonDepth): boolean =>
  text.length > 2 * most && shapeOf(text).depth > most

/** Describes which limit JSON text exceeds, such as "is nested more than 100 deep". Does not parse the text. */
export function excessOf(text: string, deepest = maxJsonDepth): string | undefined {
  if (text.length <= 2 * maxJsonDepth) return undefined
  const { depth, values, names, fields } = shapeOf(text)
  if (depth > deepest) return `is nested more than ${deepest} deep`
  if (values > maxValues) return `has more than ${maxValues} values`
  if (names > maxFields) return `has more than ${maxFields} different field names`
  if (fields > maxFields) return `has more than ${maxFields} fields in large objects`
  return undefined
}

export function isEmpty(object: object | undefined): boolean {
  for (const _ in object) return false
  return true
}

interface Shape {
  readonly depth: number
  /** An estimate of the number of values, never too low: an empty list counts as two. */
  readonly values: number
  /** The number of different field names. Counting stops once there are too many. */
  readonly names: number
  /** The number of fields of large objects, without the first `wideFrom` of each. */
  readonly fields: number
}

/** Measures JSON text in one pass. Ignores the contents of strings. */
function shapeOf(text: string): Shape {
  let depth = 0
  let deepest = 0
  let values = 1
  let wideFields = 0
  const fields: number[] = [0]
  const names = new Set<string>()
  let inString = false
  let stringStart = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (inString) {
      if (code === 0x5c) index++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) {
      inString = true
      stringStart = index
    } else if (code === 0x2c) values++
    else if (code === 0x3a) {
      const count = (fields[depth] ?? 0) + 1
      fields[depth] = count
      if (count > wideFrom) wideFields++
      if (names.size <= maxFields) names.add(text.slice(stringStart, index))
    } else if (code === 0x5b || code === 0x7b) {
      values++
      depth++
      fields[depth] = 0
      if (depth > deepest) deepest = depth
    } else if (code === 0x5d || code === 0x7d) depth--
  }
  return { depth: deepest, values, names: names.size, fields: wideFields }
}
