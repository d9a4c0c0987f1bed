import { expect, test } from 'vitest'
import { nearest } from './nearest.ts'

const known = ['get-document', 'search-documents', 'update-document', 'create-file']

test('a mistyped name is told the one that was meant', () => {
  expect(nearest('serch-documents', known)).toEqual(['search-documents'])
  expect(nearest('updatedocument', known)).toEqual(['update-document'])
  expect(nearest('craete-file', known)).toEqual(['create-file'])
})

test('part of a name is told every name that has it', () => {
  expect(nearest('document', known)).toEqual(['get-document', 'search-documents', 'update-document'])
})

test('a name like nothing known is told nothing', () => {
  expect(nearest('send-invoice', known)).toEqual([])
  expect(nearest('', known)).toEqual([])
})
