import { expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { startProtected, TestBrowser } from './connect-peers.ts'
import { startService, type TestPlatform } from './kit.ts'
import { type Received, soundMetadata, startAuthorizationServer, startScripted } from './oauth-peers.ts'

async function create(platform: TestPlatform, path: string, body: object) {
  const response = await platform.post(path, { project_id: platform.projectId, ...body })
  expect(response.status, JSON.stringify(response.body)).toBe(201)
  return response.body
}

/** Makes the token of the only connection expire. */
async function expire({ platform: { store } }: TestPlatform): Promise<void> {
  const row = await store.engine.db.selectFrom('connections').selectAll().executeTakeFirstOrThrow()
  await store.engine.db
    .updateTable('connections')
    .set({ expires_at: Date.now() - 1000 })
    .execute()
  await store.changes.publish('connections', [row.id])
}

const clientOf = ({ body }: Received): string => String(new URLSearchParams(body).get('client_id'))

/** An app at an authorization server that registers clients, and answers token requests as `accepts` says. */
async function startApp(platform: TestPlatform, accepts: (clientId: string) => boolean) {
  let clients = 0
  const asked: string[] = []
  const as = await startScripted((url) => ({
    'GET /.well-known/oauth-authorization-server': {
      body: { ...soundMetadata(url), token_endpoint_auth_methods_supported: ['none'] },
    },
    'POST /register': ({ body }) => ({ status: 201, body: { ...JSON.parse(body), client_id: `client-${++clients}` } }),
    'GET /authorize': ({ path }) => {
      const { searchParams: query } = new URL(path, url)
      const location = `${query.get('redirect_uri')}?code=code-of-${query.get('client_id')}&state=${query.get('state')}`
      return { status: 302, headers: { location } }
    },
    'POST /token': (request) => {
      const client = clientOf(request)
      asked.push(`${new URLSearchParams(request.body).get('grant_type')} ${client}`)
      if (!accepts(client)) return { status: 401, body: { error: 'invalid_client' } }
      const tokens = { access_token: `token-for-${client}-0123456789`, refresh_token: 'refresh-token-0123456789' }
      return { body: { ...tokens, token_type: 'Bearer', expires_in: 3600 } }
    },
  }))
  const service = await startService(({ url }) => (url === '/contacts' ? {} : { status: 404 }))
  const execute = { url: `${service.url}/contacts`, method: 'GET' }
  const tool = await create(platform, '/tools', { name: 'contacts', app: 'crm', parameters: {}, execute })
  await create(platform, '/auth-configs', { app: 'crm', type: 'oauth2_authorization_code', issuer: as.url })
  return {
    ...{ asked, service },
    registered: () => clients,
    connect: async () => {
      const link = await create(platform, '/connections/link', { app: 'crm' })
      return { link, page: await new TestBrowser().connect(link.connect_url) }
    },
    call: () => platform.post(`/tools/${tool.id}/call`, { input: {} }),
    async [Symbol.asyncDispose]() {
      await as[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
    },
  }
}

test('a server that removed our client but kept the grant is asked again with a new client', async () => {
  const removed = new Set<string>()
  await using platform = await startListening()
  await using app = await startApp(platform, (client) => !removed.has(client))
  await app.connect()

  removed.add('client-1')
  await expire(platform)
  const answers = await Promise.all([app.call(), app.call()])
  const [connection] = (await platform.get('/connections')).body.data

  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(app.asked).toEqual(['authorization_code client-1', 'refresh_token client-1', 'refresh_token client-2'])
  expect(app.registered()).toBe(2)
  expect(connection).toMatchObject({ status: 'active', error: null })
  expect(app.service.received.at(-1)?.headers.authorization).toBe('Bearer token-for-client-2-0123456789')
})

test('a server that removed our client and its grant asks for a new connection, which then works', async () => {
  await using as = await startAuthorizationServer()
  await using server = await startProtected(as)
  await using platform = await startListening()
  const tool = await create(platform, '/tools', { name: 'notes', type: 'mcp', mcp: { url: server.url } })
  const read = () => platform.post(`/tools/${tool.id}/call`, { action: 'read', input: {} })
  const link = await create(platform, '/connections/link', { tool_id: tool.id })
  await new TestBrowser().connect(link.connect_url)
  await read()
  const token = await as.provider.AccessToken.find(String(server.calls[0]?.token))

  const { adapter } = as.provider.Client as unknown as { adapter: { destroy(id: string): Promise<void> } }
  await adapter.destroy(String(token?.clientId))
  await expire(platform)
  const refused = await read()
  const page = await new TestBrowser().connect(refused.body.error.details.connect_url)
  const after = await read()

  expect(refused.body.error).toMatchObject({ code: 'CONNECTION_REQUIRED', details: { reason: 'expired' } })
  expect(page.text).toContain('is connected')
  expect(after.status).toBe(200)
})

test('a client that is removed while somebody connects is replaced, and the same link goes on', async () => {
  const removed = new Set(['client-1'])
  await using platform = await startListening()
  await using app = await startApp(platform, (client) => !removed.has(client))

  const { page } = await app.connect()

  expect(page.text).toContain('is connected')
  expect(app.asked).toEqual(['authorization_code client-1', 'authorization_code client-2'])
  expect((await app.call()).status).toBe(200)
})

test('a server that rejects every client it registers gets one more, and the page says what failed', async () => {
  await using platform = await startListening()
  await using app = await startApp(platform, () => false)

  const { page } = await app.connect()

  expect(page.status).toBe(422)
  expect(page.text).toContain('no longer accepts our client')
  expect(app.registered()).toBe(2)
  expect(app.asked).toHaveLength(2)
})

test('a person who starts again because the server did not know our client gets a new client', async () => {
  await using platform = await startListening()
  await using app = await startApp(platform, () => true)
  const link = await create(platform, '/connections/link', { app: 'crm' })
  const browser = new TestBrowser()

  // The browser stays at the authorization server, which shows an error.
  const left = await browser.connect(link.connect_url, {}, { follow: false })
  const page = await browser.connect(link.connect_url)

  expect(new URL(String(left.headers.get('location'))).searchParams.get('client_id')).toBe('client-1')
  expect(page.text).toContain('is connected')
  expect(app.asked).toEqual(['authorization_code client-2'])
})

test('a well-known app with a host for each customer needs only a client and a subdomain', async () => {
  await using platform = await startListening()
  const execute = { url: 'https://acme.myshopify.com/admin/api/orders.json', method: 'GET' }
  await create(platform, '/tools', { name: 'orders', app: 'shopify', parameters: {}, execute })
  const type = 'oauth2_authorization_code'
  const client = { client_id: 'ours', client_secret: 'the-secret-of-ours' }
  const elsewhere = await platform.post('/auth-configs', { app: 'shopify', type, ...client, subdomain: 'evil.test/' })
  const config = await create(platform, '/auth-configs', { app: 'shopify', type, ...client })
  const open = async () => {
    const link = await create(platform, '/connections/link', { app: 'shopify' })
    return new TestBrowser().connect(link.connect_url, {}, { follow: false })
  }

  const without = await open()
  const unsent = await platform.patch(`/auth-configs/${config.id}`, { subdomain: 'acme' })
  await platform.patch(`/auth-configs/${config.id}`, { subdomain: 'acme', client_secret: 'the-secret-of-ours' })
  const started = await open()
  const presets = (await platform.get('/app-presets?limit=100&offset=100')).body.data
  const shopify = presets.find(({ app }: { app: string }) => app === 'shopify')

  expect(elsewhere.status).toBe(400)
  expect(without.text).toContain('needs a subdomain')
  expect(unsent.body.error.details.errors).toMatchObject([{ path: 'client_secret' }])
  expect(started.headers.get('location')).toMatch(/^https:\/\/acme\.myshopify\.com\/.*client_id=ours/)
  expect(shopify).toMatchObject({ needs_subdomain: true })
})
