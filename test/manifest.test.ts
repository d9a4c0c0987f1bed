import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { startReplayServer } from '../src/agents/models/replay-server.ts'
import { runCli, startListening } from './clients.ts'
import { engines, type FreshDatabase, freshDatabase } from './engines.ts'
import { applied, type McpProcess, manifestOf, startMcpProcess } from './guided-kit.ts'
import { adminKey, startPlatform, type TestPlatform } from './kit.ts'
import { run, startProcess, temporaryFolder } from './process.ts'
import { repliesIn, TestSession, toolsIn } from './sessions-kit.ts'
import { startTap } from './tap.ts'
import { startUpstream, type UpstreamTool } from './upstream.ts'

describe.each(engines)('manifests on %s', (engine) => {
  let database: FreshDatabase
  let platform: TestPlatform
  let cars: McpProcess
  let crm: McpProcess

  beforeAll(async () => {
    database = await freshDatabase(engine)
    platform = await startPlatform(databaseOf(database))
    cars = await startMcpProcess('cars')
    crm = await startMcpProcess('crm')
  })

  afterAll(async () => {
    await platform[Symbol.asyncDispose]()
    await cars[Symbol.asyncDispose]()
    await crm[Symbol.asyncDispose]()
    await database.remove()
  })

  const databaseOf = ({ options }: FreshDatabase) => ({ DATABASE_URL: options.databaseUrl ?? '' })

  const servers = () => [
    { id: 'cars', port: cars.port },
    { id: 'crm', port: crm.port },
  ]
  const hello = [{ when: {}, answer: 'Hello' }]

  test('an agent uses the tools of several servers, each under the id of its server (S1.1, S1.2, S1.5, S1.6, S1.18)', async () => {
    const { id, text } = manifestOf({
      mcps: servers(),
      script: [
        {
          when: { last_tool: null },
          answer: {
            tool_calls: [
              { name: 'cars_schedule', args: { day: 'Monday' } },
              { name: 'crm_schedule', args: { day: 'Tuesday' } },
            ],
          },
        },
        { when: {}, answer: 'Done' },
      ],
    })
    const done = await platform.post('/manifests', { manifest: text })
    expect(done.body.tools).toEqual(expect.arrayContaining(['cars:schedule', 'crm:schedule', 'crm:get_balance']))

    const session = await TestSession.start(platform, id)
    const events = await session.say('Schedule both')

    expect(toolsIn(events)).toMatchObject([
      { tool_id: 'cars:schedule', result: { scheduled: 'Monday', by: 'cars' } },
      { tool_id: 'crm:schedule', result: { scheduled: 'Tuesday', by: 'crm' } },
    ])
  })

  test('the key of a server is sent as a bearer token, and a server without one gets no header (S1.12, S1.13)', async () => {
    await using secure = await startMcpProcess()
    await using open = await startMcpProcess()
    const mcps = [
      { id: 'secure', port: secure.port, api_key: '${SECURE_KEY}' },
      { id: 'open', port: open.port },
    ]
    const secrets = [{ secret_name: 'SECURE_KEY' }]
    await applied(platform, { script: hello, mcps, secrets }, { SECURE_KEY: 'key-of-the-server' })

    await expect.poll(() => secure.authorizations).toContain('Bearer key-of-the-server')
    expect(new Set(secure.authorizations)).toEqual(new Set(['Bearer key-of-the-server']))
    await expect.poll(() => open.authorizations.length).toBeGreaterThan(0)
    expect(new Set(open.authorizations)).toEqual(new Set([null]))
    const shown = JSON.stringify([(await platform.get('/tools')).body, (await platform.get('/agents')).body])
    expect(shown).not.toContain('key-of-the-server')
  })

  test('descriptions and schemas of tools reach the model as the server has them (S1.18, S1.19)', async () => {
    const description = 'Line one.\n\n  • "quoted" – and {{braces}} ${NOT_A_VARIABLE}  '
    const inputSchema = {
      type: 'object',
      properties: { day: { type: 'string', enum: ['mon', 'tue'] } },
      required: ['day'],
    }
    await using upstream = await startUpstream([{ name: 'plan', description, inputSchema } as UpstreamTool])
    await using model = await startReplayServer({ steps: [{ when: {}, answer: 'Hello' }] })
    const requests: string[] = []
    await using tap = await startTap(model.url, (moment, body) => void (moment === 'request' && requests.push(body)))
    const manifest = stringify({
      id: 'verbatim',
      agent_config: {
        llms: { generation: { provider: 'openai-compatible', base_url: `${tap.url}/v1`, model: 'm' } },
        mcps: [{ id: 'planner', hostname: 'http://127.0.0.1', port: Number(new URL(upstream.url).port) }],
        context: { policies: [{ id: 'p', action: 'Plan', tools: 'planner:plan' }] },
      },
    })
    expect((await platform.post('/manifests', { manifest })).status).toBe(200)

    await (await TestSession.start(platform, 'verbatim')).say('Hi')

    const { tools } = JSON.parse(requests[0] ?? '{}')
    expect(tools).toHaveLength(1)
    expect(tools[0].function).toMatchObject({ name: 'planner_plan', description, parameters: inputSchema })
  })

  test('a caller who cannot use a secret cannot send it to a server of a manifest', async () => {
    await using server = await startMcpProcess()
    await platform.post('/secrets', { name: 'PRIVATE_KEY', value: 'the-private-value' })
    const { text } = manifestOf({
      script: hello,
      secrets: [{ secret_name: 'PRIVATE_KEY' }],
      mcps: [{ id: 'thief', port: server.port, api_key: '${PRIVATE_KEY}' }],
    })
    const key = await platform.keyFor([
      { effect: 'Allow', action: ['manifests:*', 'tools:*', 'agents:*', 'ai-providers:*'], resource: ['*'] },
    ])

    const refused = await platform.post('/manifests', { manifest: text }, { key })

    expect([refused.status, refused.body.error.details.permission]).toEqual([403, 'secrets:UseSecret'])
    expect(server.authorizations).toEqual([])
  })

  test('a secret without a value is reported with its place', async () => {
    const { text } = manifestOf({ script: hello, secrets: [{ secret_name: 'NOWHERE' }] })
    const { status, body } = await platform.post('/manifests', { manifest: text })

    expect(status).toBe(400)
    expect(body.error).toMatchObject({
      code: 'MANIFEST_INVALID',
      details: { errors: [{ path: 'secrets[0].secret_name', line: 3, message: expect.stringMatching(/no value/) }] },
    })
  })

  test('a reevaluation tool that no server has is refused, with the one that was meant (S1.39, S1.41)', async () => {
    const refused = async (id: string) => {
      const { text } = manifestOf({ script: hello, mcps: servers(), context: { reevaluation_tools: [{ id }] } })
      const { status, body } = await platform.post('/manifests', { manifest: text })
      expect(status).toBe(400)
      return body.error.details.errors[0]
    }

    expect(await refused('crm:authenticate_costumer')).toMatchObject({
      path: 'agent_config.context.reevaluation_tools[0].id',
      message: 'the server has no tool "crm:authenticate_costumer"; did you mean "crm:authenticate_customer"?',
    })
    expect(await refused('bank:pay')).toMatchObject({
      message: expect.stringMatching(/no server in mcps has the id "bank"/),
    })
    await applied(platform, {
      script: hello,
      mcps: servers(),
      context: { reevaluation_tools: [{ id: 'crm:authenticate_customer' }] },
    })
  })

  test('a changed manifest applies from the next turn on', async () => {
    const { id, text } = manifestOf({ script: [{ when: {}, answer: 'First' }] })
    await platform.post('/manifests', { manifest: text })
    const session = await TestSession.start(platform, id)
    const before = await session.say('Hi')
    await platform.post('/manifests', { manifest: text.replace('First', 'Second') })

    expect([repliesIn(before), repliesIn(await session.say('Hi'))]).toEqual([['First'], ['Second']])
    expect((await platform.get(`/agents/${id}/manifest`)).body.manifest).toContain('Second')
  })

  test('the agent’s key can use its sessions and nothing else (S1.43)', async () => {
    const secrets = [{ secret_name: 'AGENT_API_KEY' }]
    const runtime = { api_key: '${AGENT_API_KEY}' }
    const key = 'agent-key-0123456789'
    const id = await applied(platform, { script: hello, secrets, runtime }, { AGENT_API_KEY: key })
    const other = await applied(platform, { script: hello })

    const made = await platform.post('/sessions', { agent_id: id }, { key })
    const session = made.body.id

    expect(made.status).toBe(201)
    expect(
      (await platform.post(`/sessions/${session}/tool_events`, { tool_id: 'a:b', result: 1 }, { key })).status,
    ).toBe(201)
    expect((await platform.get(`/sessions/${session}/events`, { key })).status).toBe(200)
    expect((await platform.post('/sessions', { agent_id: other }, { key })).status).toBe(404)
    expect((await platform.get('/tools', { key })).body.data).toEqual([])
    const elsewhere = await TestSession.start(platform, other)
    expect((await platform.get(`/sessions/${elsewhere.id}`, { key })).status).toBe(404)
    expect((await platform.get('/sessions', { key })).body.data.map((one: { id: string }) => one.id)).toEqual([session])
  })

  test('the platform starts with a manifest, contacts all servers, and applies changes on SIGHUP (S1.2, S1.14)', async () => {
    await using folder = await temporaryFolder()
    await using own = await freshDatabase(engine)
    await using one = await startMcpProcess('one')
    await using two = await startMcpProcess('two')
    const mcps = [
      { id: 'one', port: one.port },
      { id: 'two', port: two.port },
    ]
    const { id, text } = manifestOf({ script: [{ when: {}, answer: 'First' }], mcps })
    const path = join(folder.path, 'desk.yaml')
    await writeFile(path, text)
    await using running = await startProcess(folder.path, {
      QM_ADMIN_KEY: adminKey,
      QM_EMBEDDINGS: 'off',
      QM_MANIFEST: path,
      ...databaseOf(own),
    })
    const ask = async (method: string, to: string, body?: object) => {
      const response = await fetch(`${running.url}/api/v1${to}`, {
        method,
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      const content = await response.text()
      return { status: response.status, headers: response.headers, body: content === '' ? '' : JSON.parse(content) }
    }
    const remote = {
      get: (to: string) => ask('GET', to),
      post: (to: string, body?: unknown) => ask('POST', to, body as object),
      patch: (to: string, body?: unknown) => ask('PATCH', to, body as object),
    }
    const session = await TestSession.start(remote, id)

    expect(one.authorizations.length).toBeGreaterThan(0)
    expect(two.authorizations.length).toBeGreaterThan(0)
    expect(repliesIn(await session.say('Hi'))).toEqual(['First'])

    await writeFile(path, text.replace('First', 'Second'))
    running.child.kill('SIGHUP')
    await expect.poll(async () => repliesIn(await session.say('Hi')).at(-1), { timeout: 15_000 }).toBe('Second')
  })

  test('the platform does not start while servers are unreachable, and names each of them (S1.14, S1.15)', async () => {
    await using folder = await temporaryFolder()
    await using own = await freshDatabase(engine)
    await using up = await startMcpProcess()
    const mcps = [
      { id: 'up', port: up.port },
      { id: 'down', port: 9 },
      { id: 'gone', port: 10 },
    ]
    const path = join(folder.path, 'desk.yaml')
    await writeFile(path, manifestOf({ script: hello, mcps }).text)

    const { code, output } = await run(['up', '--port', '0', '--data', folder.path, '--manifest', path], {
      QM_EMBEDDINGS: 'off',
      ...databaseOf(own),
    })

    expect(code).toBe(1)
    expect(output).toMatch(/the MCP server "down" at http:\/\/127\.0\.0\.1:9\/mcp cannot be reached/)
    expect(output).toMatch(/the MCP server "gone" at http:\/\/127\.0\.0\.1:10\/mcp cannot be reached/)
    expect(output).not.toContain('"up"')
    expect(up.authorizations.length).toBeGreaterThan(0)
  })

  test('quartermaster check prints each fault with its place, and apply applies a manifest with values from the environment', async () => {
    await using folder = await temporaryFolder()
    await using listening = await startListening()
    const path = join(folder.path, 'desk.yaml')
    const { id, text } = manifestOf({ script: hello, secrets: [{ secret_name: 'SOME_KEY' }] })
    await writeFile(path, text.replace('llms:', 'lmms:'))
    const wrong = await runCli(['check', path])
    await writeFile(path, text)
    const right = await runCli(['check', path])
    const done = await runCli(['apply', path], { QM_URL: listening.url, QM_KEY: adminKey, SOME_KEY: 'some-value-123' })

    expect(wrong.code).toBe(1)
    expect(wrong.stderr).toContain(`${path}:6:3: agent_config.lmms: is not a known field; did you mean "llms"?`)
    expect([right.code, right.stderr]).toEqual([0, ''])
    expect(done.code, done.stderr).toBe(0)
    expect((await listening.get(`/agents/${id}`)).body).toMatchObject({ name: id, has_guide: true })
  })

  test('the JSON Schema of manifests is published', async () => {
    const { body } = await platform.get('/manifests/schema')
    expect(body).toMatchObject({ type: 'object', required: ['id', 'agent_config'] })
  })

  test('a server that goes away degrades only the calls that need it, and is used again when it is back (S1.16, S1.17)', async () => {
    await using flapping = await startMcpProcess('flapping')
    const call = (name: string) => ({ answer: { tool_calls: [{ name, args: { text: 'x' } }] } })
    const session = await TestSession.start(
      platform,
      await applied(platform, {
        mcps: [...servers(), { id: 'flapping', port: flapping.port }],
        script: [
          { when: { last_user: 'use the flapping one', last_tool: null }, ...call('flapping_echo') },
          { when: { last_user: 'use the other', last_tool: null }, ...call('cars_echo') },
          { when: { last_tool: { is_error: true } }, answer: 'It failed' },
          { when: {}, answer: 'It worked' },
        ],
      }),
    )
    expect(repliesIn(await session.say('use the flapping one'))).toEqual(['It worked'])

    await flapping.goAway()

    expect(repliesIn(await session.say('use the flapping one'))).toEqual(['It failed'])
    expect(repliesIn(await session.say('use the other'))).toEqual(['It worked'])

    await flapping.comeBack()

    await expect
      .poll(async () => repliesIn(await session.say('use the flapping one')), { timeout: 20_000 })
      .toEqual(['It worked'])
  })
})
