import fc from 'fast-check'
import { expect, test } from 'vitest'
import { matcherOf, UnsupportedPattern } from './pattern.ts'

test.each([
  ['^(a+)+$', `${'a'.repeat(100_000)}!`],
  ['(x+x+)+y', 'x'.repeat(100_000)],
  ['^(a|a)*$', `${'a'.repeat(100_000)}!`],
  ['^(\\w+\\s?)*$', `${'word '.repeat(20_000)}!`],
  ['a+b', 'a'.repeat(1_000_000)],
  ['^.*a.*b.*c.*d$', 'abc'.repeat(30_000)],
  ['^\\d+\\d+\\d+$', `${'1'.repeat(100_000)}!`],
  [
    '^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$',
    'a'.repeat(100_000),
  ],
])('a pattern with catastrophic backtracking in V8 returns a result: %s', (pattern, text) => {
  expect(matcherOf(pattern).test(text)).toBe(false)
})

test.each([
  '^[a-z0-9-]{1,64}$',
  '^\\d{4}-\\d{2}-\\d{2}$',
  '^(draft|published|archived)$',
  '^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$',
  '^.{1,5000}$',
  '^(?=.*[A-Z])(?=.*\\d).{8,}$',
  '^(?!tmp-)[a-z-]+$',
])('a safe pattern has a low cost: %s', (pattern) => {
  expect(matcherOf(pattern).cost).toBeLessThan(10)
})

test.each(['^(?=.*a.*b)x', '(a)\\1', '^(?:(?=a+b)a)*$', '^(a{1,900}){1,900}$', '(?i:a)+b'])(
  'a pattern that cannot run in linear time is refused as unsupported: %s',
  (pattern) => {
    expect(() => matcherOf(pattern)).toThrow(UnsupportedPattern)
  },
)

test('an invalid pattern is refused with the SyntaxError of V8', () => {
  expect(() => matcherOf('(')).toThrow(SyntaxError)
  expect(() => matcherOf('\\-')).toThrow(SyntaxError)
})

/** Patterns that run on RE2 because they are unanchored or repeat a variable part. */
const atom = fc.constantFrom(
  ...['a', 'b', '.', '\\s', '\\S', '\\d', '\\W', '[a-c]', '[^a]', '[\\s-]', '[\\S\\n]', '[^]', '\\u0061', '\\u{1F600}'],
  ...[
    '\\uD83D\\uDE00',
    '😀',
    '\\cJ',
    '\\x61',
    '\\p{L}',
    '\\P{Lu}',
    '\\p{Script=Greek}',
    '[\\w.-]',
    '[[a]',
    '\\/',
    '[\\b]',
  ],
  ...['\\b', '\\.', '[+--]', '[\\--a]', '\\p{Letter}', '(?:a|b)', '(?<n>ab)', '\\$', '[$^]', '\\0'],
)
const quantified = fc
  .tuple(atom, fc.constantFrom('', '*', '+', '?', '{2}', '{1,2}', '{2,}', '*?', '+?', '??', '{1,2}?'))
  .map(([inner, quantifier]) => (inner === '\\b' ? inner : inner + quantifier))
const pattern = fc
  .array(fc.array(quantified, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 })
  .map((choices) => choices.map((parts) => parts.join('')).join('|'))
  .chain((inner) => fc.constantFrom(`(?:${inner})*`, `^(${inner})+$`, inner, `(?:${inner})+-`))
  // Group names must be unique.
  .filter((text) => text.split('<n>').length <= 2)
const letters = fc.constantFrom(
  ...['a', 'b', 'A', '1', ' ', '\n', '\r', '\u2028', '\u00a0', '\v', '-', '.', '/', '[', '$', '^', '\0', '\b', '_'],
  ...['😀', 'λ', 'é', '\ufeff', '\u200b', '+', ','],
)

test('a pattern matches as in ECMAScript, whichever engine runs it', () => {
  fc.assert(
    fc.property(pattern, fc.array(letters, { maxLength: 6 }), (written, text) => {
      expect(matcherOf(written).test(text.join(''))).toBe(new RegExp(written, 'u').test(text.join('')))
    }),
    { numRuns: 2000 },
  )
})
