import { createHmac, generateKeyPairSync } from 'node:crypto'
import { exportSPKI, importJWK, type JWK, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OauthServerKeys } from '../src/credentials/oauth-server-keys.ts'
import { startListening } from './clients.ts'
import { adminKey, startService } from './kit.ts'
import { obtain, tokenRequest } from './oauth-kit.ts'

/** Our MCP endpoints as OAuth protected resources: which tokens they accept, and what they say to others. */

let platform: Awaited<ReturnType<typeof startListening>>
let desk: string
let serverId: string

beforeAll(async () => {
  platform = await startListening()
  serverId = (await platform.post('/servers', { slug: 'desk', name: 'Help desk' })).body.id
  await platform.post('/servers', { slug: 'other' })
  desk = `${platform.url}/mcp/desk`
})
afterAll(() => platform[Symbol.asyncDispose]())

const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

const ask = (url: string, headers: Record<string, string> | undefined, body = list) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body,
  })
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const statusOf = async (token: string, url = desk) => (await ask(url, bearer(token))).status

const keysOf = () => {
  const { store, vault } = platform.platform
  return new OauthServerKeys(store.oauthKeys, vault, store.changes)
}

const privateKey = async (): Promise<JWK> => {
  const [current] = await keysOf().signing()
  return current?.jwk as JWK
}

const claimsOf = (token: string): JWTPayload =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

/** A token with our own signature, but other claims or header. */
async function signed(claims: JWTPayload, header: Partial<JWTHeaderParameters> = {}): Promise<string> {
  const jwk = await privateKey()
  const protectedHeader = { alg: 'RS256', typ: 'at+jwt', kid: jwk.kid as string, ...header }
  return new SignJWT(claims)
    .setProtectedHeader(protectedHeader)
    .sign(await importJWK(jwk, protectedHeader.alg), { crit: { x: true } })
}

describe('a request without a valid credential', () => {
  test('gets 401 and exactly the challenge that leads to the metadata (S4.13, S4.17, S4.18)', async () => {
    const requests = [
      { url: desk, path: '/mcp/desk' },
      { url: `${platform.url}/mcp`, path: '/mcp' },
      { url: `${platform.url}/mcp/absent`, path: '/mcp/absent' },
    ]
    const credentials = [
      undefined,
      bearer('sk_wrong'),
      bearer('nonsense'),
      bearer('eyJ.x.y'),
      { authorization: 'Basic eA==' },
    ]

    for (const { url, path } of requests) {
      for (const headers of credentials) {
        const answer = await ask(url, headers)
        expect(answer.status).toBe(401)
        expect(answer.headers.get('www-authenticate')).toBe(
          `Bearer resource_metadata="${platform.url}${path}/.well-known/oauth-protected-resource", error="invalid_token"`,
        )
      }
    }
    const listening = await fetch(desk, { headers: { accept: 'text/event-stream' } })
    expect(listening.status).toBe(401)
  })

  test('finds the same metadata at both places, from any page', async () => {
    const places = ['/.well-known/oauth-protected-resource/mcp/desk', '/mcp/desk/.well-known/oauth-protected-resource']

    const answers = await Promise.all(places.map((path) => fetch(`${platform.url}${path}`)))
    const [first, second] = await Promise.all(answers.map((answer) => answer.json()))

    expect(first).toEqual({
      resource: desk,
      authorization_servers: [platform.url],
      scopes_supported: ['mcp'],
      bearer_methods_supported: ['header'],
      resource_name: 'Quartermaster: desk',
    })
    expect(second).toEqual(first)
    expect(answers[0]?.headers.get('access-control-allow-origin')).toBe('*')
    expect(answers[0]?.headers.get('access-control-allow-credentials')).toBeNull()
  })

  test('cannot change the metadata with its headers, except between names of loopback', async () => {
    const path = '/.well-known/oauth-protected-resource/mcp/desk'
    const { port } = new URL(platform.url)
    const read = async (headers: Record<string, string>) =>
      (await platform.platform.fetch(new Request(`${platform.url}${path}`, { headers }))).json()

    expect(await read({ host: 'evil.test' })).toMatchObject({ resource: desk })
    expect(await read({ host: 'localhost:1' })).toMatchObject({ resource: desk })
    expect(await read({ 'x-forwarded-host': 'evil.test', forwarded: 'host=evil.test' })).toMatchObject({
      resource: desk,
    })
    expect(await read({ host: `localhost:${port}` })).toMatchObject({
      resource: `http://localhost:${port}/mcp/desk`,
      authorization_servers: [platform.url],
    })
  })
})

test('a session id proves nothing', async () => {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
  const hello = await ask(
    desk,
    bearer(adminKey),
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  )
  const session = { 'mcp-session-id': hello.headers.get('mcp-session-id') ?? '' }
  const { token } = await obtain(platform.url, `${platform.url}/mcp/other`)

  const alone = await ask(desk, session)
  const withOther = await ask(desk, { ...session, ...bearer(token) })

  expect(hello.status).toBe(200)
  expect([alone.status, withOther.status]).toEqual([401, 401])
})

describe('an access token', () => {
  test('is accepted by the server that it was issued for, and by nothing else (S4.16)', async () => {
    const { token } = await obtain(platform.url, desk)

    expect(await statusOf(token)).toBe(200)
    expect(await statusOf(token, `${platform.url}/mcp/desk/`)).toBe(200)
    expect(await statusOf(token, `${platform.url}/mcp/${serverId}`)).toBe(200)
    for (const path of ['/mcp/other', '/mcp', '/mcp/absent'])
      expect(await statusOf(token, `${platform.url}${path}`)).toBe(401)
    const rest = await fetch(`${platform.url}/api/v1/tools`, { headers: bearer(token) })
    expect(rest.status).toBe(401)
    const dashboard = await fetch(`${platform.url}/api/v1/dashboard/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ key: token }),
    })
    expect([400, 401]).toContain(dashboard.status)
  })

  test('for the management endpoint works there only', async () => {
    const { token } = await obtain(platform.url, `${platform.url}/mcp`)

    expect(await statusOf(token, `${platform.url}/mcp`)).toBe(200)
    expect(await statusOf(token)).toBe(401)
  })

  test('of the name localhost is good for the same server', async () => {
    const { port } = new URL(platform.url)

    const { token } = await obtain(platform.url, `http://localhost:${port}/mcp/desk`)

    expect(await statusOf(token)).toBe(200)
  })

  test('is refused if anything about it is not as we issue it', async () => {
    const { token } = await obtain(platform.url, desk)
    const good = claimsOf(token)
    const now = Math.floor(Date.now() / 1000)
    const { exp: _, ...endless } = good
    const { iat: __, ...timeless } = good
    const bad: Record<string, JWTPayload> = {
      'other audience': { ...good, aud: `${platform.url}/mcp/other` },
      'audience almost the same': { ...good, aud: `${desk}/` },
      'several audiences': { ...good, aud: [desk, `${platform.url}/mcp/other`] },
      'a list with one audience': { ...good, aud: [desk] },
      'other issuer': { ...good, iss: 'https://evil.test' },
      'issuer with a slash': { ...good, iss: `${platform.url}/` },
      expired: { ...good, exp: now - 1 },
      'not yet valid': { ...good, nbf: now + 60 },
      'without end': endless,
      'without time': timeless,
      'end as text': { ...good, exp: `${now + 600}` as unknown as number },
      'other subject': { ...good, sub: 'key_other' },
      'unknown grant': { ...good, grant: 'grant_unknown' },
      'no grant': { ...good, grant: undefined },
    }

    expect(await statusOf(await signed(good))).toBe(200)
    for (const [name, claims] of Object.entries(bad)) expect(await statusOf(await signed(claims)), name).toBe(401)
  })

  test('is refused if it is of another type, algorithm or key', async () => {
    const { token } = await obtain(platform.url, desk)
    const good = claimsOf(token)
    const jwk = await privateKey()
    const kid = jwk.kid as string
    const [, payload = ''] = token.split('.')
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const publicKey = (await keysOf().verifying()).get(kid)
    const confused = `${encode({ alg: 'HS256', typ: 'at+jwt', kid })}.${payload}`
    const mac = createHmac('sha256', await exportSPKI(publicKey as never))
      .update(confused)
      .digest('base64url')
    const strange = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const jwkOfStrange = strange.publicKey.export({ format: 'jwk' })
    const byStrange = (header: object) =>
      new SignJWT(good).setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', ...header }).sign(strange.privateKey)

    const bad = {
      none: `${encode({ alg: 'none', typ: 'at+jwt' })}.${payload}.`,
      'HMAC with the public key': `${confused}.${mac}`,
      'PS256 instead of RS256': await signed(good, { alg: 'PS256' }),
      'an ID token': await signed(good, { typ: 'JWT' }),
      'an authorization grant': await signed(good, { typ: 'oauth-id-jag+jwt' }),
      'no type': await signed(good, { typ: undefined as never }),
      'a critical extension': await signed(good, { crit: ['x'], x: true }),
      'a key of its own': await byStrange({ jwk: jwkOfStrange }),
      'a key set of its own': await byStrange({ jku: 'https://evil.test/jwks', kid }),
      'a certificate of its own': await byStrange({ x5u: 'https://evil.test/x5u', kid }),
      'a path as key id': await signed(good, { kid: '../../etc/passwd' }),
      'a query as key id': await signed(good, { kid: `' or 1=1 --` }),
      'a long key id': await signed(good, { kid: 'x'.repeat(10_000) }),
      'another signature': `${token.slice(0, -8)}AAAAAAAA`,
      'a megabyte': `eyJ${'x'.repeat(12_000)}.x.y`,
    }
    for (const [name, value] of Object.entries(bad)) expect(await statusOf(value), name).toBe(401)
  })

  test('is not accepted anywhere but in one Authorization header', async () => {
    const { token, refresh, code, clientId } = await obtain(platform.url, desk)

    const inQuery = await ask(`${desk}?access_token=${token}`, undefined)
    const twice = await ask(desk, { authorization: `Bearer ${token}, Bearer ${token}` })
    const odd = await ask(desk, { authorization: `bEaReR ${token}` })
    const form = await ask(desk, { 'content-type': 'application/x-www-form-urlencoded' }, `access_token=${token}`)

    expect([inQuery.status, twice.status, odd.status, form.status]).toEqual([401, 401, 200, 401])
    for (const other of [refresh, code, clientId]) expect(await statusOf(other)).toBe(401)
  })

  test('never leaves the platform, and no tenant header of a caller does (S4.19, S4.20)', async () => {
    await using service = await startService()
    await platform.post('/tools', { name: 'echo', execute: { url: service.url }, parameters: { type: 'object' } })
    const { token } = await obtain(platform.url, desk)
    const claimed = { 'x-tenant': 'evil', 'x-org': 'evil', 'x-user': 'evil', 'x-quartermaster-project': 'evil' }
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'tools_echo_action', arguments: {} } }

    const answer = await ask(desk, { ...bearer(token), ...claimed }, JSON.stringify(call))

    expect(await answer.text()).toContain('ok')
    expect(service.received).toHaveLength(1)
    expect(JSON.stringify(service.received)).not.toContain(token)
    expect(JSON.stringify(service.received)).not.toContain('evil')
    expect(service.received[0]?.headers).toMatchObject({ 'x-quartermaster-project': platform.projectId })
    const [record] = (await platform.get('/calls')).body.data
    expect(record.principal).toMatchObject({
      id: expect.stringMatching(/^grant_/),
      name: 'admin (QM_ADMIN_KEY) via An editor',
    })
  })

  test('with the scope mcp:read lists tools but cannot call them, and is told which scope it lacks', async () => {
    const { token } = await obtain(platform.url, desk, { scope: 'mcp:read' })
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x', arguments: {} } }

    const called = await ask(desk, bearer(token), JSON.stringify(call))
    const batched = await ask(desk, bearer(token), JSON.stringify([call]))

    expect(await statusOf(token)).toBe(200)
    expect([called.status, batched.status]).toEqual([403, 403])
    expect(called.headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${desk}/.well-known/oauth-protected-resource", error="insufficient_scope", scope="mcp"`,
    )
  })
})

describe('access by a token ends', () => {
  const keyOf = async () => {
    const key = await platform.keyFor([{ effect: 'Allow', action: ['*'], resource: ['*'] }])
    const { id, access_policy_ids } = (await platform.get('/api-keys/current', { key })).body
    return { key, id: id as string, policy: access_policy_ids[0] as string }
  }

  test('when the key that gave it is revoked, and it cannot be refreshed', async () => {
    const { key, id } = await keyOf()
    const { token, refresh, clientId } = await obtain(platform.url, desk, { key })
    const before = await statusOf(token)

    await platform.delete(`/api-keys/${id}`)
    const answer = await tokenRequest(platform.url, {
      ...{ grant_type: 'refresh_token', refresh_token: refresh, client_id: clientId },
    })

    expect([before, await statusOf(token)]).toEqual([200, 401])
    expect(answer.body.error).toBe('invalid_grant')
  })

  test('when the policies of that key no longer allow the server', async () => {
    const { key, policy } = await keyOf()
    const { token } = await obtain(platform.url, desk, { key })
    const before = await statusOf(token)

    const document = { statement: [{ effect: 'Allow', action: ['tools:*'], resource: ['*'] }] }
    await platform.patch(`/access-policies/${policy}`, { document })

    expect([before, await statusOf(token)]).toEqual([200, 404])
  })

  test('when the grant is removed, also for an open stream', async () => {
    const { token } = await obtain(platform.url, desk)
    const stream = await fetch(desk, { headers: { ...bearer(token), accept: 'text/event-stream' } })
    const ended = stream.text()

    await platform.platform.store.oauthGrants.remove(claimsOf(token).grant as string)

    expect(stream.status).toBe(200)
    expect(await ended).toContain('listening')
    expect(await statusOf(token)).toBe(401)
  })
})

describe('a server', () => {
  test('that accepts only OAuth refuses API keys with the challenge, and the reverse', async () => {
    await platform.post('/servers', { slug: 'only-oauth', access: { methods: ['oauth'], users: null } })
    await platform.post('/servers', { slug: 'only-keys', access: { methods: ['oauth', 'api_key'], users: null } })
    const oauth = `${platform.url}/mcp/only-oauth`
    const keys = `${platform.url}/mcp/only-keys`
    const { token } = await obtain(platform.url, oauth)
    const { token: early } = await obtain(platform.url, keys)

    await platform.patch('/servers/only-keys', { access: { methods: ['api_key'], users: null } })
    const refused = await ask(oauth, bearer(adminKey))

    expect([await statusOf(token, oauth), refused.status]).toEqual([200, 401])
    expect(refused.headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${oauth}/.well-known/oauth-protected-resource", error="invalid_token"`,
    )
    expect([await statusOf(early, keys), await statusOf(adminKey, keys)]).toEqual([401, 200])
    await expect(obtain(platform.url, keys)).rejects.toThrow(/access_denied/)
  })

  test('can name the only people who may use it', async () => {
    const key = await platform.keyFor([{ effect: 'Allow', action: ['*'], resource: ['*'] }])
    const { id } = (await platform.get('/api-keys/current', { key })).body
    const url = `${platform.url}/mcp/named`
    const made = await platform.post('/servers', {
      slug: 'named',
      access: { methods: ['api_key', 'oauth'], users: [id] },
    })

    const { token } = await obtain(platform.url, url, { key })

    expect(made.body.access).toEqual({ methods: ['api_key', 'oauth'], users: [id] })
    expect([await statusOf(key, url), await statusOf(token, url), await statusOf(adminKey, url)]).toEqual([
      200, 200, 404,
    ])
    await expect(obtain(platform.url, url)).rejects.toThrow(/access_denied/)
  })

  test('is refused with access that no one could have', async () => {
    const none = await platform.post('/servers', { slug: 'none', access: { methods: [], users: null } })
    const twice = await platform.post('/servers', {
      slug: 'none',
      access: { methods: ['oauth', 'oauth'], users: null },
    })

    expect([none.status, twice.status]).toEqual([400, 400])
  })
})
