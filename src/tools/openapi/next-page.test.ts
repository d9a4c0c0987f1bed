import { expect, test } from 'vitest'
import type { Json, JsonObject } from '../../lib/json.ts'
import { nextPage } from './next-page.ts'
import type { Parameter } from './operation.ts'
import { findPaging } from './paging.ts'

const query = (...names: string[]): Parameter[] =>
  names.map((name) => ({ in: 'query', name, property: name.replace('$', ''), style: 'form', explode: true }))

const find = (names: string[], input: JsonObject, value: Json, link = '') => {
  const parameters = query(...names)
  const paging = findPaging(parameters)
  return nextPage({ parameters, ...(paging && { paging }) }, input, link === '' ? {} : { link }, value)
}

test.each<[string, JsonObject | undefined, JsonObject | undefined]>([
  [
    'a Link header',
    find(
      ['page', 'per_page'],
      { page: 1 },
      [],
      '<https://a.test/x?page=2&per_page=30>; rel="next", <https://a.test/x?page=9>; rel="last"',
    ),
    { page: 2, per_page: 30 },
  ],
  ['a Link header without a next page', find(['page'], {}, [], '<https://a.test/x?page=1>; rel="prev"'), undefined],
  [
    'a cursor in the response',
    find(['cursor'], {}, { items: [1], response_metadata: { next_cursor: 'abc' } }),
    { cursor: 'abc' },
  ],
  ['an empty cursor', find(['cursor'], {}, { items: [1], response_metadata: { next_cursor: '' } }), undefined],
  ['a page token', find(['pageToken'], {}, { items: [1], nextPageToken: 't' }), { pageToken: 't' }],
  [
    'a URL of OData',
    find(['$skip', '$top'], {}, { value: [1], '@odata.nextLink': 'https://a.test/x?$skip=20' }),
    { skip: 20 },
  ],
  [
    'the id of the last item',
    find(['starting_after', 'limit'], {}, { data: [{ id: 'a' }, { id: 'b' }], has_more: true }),
    { starting_after: 'b' },
  ],
  ['a total', find(['offset'], { offset: 2 }, { items: [1, 2], total: 9 }), { offset: 4 }],
  ['a total that is reached', find(['offset'], { offset: 7 }, { items: [1, 2], total: 9 }), undefined],
  ['a page number', find(['page'], { page: 3 }, { results: [1], has_more: true }), { page: 4 }],
  ['nothing', find(['page'], {}, { a: 1 }), undefined],
])('the next page is found by %s', (_, found, expected) => {
  expect(found).toEqual(expected)
})
