import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey, startPlatform } from './kit.ts'
import { startLegacyUpstream } from './legacy-upstream.ts'
import { echo, startUpstream } from './upstream.ts'

const say = (name: string) => ({ name, run: ({ text }: Record<string, unknown>) => `${name} says ${text}` })

test('an MCP server that speaks the older SSE transport is listed, called, and heard when its tools change (S2.13)', async () => {
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

/** A client that counts how often it hears that the tools of a server have changed, or its skills. */
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
    /** Makes a change, again and again, until one is heard: a client may take a moment until it listens. */
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
] as const)('a client of %s that listens at a server', (_, mode) => {
  test('hears when the tools of an upstream change, and finds the new ones', async () => {
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

  test('hears when a tool or the server itself is changed', async () => {
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
  test('hears when a skill is added or changed', async () => {
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
