import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { startProtected, TestBrowser } from './connect-peers.ts'
import { startService, type TestPlatform } from './kit.ts'
import { soundMetadata, soundServer, startAuthorizationServer, startScripted } from './oauth-peers.ts'

type Listening = Awaited<ReturnType<typeof startListening>>

async function create(platform: TestPlatform, path: string, body: object, key?: string) {
  const sent = { project_id: platform.projectId, ...body }
  const response = await platform.post(path, sent, key === undefined ? {} : { key })
  expect(response.status, JSON.stringify(response.body)).toBe(201)
  return response.body
}

/** A platform with a protected MCP server, and links to connect it. */
async function startNotes(environment: Record<string, string> = {}) {
  const as = await startAuthorizationServer()
  const server = await startProtected(as)
  const platform = await startListening(environment)
  const tool = await create(platform, '/tools', { name: 'notes', type: 'mcp', mcp: { url: server.url } })
  return {
    ...{ as, server, platform, tool },
    link: async (more: object = {}) =>
      (await create(platform, '/connections/link', { tool_id: tool.id, ...more })).connect_url as string,
    connections: async () => (await platform.get('/connections')).body.data,
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
      await as[Symbol.asyncDispose]()
    },
  }
}

/** Stops in front of the authorization server. Returns where the browser would go. */
const leave = async (browser: TestBrowser, link: string): Promise<string> => {
  const { headers } = await browser.connect(link, {}, { follow: false })
  return String(headers.get('location'))
}

/** Follows an authorization to its end in another browser, without the callback. */
async function callbackOf(authorization: string): Promise<URL> {
  const browser = new TestBrowser()
  await browser.open(authorization)
  return browser.visited.at(-1) as URL
}

test('the page says what is connected and where credentials go, and cannot be framed, cached or leak its address', async () => {
  await using notes = await startNotes()

  const page = await new TestBrowser().open(await notes.link())

  expect(page.status).toBe(200)
  expect(page.text).toContain(new URL(notes.server.url).host)
  expect(page.text).toContain(new URL(notes.as.url).host)
  expect(page.text).toContain('notes:read')
  expect(page.text).not.toContain('<script')
  const policy = page.headers.get('content-security-policy')
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).toContain(`form-action 'self' https: ${notes.as.url}`)
  expect(policy).toContain("default-src 'none'")
  expect(Object.fromEntries(page.headers)).toMatchObject({
    ...{ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', 'x-frame-options': 'DENY' },
  })
  expect(page.headers.getSetCookie()[0]).toMatch(/^qm_connect_\d+=[\w-]{43}; Path=\/connect; HttpOnly; SameSite=Lax/)
})

test('a link works once, and guessed, expired and revoked ones do not', async () => {
  await using notes = await startNotes()
  const { platform } = notes
  const { db } = platform.platform.store.engine
  const key = await platform.keyFor([{ effect: 'Allow', action: ['*'] }])
  const [used, expired] = [await notes.link(), await notes.link()]
  const ofKey = (await create(platform, '/connections/link', { tool_id: notes.tool.id }, key)).connect_url
  const keys = (await platform.get('/api-keys?limit=500')).body.data
  await platform.delete(`/api-keys/${keys.find(({ name }: { name: string }) => name === 'of a test').id}`)

  await new TestBrowser().connect(used)
  await db
    .updateTable('connect_links')
    .set({ expires_at: Date.now() - 1 })
    .where('status', '=', 'open')
    .execute()
  const statuses = []
  for (const link of [used, expired, ofKey, `${platform.url}/connect/${'x'.repeat(43)}`]) {
    statuses.push((await new TestBrowser().open(link)).status)
  }
  const rows = JSON.stringify(await db.selectFrom('connect_links').selectAll().execute())

  expect(statuses).toEqual([410, 410, 410, 410])
  for (const link of [used, expired]) expect(rows).not.toContain(link.split('/').at(-1))
})

test('previews of a link do not use it up, and the first browser that continues has it', async () => {
  await using notes = await startNotes()
  const link = await notes.link()
  const [preview, first, second] = [new TestBrowser(), new TestBrowser(), new TestBrowser()]

  await preview.open(link)
  await leave(first, link)
  const refused = await second.connect(link)
  const done = await first.connect(link)

  expect(refused.status).toBe(403)
  expect(done.text).toContain('is connected')
})

test('the form of another site, and one without our cookie, are refused', async () => {
  await using notes = await startNotes()
  const link = await notes.link()
  const page = await new TestBrowser().open(link)
  const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(page.text) ?? []

  const stranger = await new TestBrowser().open(link, new URLSearchParams({ csrf }))
  const browser = new TestBrowser()
  await browser.open(link)
  const wrong = await browser.open(link, new URLSearchParams({ csrf: 'x' }))

  expect([stranger.status, wrong.status]).toEqual([403, 403])
})

test('a return is refused without its state, with an unknown, used or expired one, and in another browser', async () => {
  await using notes = await startNotes()
  const { platform } = notes
  const browser = new TestBrowser()
  const link = await notes.link()
  const callback = await callbackOf(await leave(browser, link))
  const at = (change: (params: URLSearchParams) => void) => {
    const url = new URL(callback)
    change(url.searchParams)
    return url
  }

  const elsewhere = await new TestBrowser().open(callback)
  const missing = await browser.open(at((params) => params.delete('state')))
  const unknown = await browser.open(at((params) => params.set('state', 'x'.repeat(43))))
  const repeated = await browser.open(at((params) => params.append('state', 'second')))
  const long = await browser.open(at((params) => params.set('code', 'x'.repeat(10_000))))
  expect(await notes.connections()).toEqual([])
  const done = await browser.open(callback)
  const again = await browser.open(callback)

  expect([elsewhere, missing, unknown, repeated, long].map(({ status }) => status)).toEqual([403, 400, 400, 400, 400])
  expect(done.text).toContain('is connected')
  expect(again.status).toBe(400)

  const late = await callbackOf(await leave(browser, await notes.link()))
  const { db } = platform.platform.store.engine
  await db
    .updateTable('connect_links')
    .set({ state_until: Date.now() - 1 })
    .execute()
  expect((await browser.open(late)).status).toBe(400)
})

test('a response of another authorization server is refused before its code is sent anywhere, and its texts are not shown', async () => {
  await using notes = await startNotes()
  const browser = new TestBrowser()
  const callback = await callbackOf(await leave(browser, await notes.link()))
  const granted: unknown[] = []
  notes.as.provider.on('grant.success', () => void granted.push(1))
  notes.as.provider.on('grant.error', () => void granted.push(1))

  callback.searchParams.set('iss', 'https://evil.example.com')
  callback.searchParams.set('error_description', 'visit <b>evil</b> now')
  const page = await browser.open(callback)

  expect(page.status).toBe(422)
  expect(page.text).not.toContain('evil</b>')
  expect(page.text).not.toContain('visit')
  expect(granted).toEqual([])
  expect(await notes.connections()).toEqual([])
})

test('a code that another browser has obtained does not connect its account here', async () => {
  await using notes = await startNotes()
  const [victim, attacker] = [new TestBrowser(), new TestBrowser()]
  const own = await callbackOf(await leave(victim, await notes.link({ end_user_id: 'victim' })))
  const foreign = await callbackOf(await leave(attacker, await notes.link({ end_user_id: 'attacker' })))

  own.searchParams.set('code', String(foreign.searchParams.get('code')))
  const page = await victim.open(own)

  expect(page.status).toBe(422)
  expect(await notes.connections()).toEqual([])
})

test('of two tabs with the same link, the last one that started can finish, and the other is told', async () => {
  await using notes = await startNotes()
  const browser = new TestBrowser()
  const link = await notes.link()
  const first = await callbackOf(await leave(browser, link))
  const second = await callbackOf(await leave(browser, link))

  const stale = await browser.open(first)
  const done = await browser.open(second)

  expect(stale.status).toBe(400)
  expect(done.text).toContain('is connected')
  expect(await notes.connections()).toHaveLength(1)
})

test('the page returns only to origins that the project lists', async () => {
  await using app = await startService(() => ({ headers: { 'content-type': 'text/html' }, body: 'welcome back' }))
  await using notes = await startNotes()
  const { platform, tool } = notes
  const attempt = (return_url: string) =>
    platform.post('/connections/link', { project_id: platform.projectId, tool_id: tool.id, return_url })

  const before = await attempt(`${app.url}/done`)
  await platform.patch(`/projects/${platform.projectId}`, { return_origins: [app.url] })
  const foreign = await Promise.all(
    ['https://evil.example.com/', 'javascript:alert(1)', `${app.url}.evil.com/`].map(attempt),
  )
  const listed = await attempt(`${app.url}/done?x=1`)
  const page = await new TestBrowser().connect(listed.body.connect_url)

  expect(before.body.error.code).toBe('RETURN_URL_NOT_ALLOWED')
  expect(foreign.map(({ status }) => status)).toEqual([400, 400, 400])
  expect(page.text).toBe('welcome back')
  expect(page.url.href).toBe(`${app.url}/done?x=1`)
})

const textOf = ({ content }: CallToolResult): string => {
  const [first] = content
  return first?.type === 'text' ? first.text : ''
}

const mcpClient = async (platform: Listening, key: string) => {
  await platform.post('/servers', { project_id: platform.projectId, slug: 's', tool_names: 'original' })
  const client = new Client({ name: 'editor', version: '1' })
  const headers = { authorization: `Bearer ${key}` }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${platform.url}/mcp/s`), { requestInit: { headers } }),
  )
  return client
}

/** Signs in to the dashboard, and returns the cookie. */
const signIn = async (platform: Listening, key: string): Promise<string> => {
  const response = await fetch(`${platform.url}/api/v1/dashboard/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
  })
  return String(response.headers.getSetCookie()[0])
}

test('a link from an MCP client is only for the user of the call: Bob cannot connect his account as Alice (S0.42)', async () => {
  await using notes = await startNotes()
  const { platform, server } = notes
  await new TestBrowser().connect(await notes.link({ end_user_id: 'carol' }))
  const keyOf = (id: string) => platform.keyFor([{ effect: 'Allow', action: ['*'] }], { end_user_id: id })
  const [aliceKey, bobKey] = [await keyOf('alice'), await keyOf('bob')]
  const client = await mcpClient(platform, aliceKey)

  const asked = await client.callTool({ name: 'read', arguments: {} })
  const { error } = JSON.parse(textOf(asked))
  const [nobody, bob, alice] = [new TestBrowser(), new TestBrowser(), new TestBrowser()]
  bob.keepCookie(platform.url, await signIn(platform, bobKey))
  alice.keepCookie(platform.url, await signIn(platform, aliceKey))
  const unknown = await nobody.connect(error.details.connect_url)
  const wrong = await bob.connect(error.details.connect_url)
  const right = await alice.connect(error.details.connect_url)
  const again = await client.callTool({ name: 'read', arguments: {} })
  await client.close()

  expect(asked.isError).toBe(true)
  expect(error).toMatchObject({ code: 'CONNECTION_REQUIRED', details: { app: 'notes', reason: 'missing' } })
  expect(error.message).toContain(error.details.connect_url)
  expect([unknown.status, wrong.status]).toEqual([403, 403])
  expect(right.text).toContain('is connected')
  expect(again.isError).not.toBe(true)
  expect(server.calls.filter(({ name }) => name === 'read')).toHaveLength(1)
})

test('an application confirms who has opened a link, with its verifier URL, and somebody else does not use it up', async () => {
  await using notes = await startNotes()
  const { platform } = notes
  let signedIn = 'bob'
  await using app = await startService(async ({ url }) => {
    const flow = new URL(`http://x${url}`).searchParams.get('flow_id')
    const { status, body } = await platform.post(`/connections/flows/${flow}/confirm`, { end_user_id: signedIn })
    return status === 200 ? { status: 302, headers: { location: body.connect_url } } : { status: 403, body: 'not you' }
  })
  await platform.patch(`/projects/${platform.projectId}`, { verifier_url: `${app.url}/verify` })
  const key = await platform.keyFor([{ effect: 'Allow', action: ['*'] }], { end_user_id: 'alice' })
  await new TestBrowser().connect(await notes.link({ end_user_id: 'carol' }))
  const client = await mcpClient(platform, key)
  const link = async () => {
    const asked = await client.callTool({ name: 'read', arguments: {} })
    return JSON.parse(textOf(asked)).error.details.connect_url
  }

  const first = await link()
  const refused = await new TestBrowser().connect(first)
  signedIn = 'alice'
  const browser = new TestBrowser()
  const page = await browser.connect(first)
  const done = await browser.submit(page)
  await client.close()

  expect(refused.status).toBe(403)
  expect(page.url.pathname).toMatch(/^\/connect\/flow\//)
  expect(done.text).toContain('is connected')
  expect((await platform.get('/connections?end_user_id=alice')).body.total).toBe(1)
})

test('API keys and passwords are entered on the page, never in a tool call', async () => {
  await using service = await startService(({ headers }) => ({ body: JSON.stringify({ headers }) }))
  await using platform = await startListening()
  const tool = await create(platform, '/tools', {
    ...{ name: 'contacts', app: 'crm', parameters: {} },
    execute: { url: `${service.url}/contacts`, method: 'GET' },
  })
  await create(platform, '/auth-configs', { app: 'crm', type: 'basic' })
  const call = () => platform.post(`/tools/${tool.id}/call`, { input: {}, end_user_id: 'alice' })

  const { connect_url: link } = (await call()).body.error.details
  const browser = new TestBrowser()
  const empty = await browser.connect(link, { username: 'ana' })
  const done = await browser.connect(link, { username: 'ana', password: 'correct horse <b>' })
  const answer = await call()
  const [connection] = (await platform.get('/connections')).body.data

  expect(empty.status).toBe(400)
  expect(done.text).toContain('Connected as ana')
  expect(service.received[0]?.headers.authorization).toBe(`Basic ${btoa('ana:correct horse <b>')}`)
  expect(answer.body.headers.authorization).not.toContain(btoa('ana:correct horse <b>'))
  expect(connection).toMatchObject({ account: 'ana', type: 'basic', owner: { kind: 'user', id: 'alice' } })
})

test('more access is granted on the same page, for the same connection, and keeps what was granted before', async () => {
  await using notes = await startNotes()
  const { platform, tool } = notes
  await new TestBrowser().connect(await notes.link())
  const write = () => platform.post(`/tools/${tool.id}/call`, { action: 'write', input: {} })

  const first = await write()
  const browser = new TestBrowser()
  const page = await browser.open(first.body.error.details.connect_url)
  await browser.submit(page)
  const second = await write()

  expect(first.body.error.details.reason).toBe('insufficient_scope')
  expect(page.text).toContain('Allow more access')
  expect(second.status, JSON.stringify(second.body)).toBe(200)
  expect(await notes.connections()).toMatchObject([{ scopes: ['notes:read', 'notes:write'] }])
})

test('tokens are redacted wherever the server returns them, and stored encrypted (S0.43)', async () => {
  await using notes = await startNotes()
  const { platform, tool, server } = notes
  await new TestBrowser().connect(await notes.link())

  const { body } = await platform.post(`/tools/${tool.id}/call`, { action: 'leak', input: {} })
  const token = String(server.calls.at(-1)?.token)
  const record = await platform.get(`/calls/${(await platform.get('/calls')).body.data[0].id}`)
  const { db } = platform.platform.store.engine
  const rows = await Promise.all([
    db.selectFrom('connections').selectAll().execute(),
    db.selectFrom('connect_links').selectAll().execute(),
    db.selectFrom('oauth_clients').selectAll().execute(),
  ])

  expect(body.content[0].text).toMatch(/^token \[redacted\] /)
  expect(body.content[0].text).not.toContain(btoa(`x${token}`))
  expect(JSON.stringify([record.body, rows])).not.toContain(token)
})

test('two users of one server use their own accounts, and never the connection of the other', async () => {
  await using notes = await startNotes()
  const { platform, tool, server } = notes
  await new TestBrowser().connect(await notes.link({ end_user_id: 'alice' }))
  await new TestBrowser().connect(await notes.link({ end_user_id: 'bob' }))
  const call = (end_user_id?: string) =>
    platform.post(`/tools/${tool.id}/call`, { action: 'read', input: {}, ...(end_user_id && { end_user_id }) })

  for (const user of ['alice', 'bob', 'alice', 'bob']) expect((await call(user)).status).toBe(200)
  const nobody = await call()

  const tokens = server.calls.map(({ token }) => token)
  expect(tokens[0]).toBe(tokens[2])
  expect(tokens[1]).toBe(tokens[3])
  expect(tokens[0]).not.toBe(tokens[1])
  expect(nobody.body.error.code).toBe('CONNECTION_REQUIRED')
})

test('a service connects with client credentials, without a person', async () => {
  await using notes = await startNotes()
  const { platform, tool } = notes
  const client = { client_id: 'service', client_secret: 'a secret with % and + and : in it' }

  const wrong = await platform.post('/connections', {
    ...{ project_id: platform.projectId, tool_id: tool.id, type: 'oauth2_client_credentials', ...client },
    client_secret: 'not the secret at all',
  })
  const made = await create(platform, '/connections', {
    tool_id: tool.id,
    type: 'oauth2_client_credentials',
    ...client,
  })
  const answer = await platform.post(`/tools/${tool.id}/call`, { action: 'read', input: {} })

  expect(wrong.body.error.code).toBe('CONNECTION_FAILED')
  expect(JSON.stringify(wrong.body)).not.toContain('not the secret')
  expect(made).toMatchObject({ status: 'active', client_id: 'service', issuer: notes.as.url })
  expect(answer.body, JSON.stringify(answer.body)).toMatchObject({ content: [{ text: 'notes of service' }] })
})

test('more scopes than requested are stored as granted, and flagged', async () => {
  await using as = await startScripted((url) => ({
    'GET /authorize': ({ path }) => {
      const { searchParams } = new URL(path, url)
      const location = `${searchParams.get('redirect_uri')}?code=c1&state=${searchParams.get('state')}`
      return { status: 302, headers: { location } }
    },
    'POST /token': { body: { access_token: 'at-0123456789', token_type: 'Bearer', scope: 'read admin' } },
  }))
  await using platform = await startListening()
  const tool = {
    name: 'contacts',
    app: 'crm',
    parameters: {},
    execute: { url: 'https://crm.example.com', method: 'GET' },
  }
  await create(platform, '/tools', tool)
  const endpoints = { authorization_endpoint: `${as.url}/authorize`, token_endpoint: `${as.url}/token` }
  await create(platform, '/auth-configs', {
    ...{ app: 'crm', type: 'oauth2_authorization_code', client_id: 'ours', scopes: ['read'], ...endpoints },
  })

  await new TestBrowser().connect((await create(platform, '/connections/link', { app: 'crm' })).connect_url)

  const [connection] = (await platform.get('/connections')).body.data
  expect(connection).toMatchObject({ scopes: ['read', 'admin'], error: expect.stringContaining('admin') })
})

test('addresses of links and redirects do not depend on request headers', async () => {
  await using notes = await startNotes({ QM_PUBLIC_URL: 'https://qm.example.com/' })
  const { platform, tool } = notes

  const link = await platform.fetch('/api/v1/connections/link', {
    method: 'POST',
    headers: {
      authorization: 'Bearer sk_admin_of_the_tests',
      'content-type': 'application/json',
      host: 'evil.example.com',
      'x-forwarded-host': 'evil.example.com',
    },
    body: JSON.stringify({ project_id: platform.projectId, tool_id: tool.id }),
  })
  const document = await platform.fetch('/connect/client-metadata.json', { headers: { host: 'evil.example.com' } })

  expect(JSON.parse(await link.text()).connect_url).toMatch(/^https:\/\/qm\.example\.com\/connect\/[\w-]{43}$/)
  expect(await document.json()).toMatchObject({
    client_id: 'https://qm.example.com/connect/client-metadata.json',
    redirect_uris: ['https://qm.example.com/connect/callback'],
  })
})

test('a well-known app needs only the client of the operator', async () => {
  await using platform = await startListening()
  const execute = { url: 'https://api.github.com/user', method: 'GET' }
  await create(platform, '/tools', { name: 'me', app: 'github', parameters: {}, execute })
  const client = { client_id: 'ours', client_secret: 'secret-of-ours-0123' }
  await create(platform, '/auth-configs', { app: 'github', type: 'oauth2_authorization_code', ...client })

  const location = new URL(
    await leave(new TestBrowser(), (await create(platform, '/connections/link', { app: 'github' })).connect_url),
  )

  expect(location.origin + location.pathname).toBe('https://github.com/login/oauth/authorize')
  expect(location.searchParams.get('client_id')).toBe('ours')
  expect(location.searchParams.get('redirect_uri')).toBe(`${platform.url}/connect/callback`)
})

test('an administrator can override the issuer of a server whose metadata is inconsistent, and others cannot', async () => {
  await using server = await startScripted((url) => ({
    ...soundServer(url),
    'GET /.well-known/oauth-authorization-server': { body: { ...soundMetadata(url), issuer: `${url}/` } },
    'POST /mcp': {
      status: 401,
      headers: { 'www-authenticate': `Bearer resource_metadata="${url}/.well-known/oauth-protected-resource/mcp"` },
    },
  }))
  await using platform = await startListening()
  const tool = await create(platform, '/tools', { name: 'odd', type: 'mcp', mcp: { url: `${server.url}/mcp` } })
  const project = { project_id: platform.projectId }
  const config = { ...project, tool_id: tool.id, type: 'oauth2_authorization_code', issuer: `${server.url}/` }
  const open = async () => {
    const { connect_url } = await create(platform, '/connections/link', { tool_id: tool.id })
    return (await new TestBrowser().open(connect_url)).status
  }
  const editor = await platform.keyFor([
    { effect: 'Allow', action: ['*'] },
    { effect: 'Deny', action: ['connections:OverrideIssuer'] },
  ])

  const strict = await open()
  const refused = await platform.post('/auth-configs', config, { key: editor })
  const made = await platform.post('/auth-configs', config)
  const overridden = await open()

  expect(strict).toBe(422)
  expect(refused.body.error).toMatchObject({
    ...{ code: 'FORBIDDEN', details: { permission: 'connections:OverrideIssuer' } },
  })
  expect(made.status).toBe(201)
  expect(overridden).toBe(200)
})
