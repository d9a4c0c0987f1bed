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

/** Whether JSON text is nested deeper than that. What is nested so deep has as many brackets twice. */
export const isTooDeep = (text: string, most = deepestJson): boolean => text.length > 2 * most && depthOf(text) > most

/** Whether an object has no field. */
export function isEmpty(object: object | undefined): boolean {
  for (const _ in object) return false
  return true
}

/** How deeply brackets are nested, outside of strings. */
function depthOf(text: string): number {
  let depth = 0
  let most = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (inString) {
      if (code === 0x5c) index++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x5b || code === 0x7b) {
      depth++
      if (depth > most) most = depth
    } else if (code === 0x5d || code === 0x7d) depth--
  }
  return most
}
