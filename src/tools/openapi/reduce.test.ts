import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { SchemaBuilder } from './reduce.ts'

const builderOf = (defs: Record<string, JsonObject>) => new SchemaBuilder((name) => defs[name])

const long = 'Words about the field. '.repeat(30)
const many = Array.from({ length: 60 }, (_, index) => `v${index}`)
const leaf = { type: 'string', description: long, examples: ['x'.repeat(500)], enum: many }
const nested = (depth: number): JsonObject =>
  depth === 0
    ? leaf
    : { type: 'object', properties: { deep: nested(depth - 1), needed: { type: 'string' } }, required: ['needed'] }

test('a schema that is small enough stays as it is', () => {
  const root = { type: 'object', properties: { a: leaf } }

  const { step, size, whole } = builderOf({}).fit(root)

  expect({ step, size, whole }).toEqual({
    step: 0,
    size: JSON.stringify(root).length,
    whole: JSON.stringify(root).length,
  })
})

test('first examples go, then long descriptions, then enums, then optional fields below depth 4', () => {
  const root: JsonObject = { type: 'object', properties: { tree: nested(6) } }
  const builder = builderOf({})
  const text = (step: number) => JSON.stringify(builder.build(root, step))

  expect(text(1)).not.toContain('xxx')
  expect(text(1)).toContain(long.slice(0, 400))
  expect(text(2)).not.toContain(long.slice(0, 400))
  expect(text(2)).toContain('v59')
  expect(text(3)).not.toContain('v59')
  expect(text(3)).toContain('One of 60 values, such as \\"v0\\"')
  expect(text(4).match(/"deep"/g)).toHaveLength(4)
  expect(text(4)).toContain('The details are omitted')
  expect(text(4).match(/"needed":\{/g)).toHaveLength(4)
})

test('recursive definitions stay references, also when they are reduced', () => {
  const Node = { type: 'object', description: long, properties: { next: { $ref: '#/$defs/Node' }, value: leaf } }
  const builder = builderOf({ Node })

  for (const step of [0, 2, 4, 7]) {
    const schema = builder.build({ type: 'object', properties: { node: { $ref: '#/$defs/Node' } } }, step)
    expect(Object.keys(schema.$defs as object)).toEqual(['Node'])
  }
})

test('a wide tree of definitions fits in the end, and only what is still referred to is included', () => {
  const defs = Object.fromEntries(
    Array.from({ length: 300 }, (_, index): [string, JsonObject] => [
      `D${index}`,
      {
        type: 'object',
        properties: Object.fromEntries(
          Array.from({ length: 10 }, (_, at) => [`p${at}`, { $ref: `#/$defs/D${(index * 10 + at + 1) % 300}` }]),
        ),
      },
    ]),
  )
  const builder = builderOf(defs)
  const root = { type: 'object', properties: { a: { $ref: '#/$defs/D0' } } }

  const { step, size } = builder.fit(root, 10_000)
  const schema = builder.build(root, step)

  expect(JSON.stringify(schema).length).toBe(size)
  expect(size).toBeLessThanOrEqual(10_000)
  expect(Object.keys(schema.$defs as object).length).toBeLessThan(300)
})
