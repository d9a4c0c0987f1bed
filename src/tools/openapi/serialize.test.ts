import { expect, test } from 'vitest'
import type { Parameter } from './operation.ts'
import { inHeader, inPath, inQuery } from './serialize.ts'

const parameter = (style: string, explode: boolean, more: Partial<Parameter> = {}): Parameter => ({
  in: 'query',
  name: 'color',
  property: 'color',
  style,
  explode,
  ...more,
})

const list = ['blue', 'black']
const object = { R: 100, G: 200 }

// The table of the OpenAPI specification, "Style Examples".
test.each([
  ['matrix', false, 'blue', ';color=blue'],
  ['matrix', false, list, ';color=blue,black'],
  ['matrix', true, list, ';color=blue;color=black'],
  ['matrix', false, object, ';color=R,100,G,200'],
  ['matrix', true, object, ';R=100;G=200'],
  ['label', false, 'blue', '.blue'],
  ['label', true, list, '.blue.black'],
  ['label', true, object, '.R=100.G=200'],
  ['simple', false, 'a/b c', 'a%2Fb%20c'],
  ['simple', false, list, 'blue,black'],
  ['simple', false, object, 'R,100,G,200'],
  ['simple', true, object, 'R=100,G=200'],
])('in a path, style %s (explode: %s) writes %j as %s', (style, explode, value, expected) => {
  expect(inPath(parameter(style, explode, { in: 'path' }), value)).toBe(expected)
})

test.each([
  ['form', true, 'a&b', 'color=a%26b'],
  ['form', true, list, 'color=blue&color=black'],
  ['form', false, list, 'color=blue,black'],
  ['form', true, object, 'R=100&G=200'],
  ['form', false, object, 'color=R,100,G,200'],
  ['form', true, [], ''],
  ['form', true, true, 'color=true'],
  ['spaceDelimited', false, list, 'color=blue%20black'],
  ['pipeDelimited', false, list, 'color=blue%7Cblack'],
  ['deepObject', true, object, 'color[R]=100&color[G]=200'],
  ['deepObject', true, { a: { b: [1, 2] }, c: [{ d: 3 }] }, 'color[a][b][]=1&color[a][b][]=2&color[c][0][d]=3'],
])('in a query, style %s (explode: %s) writes %j as %s', (style, explode, value, expected) => {
  const pairs = inQuery(parameter(style, explode), value)

  expect(pairs.map(([name, text]) => `${name}=${text}`).join('&')).toBe(expected)
})

test('a parameter with a media type is JSON, and reserved characters stay if the document allows them', () => {
  expect(inQuery(parameter('form', true, { json: true }), { a: 1 })).toEqual([['color', '%7B%22a%22%3A1%7D']])
  expect(inQuery(parameter('form', true, { allowReserved: true }), 'a/b:c&d#e')).toEqual([['color', 'a/b:c%26d%23e']])
})

test('a header never has a line break, whatever the value is', () => {
  expect(inHeader(parameter('simple', false, { in: 'header' }), 'a\r\nx-evil: 1 é')).toBe('a%0D%0Ax-evil: 1 %C3%A9')
})
