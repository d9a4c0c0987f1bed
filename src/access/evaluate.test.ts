import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Statement } from '../model/access-policy.ts'
import type { Principal } from '../model/principal.ts'
import { evaluate, like, narrowed, type Resource, visibility } from './evaluate.ts'

const principal = (statements: Partial<Statement>[], projectId: string | null = null): Principal => ({
  kind: 'api_key',
  endUserId: null,
  id: 'key_1',
  name: 'k',
  projectId,
  rateLimit: null,
  expiresAt: null,
  grants: [
    {
      policyId: 'pol_1',
      statements: statements.map((statement) => ({ effect: 'Allow', action: ['*'], resource: ['*'], ...statement })),
    },
  ],
})

const tool: Resource = { projectId: 'proj_1', kind: 'tool', id: 'tool_1' }
const allowed = (statements: Partial<Statement>[], resource: Resource = tool, permission = 'tools:GetTool') =>
  evaluate(principal(statements), permission, resource).allowed

test('an action is denied unless a statement allows it', () => {
  expect(evaluate(principal([]), 'tools:GetTool', tool)).toEqual({ allowed: false, layer: 'access policy' })
})

test('a decision names the policy that made it', () => {
  expect(evaluate(principal([{}]), 'tools:GetTool', tool)).toEqual({ allowed: true, by: 'pol_1' })
  expect(evaluate(principal([{}, { effect: 'Deny' }]), 'tools:GetTool', tool)).toEqual({
    allowed: false,
    layer: 'access policy',
    by: 'pol_1',
  })
})

test.each([
  ['*', true],
  ['tools:*', true],
  ['tools:GetTool', true],
  ['tools:ListTools', false],
  ['documents:*', false],
])('does the action pattern %s match tools:GetTool? %s', (action, fits) => {
  expect(allowed([{ action: [action] }])).toBe(fits)
})

test.each([
  ['*', true],
  ['qm:*', true],
  ['qm:proj_1', true],
  ['qm:proj_1:*', true],
  ['qm:proj_2:*', false],
  ['qm:*:tool:*', true],
  ['qm:*:document:*', false],
  ['qm:proj_1:tool:tool_1', true],
  ['soat:proj_1:tool:tool_1', true],
  ['qm:proj_1:tool:tool_2', false],
])('does the resource pattern %s match qm:proj_1:tool:tool_1? %s', (resource, fits) => {
  expect(allowed([{ resource: [resource] }])).toBe(fits)
})

test.each([
  ['/reports/*', '/reports/a.md', true],
  ['/reports/*', '/reports/deep/a.md', true],
  ['/reports/*', '/reports', false],
  ['/reports/*', '/reportsecret', false],
  ['/a.md', '/a.md', true],
  ['/*', '/a.md', true],
])('does the path pattern %s match %s? %s', (pattern, path, fits) => {
  const document: Resource = { projectId: 'proj_1', kind: 'document', id: 'doc_1', path }

  expect(allowed([{ resource: [`qm:*:document:${pattern}`] }], document)).toBe(fits)
})

test('one Deny statement outweighs any number of Allow statements, in any order', () => {
  const effects = fc.array(fc.constantFrom<'Allow' | 'Deny'>('Allow', 'Deny'), { minLength: 1, maxLength: 8 })

  fc.assert(
    fc.property(effects, (order) => {
      expect(allowed(order.map((effect) => ({ effect })))).toBe(!order.includes('Deny'))
    }),
  )
})

test('a principal bound to a project has no access outside it, regardless of its policies', () => {
  expect(evaluate(principal([{}], 'proj_2'), 'tools:GetTool', tool)).toEqual({ allowed: false, layer: 'project' })
  expect(
    evaluate(principal([{}], 'proj_1'), 'projects:CreateProject', { projectId: null, kind: 'project', id: '*' })
      .allowed,
  ).toBe(false)
})

test('visibility is "all" or "none" where no record needs its own check, and "some" otherwise', () => {
  const sees = (statements: Partial<Statement>[], projectId: string | null = null) =>
    visibility(principal(statements, projectId), 'tools:ListTools', 'tool')

  expect(sees([])).toBe('none')
  expect(sees([{ action: ['documents:*'] }])).toBe('none')
  expect(sees([{ resource: ['qm:*:document:*'] }])).toBe('none')
  expect(sees([{}])).toBe('all')
  expect(sees([{ resource: ['qm:proj_1:*'] }])).toBe('some')
  expect(sees([{ resource: ['qm:proj_1:*'] }], 'proj_1')).toBe('all')
  expect(sees([{}, { effect: 'Deny', resource: ['qm:*:tool:tool_1'] }])).toBe('some')
  expect(sees([{ condition: { StringEquals: { 'qm:ResourceTag/a': 'b' } } }])).toBe('some')
})

test('a wildcard pattern matches like the equivalent regular expression, without exponential time', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 12 })

  fc.assert(
    fc.property(letters, fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 }), (pattern, text) => {
      const expression = new RegExp(`^${pattern.replaceAll(/\*+/g, '.*').replaceAll('?', '.')}$`)
      expect(like(pattern, text)).toBe(expression.test(text))
    }),
  )
  expect(like(`${'*a'.repeat(50)}b`, 'a'.repeat(5000))).toBe(false)
})

test('a principal that may see only one project is narrowed to it, and Deny statements narrow nothing', () => {
  const boundTo = (...statements: Partial<Statement>[]) =>
    narrowed(principal(statements), 'tools:ListTools', 'tool').projectId

  expect(boundTo({ resource: ['qm:proj_1:*'] })).toBe('proj_1')
  expect(boundTo({ resource: ['qm:proj_1:tool:a'] }, { resource: ['qm:proj_1'] })).toBe('proj_1')
  expect(boundTo({ resource: ['qm:proj_1:*'] }, { resource: ['qm:proj_2:*'] })).toBe(null)
  expect(boundTo({ resource: ['qm:proj_1:*'] }, { resource: ['*'] })).toBe(null)
  expect(boundTo({ resource: ['*'] }, { effect: 'Deny', resource: ['qm:proj_1:*'] })).toBe(null)
})
