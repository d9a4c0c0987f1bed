import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { pending } from './approving.ts'
import { startListening } from './clients.ts'
import { startPlatform, startService, type TestPlatform } from './kit.ts'
import { obtain } from './oauth-kit.ts'
import { scriptedAgent, TestSession, toolsIn } from './sessions-kit.ts'
import { password, person, signInAs } from './signing-in.ts'
import { echo, startUpstream } from './upstream.ts'

const parameters = { type: 'object' }

/** A tool, and the modes `support` for restricted actions and `quiet` for none. */
async function prepared(platform: TestPlatform, url: string, fields: object = {}): Promise<string> {
  await platform.post('/modes', { slug: 'quiet', name: 'Quiet' })
  await platform.post('/modes', { slug: 'support', name: 'Support', levels: ['restricted'] })
  const tool = { name: 'refund', parameters, execute: { url }, level: 'restricted', ...fields }
  return (await platform.post('/tools', tool)).body.id
}

/** Calls the tool once, then says what came back. */
const callsRefund = [
  { when: { last_tool: null }, answer: { tool_calls: [{ name: 'refund', args: {} }] } },
  { when: { last_tool: { is_error: true } }, answer: 'refused' },
  { when: { last_tool: { is_error: false } }, answer: 'done' },
]

const callerKey = async (platform: TestPlatform, fields: object = {}): Promise<string> => {
  const access_policy_ids = ['pol_administrator']
  const { body } = await platform.post('/api-keys', { name: 'k', access_policy_ids, ...fields })
  return body.key
}

const modesOfCalls = async (platform: TestPlatform) =>
  (await platform.get('/calls')).body.data
    .filter(({ action }: { action: string }) => action === 'tools:refund')
    .map(({ mode, status }: Record<string, string>) => [mode, status])

afterEach(() => {
  vi.useRealTimers()
})

/** Only the clock moves: timers of the platform still run. */
const later = (seconds: number) => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + seconds * 1000 })
}

describe('an agent', () => {
  test('gives its mode to its calls, no matter who runs it', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const tool = await prepared(platform, service.url)
    const quiet = await scriptedAgent(platform, callsRefund, { tool_ids: [tool], mode: 'quiet' })
    const support = await scriptedAgent(platform, callsRefund, { tool_ids: [tool], mode: 'support' })

    const refused = await platform.post(`/agents/${quiet}/generate`, { prompt: 'go' })
    const done = await platform.post(`/agents/${support}/generate`, { prompt: 'go' })

    expect([refused.body.output.content, done.body.output.content]).toEqual(['refused', 'done'])
    expect(service.received).toHaveLength(1)
    expect(await modesOfCalls(platform)).toEqual([
      ['support', 'success'],
      ['quiet', 'permission_denied'],
    ])
  })

  test('cannot do more than the mode of its caller allows, nor the other way round', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const tool = await prepared(platform, service.url)
    const agent = await scriptedAgent(platform, callsRefund, { tool_ids: [tool], mode: 'support' })
    const key = await callerKey(platform, { modes: ['quiet', 'support'] })
    const run = (headers: Record<string, string> = {}) =>
      platform.post(`/agents/${agent}/generate`, { prompt: 'go' }, { key, headers })

    const byDefault = await run()
    const chosen = await run({ 'x-quartermaster-mode': 'support' })

    expect([byDefault.body.output.content, chosen.body.output.content]).toEqual(['refused', 'done'])
    expect(await modesOfCalls(platform)).toEqual([
      ['support', 'success'],
      ['quiet, support', 'permission_denied'],
    ])
  })

  test('passes its mode on to the agents that it runs', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const tool = await prepared(platform, service.url)
    const inner = await scriptedAgent(platform, callsRefund, { tool_ids: [tool], mode: 'support' })
    const { body: ask } = await platform.post('/tools', {
      name: 'ask',
      type: 'platform',
      actions: ['create-agent-generation'],
      preset_parameters: { id: inner },
    })
    const steps = [
      {
        when: { last_tool: null },
        answer: { tool_calls: [{ name: 'ask_create-agent-generation', args: { prompt: 'go' } }] },
      },
      { answer: 'asked' },
    ]
    const outer = await scriptedAgent(platform, steps, { tool_ids: [ask.id], mode: 'quiet' })

    await platform.post(`/agents/${outer}/generate`, { prompt: 'go' })

    expect(await modesOfCalls(platform)).toEqual([['quiet, support', 'permission_denied']])
    expect(service.received).toEqual([])
  })

  test('gets a mode only from someone who may use it, and it must exist', async () => {
    await using platform = await startPlatform()
    await prepared(platform, 'http://127.0.0.1:1')
    const agent = await scriptedAgent(platform, callsRefund)
    const statement = [{ effect: 'Allow', action: ['agents:*'] }]
    const key = await platform.keyFor(statement)
    const own = await callerKey(platform, { modes: ['support'] })
    const patch = (mode: string | null, as?: string) =>
      platform.patch(`/agents/${agent}`, { mode }, as ? { key: as } : {}).then(({ status }) => status)

    expect(await patch('support', key)).toBe(403)
    expect(await patch('absent')).toBe(404)
    expect(await patch('support', own)).toBe(200)
    expect(await patch(null, key)).toBe(403)
    expect(await patch(null)).toBe(200)
  })
})

describe('a session', () => {
  test('gives its mode to the calls of its turns, with those of the agent and of the sender', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const tool = await prepared(platform, service.url)
    const agent = await scriptedAgent(platform, callsRefund, { tool_ids: [tool], mode: 'support' })
    const session = await TestSession.start(platform, agent, { mode: 'quiet' })
    const plain = await TestSession.start(platform, agent)

    const [refused] = toolsIn(await session.say('go'))
    const [done] = toolsIn(await plain.say('go'))
    await session.patch({ mode: 'support' })
    const [changed] = toolsIn(await session.say('again'))

    expect([refused?.is_error, done?.is_error, changed?.is_error]).toEqual([true, false, false])
    expect(await modesOfCalls(platform)).toEqual([
      ['support', 'success'],
      ['support', 'success'],
      ['support, quiet', 'permission_denied'],
    ])
  })

  test('uses the mode that the message was sent with', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const tool = await prepared(platform, service.url)
    const agent = await scriptedAgent(platform, callsRefund, { tool_ids: [tool] })
    const key = await callerKey(platform, { modes: ['quiet', 'support'] })
    const session = await TestSession.start(platform, agent)
    const send = async (headers: Record<string, string>) => {
      const { body } = await platform.post(`/sessions/${session.id}/messages`, { message: 'go' }, { key, headers })
      await session.ready(body.offset)
    }

    await send({ 'x-quartermaster-mode': 'support' })
    await send({})

    expect(await modesOfCalls(platform)).toEqual([
      ['quiet', 'permission_denied'],
      ['support', 'success'],
    ])
  })
})

test('a workflow runs its steps in the mode that it was started in', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  await prepared(platform, service.url)
  const workflow = { input: parameters, steps: [{ id: 'one', call: 'tools:refund', input: {} }], output: {} }
  const { body: tool } = await platform.post('/tools', { name: 'flow', type: 'workflow', workflow, auto_approve: true })
  const key = await callerKey(platform, { modes: ['quiet', 'support'] })

  await platform.post(`/tools/${tool.id}/call`, {}, { key, headers: { 'x-quartermaster-mode': 'support' } })

  expect(await modesOfCalls(platform)).toEqual([['support', 'success']])
})

describe('a mode', () => {
  test('can be limited to a group of actions: those that read, write or destroy', async () => {
    const inputSchema = { type: 'object' as const }
    await using upstream = await startUpstream([
      { name: 'list', inputSchema, annotations: { readOnlyHint: true } },
      { name: 'add', inputSchema, annotations: { destructiveHint: false } },
      { name: 'wipe', inputSchema },
    ])
    await using platform = await startPlatform()
    const { body: tool } = await platform.post('/tools', { name: 'disk', type: 'mcp', mcp: { url: upstream.url } })
    await platform.post('/modes', { slug: 'look', name: 'Look', groups: ['read'] })
    await platform.post('/modes', { slug: 'work', name: 'Work', groups: ['read', 'write'] })
    const statuses = async (mode: string) => {
      const key = await callerKey(platform, { modes: [mode] })
      const call = (action: string) => platform.post(`/tools/${tool.id}/call`, { action }, { key })
      return Promise.all(['list', 'add', 'wipe'].map(async (action) => (await call(action)).status))
    }

    expect(await statuses('look')).toEqual([200, 403, 403])
    expect(await statuses('work')).toEqual([200, 200, 403])
  })

  test('can require that a person has signed in recently (S3.17)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const tool = await prepared(platform, service.url)
    const open = await platform.post('/tools', { name: 'look', parameters, execute: { url: service.url } })
    const fresh = { slug: 'fresh', name: 'Fresh', levels: ['restricted'], sign_in_within_seconds: 300 }
    await platform.post('/modes', fresh)
    const ada = await person(platform, 'ada@example.com', { role: 'owner', modes: ['fresh'] })
    const key = await callerKey(platform, { modes: ['fresh'] })
    const call = (options: object, id = tool) => platform.post(`/tools/${id}/call`, {}, options)

    const atOnce = await call(ada.session)
    const byKey = await call({ key })
    later(301)
    const tooLate = await call(ada.session)
    const openCall = await call(ada.session, open.body.id)
    const { session: again } = await signInAs(platform, 'ada@example.com')
    const afterSignIn = await call(again)

    expect([atOnce.status, openCall.status, afterSignIn.status]).toEqual([200, 200, 200])
    expect(tooLate.body.error).toMatchObject({
      code: 'SIGN_IN_REQUIRED',
      message: expect.stringContaining('Sign in again'),
    })
    expect(byKey.body.error).toMatchObject({
      code: 'SIGN_IN_REQUIRED',
      message: expect.stringContaining('API keys cannot'),
    })
  })

  test('knows when the person behind an OAuth client signed in', async () => {
    await using service = await startService()
    await using platform = await startListening()
    await prepared(platform, service.url)
    await platform.post('/modes', { slug: 'fresh', name: 'F', levels: ['restricted'], sign_in_within_seconds: 300 })
    await platform.post('/servers', { slug: 'desk', tool_names: 'original' })
    await person(platform, 'ada@example.com', { role: 'owner', modes: ['fresh'] })
    const resource = `${platform.url}/mcp/desk`
    const { token } = await obtain(platform.url, resource, { person: { email: 'ada@example.com', password } })
    const call = async () => {
      const headers = { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' }
      const params = { name: 'refund', arguments: {} }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
      const response = await fetch(resource, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
      })
      return response.text()
    }

    const atOnce = await call()
    later(301)
    const tooLate = await call()

    expect(atOnce).toContain('ok')
    expect(tooLate).toContain('SIGN_IN_REQUIRED')
  })

  test('that requires a recent sign-in also holds for what an agent does for the person', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const tool = await prepared(platform, service.url)
    await platform.post('/modes', { slug: 'fresh', name: 'F', levels: ['restricted'], sign_in_within_seconds: 300 })
    const agent = await scriptedAgent(platform, callsRefund, { tool_ids: [tool], mode: 'fresh' })
    const ada = await person(platform, 'ada@example.com', { role: 'owner' })
    const run = async (options: object) =>
      (await platform.post(`/agents/${agent}/generate`, { prompt: 'go' }, options)).body.output.content

    const byPerson = await run(ada.session)
    const byKey = await run({})
    later(301)
    const tooLate = await run(ada.session)

    expect([byPerson, byKey, tooLate]).toEqual(['done', 'refused', 'refused'])
  })

  test('of a person counts in the dashboard, and can be taken away only by someone who may use it', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const tool = await prepared(platform, service.url)
    const ada = await person(platform, 'ada@example.com', { role: 'owner', modes: ['quiet'] })
    const plain = await platform.keyFor([{ effect: 'Allow', action: ['users:*'] }])
    const call = () => platform.post(`/tools/${tool}/call`, {}, ada.session)
    const change = (modes: string[], options: object) =>
      platform.patch(`/users/${ada.id}`, { modes }, options).then(({ status }) => status)

    const refused = await call()
    const byOneself = await change([], ada.session)
    const stranger = await change([], { key: plain })
    const admin = await change(['support'], {})
    const allowed = await call()

    expect(refused.body.error.code).toBe('MODE_RESTRICTED')
    expect([byOneself, stranger, admin]).toEqual([400, 403, 200])
    expect(allowed.status).toBe(200)
  })

  test('of a key can be changed, and the next call follows it', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const tool = await prepared(platform, service.url)
    const { body: key } = await platform.post('/api-keys', {
      name: 'k',
      access_policy_ids: ['pol_caller'],
      modes: ['quiet'],
    })
    const call = async () => (await platform.post(`/tools/${tool}/call`, {}, { key: key.key })).status

    const before = await call()
    await platform.patch(`/api-keys/${key.id}`, { modes: ['support'] })

    expect([before, await call()]).toEqual([403, 200])
  })
})

test('lists show what the mode of the caller allows, and clients are told when that changes', async () => {
  const inputSchema = { type: 'object' as const }
  await using upstream = await startUpstream(
    [
      { name: 'find_contact', description: 'Find a contact', inputSchema, annotations: { readOnlyHint: true } },
      { name: 'delete_contact', description: 'Delete a contact', inputSchema },
    ],
    'both',
    { hasPrompts: true },
  )
  await using platform = await startListening()
  await platform.post('/tools', { name: 'crm', type: 'mcp', mcp: { url: upstream.url } })
  await platform.post('/servers', { slug: 'desk', tool_names: 'original' })
  await platform.post('/servers', { slug: 'finder', agent_mode: true })
  const { body: mode } = await platform.post('/modes', { slug: 'look', name: 'Look', groups: ['read'] })
  const key = await callerKey(platform, { modes: ['look'] })
  let changes = 0
  const tools = { autoRefresh: false, onChanged: () => void changes++ }
  const client = new Client(
    { name: 'tester', version: '1' },
    { versionNegotiation: { mode: 'auto' }, listChanged: { tools } },
  )
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${platform.url}/mcp/desk`), { requestInit }))
  const listed = async () =>
    (await client.listTools(undefined, { cacheMode: 'refresh' })).tools.map(({ name }) => name).sort()
  const found = async () => {
    const query = { integration_query: ['delete a contact crm'] }
    const { body } = await platform.post('/servers/finder/resolve', query, { key })
    return body.results[0].candidates.map(({ identifier }: { identifier: string }) => identifier).sort()
  }
  const prompt = async () => (await platform.get('/xml/prompt?servers=desk', { key })).body.prompt

  expect(await listed()).toEqual(['find_contact'])
  expect(await found()).toEqual(['find_contact'])
  expect(await prompt()).not.toContain('delete_contact')
  expect((await client.listPrompts()).prompts).toHaveLength(1)
  await platform.patch(`/modes/${mode.id}`, { groups: null, tools: ['crm:find_contact', 'crm:delete_contact'] })
  await expect.poll(() => changes, { timeout: 5000 }).toBeGreaterThan(0)

  expect(await listed()).toEqual(['delete_contact', 'find_contact'])
  expect(await found()).toEqual(['delete_contact', 'find_contact'])
  expect(await prompt()).toContain('delete_contact')
  expect((await client.listPrompts(undefined, { cacheMode: 'refresh' })).prompts).toEqual([])
  await client.close()
})

describe('the level of an action', () => {
  test('comes from the server, then from its definition, then from what is set for it (S3.13) (S3.14)', async () => {
    const meta = { 'quartermaster/level': 'administrative' }
    await using upstream = await startUpstream([
      { ...echo, name: 'read' },
      { ...echo, name: 'wipe', _meta: meta },
      { ...echo, name: 'list', _meta: meta },
      { ...echo, name: 'gone' },
    ])
    await using platform = await startPlatform()
    const { body: tool } = await platform.post('/tools', {
      name: 'disk',
      type: 'mcp',
      mcp: { url: upstream.url },
      level: 'restricted',
      action_settings: { list: { level: 'open' }, gone: { enabled: false } },
    })
    const levels = async () =>
      (await platform.get(`/tools/${tool.id}/actions`)).body.data.map(({ name, level }: Record<string, string>) => [
        name,
        level,
      ])
    const call = (action: string) =>
      platform.post(`/tools/${tool.id}/call`, { action, input: { text: 'a' }, wait: false })

    expect(await levels()).toEqual([
      ['list', 'open'],
      ['read', 'restricted'],
      ['wipe', 'administrative'],
    ])
    expect((await call('list')).status).toBe(200)
    expect((await call('wipe')).status).toBe(202)
    expect((await pending(platform)).why).toMatchObject([{ gate: 'level', reason: 'its level is administrative' }])
    expect((await call('gone')).body.error.details.errors[0].message).toContain('has no action "gone"')
  })

  test('of the platform’s own actions cannot be lowered', async () => {
    await using platform = await startPlatform()
    const { body: tool } = await platform.post('/tools', {
      name: 'own',
      type: 'platform',
      actions: ['list-api-keys'],
      action_settings: { '*': { level: 'open' } },
    })

    const { body } = await platform.get(`/tools/${tool.id}/actions`)

    expect(body.data).toMatchObject([{ name: 'list-api-keys', level: 'administrative', auto_approve: false }])
  })

  test('set to need approval waits in every mode', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const tool = await prepared(platform, service.url, { action_settings: { refund: { auto_approve: false } } })
    const key = await callerKey(platform, { modes: ['support'] })

    const { status } = await platform.post(`/tools/${tool}/call`, { wait: false }, { key })

    expect(status).toBe(202)
    expect(service.received).toEqual([])
  })
})
