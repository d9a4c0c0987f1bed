import { expect, test } from 'vitest'
import { prefixesOf } from './prefixes.ts'

test.each([
  ['nomic-embed-text', 'search_query: ', 'search_document: '],
  ['nomic-embed-text:v1.5', 'search_query: ', 'search_document: '],
  ['intfloat/multilingual-e5-large', 'query: ', 'passage: '],
  ['intfloat/multilingual-e5-large-instruct', 'query: ', 'passage: '],
  ['BAAI/bge-small-en-v1.5', 'Represent this sentence for searching relevant passages: ', ''],
  ['snowflake-arctic-embed:m', 'Represent this sentence for searching relevant passages: ', ''],
  ['snowflake-arctic-embed2', 'query: ', ''],
  ['text-embedding-3-small', '', ''],
  ['bge-m3', '', ''],
])('%s gets the prefixes that it was trained with', (model, query, document) => {
  expect(prefixesOf(model)).toEqual({ query, document })
})
