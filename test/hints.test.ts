import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import type { CallRow } from '../src/db/tables.ts'
import { newId } from '../src/model/ids.ts'
import { startListening } from './clients.ts'
import { engines, freshStore } from './engines.ts'
import { adminKey, startService } from './kit.ts'

type Listening = Awaited<ReturnType<typeof startListening>>

const properties = {
  channel: { type: 'string' },
  workspace: { type: 'string' },
  priority: { type: 'string', enum: ['low', 'high'] },
  email: { type: 'string' },
}

/** One action that posts to a channel, on a server in agent mode. */
async function start(preset_parameters: object = {}) {
  const service = await startService(({ body }) => (body.includes('#gone') ? { status: 500 } : undefined))
  const platform = await startListening()
  const tool = {
    name: 'post-message',
    description: 'Post a message to a channel',
    app: 'slack',
    parameters: { type: 'object', properties },
    execute: { url: service.url },
    preset_parameters,
  }
  const { status, body } = await platform.post('/tools', tool)
  expect(status, JSON.stringify(body)).toBe(201)
  await platform.post('/servers', { slug: 's', agent_mode: true })
  return {
    ...platform,
    toolId: body.id as string,
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
    },
  }
}

async function connect(platform: Listening, key = adminKey) {
  const client = new Client({ name: 'tester', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const headers = { authorization: `Bearer ${key}` }
  const url = new URL(`${platform.url}/mcp/s`)
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
  const call = async (name: string, input: object) => {
    const { content } = await client.callTool({ name, arguments: input as Record<string, unknown> })
    return JSON.parse((content as { text: string }[])[0]?.text ?? 'null')
  }
  return {
    execute: (input_payload: object, action = { application_slug: 'slack', action_id: 'post-message' }) =>
      call('EXECUTE_ACTION', { ...action, type: 'action', input_payload }),
    schema: async (request = 'Post message Slack') =>
      (await call('RESOLVE_ACTIONS', { integration_query: [request] }))[0].json_schema.properties,
    [Symbol.asyncDispose]: () => client.close(),
  }
}

test('values of earlier successful calls are shown as examples, except personal data', async () => {
  await using platform = await start()
  await using client = await connect(platform)
  const before = await client.schema()

  await client.execute({ channel: '#ops', priority: 'high', email: 'jane@example.com' })
  await client.execute({ channel: '#gone' })

  expect(before).toEqual(properties)
  expect(await client.schema()).toEqual({ ...properties, channel: { type: 'string', examples: ['#ops'] } })
})

test('values that one key sent are not shown as examples to another key', async () => {
  await using platform = await start()
  const other = await platform.keyFor([{ effect: 'Allow', action: ['*'], resource: ['*'] }])
  await using mine = await connect(platform)
  await using theirs = await connect(platform, other)

  await mine.execute({ channel: '#ops' })

  expect(await theirs.schema()).toEqual(properties)
})

test('the value of a removed preset is not shown as an example', async () => {
  await using platform = await start({ workspace: 'acme' })
  await using client = await connect(platform)
  await client.execute({ channel: '#ops' })
  const hidden = await client.schema()

  await platform.patch(`/tools/${platform.toolId}`, { preset_parameters: {} })
  const shown = await client.schema()

  expect(JSON.stringify(hidden)).not.toContain('workspace')
  expect(shown).toEqual(properties)
})

describe('a required id', () => {
  const action = (name: string, description: string, required: string[] = []) => ({
    ...{ name, description, app: 'crm' },
    parameters: {
      type: 'object',
      properties: { customer_id: { type: 'string', description: 'Whose it is' }, note: { type: 'string' } },
      required,
    },
  })

  async function startCrm(names: readonly string[]) {
    // read-mail returns the customer id in its response. No request contains it.
    const service = await startService(({ url }) =>
      url.includes('read-mail') ? { body: '{"from":"cus_4711"}' } : undefined,
    )
    const platform = await startListening()
    const tools = [
      action('create-invoice', 'Create an invoice for a customer', ['customer_id', 'note']),
      ...names.map((name) => action(name, name.replaceAll('-', ' '), name === 'get-customer' ? ['customer_id'] : [])),
    ]
    for (const tool of tools) {
      const { status, body } = await platform.post('/tools', {
        ...tool,
        execute: { url: `${service.url}/${tool.name}` },
      })
      expect(status, JSON.stringify(body)).toBe(201)
    }
    await platform.post('/servers', { slug: 's', agent_mode: true })
    return {
      ...platform,
      async [Symbol.asyncDispose]() {
        await platform[Symbol.asyncDispose]()
        await service[Symbol.asyncDispose]()
      },
    }
  }

  test('has a hint which action of the same app returns it', async () => {
    await using platform = await startCrm(['get-customer', 'list-customers', 'search-customers', 'search-orders'])
    await using client = await connect(platform)

    const schema = await client.schema('Create invoice crm')

    expect(schema).toEqual({
      customer_id: { type: 'string', description: 'Whose it is. May come from `search-customers`.' },
      note: { type: 'string' },
    })
  })

  test('has no hint if the only candidates require the id themselves or are about something else', async () => {
    await using platform = await startCrm(['get-customer', 'search-orders', 'delete-customers'])
    await using client = await connect(platform)

    const schema = await client.schema('Create invoice crm')

    expect(schema.customer_id.description).toBe('Whose it is')
  })

  test('has a hint which action it usually comes from, once callers have sent values from its responses', async () => {
    await using platform = await startCrm(['search-customers', 'read-mail', 'list-orders'])
    await using client = await connect(platform)
    const sends = (action_id: string, input_payload: object) =>
      client.execute(input_payload, { application_slug: 'crm', action_id })

    await sends('read-mail', { note: 'newest' })
    await sends('list-orders', { note: 'nothing' })
    await sends('create-invoice', { customer_id: 'cus_4711', note: 'rent' })
    const schema = await client.schema('Create invoice crm')

    expect(schema.customer_id.description).toBe('Whose it is. Usually comes from `read-mail`.')
    expect(JSON.stringify(schema)).not.toContain('cus_4711')
  })

  test('has no hint to an action that only received the value', async () => {
    await using platform = await startCrm(['read-mail'])
    await using client = await connect(platform)
    await client.execute({ customer_id: 'cus_4711' }, { application_slug: 'crm', action_id: 'read-mail' })
    await client.execute(
      { customer_id: 'cus_4711', note: 'x' },
      { application_slug: 'crm', action_id: 'create-invoice' },
    )

    expect((await client.schema('Create invoice crm')).customer_id.description).toBe('Whose it is')
  })

  test('has no hint to an action that the caller is not allowed to use', async () => {
    await using platform = await startCrm(['list-customers', 'search-customers'])
    const { body } = await platform.get('/tools')
    const hidden = body.data.find(({ name }: { name: string }) => name === 'search-customers')
    const key = await platform.keyFor([
      { effect: 'Allow', action: ['*'], resource: ['*'] },
      { effect: 'Deny', action: ['*'], resource: [`qm:*:tool:${hidden.id}`] },
    ])
    await using client = await connect(platform, key)

    const schema = await client.schema('Create invoice crm')

    expect(schema.customer_id.description).toBe('Whose it is. May come from `list-customers`.')
  })
})

describe.each(engines)('the inputs of recorded calls on %s', (engine) => {
  const row = (fields: Partial<CallRow>): CallRow => ({
    ...{
      id: newId('call'),
      project_id: 'proj_1',
      parent_call_id: null,
      generation_id: null,
      server_id: null,
      agent_id: null,
      tool_id: 'tool_1',
      tool: 'a',
      app: 'a',
    },
    ...{
      action: 'tools:a',
      status: 'success',
      principal_kind: 'api_key',
      principal_id: 'key_1',
      principal_name: 'Ada',
    },
    ...{ surface: 'mcp', client_name: null, client_version: null, request: '{}' },
    ...{ request_truncated: 0, preset_keys: null, response: null, response_truncated: 0, error: null },
    ...{ duration_ms: 1, waited_ms: null, mode: null, created_at: 5, completed_at: 6 },
    ...fields,
  })

  test('include only successful calls of one principal, in one project, to the given tools', async () => {
    await using database = await freshStore(engine)
    const { calls } = database.store
    for (const fields of [
      { request: '{"n":1}' },
      { request: '{"n":2}', project_id: 'proj_2' },
      { request: '{"n":3}', principal_id: 'key_2' },
      { request: '{"n":4}', tool_id: 'tool_2' },
      { request: '{"n":5}', status: 'execution_error' },
      { request: '{"n":', request_truncated: 1 },
      { request: '{"n":7}' },
    ]) {
      await calls.refuse(row(fields))
    }

    const inputs = await calls.inputs('proj_1', 'key_1', ['tool_1'])

    expect(inputs).toMatchObject(
      [7, 1].map((n) => ({ tool_id: 'tool_1', action: 'tools:a', created_at: 5, input: { n } })),
    )
    expect(await calls.inputs('proj_1', 'key_1', [])).toEqual([])
  })
})
