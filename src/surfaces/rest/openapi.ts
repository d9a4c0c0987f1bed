import type { z } from 'zod'
import type { Json, JsonObject } from '../../lib/json.ts'
import { catalogue } from '../../model/errors.ts'
import { permissions } from '../../operations/index.ts'
import { inputSchema, outputSchema } from '../../operations/json-schema.ts'
import { type Operation, parametersOf, routeOf } from '../../operations/operation.ts'

/** The OpenAPI 3.1 document, read off the operations. */
export function openapi(operations: readonly Operation[], version: string): JsonObject {
  const paths: Record<string, JsonObject> = {}
  for (const operation of operations) {
    const { method, path } = routeOf(operation)
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(operation) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Quartermaster',
      version,
      description: 'Tools for AI agents: registered once, issued to whoever may have them, and every call recorded.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/api/v1' }],
    security: [{ key: [] }],
    tags: [...new Set(operations.map(moduleOf))].map((name) => ({ name })),
    'x-permissions': [...permissions].sort(),
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key, sk_…' } },
      schemas: {
        Error: {
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
        },
      },
      responses: {
        Error: {
          description: 'What went wrong, and what to do next',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      },
    },
  }
}

export const moduleOf = ({ permission }: Operation): string => permission.split(':')[0] as string

/** `create-tool` as `createTool`. */
export const methodOf = ({ name }: Operation): string =>
  name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

function describe(operation: Operation): JsonObject {
  const { method, path } = routeOf(operation)
  const inPath = parametersOf(path)
  const {
    properties = {},
    required = [],
    ...rest
  } = inputSchema(operation) as {
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
      description: 'A repeat with the same key gets the first answer again',
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
            schema: { ...rest, properties: fields, ...(needed.length > 0 && { required: needed }) } as Json,
            ...(operation.example && { example: operation.example }),
          },
        },
      },
    }),
    ...(operation.accepts && {
      requestBody: { required: true, content: { '*/*': { schema: { type: 'string', format: 'binary' } } } },
    }),
    responses: {
      [String(operation.status)]: success(operation),
      ...(operation.later && { '202': later(operation.later) }),
      default: { $ref: '#/components/responses/Error' },
    },
  }
}

const later = (schema: z.ZodType): JsonObject => ({
  description: 'Not done yet: this tells how it stands',
  content: { 'application/json': { schema: outputSchema({ output: schema }) } },
})

function success(operation: Operation): JsonObject {
  if (operation.status === 204) return { description: 'Done' }
  const schema = outputSchema(operation)
  const description = operation.status === 201 ? 'Created' : 'The answer'
  if (operation.answers === 'bytes') {
    return { description, content: { '*/*': { schema: { type: 'string', format: 'binary' } } } }
  }
  if (operation.answers === 'events')
    return { description: 'Events, each with this as its data', content: { 'text/event-stream': { schema } } }
  return { description, content: { 'application/json': { schema: schema } } }
}
