import { expect, test } from 'vitest'
import type { Json } from '../lib/json.ts'
import { draftOf, type Recorded } from './draft.ts'

let clock = 0
const at = (minute: number) => new Date(minute * 60_000).toISOString()
function recorded(action: string, request: Json, response: Json, schema?: Recorded['schema']): Recorded {
  const start = ++clock * 10
  return { call: { action, request, response, created_at: at(start), completed_at: at(start + 1) }, schema }
}

test('values of earlier outputs become expressions, other values become input', () => {
  const { steps, input } = draftOf([
    recorded('crm:find', { email: 'ana@x.test' }, { id: 'c-17', tags: ['a1', 'b2'], 'full name': 'Ana Silva' }),
    recorded(
      'crm:note',
      { contact: 'c-17', tags: ['a1', 'b2'], name: 'Ana Silva', text: 'Hello', to: 'ana@x.test' },
      {},
    ),
    recorded('crm:note', { contact: 'c-17', text: 'Hello', first: 'a1' }, {}),
  ])

  expect(steps).toEqual([
    { id: 'find', call: 'crm:find', input: { email: '${{ input.email }}' } },
    {
      ...{ id: 'note', call: 'crm:note' },
      input: {
        contact: '${{ steps.find.output.id }}',
        tags: '${{ steps.find.output.tags }}',
        name: '${{ steps.find.output["full name"] }}',
        text: '${{ input.text }}',
        to: '${{ input.to }}',
      },
    },
    {
      ...{ id: 'note_2', call: 'crm:note' },
      input: {
        contact: '${{ steps.find.output.id }}',
        text: '${{ input.text }}',
        first: '${{ steps.find.output.tags[0] }}',
      },
    },
  ])
  expect(input).toMatchObject({
    properties: { email: { type: 'string', examples: ['ana@x.test'] }, text: {}, to: {} },
    required: ['email', 'text', 'to'],
  })
})

test('truth values, small numbers, choices and defaults are constants, even if an output has the same', () => {
  const schema = { properties: { kind: { enum: ['a1', 'b2'] }, limit: { default: 50 } } }
  const [, step] = draftOf([
    recorded('x:one', {}, { ok: true, n: 1, none: null, empty: '' }),
    recorded('x:two', { ok: true, none: null, kind: 'b2', limit: 50, list: [{ flag: false }] }, {}, schema),
  ]).steps

  expect(step?.input).toEqual({ ok: true, none: null, kind: 'b2', limit: 50, list: [{ flag: false }] })
})

test('a call that ran at the same time as another one does not use its output', () => {
  const one = recorded('x:one', {}, { id: 'c-17' })
  const two = recorded('x:two', { id: 'c-17' }, {})

  const { steps } = draftOf([one, { ...two, call: { ...two.call, created_at: one.call.created_at } }])

  expect(steps[1]?.input).toEqual({ id: '${{ input.id }}' })
})

test('the output of an MCP tool is read without its envelope', () => {
  const { steps } = draftOf([
    recorded('x:one', {}, { content: [{ type: 'text', text: '{"id":"c-17"}' }] }),
    recorded('x:two', { id: 'c-17' }, {}),
  ])

  expect(steps[1]?.input).toEqual({ id: '${{ steps.one.output.id }}' })
})

test('redacted values become input without an example, and texts with expressions are not evaluated', () => {
  const { steps, input } = draftOf([recorded('x:one', { password: '[redacted]', text: '${{ 1 + 1 }}' }, {})])

  expect(steps[0]?.input).toEqual({ password: '${{ input.password }}', text: '${{ input.text }}' })
  expect(JSON.stringify(input)).not.toContain('redacted')
})

test('odd names of actions become valid ids of steps', () => {
  const { steps } = draftOf(['x:1.get/it', 'x:get-it', 'x:get.it'].map((action) => recorded(action, {}, {})))

  expect(steps.map(({ id }) => id)).toEqual(['_1_get_it', 'get_it', 'get_it_2'])
})
