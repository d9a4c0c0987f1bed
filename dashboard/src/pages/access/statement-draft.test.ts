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

test('a document converts to statements and back', () => {
  expect(documentOf(statementsOf(whole) ?? [])).toEqual(whole)
})

test('single values become lists, and a statement without resources applies to all', () => {
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
])('a document that the form cannot represent is edited as JSON: %j', (document) => {
  expect(statementsOf(document)).toBeUndefined()
})
