import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { convert } from './convert.ts'
import { readDocument } from './document.ts'
import type { SecurityRequirements } from './operation.ts'
import { buildRequest } from './request.ts'
import { authenticate, noAuthentication } from './security.ts'
import { serverUrl } from './servers.ts'

const loadFile = async () => ({ bytes: Buffer.from('stored'), contentType: 'image/png', name: 'stored.png' })

/** The request of the only operation of a document. */
async function requestOf(path: string, operation: object, input: JsonObject, method = 'post') {
  const document = { openapi: '3.0.0', paths: { [path]: { [method]: operation } } }
  const { operations } = convert(readDocument(JSON.stringify(document)))
  const [one] = operations
  if (!one) throw new Error('no operation')
  return buildRequest(one, input, { server: 'https://api.test/v1', authentication: noAuthentication, loadFile })
}

const body = (type: string, schema: object, more: object = {}) => ({
  requestBody: { required: true, content: { [type]: { schema, ...more } } },
})

test('a form repeats lists, writes objects as JSON, and follows the encoding of the document', async () => {
  const schema = {
    type: 'object',
    properties: {
      tags: { type: 'array' },
      meta: { type: 'object' },
      card: { type: 'object' },
      name: { type: 'string' },
    },
  }
  const encoding = { encoding: { card: { style: 'deepObject', explode: true } } }

  const request = await requestOf('/a', body('application/x-www-form-urlencoded', schema, encoding), {
    ...{ tags: ['x', 'y'], meta: { a: 1 }, card: { number: '42', owner: { name: 'Ana' } }, name: 'a b' },
  })

  expect(request.headers['content-type']).toBe('application/x-www-form-urlencoded')
  expect(request.body).toBe('tags=x&tags=y&meta=%7B%22a%22%3A1%7D&card[number]=42&card[owner][name]=Ana&name=a%20b')
})

test('a multipart body has text, JSON and files, each with its type', async () => {
  const schema = {
    type: 'object',
    properties: {
      file: { type: 'string', format: 'binary' },
      files: { type: 'array', items: { type: 'string', format: 'binary' } },
      about: { type: 'object' },
      title: { type: 'string' },
    },
  }

  const request = await requestOf('/a', body('multipart/form-data', schema), {
    file: { file_id: 'file_1' },
    files: [{ content_base64: 'aGk=', filename: 'a"b.txt' }, { content_base64: 'aG8=' }],
    about: { a: 1 },
    title: 'Hi',
  })

  const text = Buffer.from(request.body ?? '').toString()
  expect(text).toContain('name="file"; filename="stored.png"\r\nContent-Type: image/png\r\n\r\nstored\r\n')
  expect(text).toContain('name="files"; filename="a%22b.txt"\r\nContent-Type: application/octet-stream\r\n\r\nhi\r\n')
  expect(text).toContain('name="about"\r\nContent-Type: application/json\r\n\r\n{"a":1}\r\n')
  expect(text).toContain('name="title"\r\n\r\nHi\r\n')
})

test.each([
  ['application/octet-stream', { type: 'string', format: 'binary' }, { content_base64: 'aGk=' }, 'hi'],
  ['application/xml', { type: 'object' }, '<a/>', '<a/>'],
  ['text/plain', { type: 'string' }, 'hello', 'hello'],
  ['application/x-www-form-urlencoded', { type: 'string' }, 'a=1&b=2', 'a=1&b=2'],
  ['application/json', { type: 'array', items: { type: 'integer' } }, [1, 2], '[1,2]'],
  ['application/vnd.api+json', { oneOf: [{ type: 'object' }, { type: 'string' }] }, { a: 1 }, '{"a":1}'],
])('a body of type %s is the property "body"', async (type, schema, value, expected) => {
  const request = await requestOf('/a', body(type, schema), { body: value })

  expect(request.headers['content-type']).toBe(type)
  expect(Buffer.from(request.body ?? '').toString()).toBe(expected)
})

test('an optional body is not sent if it is empty', async () => {
  const optional = { requestBody: { content: { 'application/json': { schema: { properties: { a: {} } } } } } }

  expect((await requestOf('/a', optional, {})).body).toBeUndefined()
  expect((await requestOf('/a', optional, { a: 1 })).body).toBe('{"a":1}')
})

test.each(['.', '..', ''])('the value %j cannot change the path', async (id) => {
  await expect(requestOf('/users/{id}/posts', {}, { id }, 'get')).rejects.toThrow(/path|missing/)
})

test('parameters of the same name in the path, the query and the body are told apart', async () => {
  const operation = {
    parameters: [{ name: 'id', in: 'query', schema: { type: 'string' } }],
    ...body('application/json', { type: 'object', properties: { id: { type: 'string' } } }),
  }

  const request = await requestOf('/users/{id}', operation, { id: 'p', query_id: 'q', body_id: 'b' })

  expect(request.url.href).toBe('https://api.test/v1/users/p?id=q')
  expect(request.body).toBe('{"id":"b"}')
})

test('a parameter that is in the query of the path already is sent once', async () => {
  const operation = { parameters: [{ name: 'q', in: 'query', schema: { type: 'string' } }] }

  const request = await requestOf('/search?q={q}', operation, { q: 'lamp', query_q: 'bed' }, 'get')

  expect(request.url.search).toBe('?q=lamp')
})

test('a parameter with a media type is JSON only if that is its type', async () => {
  const parameters = [
    { name: 'id', in: 'path', required: true, content: { '*/*': { schema: { type: 'string' } } } },
    { name: 'q', in: 'query', content: { 'application/json': { schema: { type: 'string' } } } },
  ]

  const request = await requestOf('/a/{id}', { parameters }, { id: 'x', q: 'y' }, 'get')

  expect(request.url.href).toBe('https://api.test/v1/a/x?q=%22y%22')
})

test('a service that requires a user agent gets the one of the caller', async () => {
  const agent = { name: 'User-Agent', in: 'header', required: true, schema: { type: 'string' } }

  const request = await requestOf('/a', { parameters: [agent] }, { 'User-Agent': 'me/1.0' }, 'get')

  expect(request.headers['user-agent']).toBe('me/1.0')
})

test('a service that declares Accept-Encoding gets only what the caller chooses', async () => {
  const encoding = { name: 'Accept-Encoding', in: 'header', schema: { type: 'string', enum: ['base64'] } }

  const chosen = await requestOf('/a', { parameters: [encoding] }, { 'Accept-Encoding': 'base64' }, 'get')
  const unset = await requestOf('/a', { parameters: [encoding] }, {}, 'get')
  const undeclared = await requestOf('/a', {}, {}, 'get')

  expect([chosen, unset, undeclared].map(({ headers }) => headers['accept-encoding'])).toEqual([
    'base64',
    undefined,
    'identity',
  ])
})

test('server variables have their default unless a value is set, and relative servers follow the document', () => {
  const server = {
    url: 'https://{tenant}.api.test/{version}',
    variables: { tenant: { default: 'demo' }, version: { default: 'v2' } },
  }

  expect(serverUrl(server, {})).toBe('https://demo.api.test/v2')
  expect(serverUrl(server, { values: { tenant: 'acme' } })).toBe('https://acme.api.test/v2')
  expect(serverUrl({ url: '../v3/', variables: {} }, { base: 'https://a.test/docs/openapi.json' })).toBe(
    'https://a.test/v3',
  )
  expect(() => serverUrl({ url: 'https://{host}/', variables: {} }, {})).toThrow('"host" has no default')
})

test('credentials go where their scheme says, for the first alternative that is complete', () => {
  const schemes = {
    key: { kind: 'api_key', in: 'query', name: 'api_key' },
    same: { kind: 'api_key', in: 'query', name: 'api_key' },
    cookie: { kind: 'api_key', in: 'cookie', name: 'sid' },
    login: { kind: 'basic' },
    oauth: { kind: 'oauth2' },
  } as const
  const alternatives: SecurityRequirements = [
    { oauth: [], login: [] },
    { key: [], cookie: [] },
  ]

  const both = authenticate(alternatives, schemes, { key: 'k', cookie: 'c', oauth: 't' })
  const basic = authenticate([{ login: [] }], schemes, { login: 'ana:secret' })
  const twice = authenticate([{ key: [], same: [] }], schemes, { key: 'k', same: 'k' })

  expect(twice.query).toEqual([['api_key', 'k']])
  expect(both).toEqual({ headers: {}, query: [['api_key', 'k']], cookies: [['sid', 'c']] })
  expect(basic.headers).toEqual({ authorization: `Basic ${Buffer.from('ana:secret').toString('base64')}` })
})
