import { expect, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import { callBudget, checkExpression, conditionOf, type RuleInput } from './expression.ts'

const facts = (input: JsonObject): RuleInput => ({
  input,
  action: { id: 'tools:a', app: 'tools', name: 'a', level: 'open', idempotent: false, destructive: false },
  tool: { id: 'tool_1', name: 'a' },
  principal: { id: 'key_1', name: 'someone' },
  agent: null,
  server: null,
  surface: 'rest',
})

const many = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index))
const overBudget = /exceeds the computing limit for rules/

/** Letters a and b in an order that makes an automaton need many states. */
const letters = (length: number) => {
  let state = 1
  return many(length, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state & 65_536 ? 'a' : 'b'
  }).join('')
}

const doubled = (depth: number, last: string) =>
  many(depth, (i) => `cel.bind(a${i}, ${i === 0 ? 'input.s' : `a${i - 1} + a${i - 1}`}, `).join('') +
  last.replaceAll('LAST', `a${depth - 1}`) +
  ')'.repeat(depth)

// Each line is a kind of computation that must be metered. If an update of the CEL library hides one, its line fails.
test.each<[string, string, () => JsonObject]>([
  [
    'matches in a loop',
    'input.l.exists(i, input.s.matches("[ab]*a[ab]{60}[cd]"))',
    () => ({ l: many(50, (i) => i), s: letters(50_000) }),
  ],
  ['matches alone', 'input.s.matches("[ab]*a[ab]{60}[cd]")', () => ({ s: letters(50_000) })],
  [
    'patterns of the input',
    'input.l.exists(p, input.s.matches(p))',
    () => ({ l: many(5000, (i) => `(a|b)*${i}c{300}`), s: letters(2000) }),
  ],
  ['in', 'input.l.all(i, !([i] in input.l))', () => ({ l: many(16_000, () => []) })],
  ['in with text', 'input.l.all(i, !((i + "x") in input.l))', () => ({ l: many(6000, (i) => `item${i}`) })],
  [
    '==',
    'input.l.all(i, input.m == input.n)',
    () => ({ l: many(5000, () => 1), m: many(8000, () => ({})), n: many(8000, () => ({})) }),
  ],
  [
    '!=',
    'input.l.exists(i, input.m != input.n)',
    () => ({ l: many(5000, () => 1), m: [many(8000, () => 1)], n: [many(8000, () => 1)] }),
  ],
  [
    '<',
    'input.l.all(i, !(input.s < input.t))',
    () => ({ l: many(5000, () => 1), s: letters(20_000), t: letters(20_000) }),
  ],
  ['+ on lists', 'input.l.all(i, (input.l + input.l).size() > 0)', () => ({ l: many(30_000, () => 1) })],
  ['repeated + on text', doubled(14, 'size(LAST) > 0'), () => ({ s: 'a'.repeat(60_000) })],
  ['a list that is doubled', doubled(14, 'LAST.all(i, i > 0)'), () => ({ s: many(10_000, () => 1) })],
  ['split', 'input.l.all(i, input.s.split("").size() > 0)', () => ({ l: many(2000, () => 1), s: letters(50_000) })],
  ['join', 'input.l.all(i, input.m.join("x") != "")', () => ({ l: many(5000, () => 1), m: many(9000, () => 'a') })],
  ['size', 'input.l.all(i, size(input.s) > 0)', () => ({ l: many(5000, () => 1), s: letters(50_000) })],
  [
    'size of a map',
    'input.l.all(i, size(input.m) > 0)',
    () => ({ l: many(5000, () => 1), m: Object.fromEntries(many(5000, (i) => [i, 1])) }),
  ],
  ['contains', 'input.l.all(i, !input.s.contains("x"))', () => ({ l: many(9000, () => 1), s: letters(40_000) })],
  ['bytes', 'input.l.all(i, bytes(input.s).hex() != "")', () => ({ l: many(5000, () => 1), s: letters(50_000) })],
  ['map', 'input.l.map(i, input.l.map(j, j)).size() > 0', () => ({ l: many(5000, () => 1) })],
  ['filter', 'input.l.filter(i, input.l.filter(j, true).size() > 0).size() > 0', () => ({ l: many(3000, () => 1) })],
  ['exists_one', 'input.l.exists_one(i, input.l.exists_one(j, j > 1))', () => ({ l: many(3000, () => 1) })],
  [
    'keys of a map',
    'input.m.all(i, input.m.all(j, i != ""))',
    () => ({ m: Object.fromEntries(many(3000, (i) => [i, 1])) }),
  ],
  ['errors', 'input.l.all(i, timestamp(i).getHours() >= 0)', () => ({ l: many(30_000, () => 'x') })],
  ['a long duration', 'duration(input.s) > duration("1s")', () => ({ s: '1'.repeat(3000) })],
  [
    'time zones',
    'input.l.all(i, timestamp(int(i)).getHours("Europe/Berlin") >= 0)',
    () => ({ l: many(30_000, () => 1) }),
  ],
])('a rule that exceeds its compute budget is stopped: %s', (_, expression, input) => {
  const condition = conditionOf(expression)

  expect(() => condition(facts(input()))).toThrow(overBudget)
})

test.each([
  'input.l.exists(i, input.s.matches("[ab]*a[ab]{60}[cd]")) || true',
  'true || input.s.matches("x") || input.l.exists(i, input.s.matches("[ab]*a[ab]{60}[cd]"))',
  '!(input.l.exists(i, input.s.matches("[ab]*a[ab]{60}[cd]")) && false)',
])('exceeding the budget inside an operator that ignores errors still stops the rule: %s', (expression) => {
  const condition = conditionOf(expression)
  const input = { l: many(50, (i) => i), s: letters(50_000) }

  const outcome = () => condition(facts(input))

  if (expression.startsWith('true')) expect(outcome()).toBe(true)
  else expect(outcome).toThrow(overBudget)
})

test('a rule that reads only a small part of a large input is evaluated', () => {
  const condition = conditionOf('action.id == "tools:other" && input.rows.all(r, r.text.matches("^(a+)+$"))')
  const amount = conditionOf('input.amount > 100')
  const rows = many(20_000, () => ({ text: 'a'.repeat(50) }))

  expect(condition(facts({ rows }))).toBe(false)
  expect(amount(facts({ rows, amount: 120 }))).toBe(true)
})

test('ordinary rules stay within the compute budget', () => {
  const input = {
    recipients: many(500, (i) => `person${i}@example.com`),
    body: 'word '.repeat(4000),
    amount: 5,
    created: '2026-11-18T10:00:00Z',
  }

  for (const expression of [
    'input.recipients.exists(r, !r.endsWith("@example.com"))',
    'input.recipients.exists(r, r.matches("^[a-z0-9.]+@(mail|web)\\\\.example\\\\.org$"))',
    'input.body.matches("(?:secret|password)\\\\s*[:=]")',
    'input.recipients.size() > 1000 || input.body.contains("drop table")',
    'input.recipients.map(r, r.split("@")[1]).exists(d, d != "example.com")',
    'timestamp(input.created).getHours("Europe/Berlin") > 20',
    'duration("90m") > duration("2h")',
  ]) {
    expect(conditionOf(expression)(facts(input)), expression).toBe(false)
  }
})

test('the rules of a project share one compute budget per call', () => {
  const condition = conditionOf('input.s.matches("[ab]*a[ab]{10}[cd]")')
  const input = { s: letters(8000) }
  const budget = callBudget()

  expect(condition(facts(input), budget)).toBe(false)
  expect(() => many(100, () => condition(facts(input), budget))).toThrow(overBudget)
  expect(condition(facts(input), callBudget())).toBe(false)
})

test('a pattern that is too large to compile is refused when the rule is saved', () => {
  expect(() => checkExpression(`input.s.matches("${'a{999}'.repeat(300)}")`)).toThrow(/too large/)
  expect(() => checkExpression('input.s.matches("(")')).toThrow(/regular expression/)
  expect(() => checkExpression('input.s.matches("^a+$")')).not.toThrow()
})
