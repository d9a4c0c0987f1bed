import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, expect, test, vi } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey, startPlatform, startService, type TestPlatform } from './kit.ts'
import { startLegacyUpstream } from './legacy-upstream.ts'
import { echo, startUpstream, type UpstreamTool } from './upstream.ts'

/** When the tool list of an MCP server is fetched again, and what remains while the server is unreachable. */

afterEach(() => {
  vi.useRealTimers()
})

/** Changes only the current time. Timers run normally. */
function pass(seconds: number): void {
  const now = Date.now()
  vi.useFakeTimers({ toFake: ['Date'], now: now + seconds * 1000 })
}

const more: UpstreamTool = { ...echo, name: 'more' }

const register = async (platform: TestPlatform, url: string, fields: object = {}): Promise<string> =>
  (await platform.post('/tools', { name: 'up', type: 'mcp', mcp: { url }, ...fields })).body.id

const namesOf = async (platform: TestPlatform, id: string): Promise<string[]> =>
  (await platform.get(`/tools/${id}/actions`)).body.data.map(({ name }: { name: string }) => name)

/** An agent that responds with the tools it can call. */
async function agentWith(platform: TestPlatform, tool_ids: string[], steps: object[]): Promise<string> {
  const provider = await platform.post('/ai-providers', { name: 'script', type: 'replay', script: { steps } })
  const agent = await platform.post('/agents', { name: 'a', ai_provider_id: provider.body.id, tool_ids })
  expect(agent.status, JSON.stringify(agent.body)).toBe(201)
  return agent.body.id
}

const generate = async (platform: TestPlatform, agent: string) =>
  (await platform.post(`/agents/${agent}/generate`, { prompt: 'Hi' })).body

const seesMore = [
  { when: { tools: ['up_more'] }, answer: 'more' },
  { when: { tools: ['up_echo'] }, answer: 'echo' },
]

test('an agent run uses a tool list that is at most a minute old (S4.1)', async () => {
  const tools = [echo]
  await using upstream = await startUpstream(tools)
  await using platform = await startPlatform()
  const agent = await agentWith(platform, [await register(platform, upstream.url)], seesMore)

  const first = await generate(platform, agent)
  tools.push(more)
  const soon = await generate(platform, agent)
  pass(61)
  const later = await generate(platform, agent)

  expect([first, soon, later].map(({ output }) => output.content)).toEqual(['echo', 'echo', 'more'])
})

test.each(['legacy', 'auto'] as const)(
  'a client of the %s era gets a tool list that is at most a minute old when it connects (S4.1)',
  async (mode) => {
    const tools = [echo]
    await using upstream = await startUpstream(tools)
    await using platform = await startListening()
    await register(platform, upstream.url)
    await platform.post('/servers', { slug: 's', apps: [{ slug: 'up' }] })
    const names = async () => {
      const client = new Client({ name: 'tester', version: '1' }, { versionNegotiation: { mode } })
      const requestInit = { headers: { authorization: `Bearer ${adminKey}` } }
      await client.connect(new StreamableHTTPClientTransport(new URL(`${platform.url}/mcp/s`), { requestInit }))
      const listed = await client.listTools()
      await client.close()
      return listed.tools.map(({ name }) => name)
    }

    const first = await names()
    tools.push(more)
    pass(61)
    const later = await names()

    expect(first).toEqual(['up_echo_action'])
    expect(later).toEqual(['up_echo_action', 'up_more_action'])
  },
)

test('while an MCP server is down its last tool list is used, and only calls to that server fail (S4.1) (S1.17)', async () => {
  await using upstream = await startUpstream()
  await using service = await startService()
  await using platform = await startPlatform()
  const parameters = { type: 'object' }
  const other = (await platform.post('/tools', { name: 'other', execute: { url: service.url }, parameters })).body.id
  const both = [
    { name: 'up_echo', args: { text: 'x' } },
    { name: 'other', args: {} },
  ]
  const agent = await agentWith(
    platform,
    [await register(platform, upstream.url), other],
    [{ when: { last_tool: null, tools: ['up_echo', 'other'] }, answer: { tool_calls: both } }, { answer: 'Done' }],
  )
  await generate(platform, agent)
  await upstream.stop()

  for (const seconds of [61, 600]) {
    pass(seconds)
    const run = await generate(platform, agent)

    const [step] = (await platform.get(`/generations/${run.id}`)).body.step_list
    expect(step.calls).toMatchObject([
      { tool_name: 'up_echo', status: 'failed', output: { error: { code: 'TOOL_UNREACHABLE' } } },
      { tool_name: 'other', status: 'done' },
    ])
  }
  await upstream.restart()
})

test('the tool list of an MCP server that is back up is refreshed within seconds', async () => {
  const tools = [echo]
  await using upstream = await startUpstream(tools, 'legacy')
  await using platform = await startPlatform()
  await register(platform, upstream.url)
  await platform.post('/servers', { slug: 's', apps: [{ slug: 'up' }] })
  // Handwritten, because the client of the SDK caches lists.
  const names = async (): Promise<string[]> => {
    const accept = 'application/json, text/event-stream'
    const headers = { authorization: `Bearer ${adminKey}`, accept, 'content-type': 'application/json' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const response = await platform.platform.fetch('http://127.0.0.1/mcp/s', { method: 'POST', headers, body })
    const text = await response.text()
    return JSON.parse(text).result.tools.map(({ name }: { name: string }) => name)
  }
  const first = await names()

  await upstream.stop()
  pass(600)
  const whileAway = await names()
  tools.push(more)
  await upstream.restart()

  expect([first, whileAway]).toEqual([['up_echo_action'], ['up_echo_action']])
  const soon = async () => {
    pass(2)
    expect(await names()).toEqual(['up_echo_action', 'up_more_action'])
  }
  await vi.waitFor(soon, { timeout: 5000, interval: 500 })
})

test('an MCP server that is slow to list its tools does not delay a conversation (S4.1)', async () => {
  const held = Promise.withResolvers<void>()
  let isSlow = false
  await using upstream = await startUpstream([echo], 'legacy')
  await using slow = await startService(async ({ method, body, headers }) => {
    if (method !== 'POST') return { status: 405 }
    if (isSlow && body.includes('tools/list')) await held.promise
    const passed = ['content-type', 'accept', 'mcp-protocol-version', 'mcp-session-id'].flatMap((name) =>
      typeof headers[name] === 'string' ? [[name, headers[name]]] : [],
    )
    const answer = await fetch(upstream.url, { method, body, headers: Object.fromEntries(passed) })
    const type = answer.headers.get('content-type') ?? 'text/plain'
    return { status: answer.status, body: await answer.text(), headers: { 'content-type': type } }
  })
  await using platform = await startPlatform()
  const agent = await agentWith(platform, [await register(platform, slow.url)], seesMore)
  await generate(platform, agent)
  isSlow = true
  pass(61)

  const run = await generate(platform, agent)

  expect(run.output.content).toBe('echo')
  held.resolve()
})

test('a change notification of a 2025 server that did not declare listChanged refreshes its tool list (S4.1)', async () => {
  const tool = (name: string) => ({ name, run: () => 'fine' })
  await using upstream = await startLegacyUpstream([tool('echo')], 'streamable', { declaresChanges: false })
  await using platform = await startPlatform()
  const id = await register(platform, upstream.url)
  const before = await namesOf(platform, id)

  await upstream.change([tool('echo'), tool('more')])

  expect(before).toEqual(['echo'])
  await vi.waitFor(async () => expect(await namesOf(platform, id)).toEqual(['echo', 'more']), 5000)
})

test('a change notification of a 2026 server during a call refreshes its tool list (S4.1)', async () => {
  const tools: UpstreamTool[] = []
  tools.push({
    ...echo,
    run: async (_input, _signal, { notify }) => {
      tools.push(more)
      await notify({ method: 'notifications/tools/list_changed' })
      return { content: [{ type: 'text', text: 'fine' }] }
    },
  })
  await using upstream = await startUpstream(tools, 'modern', { declaresChanges: false })
  await using platform = await startPlatform()
  const id = await register(platform, upstream.url)
  const before = await namesOf(platform, id)

  await platform.post(`/tools/${id}/call`, { action: 'echo', input: { text: 'x' } })

  expect(before).toEqual(['echo'])
  await vi.waitFor(async () => expect(await namesOf(platform, id)).toEqual(['echo', 'more']), 5000)
})
