import type { JsonObject } from '../../lib/json.ts'
import { catalogue } from '../../model/errors.ts'
import { type Operation, parametersOf, routeOf } from '../../operations/operation.ts'
import { type OperationSchemas, refTo, schemasOf } from './schemas.ts'
import { textTypes } from './text-body.ts'

/** The OpenAPI 3.1 document, generated from the operations. */
export function openapi(operations: readonly Operation[], permissions: Iterable<string>, version: string): JsonObject {
  const paths: Record<string, JsonObject> = {}
  const schemas = schemasOf(operations)
  const bodies = new Map<string, JsonObject>()
  for (const operation of operations) {
    const { method, path } = routeOf(operation)
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(operation, schemas, bodies) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Quartermaster',
      version,
      description: 'Tools for AI agents: register them once, control who can call them, and record every call.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/api/v1' }],
    security: [{ key: [] }],
    tags: [...new Set(operations.map(moduleOf))].map((name) => ({ name })),
    'x-permissions': [...permissions].sort(),
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key, sk_…' } },
      schemas: Object.fromEntries(
        [...Object.entries(schemas.components), ...bodies, ['Error', errorSchema] as const].sort(([a], [b]) =>
          a < b ? -1 : 1,
        ),
      ),
      responses: {
        Error: {
          description: 'What went wrong, and what to do next',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      },
    },
  }
}

const errorSchema: JsonObject = {
  description: 'What every error is answered with.',
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'details'],
      properties: {
        code: { type: 'string', enum: Object.keys(catalogue) },
        message: { type: 'string' },
        details: { type: 'object' },
      },
    },
  },
}

export const moduleOf = ({ permission }: Operation): string => permission.split(':')[0] as string

/** `create-tool` as `createTool`. */
export const methodOf = ({ name }: Operation): string =>
  name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/**
 * The names of request bodies that describe a whole record: `NewTool` for `create-tool`, `ToolChanges` for
 * `update-tool`.
 */
function bodyName({ name }: Operation): string | undefined {
  const [, verb, noun = ''] = /^(create|update)-(.+)$/.exec(name) ?? []
  const type = noun.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())
  if (verb === undefined) return undefined
  return verb === 'create' ? `New${type}` : `${type}Changes`
}

/** The body's schema, or a reference to it if it is named. */
function bodySchema(operation: Operation, body: JsonObject, bodies: Map<string, JsonObject>): JsonObject {
  const name = bodyName(operation)
  if (name === undefined) return body
  bodies.set(name, { description: `The body of ${operation.name}.`, ...body })
  return refTo(name)
}

function describe(operation: Operation, schemas: OperationSchemas, bodies: Map<string, JsonObject>): JsonObject {
  const { method, path } = routeOf(operation)
  const inPath = parametersOf(path)
  const {
    properties = {},
    required = [],
    ...rest
  } = schemas.input(operation.input) as {
    properties?: Record<string, JsonObject>
    required?: string[]
  }
  const taken = new Set(inPath.map(({ field }) => field))
  const fields = Object.fromEntries(Object.entries(properties).filter(([name]) => !taken.has(name)))
  const needed = required.filter((field) => field in fields)
  const inBody = method === 'POST' || method === 'PATCH'

  const parameters: JsonObject[] = inPath.map(({ name, field }) => ({
    name,
    in: 'path',
    required: true,
    schema: properties[field] ?? { type: 'string' },
  }))
  if (!inBody && !operation.accepts) {
    for (const [name, schema] of Object.entries(fields)) {
      const { description, ...type } = schema
      parameters.push({
        name,
        in: 'query',
        required: needed.includes(name),
        ...(description !== undefined && { description }),
        schema: type,
      })
    }
  }
  if (method === 'POST') {
    parameters.push({
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description: 'A repeated request with the same key returns the first response',
      schema: { type: 'string', maxLength: 255 },
    })
  }
  return {
    operationId: methodOf(operation),
    tags: [moduleOf(operation)],
    summary: operation.summary,
    'x-permission': operation.permission,
    'x-command': operation.name,
    parameters,
    ...(inBody && {
      requestBody: {
        required: needed.length > 0,
        content: {
          'application/json': {
            schema: bodySchema(
              operation,
              { ...rest, properties: fields, ...(needed.length > 0 && { required: needed }) },
              bodies,
            ),
            ...(operation.example && { example: operation.example }),
          },
          ...(operation.acceptsText && textContent),
        },
      },
    }),
    ...(operation.accepts && {
      requestBody: { required: true, content: { '*/*': { schema: { type: 'string', format: 'binary' } } } },
    }),
    responses: {
      [String(operation.status)]: success(operation, schemas.output(operation.output)),
      ...(operation.later && { '202': later(schemas.output(operation.later)) }),
      default: { $ref: '#/components/responses/Error' },
    },
  }
}

const textContent = Object.fromEntries(textTypes.map((type) => [type, { schema: { type: 'string' } }]))

const later = (schema: JsonObject): JsonObject => ({
  description: 'Not finished: the response contains the current state',
  content: { 'application/json': { schema } },
})

function success(operation: Operation, schema: JsonObject): JsonObject {
  if (operation.status === 204) return { description: 'Done' }
  const description = { 200: 'The response', 201: 'Created', 202: 'Accepted' }[operation.status]
  if (operation.answers === 'bytes') {
    return { description, content: { '*/*': { schema: { type: 'string', format: 'binary' } } } }
  }
  if (operation.answers === 'events')
    return { description: 'Events, each with this as its data', content: { 'text/event-stream': { schema } } }
  return { description, content: { 'application/json': { schema } } }
}
