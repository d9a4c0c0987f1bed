import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey, startPlatform, type TestPlatform } from './kit.ts'
import { startLegacyUpstream } from './legacy-upstream.ts'
import { echo, startUpstream } from './upstream.ts'

const say = (name: string) => ({ name, run: ({ text }: Record<string, unknown>) => `${name} says ${text}` })

test('an MCP server with the older SSE transport can be listed and called, and its tool changes are noticed (S2.13)', async () => {
  await using upstream = await startLegacyUpstream([say('one')], 'sse')
  await using platform = await startPlatform()
  const { body: tool } = await platform.post('/tools', { name: 'old', type: 'mcp', mcp: { url: upstream.url } })
  const names = async () =>
    (await platform.get(`/tools/${tool.id}/actions`)).body.data.map(({ name }: { name: string }) => name)

  const before = await names()
  const { body } = await platform.post(`/tools/${tool.id}/call`, { action: 'one', input: { text: 'hi' } })
  await upstream.change([say('one'), say('two')])

  expect(before).toEqual(['one'])
  expect(body.content).toEqual([{ type: 'text', text: 'one says hi' }])
  await expect.poll(names, { timeout: 10_000 }).toEqual(['one', 'two'])
  expect((await platform.get(`/tools/${tool.id}/health`)).body).toMatchObject({ state: 'up', era: 'legacy' })
})

/** A client that counts the notifications about changed tools or skills of a server. */
async function listen(url: string, mode: 'legacy' | 'auto', about: 'tools' | 'resources' = 'tools') {
  let heard = 0
  const onChanged = () => {
    heard++
  }
  const told = { autoRefresh: false, debounceMs: 0, onChanged }
  const listChanged = { [about]: told }
  const client = new Client({ name: 'listener', version: '1' }, { versionNegotiation: { mode }, listChanged })
  const headers = { authorization: `Bearer ${adminKey}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  return {
    client,
    /** Repeats a change until a notification arrives, because clients subscribe with a delay. */
    async expectHeard(change: () => Promise<unknown>) {
      const before = heard
      await expect
        .poll(
          async () => {
            await change()
            return heard - before
          },
          { timeout: 10_000, interval: 200 },
        )
        .toBeGreaterThan(0)
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

describe.each([
  ['2025', 'legacy'],
  ['2026', 'auto'],
] as const)('a client of the %s era that is subscribed to a server', (_, mode) => {
  test('is notified when the tools of an upstream change, and gets the new list', async () => {
    await using upstream = await startUpstream([echo])
    await using old = await startLegacyUpstream([say('one')])
    await using platform = await startListening()
    await platform.post('/tools', { name: 'up', type: 'mcp', mcp: { url: upstream.url } })
    await platform.post('/tools', { name: 'old', type: 'mcp', mcp: { url: old.url } })
    await platform.post('/servers', { slug: 's', tool_names: 'original' })
    await using listener = await listen(`${platform.url}/mcp/s`, mode)
    const names = async () =>
      (await listener.client.listTools(undefined, { cacheMode: 'refresh' })).tools.map(({ name }) => name).sort()
    expect(await names()).toEqual(['echo', 'one'])

    await listener.expectHeard(async () => upstream.change([{ ...echo, name: 'other' }]))
    await listener.expectHeard(() => old.change([say('two')]))

    await expect.poll(names, { timeout: 10_000 }).toEqual(['other', 'two'])
  })

  test('is notified when a tool or the server itself changes', async () => {
    await using platform = await startListening()
    const execute = { url: 'http://127.0.0.1:1/' }
    const http = { name: 'fetch', type: 'http', description: 'Fetches', parameters: { type: 'object' }, execute }
    const { body: tool } = await platform.post('/tools', http)
    const { body: server } = await platform.post('/servers', { slug: 's' })
    await using listener = await listen(`${platform.url}/mcp/s`, mode)
    let count = 0

    await listener.expectHeard(() => platform.patch(`/tools/${tool.id}`, { description: `new ${count++}` }))
    await listener.expectHeard(() => platform.patch(`/servers/${server.id}`, { description: `new ${count++}` }))

    const { tools } = await listener.client.listTools(undefined, { cacheMode: 'refresh' })
    expect(tools).toHaveLength(1)
  })
  test('is notified when a skill is added or changed', async () => {
    await using platform = await startListening()
    await platform.post('/servers', { slug: 's', retrieve_skill: true })
    const { body: skill } = await platform.post('/skills', { name: 'Pay back', summary: 'How', content: '# How\n' })
    await using listener = await listen(`${platform.url}/mcp/s`, mode, 'resources')
    let count = 0

    await listener.expectHeard(() => platform.patch(`/skills/${skill.id}`, { summary: `How, again ${count++}` }))

    const { resources } = await listener.client.listResources(undefined, { cacheMode: 'refresh' })
    expect(resources).toMatchObject([{ name: 'pay-back', description: `How, again ${count - 1}` }])
  })
})

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'listener', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** A handwritten stream of notifications. `over` settles when it has ended. */
async function openStream(platform: TestPlatform, key: string, era: '2025' | '2026', path = '/mcp/s') {
  const authorization = `Bearer ${key}`
  const about = { _meta: meta, notifications: { toolsListChanged: true } }
  const modern = {
    method: 'POST',
    headers: {
      authorization,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: about }),
  }
  const legacy = { headers: { authorization, accept: 'text/event-stream' } }
  const response = await platform.fetch(path, era === '2025' ? legacy : modern)
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  let isOver = false
  const over = response.text().finally(() => {
    isOver = true
  })
  return { over, isOver: () => isOver }
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 100))

describe.each(['2025', '2026'] as const)('the event stream of a client of the %s era', (era) => {
  const everything = [{ effect: 'Allow', action: '*', resource: '*' }]

  async function startServed() {
    const platform = await startPlatform()
    const { body: server } = await platform.post('/servers', { slug: 's' })
    return { platform, server }
  }

  /** A key with a policy, and the ids of both. */
  async function makeKey(platform: TestPlatform, expires_at?: string) {
    const document = { statement: everything }
    const { body: policy } = await platform.post('/access-policies', { name: 'p', project_id: null, document })
    const asked = { name: 'k', project_id: null, access_policy_ids: [policy.id], ...(expires_at && { expires_at }) }
    const { body: key } = await platform.post('/api-keys', asked)
    return { policyId: policy.id, keyId: key.id, key: key.key }
  }

  test('ends when its key is revoked, and no other stream does', async () => {
    const { platform } = await startServed()
    await using _ = platform
    const { key, keyId } = await makeKey(platform)
    const streams = [await openStream(platform, key, era), await openStream(platform, key, era, '/mcp')]
    const other = await openStream(platform, adminKey, era)

    await platform.delete(`/api-keys/${keyId}`)

    await Promise.all(streams.map(({ over }) => over))
    await soon()
    expect(other.isOver()).toBe(false)
  })

  test('ends when its key expires', async () => {
    const { platform } = await startServed()
    await using _ = platform
    const expires = Date.now() + 700
    const { key } = await makeKey(platform, new Date(expires).toISOString())

    const { over } = await openStream(platform, key, era)

    await over
    expect(Date.now()).toBeGreaterThanOrEqual(expires)
  })

  test('ends when its key may no longer use the server, and continues through other policy changes', async () => {
    const { platform } = await startServed()
    await using _ = platform
    const { key, policyId } = await makeKey(platform)
    const stream = await openStream(platform, key, era)

    const narrower = [...everything, { effect: 'Deny', action: 'tools:CallTool', resource: '*' }]
    await platform.patch(`/access-policies/${policyId}`, { document: { statement: narrower } })
    await soon()
    const wasOver = stream.isOver()
    const none = [...everything, { effect: 'Deny', action: 'servers:UseServer', resource: '*' }]
    await platform.patch(`/access-policies/${policyId}`, { document: { statement: none } })

    expect(wasOver).toBe(false)
    expect(await stream.over).toContain('notifications/tools/list_changed')
  })

  test.each(['switched off', 'deleted'])('ends when the server is %s', async (how) => {
    const { platform, server } = await startServed()
    await using _ = platform
    const { over } = await openStream(platform, adminKey, era)

    if (how === 'deleted') await platform.delete(`/servers/${server.id}`)
    else await platform.patch(`/servers/${server.id}`, { enabled: false })

    await over
  })
})
