import { expect, test } from 'vitest'
import { didYouMean, nearest, orDidYouMean } from './nearest.ts'

const known = ['get-document', 'search-documents', 'update-document', 'create-file']

test('a misspelled name suggests the intended one', () => {
  expect(nearest('serch-documents', known)).toEqual(['search-documents'])
  expect(nearest('updatedocument', known)).toEqual(['update-document'])
  expect(nearest('craete-file', known)).toEqual(['create-file'])
})

test('part of a name suggests every name that contains it', () => {
  expect(nearest('document', known)).toEqual(['get-document', 'search-documents', 'update-document'])
})

test('a name unlike any known one suggests nothing', () => {
  expect(nearest('send-invoice', known)).toEqual([])
  expect(nearest('', known)).toEqual([])
  expect(nearest('c', ['a', 'b'])).toEqual([])
  expect(nearest('nope', ['nosec'])).toEqual([])
})

test('the suggestion is a sentence or the end of a clause, and empty if there is none', () => {
  expect(didYouMean('craete-file', known)).toBe(' Did you mean "create-file"?')
  expect(didYouMean('prot', ['port', 'port2'], (flag) => `--${flag}`)).toBe(' Did you mean --port?')
  expect(orDidYouMean('document', known)).toBe(
    '; did you mean "get-document" or "search-documents" or "update-document"?',
  )
  expect(didYouMean('send-invoice', known) + orDidYouMean('send-invoice', known)).toBe('')
})
