import { z } from 'zod'

/** What JSON can hold. */
export type Json = string | number | boolean | null | Json[] | JsonObject
export type JsonObject = { [key: string]: Json }

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Any JSON at all, as in the answer of a tool. */
export const AnyJson = z.custom<Json>()

/** Deeper than anything people write, and shallow enough for every function that walks JSON. */
export const deepestJson = 100
/** More than a call or its result is about. Reading, hashing and redacting so many takes some 50 ms each. */
const mostValues = 250_000
/**
 * Names of fields that differ, and fields of objects that have more than a record of anything has. JavaScript makes a
 * dictionary of such objects, and takes a microsecond and more for each of those fields in every step.
 */
const mostFields = 10_000
const wideFrom = 64

/** Whether JSON text is nested deeper than that. What is nested so deep has as many brackets twice. */
export const isTooDeep = (text: string, most = deepestJson): boolean =>
  text.length > 2 * most && shapeOf(text).depth > most

/** Why JSON text is more than is taken, to follow its subject: "is nested more than 100 deep". Found without reading it. */
export function excessOf(text: string, deepest = deepestJson): string | undefined {
  if (text.length <= 2 * deepestJson) return undefined
  const { depth, values, names, fields } = shapeOf(text)
  if (depth > deepest) return `is nested more than ${deepest} deep`
  if (values > mostValues) return `has more than ${mostValues} values`
  if (names > mostFields) return `has more than ${mostFields} different names of fields`
  if (fields > mostFields) return `has more than ${mostFields} fields in large objects`
  return undefined
}

/** Whether an object has no field. */
export function isEmpty(object: object | undefined): boolean {
  for (const _ in object) return false
  return true
}

interface Shape {
  /** How deeply brackets are nested. */
  readonly depth: number
  /** How many values there are, at least; an empty list counts as two. */
  readonly values: number
  /** How many different names of fields there are; not counted on once there are too many. */
  readonly names: number
  /** Those of large objects, without the first few of each. */
  readonly fields: number
}

/** Of JSON text; what is in strings does not count. */
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
      if (names.size <= mostFields) names.add(text.slice(stringStart, index))
    } else if (code === 0x5b || code === 0x7b) {
      values++
      depth++
      fields[depth] = 0
      if (depth > deepest) deepest = depth
    } else if (code === 0x5d || code === 0x7d) depth--
  }
  return { depth: deepest, values, names: names.size, fields: wideFields }
}
