import { expect, test } from 'vitest'
import type { ApiOperation } from '../../../api.ts'
import { includeOf, nameFor } from './choice.ts'

const operation = (name: string, tags: string[]): ApiOperation =>
  ({ name, tags, method: 'GET', path: '/', title: null, deprecated: false, size: 1, whole_size: 1 }) as ApiOperation

const all = [operation('a', ['x']), operation('b', ['x']), operation('c', ['y']), operation('d', [])]

test.each([
  [['a', 'b', 'c', 'd'], undefined],
  [['a', 'b'], [{ tag: 'x' }]],
  [
    ['a', 'c'],
    [{ tag: 'y' }, { operation: 'a' }],
  ],
  [['d'], [{ operation: 'd' }]],
])('%j is selected by %j', (chosen, expected) => {
  expect(includeOf(all, new Set(chosen))).toEqual(expected)
})

test('an operation of two tags is selected by one of them', () => {
  const both = [operation('a', ['x', 'y']), operation('b', ['y'])]

  expect(includeOf(both, new Set(['a']))).toEqual([{ tag: 'x' }])
})

test('a tool is named after the title of its API', () => {
  expect(nameFor({ title: 'GitHub v3 REST API', server_url: null } as never)).toBe('github')
  expect(nameFor({ title: '', server_url: 'https://api.stripe.com/' } as never)).toBe('stripe')
})
