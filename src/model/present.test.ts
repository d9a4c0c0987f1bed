import { expect, test } from 'vitest'
import { Present } from './present.ts'

test('those who came and have not left are there, in whatever order they leave', () => {
  const present = new Present<number>()
  const leaves = [0, 1, 2, 3].map((value) => present.add(value))
  for (const index of [1, 3, 0]) leaves[index]?.()

  expect([present.size, present.only]).toEqual([1, 2])
  const leave = present.add(4)
  expect([present.size, present.only]).toEqual([2, undefined])
  leaves[2]?.()
  expect([present.size, present.only]).toEqual([1, 4])
  leave()
  expect([present.size, present.only]).toEqual([0, undefined])
})
