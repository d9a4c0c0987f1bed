import { expect, test } from 'vitest'
import type { JsonObject } from '../model/json.ts'
import { Schemas } from './schema.ts'

const schemas = new Schemas()
const check = (schema: JsonObject, input: unknown) => schemas.compile(schema)(input)
const of = (schema: JsonObject): JsonObject => ({ properties: { a: schema } })
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
])('a check comes to an end, whatever it is given: %s', (_, schema, input) => {
  const faults = check(schema, { a: input() })

  expect(faults.length).toBeLessThanOrEqual(101)
})

test('items that are equal in another order of their fields are found', () => {
  const schema = of({ uniqueItems: true })

  expect(check(schema, { a: [{ x: 1, y: [2] }, 3, { y: [2], x: 1 }] })).toEqual([
    { path: 'a', message: 'must NOT have duplicate items (items ## 0 and 2 are identical)' },
  ])
  expect(check(schema, { a: [1, '1', null, 'null', [1], ['1'], {}] })).toEqual([])
  expect(check(of({ uniqueItems: false }), { a: [1, 1] })).toEqual([])
})

test('formats are still told from what they are not', () => {
  const fits = (format: string, a: unknown) => check(of({ format }), { a }).length === 0

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

test('of someone else’s schema only what cannot be checked is left out', () => {
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

test('someone who can mend the schema is told where it stands', () => {
  expect(schemas.faultsOf({ properties: { rows: { items: { pattern: backwards } } } })).toEqual([
    { path: 'properties.rows.items.pattern', message: expect.stringContaining('back-references') },
  ])
  expect(schemas.faultsOf({ description: 'x'.repeat(200_000) })).toEqual([
    { path: '', message: expect.stringContaining('larger than') },
  ])
  expect(schemas.faultsOf({ type: 'nothing' })).toEqual([
    { path: '', message: expect.stringContaining('not a JSON Schema') },
  ])
})
