import { expect, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import { SchemaCompiler } from './schema-compiler.ts'

const schemas = new SchemaCompiler()
const check = (schema: JsonObject, input: unknown, mostWork = 20_000_000) => schemas.compile(schema)(input, mostWork)
const of = (schema: JsonObject): JsonObject => ({ properties: { a: schema } })
const fields = (length: number) => Object.fromEntries(many(length, (i) => [`k${i}`, 1]))
const many = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index))

const doubling = Object.fromEntries(
  many(40, (i) => [`d${i}`, { allOf: many(2, () => ({ $ref: i === 39 ? '#/$defs/end' : `#/$defs/d${i + 1}` })) }]),
)

test.each<[string, JsonObject, () => unknown]>([
  ['a hostile pattern', of({ pattern: '^(a+)+$' }), () => `${'a'.repeat(1e6)}!`],
  ['hostile names', of({ patternProperties: { '^(a|a)*$': false } }), () => ({ [`${'a'.repeat(1e6)}!`]: 1 })],
  ['many items that must differ', of({ uniqueItems: true }), () => many(200_000, (i) => ({ i }))],
  ['schemas that refer to one another twice each', { $defs: { ...doubling, end: {} }, $ref: '#/$defs/d0' }, () => 1],
  ['a schema that refers to itself and nothing else', { $ref: '#' }, () => 1],
  [
    'many items under many schemas',
    of({ allOf: many(2000, () => ({ items: { minimum: 0 } })) }),
    () => many(1e6, () => 0),
  ],
  ['a long text under many schemas', of({ allOf: many(2000, () => ({ minLength: 1 })) }), () => 'a'.repeat(4e6)],
  ['more faults than memory', of({ items: { required: ['a', 'b', 'c', 'd', 'e'] } }), () => many(1e6, () => ({}))],
  ['a hostile url', of({ format: 'url' }), () => `http://${':'.repeat(4e6)}`],
  ['a pattern of many states', of({ pattern: '^(a|b)*a(a|b){900}[cd]$' }), () => `${'ab'.repeat(1e6)}cd!`],
])('a check always ends, and reports about a hundred errors at most: %s', (_, schema, input) => {
  const faults = check(schema, { a: input() })

  expect(faults?.length ?? 0).toBeLessThanOrEqual(101)
})

test('duplicate items are found even if their fields are in another order', () => {
  const schema = of({ uniqueItems: true })

  expect(check(schema, { a: [{ x: 1, y: [2] }, 3, { y: [2], x: 1 }] })).toEqual([
    { path: 'a', message: 'must NOT have duplicate items (items ## 0 and 2 are identical)' },
  ])
  expect(check(schema, { a: [1, '1', null, 'null', [1], ['1'], {}] })).toEqual([])
  expect(check(of({ uniqueItems: false }), { a: [1, 1] })).toEqual([])
})

test('formats accept valid values and refuse invalid ones', () => {
  const fits = (format: string, a: unknown) => check(of({ format }), { a })?.length === 0

  expect(fits('email', 'a@example.com')).toBe(true)
  expect(fits('email', 'a@')).toBe(false)
  expect(fits('date', '2026-02-30')).toBe(false)
  expect(fits('url', 'https://example.com/a?b')).toBe(true)
  expect(fits('url', 'example.com')).toBe(false)
  expect(fits('byte', 'aGk=')).toBe(true)
  expect(fits('byte', 'aGk')).toBe(false)
  expect(fits('int32', 2 ** 31)).toBe(false)
  expect(check(of({ format: 'date', formatMinimum: '2026-01-01' }), { a: '2025-01-01' })).toHaveLength(1)
})

const backwards = '(.)(.)\\2\\1'

test('only the unsupported parts of an upstream schema are ignored', () => {
  const schema = {
    properties: { name: { type: 'string', pattern: backwards, maxLength: 5 }, other: { not: { pattern: backwards } } },
    patternProperties: { [backwards]: { type: 'number' }, '^x-': { type: 'string' } },
    additionalProperties: false,
  }

  expect(check(schema, { name: 'plain', other: 'x', abba: 'x', 'x-1': 'y' })).toEqual([])
  expect(check(schema, { name: 'longer', 'x-1': 1 })).toEqual([
    { path: 'name', message: 'must NOT have more than 5 characters' },
    { path: 'x-1', message: 'must be of type string' },
  ])
})

test('errors in a schema are reported with their path', () => {
  expect(schemas.faultsOf({ properties: { rows: { items: { pattern: backwards } } } })).toEqual([
    { path: 'properties.rows.items.pattern', message: expect.stringContaining('back-references') },
  ])
  expect(schemas.faultsOf({ type: 'nothing' })).toEqual([
    { path: '', message: expect.stringContaining('not a JSON Schema') },
  ])
})

// We patch the code that Ajv generates so that a check stops after a number of errors. There is a line for each form of that
// code: if an update of Ajv changes the form, the count is exact ("and 900 more") and the line fails.
test.each<[string, JsonObject, unknown]>([
  ['a keyword', { type: 'string' }, 1],
  ['a missing field', { required: ['x'] }, {}],
  ['an unknown field', { additionalProperties: false }, { x: 1 }],
  ['alternatives', { anyOf: [{ type: 'string' }, { type: 'null' }] }, 1],
  ['exactly one of', { oneOf: [{ type: 'string' }, { type: 'null' }] }, 1],
  ['not', { not: {} }, 1],
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
  ['if', { if: true, then: { type: 'string' } }, 1],
  ['a reference', { $ref: '#/$defs/text' }, 1],
  ['names of fields', { propertyNames: { maxLength: 0 } }, { x: 1 }],
  ['fields that others need', { dependentRequired: { x: ['y'] } }, { x: 1 }],
  ['a pattern', { pattern: '^a$' }, 'b'],
  ['a format', { format: 'date' }, 'b'],
  ['items that must differ', { uniqueItems: true }, [1, 1]],
])('a check stops after about a hundred errors: %s', (_, items, item) => {
  const schema = { $defs: { text: { type: 'string' } }, properties: { a: { items } } }

  const faults = check(schema, { a: many(1000, () => item) }, Number.POSITIVE_INFINITY)

  expect(faults?.at(-1)).toEqual({ path: '', message: 'and many more' })
})

test('a field whose name looks like generated code is checked like any other', () => {
  const schema = { properties: { 'errors++;': { type: 'string' }, ';errors++': { const: 'errors++;' } } }

  expect(check(schema, { 'errors++;': 1, ';errors++': 'errors++;' })).toEqual([
    { path: 'errors++;', message: 'must be of type string' },
  ])
})

// We replace Ajv's keywords so that each is metered. There is a line for each keyword: if an update of Ajv no longer uses the
// replacement, the check is not stopped and the line fails.
test.each<[keyword: string, schema: JsonObject, input: () => unknown]>([
  ['minLength', { minLength: 1 }, () => 'a'.repeat(5000)],
  ['maxLength', { maxLength: 9000 }, () => 'a'.repeat(5000)],
  ['pattern', { pattern: '^[a-z]+$' }, () => 'a'.repeat(5000)],
  ['format', { format: 'byte' }, () => 'aaaa'.repeat(5000)],
  ['items', { items: { type: 'number' } }, () => many(5000, () => 1)],
  ['items after prefixItems', { prefixItems: [true], items: { type: 'number' } }, () => many(5000, () => 1)],
  ['contains', { contains: { type: 'number' } }, () => many(5000, () => 1)],
  ['unevaluatedItems', { unevaluatedItems: { type: 'number' } }, () => many(5000, () => 1)],
  ['uniqueItems', { uniqueItems: true }, () => many(5000, (i) => i)],
  ['minProperties', { minProperties: 1 }, () => fields(5000)],
  ['maxProperties', { maxProperties: 9000 }, () => fields(5000)],
  ['additionalProperties', { additionalProperties: { type: 'number' } }, () => fields(5000)],
  ['unevaluatedProperties', { unevaluatedProperties: { type: 'number' } }, () => fields(5000)],
  ['patternProperties', { patternProperties: { '^k': { type: 'number' } } }, () => fields(5000)],
  ['propertyNames', { propertyNames: { type: 'string' } }, () => fields(5000)],
  ['$ref', { allOf: many(200, () => ({ $ref: '#/$defs/any' })) }, () => 1],
  ['$dynamicRef', { allOf: many(200, () => ({ $dynamicRef: '#any' })) }, () => 1],
])('a check is stopped when it exceeds its work limit: %s', (_, schema, input) => {
  const whole = { $defs: { any: { $dynamicAnchor: 'any' } }, properties: { a: schema } }

  expect(check(whole, { a: input() }, 2000)).toBeUndefined()
  expect(check(whole, { a: input() })).toEqual([])
})

test('the work limit applies to older JSON Schema drafts', () => {
  const [draft7, draft2019] = [
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2019-09/schema',
  ]
  const items = { items: [true], additionalItems: { type: 'number' } }
  const recursive = { allOf: many(200, () => ({ properties: { b: { $recursiveRef: '#' } } })) }

  expect(check({ $schema: draft7, properties: { a: items } }, { a: many(5000, () => 1) }, 2000)).toBeUndefined()
  expect(check({ $schema: draft2019, properties: { a: items } }, { a: many(5000, () => 1) }, 2000)).toBeUndefined()
  expect(check({ $schema: draft2019, ...recursive }, { b: { b: 1 } }, 2000)).toBeUndefined()
})

test('a definition is applied everywhere it is referenced', () => {
  const large = { type: 'object', properties: Object.fromEntries(many(100, (i) => [`p${i}`, { type: 'string' }])) }
  const schema = {
    $defs: { large },
    properties: Object.fromEntries(many(50, (i) => [`q${i}`, { $ref: '#/$defs/large' }])),
  }

  expect(check(schema, { q7: { p3: 1 } })).toEqual([{ path: 'q7.p3', message: 'must be of type string' }])
})
