import SwaggerParser from '@apidevtools/swagger-parser'
import { expect, test } from 'vitest'
import { builtIn, operations, permissions } from '../src/operations/index.ts'
import { namedSchemasOf } from '../src/operations/named-schemas.ts'
import { openapi } from '../src/surfaces/rest/openapi.ts'
import { reference } from '../src/surfaces/rest/reference.ts'
import { startPlatform } from './kit.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is plain JSON
const spec = openapi(operations, permissions, '1') as any
const { schemas } = spec.components
const prefix = '#/components/schemas/'
const ref = (name: string) => ({ $ref: prefix + name })
const json = (response: { content: Record<string, { schema: unknown }> }) =>
  response.content['application/json']?.schema

/** Every `$ref` in a document, at any depth. */
const refsIn = (value: unknown): string[] =>
  [...JSON.stringify(value).matchAll(/"\$ref":"([^"]+)"/g)].map(([, target]) => target as string)

test('the OpenAPI document has named schemas for the requests and responses of operations', () => {
  const { get: getTool, patch: updateTool } = spec.paths['/tools/{tool_id}']
  const { get: listTools, post: createTool } = spec.paths['/tools']

  expect(json(createTool.requestBody)).toEqual(ref('NewTool'))
  expect(json(createTool.responses[201])).toEqual(ref('Tool'))
  expect(json(updateTool.requestBody)).toEqual(ref('ToolChanges'))
  expect(json(getTool.responses[200])).toEqual(ref('Tool'))
  expect(json(listTools.responses[200])).toEqual(ref('ToolPage'))
  expect(schemas.ToolPage.properties.data).toEqual({ type: 'array', items: ref('Tool') })
  expect(Object.keys(schemas)).toEqual(
    expect.arrayContaining(
      'Tool Server Call Agent Generation Approval ApprovalRule ApiKey AccessPolicy Project Skill Document File AiProvider Webhook WebhookDelivery'.split(
        ' ',
      ),
    ),
  )
})

test('a schema whose request form is more permissive than its response form has a name for each', () => {
  expect(schemas.NewAccessPolicy.properties.document).toEqual(ref('PolicyDocumentInput'))
  expect(schemas.AccessPolicy.properties.document).toEqual(ref('PolicyDocument'))
  expect(schemas.PolicyDocumentInput.properties.statement.items).toEqual(ref('PolicyStatementInput'))
  expect(schemas.PolicyStatementInput.required).not.toContain('resource')
  expect(schemas.PolicyStatement.required).toContain('resource')
})

test('every reference in the OpenAPI document resolves, and every named schema is used', async () => {
  const used = new Set(refsIn(spec))
  const named = Object.keys(schemas).map((name) => prefix + name)

  for (const target of used) {
    const found = target
      .slice(2)
      .split('/')
      .reduce((at, key) => at?.[key], spec)
    expect(found, target).toBeDefined()
  }
  expect(named.filter((name) => !used.has(name))).toEqual([])
  for (const name of Object.keys(namedSchemasOf(operations))) {
    expect(`${name in schemas || `${name}Input` in schemas}`, `no operation uses ${name}`).toBe('true')
  }
  await expect(SwaggerParser.validate(structuredClone(spec))).resolves.toBeDefined()
})

test('responses that create, update, get or list records have named schemas', () => {
  const crud = operations.filter(({ name, answers }) => /^(create|update|get|list)-/.test(name) && !answers)
  const unnamed = crud.filter(({ route, status }) => {
    const [method = '', path = ''] = route.split(' ')
    const schema = json(spec.paths[path][method.toLowerCase()].responses[status]) as { $ref?: string }
    return schema.$ref === undefined
  })

  expect(
    unnamed.map(({ name }) => name),
    'add the response schemas of these operations to src/operations/named-schemas.ts',
  ).toEqual([])
})

test('models get schemas without external references', () => {
  for (const { name, schema } of builtIn.platformActions.values()) {
    expect(
      refsIn(schema).filter((target) => !target.startsWith('#/$defs/')),
      name,
    ).toEqual([])
  }
})

test('the reference page links to named types instead of repeating them', async () => {
  await using platform = await startPlatform()
  const page = await (await platform.fetch('/api/docs')).text()

  const links = [...page.matchAll(/href="#(type-\w+)"/g)].map(([, id]) => id as string)
  expect(links).toContain('type-Tool')
  for (const id of new Set(links)) expect(page.split(`id="${id}"`)).toHaveLength(2)
  expect(reference(operations, '1').split('preset_parameters&quot;: {').length).toBeLessThan(6)
})
