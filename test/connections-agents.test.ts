import { expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { startProtected, TestBrowser } from './connect-peers.ts'
import { startService, type TestPlatform } from './kit.ts'
import { startAuthorizationServer } from './oauth-peers.ts'

type Listening = Awaited<ReturnType<typeof startListening>>

async function create(platform: TestPlatform, path: string, body: object) {
  const response = await platform.post(path, { project_id: platform.projectId, ...body })
  expect(response.status, JSON.stringify(response.body)).toBe(201)
  return response.body
}

/** A browser that is signed in to the dashboard. */
async function signedIn(platform: Listening, key: string): Promise<TestBrowser> {
  const response = await fetch(`${platform.url}/api/v1/dashboard/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
  })
  const browser = new TestBrowser()
  browser.keepCookie(platform.url, String(response.headers.getSetCookie()[0]))
  return browser
}

test('a run pauses until its user has connected, and continues by itself (S0.42)', async () => {
  await using hooks = await startService()
  await using as = await startAuthorizationServer()
  await using server = await startProtected(as)
  await using platform = await startListening()
  const tool = await create(platform, '/tools', { name: 'notes', type: 'mcp', mcp: { url: server.url } })
  const { connect_url: carols } = await create(platform, '/connections/link', {
    ...{ tool_id: tool.id, end_user_id: 'carol' },
  })
  await new TestBrowser().connect(carols)
  await create(platform, '/webhooks', { name: 'w', url: hooks.url, events: ['generation.requires_action'] })
  const script = { steps: [{ answer: { tool_calls: [{ name: 'notes_read', args: {} }] } }, { answer: 'done' }] }
  const provider = await create(platform, '/ai-providers', {
    ...{ name: 'p', type: 'replay', default_model: 'm', script },
  })
  const agent = await create(platform, '/agents', { name: 'a', ai_provider_id: provider.id, tool_ids: [tool.id] })
  const alice = await platform.keyFor([{ effect: 'Allow', action: ['*'] }], { end_user_id: 'alice' })

  const paused = await platform.post(`/agents/${agent.id}/generate`, { prompt: 'Read', end_user_id: 'alice' })
  const [wait] = paused.body.required_action.connections
  const sentBefore = server.calls.length
  const { db } = platform.platform.store.engine
  const rows = JSON.stringify([
    await db.selectFrom('generation_calls').selectAll().execute(),
    await db.selectFrom('calls').selectAll().execute(),
    await db.selectFrom('webhook_deliveries').selectAll().execute(),
  ])
  const stranger = await new TestBrowser().connect(wait.connect_url)
  const page = await (await signedIn(platform, alice)).connect(wait.connect_url)

  expect(paused.body).toMatchObject({ status: 'requires_action', required_action: { type: 'connect_accounts' } })
  expect(wait).toMatchObject({ app: 'notes', reason: 'missing', tool_name: 'notes_read' })
  expect(sentBefore).toBe(0)
  expect(rows).not.toContain(wait.connect_url.split('/').at(-1))
  expect(stranger.status).toBe(403)
  expect(page.text).toContain('is connected')
  await expect
    .poll(async () => (await platform.get(`/generations/${paused.body.id}`)).body.status, { timeout: 10_000 })
    .toBe('completed')
  expect(server.calls.map(({ account }) => account)).toEqual(['alice'])
  await expect.poll(() => hooks.received.length).toBe(1)
})

test('the link of a call is not in its record', async () => {
  await using service = await startService()
  await using platform = await startListening()
  const execute = { url: `${service.url}/contacts`, method: 'GET' }
  const tool = await create(platform, '/tools', { name: 'contacts', app: 'crm', parameters: {}, execute })
  await create(platform, '/auth-configs', { app: 'crm', type: 'bearer' })

  const { body } = await platform.post(`/tools/${tool.id}/call`, { input: {} })
  const record = (await platform.get('/calls')).body.data[0]

  expect(body.error.details.connect_url).toEqual(expect.any(String))
  expect(record.error).toMatchObject({ code: 'CONNECTION_REQUIRED', details: { app: 'crm', connect_url: null } })
  expect(JSON.stringify(record)).not.toContain(body.error.details.connect_url.split('/').at(-1))
})
