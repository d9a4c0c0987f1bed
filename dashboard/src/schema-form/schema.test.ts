import { expect, test } from 'vitest'
import { followed, kindOf, type Schema, startOf } from './schema.ts'

test('each schema gets a matching control, and JSON if a form cannot represent it', () => {
  const kinds = [
    { type: 'string' },
    { type: ['integer', 'null'] },
    { enum: ['a', 1] },
    { type: 'object', properties: { a: {} } },
    { type: 'object' },
    { type: 'array', items: { type: 'string' } },
    { anyOf: [{ type: 'string' }, { type: 'number' }] },
    {},
  ].map((schema) => kindOf(schema))

  expect(kinds).toEqual(['text', 'integer', 'choice', 'object', 'json', 'array', 'json', 'json'])
})

test('references within the schema are followed, and broken or circular ones are edited as JSON', () => {
  const root: Schema = {
    $defs: { city: { type: 'string' }, here: { $ref: '#/$defs/there' }, there: { $ref: '#/$defs/here' } },
  }

  expect(followed({ $ref: '#/$defs/city', description: 'Where' }, root)).toEqual({
    type: 'string',
    description: 'Where',
  })
  expect(kindOf(followed({ $ref: '#/$defs/gone' }, root))).toBe('json')
  expect(kindOf(followed({ $ref: '#/$defs/here' }, root))).toBe('json')
  expect(kindOf(followed({ $ref: 'https://example.com/s.json' }, root))).toBe('json')
})

test('a form starts with the defaults, and a recursive schema terminates', () => {
  const names = Array.from({ length: 30 }, (_, n) => `n${n}`)
  const itself: Schema = {
    type: 'object',
    properties: {
      ...Object.fromEntries(names.map((name) => [name, { $ref: '#' }])),
      size: { type: 'integer', default: 3 },
    },
    required: names,
  }

  const start = startOf(itself, itself) as Record<string, unknown>

  expect(start.size).toBe(3)
  expect(JSON.stringify(start).length).toBeLessThan(20_000)
})
