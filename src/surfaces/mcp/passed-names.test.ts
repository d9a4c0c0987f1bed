import { expect, test } from 'vitest'
import { clientNames, literalMatch, qualifiedPrompt, qualifiedUri } from './passed-names.ts'

test('names that one app uses stay as they are, and others get the name of their app', () => {
  const all = [
    { app: 'a', own: 'greet' },
    { app: 'b', own: 'greet' },
    { app: 'b', own: 'bye' },
    { app: 'b', own: 'bye' },
  ]

  expect([...clientNames(all, qualifiedPrompt).keys()].sort()).toEqual(['a_greet', 'b_greet', 'bye'])
  expect([...clientNames(all.slice(0, 1), qualifiedPrompt, new Set(['greet'])).keys()]).toEqual(['a_greet'])
})

test('a qualified URI is a URI, whatever the app is called', () => {
  expect(new URL(qualifiedUri('my app/2', 'file:///a b')).protocol).toBe('app:')
})

test.each([
  ['file:///{path}', 'file:///a/b', 8],
  ['db://{table}/rows/{id}', 'db://users/rows/7', 11],
  ['db://{table}/rows/{id}', 'db://users/7', undefined],
  ['x://{a}{b}', 'x://', 4],
  ['x://{a}/y', 'x://y', undefined],
  ['x://same', 'x://same', 8],
  ['x://{unclosed', 'x://1', undefined],
])('%s and %s match in %s literal characters', (template, uri, expected) => {
  expect(literalMatch(template, uri)).toBe(expected)
})

test('a template with many expressions and a long URI is matched quickly', () => {
  expect(literalMatch(`x://${'{a}'.repeat(2000)}!`, `x://${'a'.repeat(8000)}`)).toBeUndefined()
})
