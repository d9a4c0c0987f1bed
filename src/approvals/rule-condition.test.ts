import { expect, test } from 'vitest'
import type { RuleInput } from './expression.ts'
import { ruleConditionOf } from './rule-condition.ts'

const facts: RuleInput = {
  input: { text: 'x'.repeat(100_000) },
  action: { id: 'tools:echo', app: 'tools', name: 'echo', level: 'open', idempotent: false, destructive: true },
  tool: { id: 'tool_1', name: 'echo' },
  principal: { id: 'key_1', name: 'app' },
  agent: null,
  server: null,
  surface: 'rest',
}

test.each([
  ['action.id == "tools:pay" && input.amount > 100', false],
  ['input.amount > 100 && action.id == "tools:pay"', false],
  ['tool.name == "pay" || action.app == "bank" && input.amount > 100', false],
  ['!(tool.name == "echo") && input.amount > 100', false],
  ['tool.name in ["pay", "refund"] && has(input.amount)', false],
  ['server != null && server.slug == "bank" && input.amount > 100', false],
  ['action.id == "tools:pay" && input.?amount.orValue(0) > 100', false],
  ['surface == "rest" || input.amount > 100', true],
])('%s is decided without the input', (expression, expected) => {
  expect(ruleConditionOf(expression)(facts)).toBe(expected)
})

test.each([
  ['input.amount > 100', { amount: 1 }],
  ['action.id == "tools:echo" && input.amount > 100', { amount: 1 }],
  ['tool.name == "pay" || has(input.amount)', {}],
  ['action.id == "tools:pay" ? false : input.amount > 100', { amount: 1 }],
  ['[1].exists(i, size(input) > i) && true', {}],
])('%s depends on the input', (expression, other) => {
  const condition = ruleConditionOf(expression)

  expect(condition({ ...facts, input: { amount: 200, currency: 'BRL' } })).toBe(true)
  expect(condition({ ...facts, input: other })).toBe(false)
})

test('if one operand of || fails, the other operand decides', () => {
  const condition = ruleConditionOf('agent.id == "agt_1" || input.amount > 100')

  expect(() => condition({ ...facts, input: { amount: 1 } })).toThrow(/id/)
  expect(condition({ ...facts, input: { amount: 200 } })).toBe(true)
})
