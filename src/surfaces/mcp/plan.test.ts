import { expect, test } from 'vitest'
import { fitPlan, type PlanItem, shortNote } from './plan.ts'

const item = (identifier: string, isBest: boolean): PlanItem => ({
  isBest,
  entry: {
    slug: 'crm',
    type: 'action',
    identifier,
    json_schema: {
      type: 'object',
      description: 'What to change. '.repeat(20),
      properties: { id: { type: 'string', description: 'The id of the contact. '.repeat(10) }, tags: { enum: ['a'] } },
      required: ['id'],
    },
  },
})
const short = { type: 'object', properties: { id: { type: 'string' }, tags: {} }, required: ['id'] }

test('the best action keeps its schema, and alternatives have the names and types of their fields', () => {
  const [best, other] = fitPlan([item('a', true), item('b', false)], 2000)

  expect(best).toEqual(item('a', true).entry)
  expect(other).toEqual({ ...item('b', false).entry, json_schema: short, note: shortNote })
})

test('above the budget, alternatives are left out first, then schemas are shortened', () => {
  const items = [item('a', true), item('b', false), item('c', false), item('d', true)]
  const plan = (budget: number) =>
    fitPlan(items, budget).map(({ identifier, note }) => (note ? `${identifier} short` : identifier))

  expect(plan(2000)).toEqual(['a', 'b short', 'c short', 'd'])
  expect(plan(530)).toEqual(['a', 'b short', 'd'])
  expect(plan(450)).toEqual(['a', 'd'])
  expect(plan(300)).toEqual(['a', 'd short'])
  expect(plan(1)).toEqual(['a short', 'd short'])
})
