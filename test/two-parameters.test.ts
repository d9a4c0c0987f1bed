import { expect, test } from 'vitest'
import { z } from 'zod'
import { printCommands } from '../scripts/print/commands.ts'
import { fieldsOf } from '../scripts/print/fields.ts'
import { printSdk, type Spec } from '../scripts/print/sdk.ts'
import { newId } from '../src/model/ids.ts'
import type { Principal } from '../src/model/principal.ts'
import { operation } from '../src/operations/operation.ts'
import { fetchFrom } from '../src/server/fetch-exchange.ts'
import { createRouter } from '../src/server/router.ts'
import { openapi } from '../src/surfaces/rest/openapi.ts'
import { reference } from '../src/surfaces/rest/reference.ts'
import { type RestDeps, restRoutes } from '../src/surfaces/rest/rest.ts'

const submit = operation({
  name: 'submit-tool-outputs',
  permission: 'agents:SubmitToolOutputs',
  route: 'POST /agents/{agent_id}/generate/{generation_id}/tool-outputs',
  summary: 'Hand in what client tools answered',
  example: { outputs: ['42'] },
  input: z.strictObject({ id: z.string(), generation_id: z.string(), outputs: z.array(z.string()) }),
  output: z.unknown(),
  run: async (input) => input,
})

const agent = newId('agt')

/** REST with only this operation, for a caller with all permissions. */
const find = createRouter(
  restRoutes({
    operations: [submit],
    parts: {},
    admit: async () => ({ caller: { principal: { id: 'key_1' } as Principal }, headers: {} }),
    metrics: { answered: () => {} },
    bodyLimit: 10_000,
    closing: new AbortController().signal,
  } as unknown as RestDeps),
)

const post = async (body: object) => {
  const request = new Request(`http://platform.test/agents/${agent}/generate/gen_2/tool-outputs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const response = await fetchFrom((exchange) => {
    const match = find(exchange.method, exchange.path)
    return match?.handle(exchange, match.params)
  }, request)
  return { status: response.status, body: JSON.parse(await response.text()) }
}

test('in a path with two parameters, the first is the id, and the second the field of its name', async () => {
  expect(await post({ outputs: ['42'] })).toEqual({
    status: 200,
    body: { id: agent, generation_id: 'gen_2', outputs: ['42'] },
  })
})

test('a parameter of the path is refused in the body', async () => {
  const { status, body } = await post({ generation_id: 'gen_3', outputs: [] })

  expect(status).toBe(400)
  expect(body.error.details.errors).toEqual([{ path: 'generation_id', message: expect.stringContaining('path') }])
})

test('the OpenAPI document has both parameters in the path and neither in the body', () => {
  const { paths } = openapi([submit], [], '1') as unknown as {
    paths: Record<string, { post: { parameters: { name: string; in: string }[]; requestBody: object } }>
  }
  const { parameters, requestBody } = Object.values(paths)[0]?.post ?? { parameters: [], requestBody: {} }

  expect(parameters.filter((one) => one.in === 'path').map(({ name }) => name)).toEqual(['agent_id', 'generation_id'])
  expect(JSON.stringify(requestBody)).not.toContain('generation_id')
  expect(JSON.stringify(requestBody)).not.toContain('"id"')
})

test('the SDK, the CLI and the reference have both parameters', () => {
  expect(fieldsOf(submit).map(({ name, where }) => [name, where])).toEqual([
    ['agent_id', 'path'],
    ['generation_id', 'path'],
    ['outputs', 'body'],
  ])
  expect(printSdk(openapi([submit], [], '1') as unknown as Spec)).toContain(
    'path: { agent_id: string; generation_id: string }',
  )
  expect(printCommands([submit])).toContain("name: 'generation_id'")
  expect(reference([submit], '1')).toContain('/agents/$AGENT_ID/generate/$GENERATION_ID/tool-outputs')
})

test('models can use the names of both parameters as in the path', () => {
  expect(submit.aliases).toEqual({ agent_id: 'id', agentId: 'id', generationId: 'generation_id' })
})
