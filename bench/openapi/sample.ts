import { createRequire } from 'node:module'
import { isObject, type Json, type JsonObject } from '../../src/lib/json.ts'

const deepest = 4

/** A value that a schema accepts: its example, default or first choice, or something small of its type. */
export function sample(schema: Json, defs: JsonObject, fields: 'required' | 'all', depth = 0): Json {
  if (!isObject(schema)) return 'x'
  if (typeof schema.$ref === 'string') {
    if (depth > 12) return {}
    return sample(defs[schema.$ref.slice('#/$defs/'.length)] ?? {}, defs, fields, depth + 1)
  }
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum) && schema.enum[0] !== undefined) return schema.enum.find((one) => one !== null) ?? null
  if (Array.isArray(schema.allOf)) return merged(schema, defs, fields, depth)
  if (Array.isArray(schema.anyOf) && schema.anyOf[0] !== undefined) {
    const rest = sampleOf({ ...schema, anyOf: null }, defs, fields, depth)
    const one = sample(schema.anyOf[0], defs, fields, depth + 1)
    return isObject(one) && isObject(rest) ? { ...rest, ...one } : one
  }
  return sampleOf(schema, defs, fields, depth)
}

function merged(schema: JsonObject, defs: JsonObject, fields: 'required' | 'all', depth: number): Json {
  const { allOf, ...rest } = schema
  const hasOwn = rest.type !== undefined || rest.properties !== undefined
  const parts = [...(allOf as Json[]), ...(hasOwn ? [rest] : [])].map((part) => sample(part, defs, fields, depth + 1))
  const objects = parts.filter(isObject)
  // A part that only says that a field is required knows nothing about its value.
  if (objects.length > 0) {
    const known = objects
      .flatMap((one) => Object.entries(one))
      .sort(([, a], [, b]) => Number(a !== 'x') - Number(b !== 'x'))
    return Object.fromEntries(known)
  }
  return parts.find((part) => part !== 'x') ?? 'x'
}

function sampleOf(schema: JsonObject, defs: JsonObject, fields: 'required' | 'all', depth: number): Json {
  const types = [schema.type].flat()
  const type = types.find((one) => one !== 'null') ?? (isObject(schema.properties) ? 'object' : undefined)
  if (type === 'object') return objectOf(schema, defs, fields, depth)
  if (type === 'array') return arrayOf(schema, defs, fields, depth)
  if (type === 'integer' || type === 'number') return numberOf(schema, type)
  if (type === 'boolean') return true
  return type === undefined && !schema.format && !schema.pattern ? 'x' : textOf(schema)
}

function objectOf(schema: JsonObject, defs: JsonObject, fields: 'required' | 'all', depth: number): JsonObject {
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const properties = isObject(schema.properties) ? Object.entries(schema.properties) : []
  if (isObject(schema.properties) && Object.hasOwn(schema.properties, 'content_base64'))
    return { content_base64: 'aGVsbG8=', filename: 'a.txt' }
  const wanted = properties.filter(([name]) => required.has(name) || (fields === 'all' && depth < 2))
  const result: JsonObject = Object.fromEntries(
    wanted.map(([name, one]) => [
      name,
      depth > 30 ? {} : sample(one as Json, defs, depth < deepest ? fields : 'required', depth + 1),
    ]),
  )
  const least = Number(schema.minProperties ?? 0)
  for (let count = Object.keys(result).length; count < least; count++) {
    const other = isObject(schema.additionalProperties) ? schema.additionalProperties : {}
    result[`key${count}`] = sample(other, defs, 'required', depth + 1)
  }
  return result
}

function arrayOf(schema: JsonObject, defs: JsonObject, fields: 'required' | 'all', depth: number): Json[] {
  const count = Math.max(depth > deepest ? 0 : 1, Math.min(Number(schema.minItems ?? 0), 50))
  return Array.from({ length: count }, () =>
    sample(schema.items ?? {}, defs, depth < deepest ? fields : 'required', depth + 1),
  )
}

function numberOf(schema: JsonObject, type: string): number {
  const least = Number(
    schema.minimum ?? (schema.exclusiveMinimum === undefined ? 1 : Number(schema.exclusiveMinimum) + 1),
  )
  const most = Number(
    schema.maximum ??
      (schema.exclusiveMaximum === undefined ? Number.POSITIVE_INFINITY : Number(schema.exclusiveMaximum) - 1),
  )
  const step = Number(schema.multipleOf ?? (type === 'integer' ? 1 : 0))
  const start = Math.min(Math.max(least, Math.min(1, most)), most)
  return step > 0 ? Math.ceil(start / step) * step : start
}

const formats: Readonly<Record<string, string>> = {
  'date-time': '2026-01-02T03:04:05Z',
  date: '2026-01-02',
  time: '03:04:05Z',
  email: 'a@example.com',
  uri: 'https://example.com/a',
  url: 'https://example.com/a',
  'uri-reference': '/a',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uuid: '6f1f2b0c-1c1c-4b7e-9a57-0a3f1a2b3c4d',
  duration: 'P1D',
  byte: 'aGVsbG8=',
}

const RandExp = createRequire(import.meta.url)('randexp') as new (pattern: string) => Generator
interface Generator {
  max: number
  randInt(from: number, to: number): number
  gen(): string
}

/** Texts for a pattern, the shortest and longer ones; none if the generator does not understand it. */
const matching = (pattern: string, least: number): string[] =>
  [0, 1, 5, 20, least, least + 12].flatMap((most) =>
    [(from: number) => from, (_: number, to: number) => to].flatMap((randInt) => {
      try {
        const generator = Object.assign(new RandExp(pattern), { max: most, randInt })
        return [generator.gen()]
      } catch {
        return []
      }
    }),
  )

const likely = [
  'a',
  'abc',
  '1',
  '12',
  '123456789012',
  '2026-01-02',
  'https://example.com',
  'US',
  '6f1f2b0c-1c1c-4b7e-9a57-0a3f1a2b3c4d',
]

function textOf(schema: JsonObject): string {
  const { format, pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY, examples } = schema
  const known = formats[String(format)]
  const fits = (text: string) =>
    text.length >= Number(minLength) &&
    text.length <= Number(maxLength) &&
    (typeof pattern !== 'string' || new RegExp(pattern, 'u').test(text))
  const shown = Array.isArray(examples) ? examples.filter((one) => typeof one === 'string') : []
  const long = likely.map((text) => text.padEnd(Math.min(Number(minLength), 1000), 'a'))
  const made = typeof pattern === 'string' ? matching(pattern, Math.min(Number(minLength), 1000)) : []
  return [...(known ? [known] : []), ...shown, ...likely, ...long, ...made].find(fits) ?? known ?? made[0] ?? 'x'
}
