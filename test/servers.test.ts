import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey, startService, type TestPlatform } from './kit.ts'
import { echo, startUpstream, type UpstreamTool } from './upstream.ts'

type Listening = Awaited<ReturnType<typeof startListening>>
type Era = 'legacy' | 'auto'

/** An MCP client connected to a server of the platform. */
async function connect(platform: Listening, slug: string, era: Era = 'auto', key = adminKey) {
  const client = new Client({ name: 'tester', version: '1' }, { versionNegotiation: { mode: era } })
  const headers = { authorization: `Bearer ${key}` }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${platform.url}/mcp${slug && `/${slug}`}`), {
      requestInit: { headers },
    }),
  )
  return {
    client,
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name: string, args: Record<string, unknown> = {}) => {
      const result = await client.callTool({ name, arguments: args })
      const [first] = result.content as { type: string; text: string }[]
      return {
        result,
        isError: result.isError === true,
        text: first?.text ?? '',
        json: () => JSON.parse(first?.text ?? 'null'),
      }
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

const serve = async (platform: TestPlatform, slug: string, fields: object = {}) => {
  const { status, body } = await platform.post('/servers', { slug, ...fields })
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id as string
}

const action = (name: string, properties: Record<string, object> = {}, description?: string): UpstreamTool => ({
  name,
  ...(description && { description }),
  inputSchema: { type: 'object', properties } as UpstreamTool['inputSchema'],
})

/** Two apps, each with its own MCP server. */
async function twoApps(platform: TestPlatform) {
  const salesforce = await startUpstream([
    action('get_contacts', { where: { type: 'string' }, order_by: { type: 'string' } }, 'Get contacts'),
    action('create_contact', { email: { type: 'string' } }, 'Create a contact'),
    action('list_deals', {}, 'List deals'),
  ])
  const hubspot = await startUpstream([
    action('create_note', { text: { type: 'string' } }, 'Create a note'),
    action('list_owners'),
  ])
  await platform.post('/tools', { name: 'salesforce', type: 'mcp', mcp: { url: salesforce.url } })
  await platform.post('/tools', { name: 'hubspot', type: 'mcp', mcp: { url: hubspot.url } })
  return {
    salesforce,
    hubspot,
    async [Symbol.asyncDispose]() {
      await salesforce[Symbol.asyncDispose]()
      await hubspot[Symbol.asyncDispose]()
    },
  }
}

describe.each(['legacy', 'auto'] as const)('an MCP client of the %s era', (era) => {
  test('sees one tool for each action, named after app and action (S0.1) (S0.2) (S0.3) (S0.5) (S0.8) (S0.9)', async () => {
    await using platform = await startListening()
    await using _apps = await twoApps(platform)
    await serve(platform, 'crm')
    await using crm = await connect(platform, 'crm', era)

    expect((await crm.names()).sort()).toEqual([
      'hubspot_create_note_action',
      'hubspot_list_owners_action',
      'salesforce_create_contact_action',
      'salesforce_get_contacts_action',
      'salesforce_list_deals_action',
    ])
  })

  test('calls an action with its fields or with input_payload, and cannot change which action is called (S0.10) (S0.11) (S0.12)', async () => {
    await using platform = await startListening()
    await using apps = await twoApps(platform)
    await serve(platform, 'crm')
    await using crm = await connect(platform, 'crm', era)
    const name = 'salesforce_create_contact_action'

    await crm.call(name, { email: 'a@example.com' })
    await crm.call(name, { input_payload: { email: 'b@example.com' } })
    await crm.call(name, { input_payload: '{"email":"c@example.com"}' })
    await crm.call(name, {
      email: 'd@example.com',
      application_slug: 'hubspot',
      action_id: 'create_note',
      type: 'workflow',
    })
    const broken = await crm.call(name, { input_payload: '{"email":' })

    expect(apps.salesforce.calls.map(({ name, input }) => [name, input.email])).toEqual([
      ['create_contact', 'a@example.com'],
      ['create_contact', 'b@example.com'],
      ['create_contact', 'c@example.com'],
      ['create_contact', 'd@example.com'],
    ])
    expect(apps.hubspot.calls).toEqual([])
    expect(broken.isError).toBe(true)
    expect(broken.json().error.code).toBe('VALIDATION_FAILED')
  })

  test('gets two tools in agent mode, to resolve and execute actions (S0.4) (S0.13) (S0.15) (S0.16) (S0.17) (S0.18) (S0.20) (S0.21) (S0.28) (S0.29)', async () => {
    await using platform = await startListening()
    await using apps = await twoApps(platform)
    await serve(platform, 'crm', { agent_mode: true })
    await using crm = await connect(platform, 'crm', era)

    const plan = (
      await crm.call('RESOLVE_ACTIONS', { integration_query: ['List Contacts Salesforce', 'Create Note HubSpot'] })
    ).json()
    const done = await crm.call('EXECUTE_ACTION', {
      application_slug: plan[1].slug,
      action_id: plan[1].identifier,
      type: plan[1].type,
      input_payload: { text: 'hi' },
    })

    expect(await crm.names()).toEqual(['RESOLVE_ACTIONS', 'EXECUTE_ACTION'])
    expect(plan).toMatchObject([
      {
        slug: 'salesforce',
        type: 'action',
        identifier: 'get_contacts',
        json_schema: { properties: { where: { type: 'string' } } },
      },
      { slug: 'hubspot', type: 'action', identifier: 'create_note' },
    ])
    expect(done.json()).toEqual({ success: true, data: { text: 'hi' } })
    expect(apps.hubspot.calls).toEqual([{ name: 'create_note', input: { text: 'hi' } }])
  })

  test('gets skill tools if they are enabled, in both modes (S0.6) (S0.7)', async () => {
    await using platform = await startListening()
    await using _apps = await twoApps(platform)
    await serve(platform, 'direct', { retrieve_skill: true, apps: [{ slug: 'hubspot' }] })
    await serve(platform, 'agent', { retrieve_skill: true, agent_mode: true })
    await using direct = await connect(platform, 'direct', era)
    await using agent = await connect(platform, 'agent', era)

    expect(await direct.names()).toEqual([
      'GET_KNOWLEDGE_INDEX',
      'LOAD_SKILL',
      'hubspot_create_note_action',
      'hubspot_list_owners_action',
    ])
    expect(await agent.names()).toEqual(['GET_KNOWLEDGE_INDEX', 'LOAD_SKILL', 'RESOLVE_ACTIONS', 'EXECUTE_ACTION'])
  })

  test('gets errors of tools and of the platform as results, and only protocol errors as JSON-RPC errors', async () => {
    const failing: UpstreamTool = {
      ...echo,
      name: 'fail',
      run: () => ({ content: [{ type: 'text', text: 'disk full' }], isError: true }),
    }
    await using upstream = await startUpstream([echo, failing])
    await using platform = await startListening()
    await platform.post('/tools', { name: 'up', type: 'mcp', mcp: { url: upstream.url } })
    await serve(platform, 's')
    await using client = await connect(platform, 's', era)

    expect(await client.call('up_echo_action', { text: 'hi' })).toMatchObject({ isError: false, text: '{"text":"hi"}' })
    expect(await client.call('up_fail_action', { text: 'x' })).toMatchObject({ isError: true, text: 'disk full' })
    const invalid = await client.call('up_echo_action', { text: 7 })
    expect(invalid.isError).toBe(true)
    expect(invalid.json().error).toMatchObject({ code: 'VALIDATION_FAILED', details: { errors: [{ path: 'text' }] } })
    await expect(client.call('up_eco_action')).rejects.toThrow(/up_echo_action/)
  })
})

describe('a server', () => {
  test('exposes only the apps and actions it lists, and only those the caller can call', async () => {
    await using platform = await startListening()
    await using _apps = await twoApps(platform)
    await serve(platform, 'narrow', { apps: [{ slug: 'salesforce', actions: ['list_deals'] }] })
    await serve(platform, 'all')
    const [salesforce] = (await platform.get('/tools?name=salesforce')).body.data
    const key = await platform.keyFor([
      { effect: 'Allow', action: ['servers:UseServer'] },
      { effect: 'Allow', action: ['tools:CallTool'], resource: [`qm:*:tool:${salesforce.id}`] },
    ])
    await using narrow = await connect(platform, 'narrow')
    await using limited = await connect(platform, 'all', 'auto', key)

    expect(await narrow.names()).toEqual(['salesforce_list_deals_action'])
    expect((await limited.names()).every((name) => name.startsWith('salesforce_'))).toBe(true)
    await expect(limited.call('hubspot_create_note_action')).rejects.toThrow(/no tool/)
  })

  test('exposes http and platform tools, without their presets', async () => {
    await using service = await startService()
    await using platform = await startListening()
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string' }, units: { type: 'string' } },
      required: ['city', 'units'],
    }
    await platform.post('/tools', {
      name: 'get-weather',
      description: 'Weather',
      app: 'weather',
      execute: { url: service.url },
      parameters,
      preset_parameters: { units: 'metric' },
    })
    await platform.post('/tools', { name: 'docs', type: 'platform', actions: ['create-document'] })
    await platform.post('/tools', { name: 'local', type: 'client', parameters: {} })
    await serve(platform, 's')
    await using client = await connect(platform, 's')

    const { tools } = await client.client.listTools()
    const answered = await client.call('weather_get_weather_action', { city: 'Recife', units: 'imperial' })
    const made = await client.call('docs_create_document_action', { path: '/a.md', content: 'x' })

    expect(tools.map(({ name }) => name)).toEqual(['docs_create_document_action', 'weather_get_weather_action'])
    expect(tools[1]).toMatchObject({
      description: 'Weather',
      inputSchema: { properties: { city: { type: 'string' } }, required: ['city'] },
    })
    expect(JSON.stringify(tools[1])).not.toContain('units')
    expect(answered.json()).toEqual({ ok: true })
    expect(JSON.parse(service.received[0]?.body ?? '')).toEqual({ city: 'Recife', units: 'metric' })
    expect(made.json().id).toMatch(/^doc_/)
  })

  test('can keep the original names of actions', async () => {
    await using platform = await startListening()
    await using _apps = await twoApps(platform)
    await serve(platform, 's', { tool_names: 'original', apps: [{ slug: 'hubspot' }] })
    await using client = await connect(platform, 's')

    expect(await client.names()).toEqual(['create_note', 'list_owners'])
  })

  test('is recorded with its calls, which can be filtered by server', async () => {
    await using platform = await startListening()
    await using _apps = await twoApps(platform)
    const direct = await serve(platform, 'direct')
    const agents = await serve(platform, 'agents', { agent_mode: true })
    await using client = await connect(platform, 'direct')
    await using agent = await connect(platform, 'agents')

    await client.call('salesforce_list_deals_action', {})
    await agent.call('RESOLVE_ACTIONS', { integration_query: ['List Deals Salesforce'] })

    const callsBy = async (server: string) => (await platform.get(`/calls?server_id=${server}`)).body.data
    expect(await callsBy(direct)).toMatchObject([{ server_id: direct, action: 'salesforce:list_deals' }])
    expect(await callsBy(agents)).toMatchObject([{ server_id: agents, action: 'quartermaster:RESOLVE_ACTIONS' }])
  })

  test.each(['legacy', 'auto'] as const)('records the name and version of the client (%s)', async (era) => {
    await using platform = await startListening()
    await using _apps = await twoApps(platform)
    await serve(platform, 's')
    await using client = await connect(platform, 's', era)

    await client.call('salesforce_list_deals_action', {})

    const [call] = (await platform.get('/calls')).body.data
    expect(call.client).toEqual({ name: 'tester', version: '1' })
  })

  test('records the name and version of the client if inputs are repeated in headers', async () => {
    await using platform = await startListening()
    const region = { type: 'string', 'x-mcp-header': 'Region' }
    await using upstream = await startUpstream([action('locate', { region })])
    await platform.post('/tools', { name: 'maps', type: 'mcp', mcp: { url: upstream.url } })
    await serve(platform, 's')
    await using client = await connect(platform, 's')
    const [name = ''] = await client.names()

    await client.call(name, { region: 'north' })

    const [call] = (await platform.get('/calls')).body.data
    expect(call).toMatchObject({ action: 'maps:locate', client: { name: 'tester', version: '1' } })
  })

  test('cannot be created with unknown apps, actions or skills, and the error names them', async () => {
    await using platform = await startListening()
    await using _apps = await twoApps(platform)
    await platform.post('/tools', { name: 'docs', type: 'platform', actions: ['create-document'] })
    const apps = [{ slug: 'hubspto' }, { slug: 'docs', actions: ['create-document', 'create-documents'] }]

    const refused = await platform.post('/servers', { slug: 's', apps, skill_ids: ['skill_none'] })

    expect(refused.status).toBe(400)
    expect(refused.body.error.details.errors).toEqual([
      { path: 'apps.0.slug', message: 'no tool in the project has the app "hubspto"; did you mean "hubspot"?' },
      {
        path: 'apps.1.actions.1',
        message: '"docs" has no action "create-documents"; did you mean "create-document"?',
      },
      { path: 'skill_ids.0', message: 'the project has no skill "skill_none"' },
    ])
  })

  test('can be changed after its actions were deleted, but not to list unknown ones', async () => {
    await using platform = await startListening()
    const { body: tool } = await platform.post('/tools', {
      name: 'docs',
      type: 'platform',
      actions: ['create-document'],
    })
    const apps = [{ slug: 'docs', actions: ['create-document'] }]
    await serve(platform, 's', { apps })
    await platform.delete(`/tools/${tool.id}?force=true`)

    const same = await platform.patch('/servers/s', { apps, name: 'The same' })
    const other = await platform.patch('/servers/s', { apps: [...apps, { slug: 'crm' }] })

    expect([same.status, other.status]).toEqual([200, 400])
  })

  test('responds to a wrong key like REST', async () => {
    await using platform = await startListening()
    await serve(platform, 'on')
    const ask = async (path: string, key?: string) => {
      const response = await fetch(`${platform.url}${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(key && { authorization: `Bearer ${key}` }),
        },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      })
      const { status, headers } = response
      return { status, challenge: headers.get('www-authenticate'), body: await response.json() }
    }

    for (const key of ['sk_wrong', undefined]) {
      const rest = await ask('/api/v1/tools', key)

      expect(rest).toMatchObject({ status: 401, challenge: expect.stringMatching(/^Bearer/) })
      expect(await ask('/mcp/on', key)).toEqual(rest)
      expect(await ask('/mcp', key)).toEqual(rest)
    }
  })

  test('requires a key: 401 without a valid one, 404 for a server that is disabled, unknown or not allowed (S0.49)', async () => {
    await using platform = await startListening()
    await serve(platform, 'on')
    await serve(platform, 'off', { enabled: false })
    const noUse = await platform.keyFor([{ effect: 'Allow', action: ['tools:*'] }])
    const status = async (slug: string, key?: string, headers = {}) => {
      const response = await fetch(`${platform.url}/mcp/${slug}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(key && { authorization: `Bearer ${key}` }),
          ...headers,
        },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      })
      await response.text()
      return response.status
    }

    expect(await status('on')).toBe(401)
    expect(await status('on', 'sk_wrong')).toBe(401)
    expect(await status('off', adminKey)).toBe(404)
    expect(await status('none', adminKey)).toBe(404)
    expect(await status('on', noUse)).toBe(404)
    expect(await status('on', adminKey, { origin: 'https://evil.example' })).toBe(403)
    expect(await status('on', adminKey)).toBe(200)
    expect(await status('on/', adminKey)).toBe(200)
    expect(await status('', adminKey)).toBe(200)
  })

  test('answers tools/list and tools/call as plain JSON-RPC, without a handshake (S4.2) (S4.8)', async () => {
    await using upstream = await startUpstream()
    await using platform = await startListening()
    await platform.post('/tools', { name: 'up', type: 'mcp', mcp: { url: upstream.url } })
    await serve(platform, 's')
    const send = async (message: object | string) => {
      const response = await fetch(`${platform.url}/mcp/s`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${adminKey}`,
        },
        body: typeof message === 'string' ? message : JSON.stringify(message),
      })
      const text = await response.text()
      const data = /^data: (.*)$/m.exec(text)?.[1] ?? text
      return { status: response.status, body: JSON.parse(data) }
    }

    const listed = await send({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const called = await send({
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { name: 'up_echo_action', arguments: { text: 'hi' } },
    })
    const unknown = await send({ jsonrpc: '2.0', id: 3, method: 'nothing/here' })
    const broken = await send('{"jsonrpc":')

    expect(listed.body.result.tools[0]).toMatchObject({
      name: 'up_echo_action',
      description: echo.description,
      inputSchema: echo.inputSchema,
    })
    expect(called.body).toMatchObject({ id: 2, result: { content: [{ type: 'text', text: '{"text":"hi"}' }] } })
    expect(unknown.body.error.code).toBe(-32601)
    expect(broken.body.error.code).toBe(-32700)
  })

  test('records every call of an action with input and output, and failures with the same message (S0.30) (S0.31) (S0.47)', async () => {
    await using platform = await startListening()
    await using apps = await twoApps(platform)
    await serve(platform, 'crm', { agent_mode: true })
    await using crm = await connect(platform, 'crm')
    const execute = (input_payload: unknown) =>
      crm.call('EXECUTE_ACTION', {
        application_slug: 'salesforce',
        action_id: 'create_contact',
        type: 'action',
        input_payload,
      })

    await execute({ email: 'a@example.com' })
    await apps.salesforce.stop()
    const failed = await execute('{"email":"b@example.com"}')

    const [second, first] = (await platform.get('/calls')).body.data
    expect((await platform.get(`/calls/${first.id}`)).body).toMatchObject({
      surface: 'mcp',
      action: 'salesforce:create_contact',
      status: 'success',
      request: { email: 'a@example.com' },
    })
    expect(failed).toMatchObject({ isError: true })
    expect(failed.json()).toEqual({ success: false, error: second.error.message })
    expect(second.status).toBe('execution_error')
  })
})

test('actions with the same name in two apps have different names on every surface (S0.9)', async () => {
  await using platform = await startListening()
  await using service = await startService(({ url }) => ({ body: JSON.stringify({ from: url }) }))
  const parameters = { type: 'object', properties: { email: { type: 'string' } } }
  const ids: Record<string, string> = {}
  for (const app of ['salesforce', 'hubspot']) {
    const execute = { url: `${service.url}/${app}` }
    const made = await platform.post('/tools', { name: 'create_contact', app, execute, parameters })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    ids[app] = made.body.id
  }
  const again = { name: 'create_contact', app: 'hubspot', execute: { url: service.url }, parameters }
  expect(await platform.post('/tools', again)).toMatchObject({ status: 409, body: { error: { code: 'NAME_TAKEN' } } })
  await serve(platform, 'direct')
  await serve(platform, 'agent', { agent_mode: true })
  await using direct = await connect(platform, 'direct')
  await using agent = await connect(platform, 'agent')
  const run = async (slug: string) =>
    (
      await agent.call('EXECUTE_ACTION', {
        ...{ application_slug: slug, action_id: 'create_contact', type: 'action', input_payload: {} },
      })
    ).json().data

  expect((await direct.names()).sort()).toEqual(['hubspot_create_contact_action', 'salesforce_create_contact_action'])
  expect((await direct.call('hubspot_create_contact_action', {})).json()).toEqual({ from: '/hubspot' })
  expect(await run('salesforce')).toEqual({ from: '/salesforce' })
  expect(await run('hubspot')).toEqual({ from: '/hubspot' })
  const query = ['Create Contact Salesforce', 'Create Contact HubSpot']
  const plan = (await agent.call('RESOLVE_ACTIONS', { integration_query: query })).json()
  expect(plan.map(({ slug }: { slug: string }) => slug).sort()).toEqual(['hubspot', 'salesforce'])
  const { data } = (await platform.get('/calls?app=hubspot')).body
  expect(data).toHaveLength(2)
  expect(data[0]).toMatchObject({ tool_id: ids.hubspot, action: 'hubspot:create_contact' })
})

describe.each(['legacy', 'auto'] as const)('calls that reach no tool, from a client of the %s era,', (era) => {
  const recorded = async (platform: TestPlatform, server: string) => {
    const { data } = (await platform.get(`/calls?server_id=${server}`)).body
    const whole = data.map(async ({ id }: { id: string }) => (await platform.get(`/calls/${id}`)).body)
    // biome-ignore lint/suspicious/noExplicitAny: tests read responses field by field
    return ((await Promise.all(whole)) as any[]).reverse()
  }

  test('are recorded with input, error, surface, client and server, in agent mode (S0.31) (S0.47)', async () => {
    await using platform = await startListening()
    await using apps = await twoApps(platform)
    const server = await serve(platform, 'crm', { agent_mode: true })
    await using crm = await connect(platform, 'crm', era)
    const valid = { application_slug: 'salesforce', action_id: 'create_contact', type: 'action', input_payload: {} }

    const told = [
      await crm.call('EXECUTE_ACTION', { ...valid, application_slug: 'salesfroce' }),
      await crm.call('EXECUTE_ACTION', { ...valid, action_id: 'no_such', input_payload: '{"password":"hush"}' }),
      await crm.call('EXECUTE_ACTION', { ...valid, type: 'workflow' }),
      await crm.call('EXECUTE_ACTION', { ...valid, input_payload: 'email=a, password: hush' }),
      await crm.call('EXECUTE_ACTION', { application_slug: 'salesforce' }),
    ].map((one) => one.json().error)

    const records = await recorded(platform, server)
    expect(records.map(({ error }) => error.message)).toEqual(told)
    for (const record of records) {
      expect(record).toMatchObject({
        ...{ status: 'validation_error', surface: 'mcp', server_id: server, project_id: platform.projectId },
        ...{ client: { name: 'tester', version: '1' }, principal: { kind: 'api_key' } },
        error: { code: 'VALIDATION_FAILED' },
      })
    }
    const unknown = { tool_id: null, tool: null, app: 'quartermaster', action: 'quartermaster:EXECUTE_ACTION' }
    const known = { tool: 'salesforce', app: 'salesforce', action: 'salesforce:create_contact' }
    expect(records).toMatchObject([
      { ...unknown, request: { ...valid, application_slug: 'salesfroce' } },
      { ...unknown, request: { action_id: 'no_such', input_payload: { password: '[redacted]' } } },
      unknown,
      { ...known, request: 'email=a, password: [redacted]' },
      { ...unknown, request: { application_slug: 'salesforce' } },
    ])
    expect([...apps.salesforce.calls, ...apps.hubspot.calls]).toEqual([])
  })

  test('are recorded on a server in direct mode (S0.31) (S0.47)', async () => {
    await using platform = await startListening()
    await using apps = await twoApps(platform)
    const server = await serve(platform, 'crm', { apps: [{ slug: 'salesforce' }] })
    await using crm = await connect(platform, 'crm', era)
    const message = async (name: string, input: Record<string, unknown> = {}) =>
      crm.call(name, input).then(
        (answer) => answer.json().error.message as string,
        (error: Error) => error.message,
      )

    const told = [
      await message('salesforce_no_such_action', { email: 'a@b.c' }),
      await message('hubspot_create_note_action', { text: 'not on this server' }),
      await message('GET_KNOWLEDGE_INDEX'),
      await message('salesforce_create_contact_action', { input_payload: '{' }),
    ]

    const records = await recorded(platform, server)
    const unknown = {
      ...{ status: 'validation_error', tool_id: null, tool: null, action: 'quartermaster:UNKNOWN_TOOL' },
      error: { code: 'UNKNOWN_TOOL' },
    }
    expect(records).toMatchObject([
      { ...unknown, request: { email: 'a@b.c' }, error: { details: { tool_name: 'salesforce_no_such_action' } } },
      { ...unknown, request: { text: 'not on this server' } },
      unknown,
      { status: 'validation_error', action: 'salesforce:create_contact', request: { input_payload: '{' } },
    ])
    for (const [index, { error }] of records.entries()) expect(told[index]).toContain(error.message)
    expect([...apps.salesforce.calls, ...apps.hubspot.calls]).toEqual([])
  })
})

describe('agent mode', () => {
  test('records searches and loaded skills (S0.47)', async () => {
    await using platform = await startListening()
    await using _apps = await twoApps(platform)
    await serve(platform, 'crm', { agent_mode: true, retrieve_skill: true })
    await using crm = await connect(platform, 'crm')

    await crm.call('RESOLVE_ACTIONS', { integration_query: ['List Deals Salesforce'] })
    await crm.call('RESOLVE_ACTIONS', {})
    await crm.call('LOAD_SKILL', { skill_name: 'none' })

    const { data } = (await platform.get('/calls?app=quartermaster')).body
    expect(data.map(({ action, status }: { action: string; status: string }) => [action, status])).toEqual([
      ['quartermaster:LOAD_SKILL', 'validation_error'],
      ['quartermaster:RESOLVE_ACTIONS', 'validation_error'],
      ['quartermaster:RESOLVE_ACTIONS', 'success'],
    ])
    expect((await platform.get(`/calls/${data[2].id}`)).body).toMatchObject({
      request: { integration_query: ['List Deals Salesforce'] },
      response: { content: [{ type: 'text' }] },
    })
  })

  test('returns a plain sentence if nothing matches (S0.22)', async () => {
    await using platform = await startListening()
    await using _apps = await twoApps(platform)
    await serve(platform, 'crm', { agent_mode: true })
    await using crm = await connect(platform, 'crm')

    const { text } = await crm.call('RESOLVE_ACTIONS', { integration_query: ['Launch rocket Cape'] })

    expect(text).toMatch(/^Couldn't find any matching actions/)
  })

  test('runs exactly one action per call, without a prior plan, with input as an object or as JSON text (S0.23) (S0.24) (S0.25) (S0.26) (S0.27) (S0.46)', async () => {
    await using platform = await startListening()
    await using apps = await twoApps(platform)
    await serve(platform, 'crm', { agent_mode: true })
    await using crm = await connect(platform, 'crm')
    const base = { application_slug: 'hubspot', action_id: 'create_note', type: 'action' }

    const first = await crm.call('EXECUTE_ACTION', { ...base, input_payload: { text: 'x' } })
    const second = await crm.call('EXECUTE_ACTION', { ...base, input_payload: '{"text":"x"}' })

    expect(first.json()).toEqual(second.json())
    expect(apps.hubspot.calls).toHaveLength(2)
    for (const missing of ['application_slug', 'action_id', 'type', 'input_payload']) {
      const { [missing]: _, ...rest } = { ...base, input_payload: {} } as Record<string, unknown>
      const answer = await crm.call('EXECUTE_ACTION', rest)
      expect(answer.isError, missing).toBe(true)
      expect(answer.json().error).toContain(missing)
    }
    const mistyped = await crm.call('EXECUTE_ACTION', { ...base, action_id: 'create_nota', input_payload: {} })
    expect(mistyped.json().error).toContain('create_note')
  })

  test('explains the order of work in tool descriptions, and returns {} as the schema of an action without inputs (S0.14) (S0.19) (S0.44) (S0.45)', async () => {
    await using platform = await startListening()
    await using _apps = await twoApps(platform)
    await serve(platform, 'crm', { agent_mode: true, retrieve_skill: true })
    await using crm = await connect(platform, 'crm')

    const { tools } = await crm.client.listTools()
    const plan = (await crm.call('RESOLVE_ACTIONS', { integration_query: ['List Deals Salesforce'] })).json()

    const words = tools.map(({ description }) => description).join(' ')
    expect(words).toMatch(/GET_KNOWLEDGE_INDEX.*LOAD_SKILL.*RESOLVE_ACTIONS.*EXECUTE_ACTION/s)
    expect(words).toContain('EXECUTE_ACTION only after RESOLVE_ACTIONS returned a plan')
    expect(plan).toEqual([{ slug: 'salesforce', type: 'action', identifier: 'list_deals', json_schema: {} }])
  })
})

describe('skills', () => {
  const withSkills = async (platform: TestPlatform) => {
    const make = async (fields: object) => (await platform.post('/skills', fields)).body.id
    const lead = await make({
      name: 'Lead Qualification',
      summary: 'Qualify an inbound lead',
      category: 'Sales',
      apps: ['salesforce'],
      content: '## Goal\nQualify',
    })
    const refund = await make({ name: 'Refunds', summary: 'Pay back', content: 'x' })
    const hidden = await make({ name: 'Old', summary: 'Not any more', content: 'x', enabled: false })
    return { lead, refund, hidden }
  }

  test('are listed in a compact form, in pages, and only those of the server (S0.32) (S0.33) (S0.34) (S0.35) (S0.36)', async () => {
    await using platform = await startListening()
    const { lead, refund, hidden } = await withSkills(platform)
    await serve(platform, 'sales', { retrieve_skill: true, skill_ids: [lead, hidden] })
    await serve(platform, 'every', { retrieve_skill: true })
    await using sales = await connect(platform, 'sales')
    await using every = await connect(platform, 'every')

    const index = (await sales.call('GET_KNOWLEDGE_INDEX')).json()
    const second = (await every.call('GET_KNOWLEDGE_INDEX', { limit: 1, offset: 1 })).json()

    expect(index).toEqual({
      skills: [
        {
          id: lead,
          name: 'Lead Qualification',
          summary: 'Qualify an inbound lead',
          category: 'Sales',
          apps: ['salesforce'],
        },
      ],
      total: 1,
      limit: 50,
      offset: 0,
    })
    expect(second).toMatchObject({ skills: [{ id: refund }], total: 2 })
    expect(JSON.stringify(index)).not.toContain('## Goal')
    expect((await sales.call('LOAD_SKILL', { skill_id: refund })).json().success).toBe(false)
  })

  test('are loaded by id or name, complete up to 100,000 characters (S0.37) (S0.38) (S0.39) (S0.40)', async () => {
    await using platform = await startListening()
    const { lead } = await withSkills(platform)
    const exact = 'a'.repeat(100_000)
    await platform.post('/skills', { name: 'exact', content: exact })
    await platform.post('/skills', { name: 'long', content: `${exact}b` })
    await serve(platform, 's', { retrieve_skill: true })
    await using client = await connect(platform, 's')
    const load = async (args: Record<string, unknown>) => (await client.call('LOAD_SKILL', args)).json()

    expect(await load({ skill_id: lead })).toEqual({
      success: true,
      results: [
        {
          file_id: lead,
          snippet: '## Goal\nQualify',
          skill_name: 'Lead Qualification',
          category: 'Sales',
          apps: ['salesforce'],
        },
      ],
    })
    expect((await load({ skill_name: 'lead qualification' })).results[0].file_id).toBe(lead)
    expect((await load({ skill_name: 'exact' })).results[0].snippet).toBe(exact)
    expect((await load({ skill_name: 'long' })).results[0].snippet).toMatch(/^a{100000}\n\n\[Truncated/)
  })

  test('are truncated after 100,000 characters, not UTF-16 units, and never inside a character (S0.40)', async () => {
    await using platform = await startListening()
    const exact = '😀'.repeat(100_000)
    await platform.post('/skills', { name: 'exact', content: exact })
    await platform.post('/skills', { name: 'long', content: `a${exact}` })
    await serve(platform, 's', { retrieve_skill: true })
    await using client = await connect(platform, 's')
    const load = async (name: string) =>
      (await client.call('LOAD_SKILL', { skill_name: name })).json().results[0].snippet as string

    const [whole, cut] = [await load('exact'), await load('long')]

    expect(whole === exact).toBe(true)
    const [snippet = '', marker] = cut.split('\n\n')
    expect(snippet === `a${'😀'.repeat(99_999)}`).toBe(true)
    expect(marker).toBe('[Truncated: these are the first 100000 of 100001 characters.]')
  })

  test.each(['legacy', 'auto'] as const)(
    'are listed in the instructions for a client of the %s era (S0.48)',
    async (era) => {
      await using platform = await startListening()
      await withSkills(platform)
      for (let i = 0; i < 60; i++)
        await platform.post('/skills', { name: `s${i}`, summary: 'Some\nmore', content: 'x' })
      await serve(platform, 'agent', { retrieve_skill: true, agent_mode: true, description: 'The CRM.' })
      await serve(platform, 'without', { description: 'The CRM.' })
      await using agent = await connect(platform, 'agent', era)
      await using without = await connect(platform, 'without', era)

      const said = agent.client.getInstructions() ?? ''

      expect(said).toMatch(/^The CRM\.\n\nWork in this order:.*\n\nThis server has skills/s)
      expect(said).toContain('\n- Lead Qualification: Qualify an inbound lead\n')
      expect(said).toMatch(/LOAD_SKILL.*\nGET_KNOWLEDGE_INDEX lists 12 more\.$/s)
      expect(said).not.toContain('Not any more')
      expect(without.client.getInstructions()).toBe('The CRM.')
    },
  )

  test.each(['legacy', 'auto'] as const)(
    'are part of the order of work in the instructions of agent mode, for a client of the %s era (S0.44)',
    async (era) => {
      await using platform = await startListening()
      await serve(platform, 'both', {
        agent_mode: true,
        retrieve_skill: true,
        description: 'The CRM.',
        result_limit: 20_000,
      })
      await serve(platform, 'agent', { agent_mode: true })
      await serve(platform, 'direct', {})
      const instructionsOf = async (slug: string) => {
        await using one = await connect(platform, slug, era)
        return one.client.getInstructions()
      }

      const both = await instructionsOf('both')
      const agent = await instructionsOf('agent')

      expect(both).toMatch(
        /^The CRM\.\n\nWork in this order:\n1\. GET_KNOWLEDGE_INDEX.*\n2\. LOAD_SKILL.*\n3\. RESOLVE_ACTIONS.*\n4\. EXECUTE_ACTION.*\n.*READ_RESULT/,
      )
      expect(agent).toMatch(/^Work in this order:\n1\. RESOLVE_ACTIONS.*\n2\. EXECUTE_ACTION/)
      expect(agent).not.toMatch(/SKILL|KNOWLEDGE|READ_RESULT/)
      expect(await instructionsOf('direct')).toBeUndefined()
    },
  )

  test('that cannot be loaded get a response that says so, not an error, and are recorded (S0.41)', async () => {
    await using platform = await startListening()
    const { hidden } = await withSkills(platform)
    await serve(platform, 's', { retrieve_skill: true })
    await using client = await connect(platform, 's')

    for (const args of [
      {},
      { skill_id: 'skill_none' },
      { skill_name: 'None' },
      { skill_id: hidden },
      { skill_id: 7 },
    ]) {
      const answer = await client.call('LOAD_SKILL', args)
      expect(answer.isError).toBe(false)
      expect(answer.json()).toEqual({ success: false, error: expect.any(String) })
    }
    const mistaken = await client.call('LOAD_SKILL', { skill_name: 'Lead Qualification', name: 'x' })
    const named = await client.call('LOAD_SKILL', { skill_name: 'nope' })

    expect(mistaken.json().error).toContain(': name: is not a known field')
    expect(named.json().error).toMatch(/skill_name: there is no skill "nope".*GET_KNOWLEDGE_INDEX/)
    const [last, first] = (await platform.get('/calls?app=quartermaster')).body.data
    expect([last.status, first.status]).toEqual(['validation_error', 'validation_error'])
    expect((await platform.get(`/calls/${last.id}`)).body).toMatchObject({
      error: { code: 'VALIDATION_FAILED', message: named.json().error },
    })
  })
})

describe('an action whose pinned definition changed', () => {
  /** Two servers with a tool of the same name. The definition of the first one has changed. */
  async function withheldEcho(platform: Listening) {
    const first = await startUpstream([echo, { ...echo, name: 'echoes' }])
    const second = await startUpstream([echo])
    const pinned = { type: 'mcp', pin_definitions: true }
    const { id } = (await platform.post('/tools', { name: 'first', ...pinned, mcp: { url: first.url } })).body
    await platform.post('/tools', { name: 'second', ...pinned, mcp: { url: second.url } })
    await serve(platform, 'direct', { tool_names: 'original' })
    await serve(platform, 'agent', { agent_mode: true })
    const names = async () => {
      await using client = await connect(platform, 'direct')
      return await client.names()
    }
    expect(await names()).toEqual(['echo', 'echoes', 'echo_2'])
    const changed = { ...echo, description: 'Sends it elsewhere', inputSchema: { type: 'object', required: ['more'] } }
    first.change([changed as UpstreamTool, { ...echo, name: 'echoes' }])
    await expect.poll(names, { timeout: 5000 }).toEqual(['echoes', 'echo_2'])
    return {
      id,
      [Symbol.asyncDispose]: async () => {
        await first[Symbol.asyncDispose]()
        await second[Symbol.asyncDispose]()
      },
    }
  }

  test.each(['legacy', 'auto'] as const)(
    'is blocked with an explanation, and no other action is called instead (%s)',
    async (era) => {
      await using platform = await startListening()
      await using tool = await withheldEcho(platform)
      await using direct = await connect(platform, 'direct', era)
      await using agent = await connect(platform, 'agent', era)
      const rest = await platform.post(`/tools/${tool.id}/call`, { action: 'echo', input: { text: 'x' } })

      const called = await direct.call('echo', { text: 'x' })
      const executed = await agent.call('EXECUTE_ACTION', {
        application_slug: 'first',
        action_id: 'echo',
        input_payload: { text: 'x' },
        type: 'action',
      })
      const resolved = await agent.call('RESOLVE_ACTIONS', { integration_query: ['echo first'] })

      expect(rest.body.error).toMatchObject({ code: 'ACTION_WITHHELD', message: expect.stringContaining('operator') })
      expect(called).toMatchObject({ isError: true })
      expect(called.json().error).toMatchObject({ code: 'ACTION_WITHHELD', message: rest.body.error.message })
      expect(executed).toMatchObject({ isError: true })
      expect(executed.json()).toEqual({ success: false, error: rest.body.error.message })
      expect(called.text + executed.text).not.toMatch(/echoes|echo_2|mean/)
      expect(resolved.text).not.toContain('elsewhere')
      expect(resolved.text).not.toMatch(/"slug":"first","type":"action","identifier":"echo"/)
      const { data } = (await platform.get('/calls?action=first:echo')).body
      expect(data.map(({ status }: { status: string }) => status)).toEqual(['rejected', 'rejected', 'rejected'])

      await platform.post(`/tools/${tool.id}/accept-definitions`, {})
      await expect.poll(direct.names, { timeout: 5000 }).toEqual(['echo', 'echoes', 'echo_2'])
    },
  )

  test('is not revealed to keys that cannot call the tool', async () => {
    await using platform = await startListening()
    await using tool = await withheldEcho(platform)
    const key = await platform.keyFor([
      { effect: 'Allow', action: ['servers:UseServer', 'tools:CallTool'], resource: ['*'] },
      { effect: 'Deny', action: ['tools:CallTool'], resource: [`qm:*:tool:${tool.id}`] },
    ])
    await using direct = await connect(platform, 'direct', 'auto', key)
    await using agent = await connect(platform, 'agent', 'auto', key)

    await expect(direct.call('echo')).rejects.toThrow('There is no tool "echo"')
    const executed = await agent.call('EXECUTE_ACTION', {
      application_slug: 'first',
      action_id: 'echo',
      input_payload: {},
      type: 'action',
    })
    expect(executed.json().error).toContain('there is no app "first"')
  })
})

test.each([
  ['/servers', 'slug', {}, '1 to 63'],
  ['/tools', 'app', { name: 'a', type: 'mcp', mcp: { url: 'https://mcp.example.com' } }, '1 to 64'],
  ['/tools', 'name', { type: 'mcp', mcp: { url: 'https://mcp.example.com' } }, '1 to 64'],
])('a request to %s with a "%s" that is too long gets the maximum length', async (path, field, fields, limit) => {
  await using platform = await startListening()

  const { status, body } = await platform.post(path, { ...fields, [field]: 'a'.repeat(300) })

  expect(status).toBe(400)
  expect(body.error.message).toMatch(new RegExp(`${field}: must be .*${limit} `))
})

describe('the platform itself', () => {
  test('is an MCP server at /mcp, with a tool for every operation that the caller can use', async () => {
    await using platform = await startListening()
    const caller = await platform.keyFor([{ effect: 'Allow', action: ['tools:ListTools', 'documents:*'] }])
    await using admin = await connect(platform, '')
    await using limited = await connect(platform, '', 'legacy', caller)

    const made = await admin.call('create-document', { path: '/a.md', content: 'hi' })
    const read = await limited.call('get-document', { document_id: made.json().id })
    const refused = await admin.call('create-document', { path: '/a.md', content: 'again' })

    expect(await admin.names()).toEqual(
      expect.arrayContaining(['create-tool', 'call-tool', 'list-calls', 'create-server']),
    )
    expect(await admin.names()).not.toContain('create-api-key')
    // Apps are a view of tools, with the permission to list them.
    const allowed = /document|^list-tool|^(list-apps|get-app)$/
    expect((await limited.names()).filter((name) => !allowed.test(name))).toEqual([])
    expect(read.json().content).toBe('hi')
    expect(refused).toMatchObject({ isError: true })
    expect(refused.json().error.code).toBe('NAME_TAKEN')
    await expect(limited.call('create-tool', { name: 'x' })).rejects.toThrow(/no tool/)
  })
})
