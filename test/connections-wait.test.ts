import { expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { TestBrowser } from './connect-peers.ts'
import { freshDatabase } from './engines.ts'
import { adminKey, ask, startService, type TestPlatform } from './kit.ts'
import { startProcess, temporaryFolder } from './process.ts'

async function create(platform: TestPlatform, path: string, body: object) {
  const response = await platform.post(path, { project_id: platform.projectId, ...body })
  expect(response.status, JSON.stringify(response.body)).toBe(201)
  return response.body
}

/** A tool whose users connect with an API key. */
async function registerCrm(platform: TestPlatform, url: string) {
  const execute = { url: `${url}/contacts`, method: 'GET' }
  const tool = await create(platform, '/tools', { name: 'contacts', app: 'crm', parameters: {}, execute })
  await create(platform, '/auth-configs', { app: 'crm', type: 'bearer' })
  const call = (user: string, more: object = {}) =>
    platform.post(`/tools/${tool.id}/call`, { input: {}, end_user_id: user, ...more })
  return { id: tool.id as string, call }
}

const refusals = async (platform: TestPlatform) =>
  (await platform.get('/calls?limit=100')).body.data.filter(
    ({ error }: { error?: { code: string } }) => error?.code === 'CONNECTION_REQUIRED',
  ).length

const connect = async (url: string, value: string) => {
  const page = await new TestBrowser().connect(url, { value })
  expect(page.text).toContain('is connected')
}

test('a REST call that asks to wait is answered once its user has connected, and others are refused at once', async () => {
  await using service = await startService()
  await using platform = await startListening()
  const { call } = await registerCrm(platform, service.url)

  const refused = await call('alice')
  const waiting = call('alice', { wait: true })
  await expect.poll(() => refusals(platform)).toBe(2)
  await create(platform, '/connections', {
    ...{ app: 'crm', type: 'bearer', value: 'token-of-bob-123456', owner: { kind: 'user', id: 'bob' } },
  })
  const sentBefore = service.received.length
  await connect(refused.body.error.details.connect_url, 'token-of-alice-1234')
  const answer = await waiting

  expect(refused.status).toBe(409)
  expect(sentBefore).toBe(0)
  expect(answer.status).toBe(200)
  expect(service.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-of-alice-1234'])
  expect(await refusals(platform), 'a connection of someone else does not repeat the call').toBe(2)
})

test('a REST call that waits ends when the platform shuts down', async () => {
  await using service = await startService()
  await using platform = await startListening()
  const { call } = await registerCrm(platform, service.url)

  const waiting = call('alice', { wait: true })
  await expect.poll(() => refusals(platform)).toBe(1)
  platform.platform.drain()

  expect((await waiting).body.error.code).toBe('SHUTTING_DOWN')
  expect(service.received).toEqual([])
})

test('a REST call that waits ends when its caller leaves, and is not made later', async () => {
  await using service = await startService()
  await using platform = await startListening()
  const { id } = await registerCrm(platform, service.url)
  const leaving = new AbortController()

  const waiting = fetch(`${platform.url}/api/v1/tools/${id}/call`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ input: {}, end_user_id: 'alice', wait: true }),
    signal: leaving.signal,
  }).catch(() => 'left')
  await expect.poll(() => refusals(platform)).toBe(1)
  leaving.abort()
  expect(await waiting).toBe('left')
  await create(platform, '/connections', {
    ...{ app: 'crm', type: 'bearer', value: 'token-of-alice-1234', owner: { kind: 'user', id: 'alice' } },
  })
  const { status } = await platform.post(`/tools/${id}/call`, { input: {}, end_user_id: 'alice' })

  expect(status).toBe(200)
  expect(service.received).toHaveLength(1)
})

test('nobody can connect an account for client credentials, so a call does not wait for one', async () => {
  await using service = await startService()
  await using platform = await startListening()
  const execute = { url: service.url, method: 'GET' }
  const tool = await create(platform, '/tools', { name: 'contacts', app: 'crm', parameters: {}, execute })
  await create(platform, '/auth-configs', { app: 'crm', type: 'oauth2_client_credentials', client_id: 'c' })

  const { status, body } = await platform.post(`/tools/${tool.id}/call`, { input: {}, wait: true })

  expect(status).toBe(409)
  expect(body.error.details.connect_url).toBeNull()
})

test('a call waits in one process for an account that is connected in another', { timeout: 60_000 }, async () => {
  await using database = await freshDatabase('postgres')
  await using service = await startService()
  await using folder = await temporaryFolder()
  const environment = {
    DATABASE_URL: String(database.options.databaseUrl),
    ...{ QM_ADMIN_KEY: adminKey, QM_SECRET_KEY: 'a passphrase of the tests', QM_EMBEDDINGS: 'off' },
  }
  await using other = await startProcess(folder.path, environment)
  await using platform = await startListening(environment)
  const { id } = await registerCrm(platform, service.url)

  const waiting = ask<object>(other, 'POST', `/tools/${id}/call`, { input: {}, end_user_id: 'alice', wait: true })
  await expect.poll(() => refusals(platform), { timeout: 10_000 }).toBe(1)
  await create(platform, '/connections', {
    ...{ app: 'crm', type: 'bearer', value: 'token-of-alice-1234', owner: { kind: 'user', id: 'alice' } },
  })
  const answer = await waiting

  expect(answer).not.toHaveProperty('error')
  expect(service.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-of-alice-1234'])
})
