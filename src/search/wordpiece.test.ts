import { expect, test } from 'vitest'
import { WordPiece } from './wordpiece.ts'

const vocabulary = ['[UNK]', '[CLS]', '[SEP]', 'get', 'contact', '##s', 'cafe', '.', '人', '##get']
const pieces = new WordPiece(new Map(vocabulary.map((piece, id) => [piece, id])))
const read = (text: string, longest = 20) => pieces.encode(text, longest).map((id) => vocabulary[id])

test('a word is split into its longest known pieces', () => {
  expect(read('Get contacts.')).toEqual(['[CLS]', 'get', 'contact', '##s', '.', '[SEP]'])
  expect(read('Café人')).toEqual(['[CLS]', 'cafe', '人', '[SEP]'])
})

test('a word with an unknown remainder is unknown as a whole', () => {
  expect(read('getx get')).toEqual(['[CLS]', '[UNK]', 'get', '[SEP]'])
})

test('a long text is truncated, and still ends with the end marker', () => {
  expect(read('get '.repeat(50), 5)).toEqual(['[CLS]', 'get', 'get', 'get', '[SEP]'])
  expect(read('')).toEqual(['[CLS]', '[SEP]'])
})
