import { expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { startProtected } from './connect-peers.ts'
import { startService, type TestPlatform } from './kit.ts'
import { type Received, startAuthorizationServer, startScripted } from './oauth-peers.ts'

async function create(platform: TestPlatform, path: string, body: object) {
  const response = await platform.post(path, { project_id: platform.projectId, ...body })
  expect(response.status, JSON.stringify(response.body)).toBe(201)
  return response.body
}

/** Makes the tokens of all connections expire. */
async function expire({ platform: { store } }: TestPlatform): Promise<void> {
  await store.engine.db
    .updateTable('connections')
    .set({ expires_at: Date.now() - 1000 })
    .execute()
  await store.changes.publish('connections', [])
}

const formOf = ({ body }: Received) => Object.fromEntries(new URLSearchParams(body))
const tokenUrn = 'urn:ietf:params:oauth:token-type:'
const grantUrn = 'urn:ietf:params:oauth:grant-type:'

/** A server that exchanges the tokens in `valid`, for tokens that name theirs. */
async function startExchange(valid: Set<string>) {
  let count = 0
  return startScripted(() => ({
    'POST /token': (request) => {
      const { subject_token = '' } = formOf(request)
      if (!valid.has(subject_token)) return { status: 400, body: { error: 'invalid_grant' } }
      const issued = { access_token: `exchanged-${++count}-0123456789`, issued_token_type: `${tokenUrn}access_token` }
      return { body: { ...issued, token_type: 'Bearer', expires_in: 3600 } }
    },
  }))
}

async function registerCrm(platform: TestPlatform, url: string) {
  const execute = { url: `${url}/contacts`, method: 'GET' }
  return create(platform, '/tools', { name: 'contacts', app: 'crm', parameters: {}, execute })
}

test('a token of the user is exchanged for one that the service accepts, again when that has expired', async () => {
  const valid = new Set(['token-of-alice-1'])
  await using platform = await startListening()
  await using service = await startService(({ headers }) => ({ body: JSON.stringify(headers) }))
  await using as = await startExchange(valid)
  const tool = await registerCrm(platform, service.url)
  await create(platform, '/auth-configs', {
    ...{ app: 'crm', type: 'oauth2_token_exchange', client_id: 'ours', client_secret: 'the-secret-of-ours' },
    ...{ token_endpoint: `${as.url}/token`, audience: 'https://crm.example.com', scopes: ['contacts'] },
  })
  const call = () => platform.post(`/tools/${tool.id}/call`, { input: {}, end_user_id: 'alice' })

  const before = await call()
  const connection = await create(platform, '/connections', {
    ...{ app: 'crm', type: 'oauth2_token_exchange', subject_token: 'token-of-alice-1' },
    owner: { kind: 'user', id: 'alice' },
  })
  const first = await call()
  await expire(platform)
  const second = await call()
  valid.clear()
  await expire(platform)
  const ended = await call()
  const during = (await platform.get(`/connections/${connection.id}`)).body
  valid.add('token-of-alice-2')
  await platform.patch(`/connections/${connection.id}`, { subject_token: 'token-of-alice-2' })
  const third = await call()

  expect(before.body.error).toMatchObject({ code: 'CONNECTION_REQUIRED', details: { connect_url: null } })
  expect([first.status, second.status, ended.status, third.status]).toEqual([200, 200, 409, 200])
  expect(service.received.map(({ headers }) => headers.authorization)).toEqual(
    [1, 2, 3].map((n) => `Bearer exchanged-${n}-0123456789`),
  )
  expect(first.body.authorization).toBe('Bearer [redacted]')
  expect(formOf(as.received[0] as Received)).toEqual({
    grant_type: `${grantUrn}token-exchange`,
    subject_token: 'token-of-alice-1',
    subject_token_type: `${tokenUrn}access_token`,
    audience: 'https://crm.example.com',
    scope: 'contacts',
  })
  expect(during).toMatchObject({ status: 'reauth_required', error: expect.stringContaining('rejected the token') })
  expect(JSON.stringify([connection, during])).not.toContain('token-of-alice')
})

test('an ID token of the company is exchanged for access to an MCP server, with the client of each side', async () => {
  await using platform = await startListening()
  await using idp = await startScripted(() => ({
    'POST /token': {
      body: { access_token: 'the-assertion-0123456789', issued_token_type: `${tokenUrn}id-jag`, token_type: 'N_A' },
    },
  }))
  await using server = await startScripted((url) => ({
    'GET /.well-known/oauth-protected-resource/mcp': {
      body: { resource: `${url}/mcp`, authorization_servers: [url], scopes_supported: ['read'] },
    },
    'GET /.well-known/oauth-authorization-server': {
      body: { issuer: url, token_endpoint: `${url}/token`, response_types_supported: ['code'] },
    },
    'POST /token': { body: { access_token: 'for-the-server-0123456789', token_type: 'Bearer', expires_in: 3600 } },
  }))
  const tool = await create(platform, '/tools', { name: 'notes', type: 'mcp', mcp: { url: `${server.url}/mcp` } })
  await create(platform, '/auth-configs', {
    ...{ tool_id: tool.id, type: 'oauth2_enterprise_managed', client_id: 'ours', client_secret: 'the-secret-of-ours' },
    ...{ idp_issuer: idp.url, idp_token_endpoint: `${idp.url}/token` },
    ...{ idp_client_id: 'at-the-idp', idp_client_secret: 'the-secret-at-the-idp' },
  })

  const connection = await create(platform, '/connections', {
    ...{ tool_id: tool.id, type: 'oauth2_enterprise_managed', subject_token: 'the-id-token-of-alice' },
    owner: { kind: 'user', id: 'alice' },
  })

  const [exchange] = idp.received
  const token = server.received.find(({ path }) => path === '/token') as Received
  expect(connection).toMatchObject({ status: 'active', issuer: server.url, resource: `${server.url}/mcp` })
  expect(formOf(exchange as Received)).toMatchObject({
    ...{ subject_token: 'the-id-token-of-alice', subject_token_type: `${tokenUrn}id_token` },
    ...{ requested_token_type: `${tokenUrn}id-jag`, audience: server.url, resource: `${server.url}/mcp` },
  })
  expect(exchange?.headers.authorization).toBe(`Basic ${btoa('at-the-idp:the-secret-at-the-idp')}`)
  expect(formOf(token)).toMatchObject({
    ...{ grant_type: `${grantUrn}jwt-bearer`, assertion: 'the-assertion-0123456789', resource: `${server.url}/mcp` },
  })
  expect(token.headers.authorization).toBe(`Basic ${btoa('ours:the-secret-of-ours')}`)
  expect(JSON.stringify((await platform.get('/auth-configs')).body)).not.toMatch(/the-secret|the-id-token/)
})

test.for([
  [{ type: 'oauth2_token_exchange' }, 'subject_token'],
  [{ type: 'oauth2_enterprise_managed' }, 'subject_token'],
  [{ type: 'oauth2_token_exchange', subject_token: 'x', idp_client_id: 'x' }, 'idp_client_id'],
  [{ type: 'oauth2_enterprise_managed', subject_token: 'x', audience: 'x' }, 'audience'],
] as const)('a connection that is incomplete or has fields of another type is refused: %j', async ([body, field]) => {
  await using platform = await startListening()
  await registerCrm(platform, 'http://127.0.0.1:9')

  const { status, body: answer } = await platform.post('/connections', { app: 'crm', ...body })

  expect(status).toBe(400)
  expect(answer.error.details.errors).toMatchObject([{ path: field }])
})

test('who changes where the secret of a client goes must send it again', async () => {
  await using platform = await startListening()
  const { id } = await create(platform, '/auth-configs', {
    ...{ app: 'crm', type: 'oauth2_client_credentials', client_id: 'ours', client_secret: 'the-secret-of-ours' },
    token_endpoint: 'https://auth.example.com/token',
  })
  const elsewhere = { token_endpoint: 'https://evil.example.com/token' }

  const refused = await platform.patch(`/auth-configs/${id}`, elsewhere)
  const scopes = await platform.patch(`/auth-configs/${id}`, { scopes: ['read'] })
  const moved = await platform.patch(`/auth-configs/${id}`, { ...elsewhere, client_secret: 'the-secret-of-ours' })

  expect(refused.body.error.details.errors).toMatchObject([{ path: 'client_secret' }])
  expect([refused.status, scopes.status, moved.status]).toEqual([400, 200, 200])
})

test('client credentials get the scopes that a call needs, once', async () => {
  await using platform = await startListening()
  await using as = await startAuthorizationServer()
  await using server = await startProtected(as)
  const scopes: unknown[] = []
  as.provider.on('grant.success', ({ oidc }) => void scopes.push(oidc.params?.scope))
  const tool = await create(platform, '/tools', { name: 'notes', type: 'mcp', mcp: { url: server.url } })
  const { id } = await create(platform, '/connections', {
    ...{ tool_id: tool.id, type: 'oauth2_client_credentials', client_id: 'service' },
    client_secret: 'a secret with % and + and : in it',
  })
  const call = (action: string) => platform.post(`/tools/${tool.id}/call`, { action, input: {} })

  const answers = [await call('read'), ...(await Promise.all([call('write'), call('write')])), await call('read')]
  const connection = (await platform.get(`/connections/${id}`)).body

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect(scopes).toEqual(['notes:read', 'notes:read notes:write'])
  expect(connection.scopes).toEqual(['notes:read', 'notes:write'])
})

test('a server that does not grant more scopes is asked once per call, and the connection stays', async () => {
  await using platform = await startListening()
  await using as = await startAuthorizationServer()
  await using server = await startProtected(as, { writeScope: 'unknown' })
  const tool = await create(platform, '/tools', { name: 'notes', type: 'mcp', mcp: { url: server.url } })
  const { id } = await create(platform, '/connections', {
    ...{ tool_id: tool.id, type: 'oauth2_client_credentials', client_id: 'service' },
    client_secret: 'a secret with % and + and : in it',
  })
  const call = (action: string) => platform.post(`/tools/${tool.id}/call`, { action, input: {} })

  await call('read')
  const refused = await call('write')
  const after = await call('read')
  const connection = (await platform.get(`/connections/${id}`)).body

  expect(refused.status).toBe(502)
  expect(after.status).toBe(200)
  expect(connection).toMatchObject({ status: 'active', scopes: ['notes:read'], error: null })
})
