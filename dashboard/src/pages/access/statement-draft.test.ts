import { expect, test } from 'vitest'
import { documentOf, statementsOf } from './statement-draft.ts'

const whole = {
  statement: [
    { effect: 'Allow' as const, action: ['tools:*'], resource: ['*'] },
    {
      effect: 'Deny' as const,
      action: ['documents:GetDocument'],
      resource: ['qm:proj_1:document:/hr/*'],
      condition: { StringEquals: { 'qm:ResourceTag/team': ['hr', 'legal'] }, StringLike: { 'qm:ResourceType': 'd*' } },
    },
  ],
}

test('a document becomes statements and the same document again', () => {
  expect(documentOf(statementsOf(whole) ?? [])).toEqual(whole)
})

test('single values are lists, and a statement without resources is about all', () => {
  expect(statementsOf({ statement: [{ effect: 'Allow', action: '*' }] })).toEqual([
    { effect: 'Allow', action: ['*'], resource: ['*'], condition: [] },
  ])
})

test.each([
  undefined,
  null,
  {},
  { statement: {} },
  { statement: [{ effect: 'Maybe', action: ['*'] }] },
  { statement: [{ effect: 'Allow', action: [1] }] },
  { statement: [{ effect: 'Allow', action: ['*'], note: 'mine' }] },
  { statement: [{ effect: 'Allow', action: ['*'], condition: { StringEquals: { a: 1 } } }] },
  { version: 1, statement: [] },
])('what a form could not show whole is left to JSON: %j', (document) => {
  expect(statementsOf(document)).toBeUndefined()
})
