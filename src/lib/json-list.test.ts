import { expect, test } from 'vitest'
import { firstItems } from './json-list.ts'

test('a list loses whole items at its end', () => {
  expect(firstItems([1, 22, 333], 7)).toEqual({ text: '[1,22]', start: '[1,22', kept: 2, total: 3 })
})

test('a list within an object keeps the other fields, and what is left out continues the JSON', () => {
  const value = { total: 3, data: [{ id: 1 }, { id: 2 }, { id: 3 }], next: 'x' }

  const { text, start, kept } = firstItems(value, 52) ?? { text: '', start: '', kept: 0 }

  expect(JSON.parse(text)).toEqual({ total: 3, data: value.data.slice(0, kept), next: 'x' })
  expect(kept).toBe(2)
  expect(JSON.stringify(value).startsWith(`${start},`)).toBe(true)
})

test.each([
  [[1, 2, 3], 100],
  ['text', 1],
  [[['long item'.repeat(10)], 2], 20],
])('%j is not cut at %i bytes', (value, most) => {
  expect(firstItems(value as never, most)).toBeUndefined()
})
