import { isObject, type Json } from '../../lib/json.ts'

/**
 * Control characters except line breaks and tabs, and characters that change how the rest is shown or cannot be seen at
 * all: bidirectional overrides and Unicode tags.
 */
const unwanted = /(?![\n\r\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu

/** Removes control characters from text that goes into a prompt. */
export const sanitiseText = (text: string): string => text.toWellFormed().replaceAll(unwanted, '')

/** The same in every text and field name of a value. */
export function sanitise(value: Json): Json {
  if (typeof value === 'string') return sanitiseText(value)
  if (Array.isArray(value)) return value.map(sanitise)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [sanitiseText(key), sanitise(inner)]))
}
