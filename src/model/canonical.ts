import { createHash } from 'node:crypto'
import { isObject, type Json } from './json.ts'

/** The same JSON has the same text, in whatever order its fields stand. */
export const canonical = (value: Json): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const fields = Object.keys(value).sort()
  return `{${fields.map((key) => `${JSON.stringify(key)}:${canonical(value[key] as Json)}`).join(',')}}`
}

export const hashOfText = (text: string): string => createHash('sha256').update(text).digest('hex')

export const hashOf = (value: Json): string => hashOfText(canonical(value))
