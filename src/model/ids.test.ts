import { expect, test } from 'vitest'
import { newId } from './ids.ts'

test('ids sort by when they were made, also within a millisecond, and none is made twice', () => {
  const ids = Array.from({ length: 5000 }, () => newId('call'))

  expect([...ids].sort()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
})
