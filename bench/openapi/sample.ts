import { createRequire } from 'node:module'
import { isObject, type Json, type JsonObject } from '../../src/lib/json.ts'

const deepest = 4

/**
 * Values that a schema accepts: an example, a default or a choice, or something small of its type. The first variant takes the
 * first alternative everywhere; further variants choose alternatives and optional fields by a fixed sequence.
 */
export class Sampler {
  readonly #defs: JsonObject
  readonly #fields: 'required' | 'all'
  readonly #variant: number
  #state: number

  constructor(defs: JsonObject, fields: 'required' | 'all', variant: number) {
    this.#defs = defs
    this.#fields = fields
    this.#variant = variant
    this.#state = variant * 2_654_435_761
  }

  sample(schema: Json, depth = 0): Json {
    if (!isObject(schema)) return 'x'
    const plain = this.#flat(schema, 0)
    if (plain.const !== undefined) return plain.const
    const values = Array.isArray(plain.enum) ? plain.enum.filter((one) => one !== null) : listedIn(plain)
    if (values.length > 0) return values[this.#choose(values.length)] ?? null
    return this.#sampleOf(plain, depth)
  }

  /** One schema for a schema, its reference, all its parts and one of its alternatives. */
  #flat(schema: JsonObject, depth: number): JsonObject {
    const { $ref, allOf, anyOf, ...own } = schema
    if (depth > 40) return own
    const alternatives = Array.isArray(anyOf) ? anyOf : []
    const parts = [
      ...(typeof $ref === 'string' ? [this.#defs[$ref.slice('#/$defs/'.length)] ?? {}] : []),
      ...(Array.isArray(allOf) ? allOf : []),
      ...(alternatives.length > 0 ? [alternatives[this.#choose(alternatives.length)] ?? {}] : []),
    ]
    return parts.filter(isObject).reduce((all, part) => merged(all, this.#flat(part, depth + 1)), own)
  }

  /** A number below `count`. Zero in the first variant. */
  #choose(count: number): number {
    if (this.#variant === 0 || count < 2) return 0
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((this.#state / 2 ** 32) * count)
  }

  #sampleOf(schema: JsonObject, depth: number): Json {
    const types = [schema.type].flat().filter((one) => one !== 'null')
    const type = types[this.#choose(types.length)] ?? (isObject(schema.properties) ? 'object' : undefined)
    if (type === 'object') return this.#objectOf(schema, depth)
    if (type === 'array') return this.#arrayOf(schema, depth)
    if (type === 'integer' || type === 'number') return this.#numberOf(schema, type)
    if (type === 'boolean') return this.#choose(2) === 0
    return type === undefined && !schema.format && !schema.pattern ? 'x' : textOf(schema)
  }

  #objectOf(schema: JsonObject, depth: number): JsonObject {
    const required = new Set(Array.isArray(schema.required) ? schema.required : [])
    const properties = isObject(schema.properties) ? Object.entries(schema.properties) : []
    if (properties.map(([name]) => name).join() === 'content_base64,file_id,filename')
      return { content_base64: 'aGVsbG8=', filename: 'a.txt' }
    const wanted = properties.filter(
      ([name, one]) => required.has(name) || (!isUnknown(one as Json) && this.#isWanted(depth)),
    )
    const result: JsonObject = Object.fromEntries(
      wanted.map(([name, one]) => [name, depth > 30 ? {} : this.sample(one as Json, depth + 1)]),
    )
    const least = Number(schema.minProperties ?? 0)
    for (const [name, one] of properties) {
      if (Object.keys(result).length >= least) break
      result[name] ??= this.sample(one as Json, depth + 1)
    }
    for (let count = Object.keys(result).length; count < least && schema.additionalProperties !== false; count++) {
      const other = isObject(schema.additionalProperties) ? schema.additionalProperties : {}
      result[`key${count}`] = this.sample(other, depth + 1)
    }
    return result
  }

  /** Whether an optional field is included. Some alternatives differ only in which of them are there. */
  #isWanted(depth: number): boolean {
    if (this.#fields === 'all') return this.#variant < 3 ? depth < 2 : depth < 3 && this.#choose(2) === 1
    return this.#variant > 5 && depth < 3 && this.#choose(4) === 1
  }

  #arrayOf(schema: JsonObject, depth: number): Json[] {
    const most = Number(schema.maxItems ?? 50)
    const count = Math.min(most, Math.max(depth > deepest ? 0 : 1, Math.min(Number(schema.minItems ?? 0), 50)))
    const first = (Array.isArray(schema.prefixItems) ? schema.prefixItems : []).map((one) =>
      this.sample(one, depth + 1),
    )
    const items = Array.from({ length: count }, () => this.sample(schema.items ?? {}, depth + 1))
    if (first.length > 0) return [...first, ...items.slice(first.length)]
    return schema.uniqueItems === true ? this.#unique(schema, items, depth) : items
  }

  #unique(schema: JsonObject, items: readonly Json[], depth: number): Json[] {
    const unique = new Map(items.map((one) => [JSON.stringify(one), one]))
    const item = isObject(schema.items) ? schema.items : {}
    const values = Array.isArray(item.enum) ? item.enum : []
    for (let tries = 0; unique.size < items.length && tries < 100; tries++) {
      const one = values[tries] ?? new Sampler(this.#defs, this.#fields, tries + 1).sample(item, depth + 1)
      const next = values[tries] === undefined && typeof one === 'number' ? one + tries : one
      unique.set(JSON.stringify(next), next)
    }
    return [...unique.values()]
  }

  #numberOf(schema: JsonObject, type: string): number {
    const limit = (inclusive: Json | undefined, exclusive: Json | undefined, step: number) =>
      exclusive === undefined ? inclusive : Number(exclusive) + step
    const least = Number(limit(schema.minimum, schema.exclusiveMinimum, type === 'integer' ? 1 : 0.5) ?? 1)
    const most = Number(limit(schema.maximum, schema.exclusiveMaximum, type === 'integer' ? -1 : -0.5) ?? Infinity)
    const step = Number(schema.multipleOf ?? (type === 'integer' ? 1 : 0))
    const start = Math.min(Math.max(least, Math.min(1, most)), most)
    const tight = schema.exclusiveMaximum !== undefined && schema.exclusiveMinimum !== undefined && type === 'number'
    if (tight && (start <= Number(schema.exclusiveMinimum) || start >= Number(schema.exclusiveMaximum)))
      return (Number(schema.exclusiveMinimum) + Number(schema.exclusiveMaximum)) / 2
    if (type === 'number' && step === 0 && this.#choose(2) === 1 && start + 0.5 <= most) return start + 0.5
    return step > 0 ? Math.ceil(start / step) * step : start
  }
}

/** Values that are not texts are listed in the description, where a model finds them, too. */
function listedIn({ description }: JsonObject): Json[] {
  const listed = typeof description === 'string' ? /(?:^| )One of ([^"]*?)(, …)?$/.exec(description)?.[1] : undefined
  try {
    return listed === undefined ? [] : JSON.parse(`[${listed}]`)
  } catch {
    return []
  }
}

/** Nothing is known about the value. A reduced schema has such fields. */
const isUnknown = (schema: Json): boolean =>
  isObject(schema) && Object.keys(schema).every((name) => ['description', 'title', 'deprecated'].includes(name))

/** A schema that has the rules of both. */
function merged(a: JsonObject, b: JsonObject): JsonObject {
  const result: JsonObject = { ...a, ...b }
  const [fields, others] = [a.properties, b.properties].map((one) => (isObject(one) ? one : {})) as [
    JsonObject,
    JsonObject,
  ]
  if (isObject(a.properties) || isObject(b.properties)) {
    const shared = Object.keys(others).filter((name) => Object.hasOwn(fields, name))
    const both = shared.map((name): [string, Json] => [name, { allOf: [fields[name] as Json, others[name] as Json] }])
    result.properties = { ...fields, ...others, ...Object.fromEntries(both) }
  }
  if (Array.isArray(a.required) && Array.isArray(b.required))
    result.required = [...new Set([...a.required, ...b.required])]
  if (isObject(a.items) && isObject(b.items)) result.items = { allOf: [a.items, b.items] }
  if (a.additionalProperties === false) result.additionalProperties = false
  for (const name of ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'])
    both(result, a, b, name, Math.max)
  for (const name of ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'])
    both(result, a, b, name, Math.min)
  if (Array.isArray(a.enum) && Array.isArray(b.enum)) {
    const known = new Set(b.enum.map((one) => JSON.stringify(one)))
    const shared = a.enum.filter((one) => known.has(JSON.stringify(one)))
    result.enum = shared.length > 0 ? shared : a.enum
  }
  if (a.type !== undefined && b.type !== undefined) {
    const types = [a.type].flat().filter((one) => [b.type].flat().includes(one))
    const narrow = [a.type, b.type].flat().includes('integer') ? ['integer'] : [a.type].flat()
    result.type = types.length > 0 ? types : narrow
  }
  if (typeof a.pattern === 'string' && typeof b.pattern === 'string' && a.pattern !== b.pattern) {
    result.pattern = b.pattern
    result.patterns = [...(Array.isArray(a.patterns) ? a.patterns : []), a.pattern]
  }
  return result
}

function both(
  result: JsonObject,
  a: JsonObject,
  b: JsonObject,
  name: string,
  choose: (...of: number[]) => number,
): void {
  const values = [a[name], b[name]].filter((one) => typeof one === 'number')
  if (values.length > 0) result[name] = choose(...values)
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

/** A text for a pattern; none if the generator does not understand it. */
function generated(pattern: string, max: number, randInt: (from: number, to: number) => number): string[] {
  try {
    return [Object.assign(new RandExp(pattern), { max, randInt }).gen()]
  } catch {
    return []
  }
}

/** Texts for a pattern, the shortest and longer ones. */
const matching = (pattern: string, least: number): string[] => {
  const near = Array.from({ length: 16 }, (_, less) => Math.max(0, least - less))
  return [0, 1, 5, 20, least, least + 12, 40, 100, ...near].flatMap((most) => [
    ...generated(pattern, most, (from) => from),
    ...generated(pattern, most, (_, to) => to),
  ])
}

/** Texts in which every repetition has about the same number, from none to many. */
const ofEverySize = (pattern: string): string[] =>
  Array.from({ length: 300 }, (_, size) =>
    generated(pattern, 300, (from, to) => Math.min(to, Math.max(from, size))),
  ).flat()

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
  'arn:aws:fsx:us-east-1:123456789012:a',
  'example.com',
]

const texts = new Map<string, string>()

export function textOf(schema: JsonObject): string {
  const {
    format = '',
    pattern = '',
    patterns = '',
    minLength = 0,
    maxLength = Number.POSITIVE_INFINITY,
    examples = '',
  } = schema
  const key = JSON.stringify([format, pattern, patterns, minLength, maxLength, examples])
  const known = texts.get(key)
  if (known !== undefined) return known
  const made = newText(schema)
  texts.set(key, made)
  return made
}

function newText(schema: JsonObject): string {
  const { format, pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY, examples } = schema
  const known = formats[String(format)]
  const all = [pattern, ...(Array.isArray(schema.patterns) ? schema.patterns : [])].filter(
    (one): one is string => typeof one === 'string',
  )
  const expressions = all.map(expressionOf)
  // A repetition within a repetition may take exponential time.
  const longest = all.some((one) => /[*+]\)[*+]/.test(one)) ? Math.max(22, Number(minLength)) : Number.POSITIVE_INFINITY
  const fits = (text: string) =>
    text.length >= Number(minLength) &&
    text.length <= Math.min(Number(maxLength), longest) &&
    expressions.every((expression) => expression?.test(text) ?? true)
  const shown = Array.isArray(examples)
    ? examples.filter((one): one is string => typeof one === 'string' && one !== '')
    : []
  const least = Math.min(Number(minLength), 1000)
  const plain = [...(known ? [known] : []), ...shown, ...likely, ...likely.map((text) => text.padEnd(least, 'a'))]
  const found = plain.find(fits)
  if (found !== undefined) return found
  const made = all
    .flatMap((one) => matching(one, least))
    .flatMap((text) => (all.some((one) => one.endsWith('$')) ? [text] : [text, text.padEnd(least, 'a')]))
  return made.find(fits) ?? all.flatMap(ofEverySize).find(fits) ?? known ?? made[0] ?? 'x'
}

/** As JSON Schema says, or else as documents were written before. */
function expressionOf(pattern: string): RegExp | undefined {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(pattern, flags)
    } catch {
      // Not in this dialect.
    }
  }
  return undefined
}
