import { expect, test } from 'vitest'
import { openStore, type Store } from '../src/store/store.ts'
import { startListening } from './clients.ts'
import { startProtected, TestBrowser } from './connect-peers.ts'
import { freshDatabase } from './engines.ts'
import { adminKey, ask, type Service, startService, type TestPlatform } from './kit.ts'
import { startAuthorizationServer, startScripted } from './oauth-peers.ts'
import { startProcess, temporaryFolder } from './process.ts'

/** Counts the token requests of each kind that the server grants or refuses. */
function watch({ provider }: Awaited<ReturnType<typeof startAuthorizationServer>>) {
  const granted: string[] = []
  const refused: string[] = []
  provider.on('grant.success', ({ oidc }) => void granted.push(String(oidc.params?.grant_type)))
  provider.on('grant.error', ({ oidc }) => void refused.push(String(oidc.params?.grant_type)))
  return { granted, refused }
}

async function register(platform: TestPlatform, url: string) {
  const { body } = await platform.post('/tools', { name: 'notes', type: 'mcp', mcp: { url } })
  return body.id as string
}

async function connect(platform: TestPlatform, toolId: string): Promise<void> {
  const { body } = await platform.post('/connections/link', { tool_id: toolId, project_id: platform.projectId })
  const page = await new TestBrowser().connect(body.connect_url)
  expect(page.text).toContain('is connected')
}

/** Makes the token of the only connection expire, as time would: it was issued an hour ago. */
async function expire(store: Store, ago = 1000, more: object = {}): Promise<string> {
  const row = await store.engine.db.selectFrom('connections').selectAll().executeTakeFirstOrThrow()
  const details = { ...JSON.parse(String(row.grant_details)), issued_at: Date.now() - 60 * 60_000 }
  await store.engine.db
    .updateTable('connections')
    .set({ expires_at: Date.now() - ago, grant_details: JSON.stringify(details), ...more })
    .execute()
  await store.changes.publish('connections', [row.id])
  return row.id
}

const eventsIn = (hooks: Service) =>
  hooks.received
    .map(({ body }) => JSON.parse(body).type)
    .filter((type) => type.startsWith('connection'))
    .sort()

const read = (platform: TestPlatform, id: string) => platform.post(`/tools/${id}/call`, { action: 'read', input: {} })

test('many calls with an expired token make one refresh, and all of them succeed', async () => {
  await using as = await startAuthorizationServer()
  await using server = await startProtected(as)
  await using platform = await startListening()
  const tool = await register(platform, server.url)
  await connect(platform, tool)
  await read(platform, tool)
  const { granted, refused } = watch(as)

  await expire(platform.platform.store)
  const answers = await Promise.all(Array.from({ length: 20 }, () => read(platform, tool)))

  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
  expect(granted).toEqual(['refresh_token'])
  expect(refused).toEqual([])
  expect(new Set(server.calls.map(({ token }) => token)).size).toBe(2)
})

/** Three processes on one database, and a tool whose account is connected. */
async function startThree() {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await freshDatabase('postgres'))
  const as = stack.use(await startAuthorizationServer())
  const server = stack.use(await startProtected(as))
  const folder = stack.use(await temporaryFolder())
  const environment = {
    DATABASE_URL: String(database.options.databaseUrl),
    QM_ADMIN_KEY: adminKey,
    QM_SECRET_KEY: 'a passphrase of the tests',
    QM_EMBEDDINGS: 'off',
  }
  const start = async (name: string) => stack.use(await startProcess(`${folder.path}/${name}`, environment))
  const all = [await start('1'), await start('2'), await start('3')] as const
  const store = await openStore(database.options)
  stack.defer(() => store.close())
  const [first] = all
  const { id } = await ask<{ id: string }>(first, 'POST', '/tools', {
    ...{ name: 'notes', type: 'mcp', mcp: { url: server.url } },
  })
  const connect = async () => {
    const link = await ask<{ connect_url: string }>(all[1], 'POST', '/connections/link', { tool_id: id })
    await new TestBrowser().connect(link.connect_url)
  }
  const call = (at: { url: string }) => ask<Answer>(at, 'POST', `/tools/${id}/call`, { action: 'read', input: {} })
  await connect()
  for (const one of all) expect(await call(one)).toMatchObject({ content: [{ text: 'notes of alice' }] })
  const owned = stack.move()
  return { as, server, all, store, connect, call, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

type Answer = { error?: { code: string; details: { reason: string } } }

test('three processes with 20 calls each make one refresh, at a server that revokes reused tokens', {
  timeout: 120_000,
}, async () => {
  await using three = await startThree()
  const { all, call } = three
  const { granted, refused } = watch(three.as)

  await expire(three.store)
  const answers = await Promise.all(all.flatMap((one) => Array.from({ length: 20 }, () => call(one))))

  expect(granted).toEqual(['refresh_token'])
  expect(refused).toEqual([])
  expect(answers.filter((answer) => 'error' in answer)).toEqual([])
  expect(answers).toHaveLength(60)
})

/** Kills the first process while it waits for the response to its refresh, with 20 calls waiting at each of the others. */
async function killDuringRefresh(three: Awaited<ReturnType<typeof startThree>>, what: 'request' | 'response') {
  const { all, call, store } = three
  const [first, ...others] = all
  const id = await expire(store)
  const held = three.as.holdNext(what)
  const lost = call(first).catch(() => 'no answer')
  await held
  const answers = others.flatMap((one) => Array.from({ length: 20 }, () => call(one)))
  await first.stop('SIGKILL')
  expect(await lost).toBe('no answer')
  return { id, answers: await Promise.all(answers) }
}

// At the same time, because both wait until the lease of the killed process has ended.
test.concurrent('if a process is killed before its refresh is processed, another refreshes once and no other call is lost', {
  timeout: 120_000,
}, async () => {
  await using three = await startThree()
  const { granted, refused } = watch(three.as)

  const { answers } = await killDuringRefresh(three, 'request')

  expect(answers.filter((answer) => 'error' in answer)).toEqual([])
  expect(answers).toHaveLength(40)
  expect(granted).toEqual(['refresh_token'])
  expect(refused).toEqual([])
})

test.concurrent('if a process is killed after the server rotated its refresh token, the owner is asked to connect again', {
  timeout: 120_000,
}, async () => {
  await using three = await startThree()
  const { all, call, store, server } = three
  const { granted, refused } = watch(three.as)
  const sent = server.calls.length

  // The new refresh token was only in the response that nobody received. The old one is used once more, and then never.
  const { id, answers } = await killDuringRefresh(three, 'response')
  const row = await store.connections.find(id)
  const tokenRequests = [...granted, ...refused]
  await three.connect()
  const after = await call(all[2])

  expect(new Set(answers.map(({ error }) => `${error?.code} ${error?.details.reason}`))).toEqual(
    new Set(['CONNECTION_REQUIRED expired']),
  )
  expect(row).toMatchObject({
    status: 'reauth_required',
    error: expect.stringMatching(/invalid_grant.*Connect the account again.*interrupted because its process stopped/s),
  })
  expect(tokenRequests).toEqual(['refresh_token', 'refresh_token'])
  expect(refused).toEqual(['refresh_token'])
  expect(after).toMatchObject({ content: [{ text: 'notes of alice' }] })
  expect(server.calls).toHaveLength(sent + 1)
})

test('a token that the server no longer accepts is refreshed once, and the call is repeated once', async () => {
  await using as = await startAuthorizationServer()
  await using server = await startProtected(as)
  await using platform = await startListening()
  const tool = await register(platform, server.url)
  await connect(platform, tool)
  await read(platform, tool)
  const { granted } = watch(as)

  const [before] = server.calls
  await (await as.provider.AccessToken.find(String(before?.token)))?.destroy()
  const answers = await Promise.all([read(platform, tool), read(platform, tool), read(platform, tool)])

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(granted).toEqual(['refresh_token'])
})

test('a server that rejects every token gets two requests, and then nothing until somebody connects again', async () => {
  await using as = await startAuthorizationServer()
  await using server = await startProtected(as)
  await using platform = await startListening()
  const tool = await register(platform, server.url)
  await connect(platform, tool)
  await read(platform, tool)
  const { granted } = watch(as)

  server.refuse(true)
  const first = await read(platform, tool)
  const sent = server.requests.length
  const second = await read(platform, tool)
  server.refuse(false)
  const { connect_url: link } = second.body.error.details
  await new TestBrowser().connect(link)
  const third = await read(platform, tool)
  const { body } = await platform.get('/connections')

  expect([first.status, second.status, third.status]).toEqual([409, 409, 200])
  expect(granted).toEqual(['refresh_token', 'authorization_code'])
  expect(server.requests.slice(sent).filter((request) => request.includes('tools/call'))).toHaveLength(1)
  expect(body.data.map(({ status }: { status: string }) => status)).toEqual(['active'])
})

test('a revoked grant asks for a new connection, once, and the same connection is updated', async () => {
  await using hooks = await startService()
  await using as = await startAuthorizationServer()
  await using server = await startProtected(as)
  await using platform = await startListening()
  await platform.post('/webhooks', { project_id: platform.projectId, name: 'w', url: hooks.url, events: ['*'] })
  const tool = await register(platform, server.url)
  await connect(platform, tool)
  await read(platform, tool)
  const token = await as.provider.AccessToken.find(String(server.calls[0]?.token))
  await as.provider.RefreshToken.revokeByGrantId(String(token?.grantId))

  const id = await expire(platform.platform.store)
  const answers = await Promise.all([read(platform, tool), read(platform, tool)])
  const state = (await platform.get(`/connections/${id}`)).body
  await new TestBrowser().connect(answers[0]?.body.error.details.connect_url)
  const after = (await platform.get('/connections')).body

  expect(answers.map(({ body }) => body.error.details.reason)).toEqual(['expired', 'expired'])
  expect(state).toMatchObject({ status: 'reauth_required', error: expect.stringContaining('127.0.0.1') })
  expect(after.data).toMatchObject([{ id, status: 'active', error: null }])
  await expect
    .poll(() => eventsIn(hooks))
    .toEqual(['connection.created', 'connection.reauth_required', 'connection.restored'])
})

/** An http tool with a connection at a scripted authorization server. */
async function startScriptedApp(platform: TestPlatform, tokens: () => { status?: number; body: object }) {
  const as = await startScripted((url) => ({
    'GET /authorize': ({ path }) => {
      const { searchParams } = new URL(path, url)
      const location = `${searchParams.get('redirect_uri')}?code=c1&state=${searchParams.get('state')}`
      return { status: 302, headers: { location } }
    },
    'POST /token': () => tokens(),
  }))
  const service = await startService(({ headers }) => ({ body: JSON.stringify({ sent: headers.authorization }) }))
  const project = { project_id: platform.projectId }
  const { body: tool } = await platform.post('/tools', {
    ...{ ...project, name: 'contacts', app: 'crm', parameters: {} },
    execute: { url: `${service.url}/contacts`, method: 'GET' },
  })
  const endpoints = { authorization_endpoint: `${as.url}/authorize`, token_endpoint: `${as.url}/token` }
  const client = { client_id: 'ours', client_secret: 'the-secret-of-ours' }
  const config = { ...project, app: 'crm', type: 'oauth2_authorization_code', ...endpoints, ...client }
  expect((await platform.post('/auth-configs', config)).status).toBe(201)
  const { body: link } = await platform.post('/connections/link', { ...project, app: 'crm' })
  const page = await new TestBrowser().connect(link.connect_url)
  expect(page.text).toContain('is connected')
  return {
    ...{ as, service },
    call: () => platform.post(`/tools/${tool.id}/call`, { input: {} }),
    async [Symbol.asyncDispose]() {
      await as[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
    },
  }
}

const issued = (n: number) => ({
  ...{ access_token: `access-token-${n}-0123456789`, refresh_token: `refresh-token-${n}-0123456789` },
  ...{ token_type: 'Bearer', expires_in: 3600 },
})

test('while the authorization server is failing, tokens are kept and nobody is asked to connect', async () => {
  let status = 200
  let count = 0
  await using platform = await startListening()
  const { store } = platform.platform
  await using app = await startScriptedApp(platform, () => ({ status, body: status === 200 ? issued(++count) : {} }))

  const requests = () => app.as.received.filter(({ path }) => path === '/token').length
  status = 503
  const id = await expire(store)
  const failing = await app.call()
  const again = await app.call()
  const during = (await platform.get(`/connections/${id}`)).body
  const asked = requests()
  status = 200
  await expire(store, 1000, { retry_at: null })
  const works = await app.call()

  expect(failing.body.error).toMatchObject({ code: 'TOOL_UNREACHABLE' })
  expect(again.body.error.code).toBe('TOOL_UNREACHABLE')
  expect(asked).toBe(2)
  expect(during.status).toBe('expiring')
  expect(works.status).toBe(200)
  expect(app.service.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer access-token-2-0123456789'])
  expect((await platform.get(`/connections/${id}`)).body.status).toBe('active')
})

test('a token is refreshed ahead of its expiry, without delaying the call', async () => {
  let count = 0
  await using platform = await startListening()
  await using app = await startScriptedApp(platform, () => ({ body: issued(++count) }))

  await expire(platform.platform.store, -60_000)
  const { status } = await app.call()
  await expect.poll(() => count).toBe(2)
  await expect.poll(async () => (await app.call()).status).toBe(200)

  expect(status).toBe(200)
  expect(app.service.received[0]?.headers.authorization).toBe('Bearer access-token-1-0123456789')
  await expect
    .poll(async () => {
      await app.call()
      return app.service.received.at(-1)?.headers.authorization
    })
    .toBe('Bearer access-token-2-0123456789')
})

test('an unused connection is refreshed before its refresh token expires', async () => {
  let count = 0
  await using platform = await startListening()
  const { store, connections } = platform.platform
  await using _app = await startScriptedApp(platform, () => ({ body: issued(++count) }))
  const [row] = await store.engine.db.selectFrom('connections').selectAll().execute()
  const details = { ...JSON.parse(String(row?.grant_details)), issued_at: Date.now() - 13 * 60 * 60_000 }

  await expire(store, 12 * 60 * 60_000, { grant_details: JSON.stringify(details) })
  await connections.keeper.remind()

  await expect.poll(() => count).toBe(2)
})

test('without a refresh token, the owner is told before the connection ends', async () => {
  await using hooks = await startService()
  await using platform = await startListening()
  await platform.post('/webhooks', { project_id: platform.projectId, name: 'w', url: hooks.url, events: ['*'] })
  const { refresh_token: _, ...body } = issued(1)
  await using app = await startScriptedApp(platform, () => ({ body }))

  await expire(platform.platform.store, -60_000)
  const early = await app.call()
  await expect.poll(async () => (await platform.get('/connections')).body.data[0].status).toBe('expiring')
  await expire(platform.platform.store)
  const late = await app.call()

  expect([early.status, late.status]).toEqual([200, 409])
  expect(late.body.error.details.reason).toBe('expired')
  await expect
    .poll(() => eventsIn(hooks))
    .toEqual(['connection.created', 'connection.expiring', 'connection.reauth_required'])
})

test('deleting a connection revokes its tokens at the service', async () => {
  await using as = await startAuthorizationServer()
  await using server = await startProtected(as)
  await using platform = await startListening()
  const tool = await register(platform, server.url)
  await connect(platform, tool)
  await read(platform, tool)
  const [connection] = (await platform.get('/connections')).body.data

  await platform.delete(`/connections/${connection.id}`)

  expect(await as.provider.AccessToken.find(String(server.calls[0]?.token))).toBeUndefined()
})
