import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { withExamples } from './examples.ts'

const text = { type: 'string' }
const schemaOf = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
})

const examplesIn = (field: string, values: unknown[], property: JsonObject = text) => {
  const inputs = values.map((value) => ({ [field]: value }) as JsonObject)
  const { properties } = withExamples(schemaOf({ [field]: property }), inputs) as { properties: Record<string, object> }
  return (properties[field] as { examples?: unknown }).examples
}

test('the most used values of a field become its examples', () => {
  expect(examplesIn('channel', ['#random', '#general', '#ops', '#general'])).toEqual(['#general', '#random'])
  expect(examplesIn('limit', [50], { type: 'integer' })).toEqual([50])
  expect(examplesIn('since', ['2026-11-16'])).toEqual(['2026-11-16'])
  expect(examplesIn('since', ['2026-11-16T09:30:00Z'])).toEqual(['2026-11-16T09:30:00Z'])
  expect(examplesIn('language', ['de'])).toEqual(['de'])
  expect(examplesIn('page_size', [25], { type: 'number' })).toEqual([25])
  expect(examplesIn('repository', ['octo/hello-world'])).toEqual(['octo/hello-world'])
})

test.each([
  ['value', 'Call Jane about the refund'],
  ['value', 'jane@example.com'],
  ['value', '+41791234567'],
  ['value', '079-123-45-67'],
  ['value', '[redacted]'],
  ['value', 'ghp16C7e42F292c6912E7'],
  ['value', 'https://example.com/private'],
  ['value', 'x'.repeat(41)],
  ['value', 'two\nlines'],
  ['value', ''],
  ['value', true],
  ['value', null],
  ['value', { nested: 'x' }],
  ['value', ['x']],
  ['value', 4_111_111_111_111_111],
  ['first_name', 'Jane'],
  ['customerId', 'c7'],
  ['api_key', 'short'],
  ['to', 'jane'],
  ['userId', 7],
  ['q', 'Müller'],
  ['value', 1234.5],
])('in the field %s, %j is never used as an example', (field, value) => {
  expect(examplesIn(field, [value], {})).toBeUndefined()
})

test.each<JsonObject>([{ enum: ['a'] }, { const: 'a' }, { default: 'a' }, { examples: ['a'] }])(
  'a field that already has %j gets no examples',
  (says) => {
    const schema = schemaOf({ units: { ...text, ...says } })

    expect(withExamples(schema, [{ units: 'metric' }])).toBe(schema)
  },
)

test('a value that no longer matches the type of its field is not used as an example', () => {
  expect(examplesIn('limit', ['many'], { type: 'integer' })).toBeUndefined()
  expect(examplesIn('limit', [5], { type: ['integer', 'null'] })).toEqual([5])
})

test('fields outside the schema are never shown, and the schema itself is not modified', () => {
  const schema = schemaOf({ channel: text, odd: true })
  const before = structuredClone(schema)

  const hinted = withExamples(schema, [{ channel: '#ops', preset: 'hidden', odd: 'x' }])

  expect(hinted).toEqual(schemaOf({ channel: { ...text, examples: ['#ops'] }, odd: true }))
  expect(schema).toEqual(before)
})

test('examples fit a small budget, and required fields come first', () => {
  const fields = Array.from({ length: 50 }, (_, number) => `field_${number}`)
  const schema = schemaOf(Object.fromEntries(fields.map((field) => [field, text])), { required: ['field_49'] })
  const input = Object.fromEntries(fields.map((field) => [field, 'v'.repeat(30)]))

  const hinted = withExamples(schema, [input])

  expect(JSON.stringify(hinted).length - JSON.stringify(schema).length).toBeLessThan(300)
  expect(JSON.stringify((hinted.properties as JsonObject).field_49)).toContain('examples')
})
