import { expect, test } from 'vitest'
import { findVerb, joinVerbs, nounsOf, relationOf, splitWords, stem, termsOf } from './words.ts'

test('identifiers and sentences are split into the same words', () => {
  expect(splitWords('getAllContacts')).toEqual(['get', 'all', 'contacts'])
  expect(splitWords('get_all-contacts')).toEqual(['get', 'all', 'contacts'])
  expect(splitWords('Get all contacts!')).toEqual(['get', 'all', 'contacts'])
  expect(splitWords('parseHTMLPage')).toEqual(['parse', 'html', 'page'])
  expect(splitWords('Créer un événement')).toEqual(['creer', 'un', 'evenement'])
})

test('languages without spaces are split into pairs of characters', () => {
  expect(splitWords('创建联系人')).toEqual(['创建', '建联', '联系', '系人'])
})

test('words are stemmed', () => {
  for (const [one, other] of [
    ['contacts', 'contact'],
    ['companies', 'company'],
    ['creating', 'created'],
    ['updates', 'update'],
    ['messages', 'message'],
    ['searches', 'searching'],
    ['adding', 'add'],
    ['organization', 'organize'],
  ] as const) {
    expect(stem(one), one).toBe(stem(other))
  }
  expect(stem('status')).toBe('status')
  expect(stem('address')).toBe('address')
})

test('stop words are left out', () => {
  expect(termsOf('Could you please list the contacts')).toEqual(['list', 'contact'])
})

test('verbs and nouns are distinguished', () => {
  expect(findVerb(termsOf('Fetch the invoices'))).toBe('get')
  expect(findVerb(termsOf('weather'))).toBeUndefined()
  expect(nounsOf(termsOf('Get many contacts'))).toEqual(['contact'])
  expect(nounsOf(termsOf('get'))).toEqual(['get'])
  expect(relationOf('get', 'list')).toBe('alike')
  expect(relationOf('get', 'delete')).toBe('deleting')
  expect(relationOf('get', 'create')).toBe('crossing')
})

test('phrasal verbs become one verb, and similar phrases are left alone', () => {
  const joined = (text: string) => joinVerbs(splitWords(text)).join(' ')
  expect(joined('Look for a text')).toBe('search a text')
  expect(joined('Get rid of old files')).toBe('delete old files')
  expect(joined('Get a look at the text for Bob')).toBe('get a get the text for bob')
  expect(joined('Throw a party')).toBe('throw a party')
})

test('an identifier is split at capitals, and the last capital of an acronym starts the next word', () => {
  expect(splitWords('getHTTPServer2Name')).toEqual(['get', 'http', 'server2', 'name'])
  expect(splitWords('list_all-contacts.v2/ID')).toEqual(['list', 'all', 'contacts', 'v2', 'id'])
  expect(splitWords('ÜberWeisung')).toEqual(['uber', 'weisung'])
})
