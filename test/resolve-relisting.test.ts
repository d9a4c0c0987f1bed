import { afterEach, expect, test, vi } from 'vitest'
import { startPlatform, startService, type TestPlatform } from './kit.ts'
import { startUpstream, type UpstreamTool } from './upstream.ts'

afterEach(() => vi.useRealTimers())

const tool = (name: string, description: string): UpstreamTool => ({
  name,
  description,
  inputSchema: { type: 'object', properties: {} },
})
const archive = tool('archive_lead', 'Archive a lead')
const restore = tool('restore_lead', 'Restore a lead from the archive')

async function serve(platform: TestPlatform, url: string) {
  const { status, body } = await platform.post('/tools', { name: 'crm', type: 'mcp', mcp: { url } })
  expect(status, JSON.stringify(body)).toBe(201)
  await platform.post('/servers', { slug: 's', agent_mode: true })
}

const search = async (platform: TestPlatform, query: string) => {
  const { body } = await platform.post('/servers/s/resolve', { integration_query: [query], limit: 5 })
  return body.results[0].candidates as { identifier: string; features: { meaning: number } }[]
}
const names = async (platform: TestPlatform, query: string) =>
  (await search(platform, query)).map(({ identifier }) => identifier)

test('a search uses the known list of an MCP server while the server is listed again', async () => {
  await using upstream = await startUpstream([archive])
  await using platform = await startPlatform()
  await serve(platform, upstream.url)
  expect(await names(platform, 'Archive a lead')).toEqual(['archive_lead'])
  const { promise: listable, resolve: list } = Promise.withResolvers<void>()

  upstream.holdLists(listable)
  upstream.change([archive, restore])
  // The list expires after five minutes.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 6 * 60_000 })
  await vi.waitFor(async () => {
    expect(await names(platform, 'Restore a lead')).toEqual(['archive_lead'])
    expect(upstream.heldLists).toBeGreaterThan(0)
  })
  const made = await platform.post('/tools', {
    name: 'launch_rocket',
    parameters: {},
    execute: { url: 'http://127.0.0.1:9/' },
  })
  expect(made.status).toBe(201)
  expect(await names(platform, 'Launch a rocket')).toEqual(['launch_rocket'])
  expect(upstream.heldLists).toBeGreaterThan(0)
  list()

  await vi.waitFor(async () => expect(await names(platform, 'Restore a lead')).toContain('restore_lead'), 10_000)
})

test('an unchanged list keeps its vectors, so that no search falls back to keywords', async () => {
  await using endpoint = await startService(({ body }) => {
    const { input } = JSON.parse(body) as { input: string[] }
    return { body: JSON.stringify({ data: input.map((_, index) => ({ index, embedding: [1, 0.5, 0.1] })) }) }
  })
  await using upstream = await startUpstream([archive])
  await using platform = await startPlatform({ QM_EMBEDDINGS_URL: endpoint.url })
  await serve(platform, upstream.url)
  const meaning = async () => (await search(platform, 'Archive a lead'))[0]?.features.meaning
  await vi.waitFor(async () => expect(await meaning()).toBeGreaterThan(0), 10_000)
  const embedded = () => endpoint.received.filter(({ body }) => body.includes('archive')).length
  const before = embedded()

  for (let listed = 0; listed < 3; listed++) {
    await platform.post('/tools/crm/refresh', {})
    expect(await meaning()).toBeGreaterThan(0)
  }

  expect(embedded()).toBe(before)
})
