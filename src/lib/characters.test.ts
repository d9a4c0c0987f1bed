import { expect, test } from 'vitest'
import { countCharacters, firstBytes, firstCharacters, wholeSlice } from './characters.ts'

test('characters are counted as code points, whatever their size in memory', () => {
  expect(countCharacters('aé漢😀')).toBe(4)
  expect(firstCharacters('😀😀😀', 2)).toBe('😀😀')
  expect(firstCharacters('😀😀', 2)).toBe('😀😀')
  expect(firstCharacters('a😀b', 2)).toBe('a😀')
})

test('a lone surrogate counts as one character and is preserved', () => {
  const broken = '\uD83Da\uDE00'
  expect(countCharacters(broken)).toBe(3)
  expect(firstCharacters(broken, 2)).toBe('\uD83Da')
  expect(firstCharacters('ab\uD83D', 3)).toBe('ab\uD83D')
})

test('cutting at a number of units or bytes never splits a character', () => {
  expect(wholeSlice('a😀', 2)).toBe('a')
  expect(wholeSlice('a😀', 3)).toBe('a😀')
  for (const [bytes, expected] of [
    [0, ''],
    [1, 'a'],
    [2, 'a'],
    [3, 'aé'],
    [6, 'aé'],
    [7, 'aé😀'],
    [9, 'aé😀'],
    [10, 'aé😀漢'],
  ] as const) {
    expect(firstBytes('aé😀漢', bytes), String(bytes)).toBe(expected)
  }
})

test('a replacement character at the end of a text is kept', () => {
  expect(firstBytes('ab\uFFFDcd', 5)).toBe('ab\uFFFD')
})
