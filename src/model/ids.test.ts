import { expect, test } from 'vitest'
import { newId } from './ids.ts'

test('ids are unique and sort by creation time, even within a millisecond', () => {
  const ids = Array.from({ length: 5000 }, () => newId('call'))

  expect([...ids].sort()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
})
