import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { Api } from './api.ts'
import { convert } from './convert.ts'
import { readDocument } from './document.ts'
import type { ApiOperation } from './operation.ts'
import { decodeSnapshot, encodeSnapshot } from './snapshot.ts'

const importOf = (document: object, before?: ReadonlyMap<string, string>) =>
  convert(readDocument(JSON.stringify(document)), before)

/** The input schema of an operation whose body has this schema. */
function inputOf(schema: object, schemas: object = {}): JsonObject {
  const post = { operationId: 'it', requestBody: { content: { 'application/json': { schema } } } }
  const api = new Api(importOf({ openapi: '3.0.1', paths: { '/a': { post } }, components: { schemas } }))
  const operation = api.find('it')
  if (!operation) throw new Error('no operation')
  const input = api.schemaOf(operation)
  new Ajv2020({ strict: false }).compile(input)
  return input
}

test('a Swagger 2.0 document is imported like any other', () => {
  const { operations, security, server } = importOf({
    swagger: '2.0',
    host: 'api.test',
    basePath: '/v1',
    schemes: ['https'],
    securityDefinitions: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
    security: [{ key: [] }],
    paths: {
      '/pets': {
        post: {
          operationId: 'addPet',
          consumes: ['application/json'],
          parameters: [
            {
              in: 'body',
              name: 'pet',
              required: true,
              schema: { type: 'object', properties: { name: { type: 'string' } } },
            },
            { in: 'query', name: 'tags', type: 'array', items: { type: 'string' }, collectionFormat: 'csv' },
          ],
        },
      },
    },
  })

  expect(server?.url).toBe('https://api.test/v1')
  expect(security).toMatchObject({ key: { kind: 'api_key', in: 'header', name: 'X-Key' } })
  expect(operations[0]).toMatchObject({
    name: 'addPet',
    schema: { properties: { tags: { type: 'array' }, name: { type: 'string' } } },
    parameters: [{ name: 'tags', explode: false }],
  })
})

test('the parts of an allOf become one flat object, without fields of responses', () => {
  const input = inputOf(
    {
      allOf: [{ $ref: '#/components/schemas/Base' }, { properties: { name: { type: 'string' } }, required: ['name'] }],
    },
    {
      Base: {
        type: 'object',
        required: ['id', 'kind'],
        properties: { id: { readOnly: true }, kind: { type: 'string' } },
      },
    },
  )

  expect(Object.keys(input.properties as object)).toEqual(['kind', 'name'])
  expect(input.required).toEqual(['kind', 'name'])
})

test('a union is never at the top of an input', () => {
  const input = inputOf({
    oneOf: [
      { type: 'object', properties: { a: {} } },
      { type: 'array', items: {} },
    ],
  })

  expect(Object.keys(input)).not.toContain('anyOf')
  expect(input).toMatchObject({
    type: 'object',
    properties: { body: { anyOf: [{ type: 'object' }, { type: 'array' }] } },
  })
})

test('faulty schemas are corrected, so that no provider refuses them', () => {
  const input = inputOf(
    {
      type: 'object',
      required: ['a', 'unknown', 7],
      properties: {
        a: { type: 'int', enum: ['1', 2, 2], minimum: '0' },
        list: { type: 'array' },
        status: { type: ['string', 'null'], enum: ['open', null] },
        text: { type: 'string', pattern: '/^[a-z]+$/', enum: [], maxLength: -1 },
        broken: { type: 'string', pattern: '(' },
        escaped: { type: 'string', pattern: '^{[\\w\\-\\_]{2}\\-\\:}$' },
        above: { type: 'number', minimum: 10, exclusiveMinimum: true },
        choice: { type: 'string', enum: ['', 'x', true] },
        any: { type: 'any', required: true },
        lost: { $ref: '#/components/schemas/Nowhere' },
        loop: { $ref: '#/components/schemas/Loop' },
        __proto__x: { type: 'string' },
        'a[b]': { type: 'string' },
      },
    },
    { Loop: { $ref: '#/components/schemas/Loop' } },
  )

  expect(input.properties).toMatchObject({
    a: { type: 'integer', description: 'One of 1, 2', minimum: 0 },
    status: { type: ['string', 'null'], enum: ['open'] },
    list: { type: 'array', items: {} },
    text: { type: 'string', pattern: '^[a-z]+$' },
    broken: { type: 'string' },
    escaped: { type: 'string', pattern: '^\\{[\\w\\-_]{2}-:\\}$' },
    above: { type: 'number', exclusiveMinimum: 10 },
    choice: { enum: ['x', 'true'] },
    unknown: {},
    a_b: { type: 'string' },
  })
  expect(input.required).toEqual(['a', 'unknown'])
})

test('a parameter keeps its choices of numbers beside its description', () => {
  const parameters = [
    { name: 'version', in: 'query', description: 'The version.', schema: { type: 'integer', enum: [2, 3] } },
    { name: 'size', in: 'query', description: 'The size.', schema: { $ref: '#/components/schemas/Size' } },
  ]
  const schemas = { Size: { type: 'integer', enum: [10, 20] } }
  const paths = { '/a': { get: { operationId: 'it', parameters } } }

  const api = new Api(importOf({ openapi: '3.0.3', components: { schemas }, paths }))
  const { properties, $defs } = api.schemaOf(api.snapshot.operations[0] as ApiOperation)

  expect(properties).toMatchObject({
    version: { type: 'integer', description: 'The version. One of 2, 3' },
    size: { $ref: '#/$defs/Size', description: 'The size.' },
  })
  expect($defs).toEqual({ Size: { type: 'integer', description: 'One of 10, 20' } })
})

test('a field named __proto__ is a field like any other', () => {
  const text =
    '{"openapi":"3.1.0","paths":{"/a":{"post":{"operationId":"it","requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"__proto__":{"type":"string"},"in":{"type":"object","properties":{"__proto__":{"type":"string"}}}}}}}}}}}}'

  const { operations } = convert(readDocument(text))

  expect(Object.keys(operations[0]?.schema.properties as object)).toEqual(['proto', 'in'])
  expect(({} as { type?: string }).type).toBeUndefined()
})

test('an operation keeps the name of the last import, and a new one cannot take it', () => {
  const before = new Map([['GET /a', 'list']])

  const { operations } = importOf(
    { openapi: '3.1.0', paths: { '/a': { get: { operationId: 'renamed' } }, '/b': { get: { operationId: 'list' } } } },
    before,
  )

  expect(operations.map(({ name }) => name)).toEqual(['list', expect.stringMatching(/^list_[0-9a-f]{8}$/)])
})

test('a credential that is declared as a parameter, too, is not offered to the model', () => {
  const { operations } = importOf({
    openapi: '3.0.0',
    components: { securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'api_key' } } },
    paths: {
      '/a': { get: { parameters: [{ name: 'api_key', in: 'query', required: true, schema: { type: 'string' } }] } },
    },
  })

  expect(operations[0]?.schema.properties).toEqual({})
  expect(operations[0]?.security).toEqual([{ key: [] }])
})

test('what was stored is what was imported', async () => {
  const schema = { type: 'object', properties: { tree: { $ref: '#/components/schemas/Tree' } } }
  const Tree = { type: 'object', properties: { name: { type: 'string' }, left: { $ref: '#/components/schemas/Tree' } } }
  const post = { requestBody: { content: { 'application/json': { schema } } } }
  const snapshot = importOf({ openapi: '3.0.0', paths: { '/a': { post } }, components: { schemas: { Tree } } })

  const stored = await decodeSnapshot(encodeSnapshot(snapshot).bytes)

  const [before, after] = [new Api(snapshot), new Api(stored)]
  expect(stored.operations).toEqual(snapshot.operations)
  expect(after.schemaOf(stored.operations[0] as never)).toEqual(before.schemaOf(snapshot.operations[0] as never))
})
