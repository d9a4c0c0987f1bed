import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type JWTPayload, SignJWT } from 'jose'
import { describe, expect, test, vi } from 'vitest'
import { startListening } from './clients.ts'
import { startService } from './kit.ts'

/** Access tokens of an authorization server outside the platform. */

interface Issuer extends AsyncDisposable {
  readonly url: string
  /** The keys it publishes. */
  keys: object[]
  /** Changes its metadata. */
  metadata: Record<string, unknown>
  readonly requests: string[]
  sign(claims: JWTPayload, options?: { alg?: string; kid?: string; key?: KeyObject; exp?: string }): Promise<string>
}

async function startIssuer(): Promise<Issuer> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const requests: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    requests.push(path)
    const body = path.endsWith('/jwks')
      ? { keys: issuer.keys }
      : { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks`, ...issuer.metadata }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const issuer: Issuer = {
    ...{ url, metadata: {}, requests },
    keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig', alg: 'RS256' }],
    sign: (claims, { alg = 'RS256', kid = 'k', key = privateKey, exp = '5m' } = {}) =>
      new SignJWT({ iss: url, ...claims })
        .setProtectedHeader({ alg, kid })
        .setIssuedAt()
        .setExpirationTime(exp)
        .sign(key),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return issuer
}

const send = async (url: string, token: string, method = 'tools/list', params: object = {}) =>
  fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })

async function open(issuer: Issuer, fields: object = {}) {
  const platform = await startListening()
  await platform.post('/servers', { slug: 'desk' })
  await platform.post('/servers', { slug: 'other' })
  const made = await platform.post('/trusted-issuers', {
    ...{ name: 'Acme', issuer: issuer.url, access_policy_ids: ['pol_caller'] },
    ...fields,
  })
  const desk = `${platform.url}/mcp/desk`
  const statusOf = async (token: string, url = desk) => (await send(url, token)).status
  return Object.assign(platform, { made, desk, statusOf })
}

describe('a token of a trusted issuer', () => {
  test('is accepted for the server that it names, and its claims decide what it allows', async () => {
    await using service = await startService()
    await using issuer = await startIssuer()
    const rules = [{ claim: 'groups', value: 'callers', access_policy_ids: ['pol_caller'] }]
    await using platform = await open(issuer, { access_policy_ids: [], rules })
    await platform.post('/tools', { name: 'echo', execute: { url: service.url }, parameters: { type: 'object' } })
    const { desk, statusOf } = platform
    const member = await issuer.sign({ sub: 'ada', aud: desk, name: 'Ada', groups: ['callers', 'others'] })
    const guest = await issuer.sign({ sub: 'bob', aud: desk, groups: ['others'] })

    const called = await send(desk, member, 'tools/call', { name: 'tools_echo_action', arguments: {} })
    const [call] = (await platform.get('/calls')).body.data

    expect(platform.made.status).toBe(201)
    expect(await called.text()).toContain('ok')
    expect([await statusOf(member), await statusOf(guest)]).toEqual([200, 404])
    expect(await statusOf(member, `${platform.url}/mcp/other`)).toBe(401)
    expect(await statusOf(member, `${platform.url}/mcp`)).toBe(401)
    expect(
      (await fetch(`${platform.url}/api/v1/tools`, { headers: { authorization: `Bearer ${member}` } })).status,
    ).toBe(401)
    expect(call.principal).toMatchObject({ name: 'Ada', id: expect.stringMatching(/^ext_/) })
  })

  test('is refused if anything about it is wrong', async () => {
    await using issuer = await startIssuer()
    await using platform = await open(issuer)
    const { desk, statusOf } = platform
    const good = { sub: 'ada', aud: desk }
    const strange = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const bad = {
      'several audiences': await issuer.sign({ ...good, aud: [desk, 'other'] }),
      'another audience': await issuer.sign({ ...good, aud: 'https://elsewhere.test' }),
      'no audience': await issuer.sign({ sub: 'ada' }),
      'no subject': await issuer.sign({ aud: desk }),
      expired: await issuer.sign(good, { exp: '-1m' }),
      'not yet valid': await issuer.sign({ ...good, nbf: Math.floor(Date.now() / 1000) + 120 }),
      'another key': await issuer.sign(good, { key: strange }),
      'another algorithm': await issuer.sign(good, { alg: 'PS256' }),
      'an unknown issuer': await issuer.sign({ ...good, iss: 'https://elsewhere.test' }),
      'the issuer with a slash': await issuer.sign({ ...good, iss: `${issuer.url}/` }),
      'our own issuer': await issuer.sign({ ...good, iss: platform.url, grant: 'grant_1', client_id: 'x' }),
    }

    expect(await statusOf(await issuer.sign(good))).toBe(200)
    for (const [name, token] of Object.entries(bad)) expect(await statusOf(token), name).toBe(401)
  })

  test('makes its keys be fetched once, however many unknown keys are named', async () => {
    await using issuer = await startIssuer()
    await using platform = await open(issuer)
    const { desk, statusOf } = platform

    for (let n = 0; n < 20; n++) await statusOf(await issuer.sign({ sub: 'ada', aud: desk }, { kid: `../${n}` }))

    expect(issuer.requests.filter((path) => path === '/jwks').length).toBeLessThanOrEqual(2)
    expect(issuer.requests.length).toBeLessThanOrEqual(3)
  })

  test('is refused if the issuer’s metadata names another issuer, or its keys are of no use', async () => {
    for (const change of [
      (issuer: Issuer) => Object.assign(issuer.metadata, { issuer: `${issuer.url}/` }),
      (issuer: Issuer) => Object.assign(issuer.metadata, { jwks_uri: undefined }),
      (issuer: Issuer) => Object.assign(issuer.metadata, { jwks_uri: 'http://169.254.169.254/jwks' }),
      (issuer: Issuer) => Object.assign(issuer, { keys: [{ kty: 'oct', k: 'c2VjcmV0', kid: 'k', alg: 'HS256' }] }),
    ]) {
      await using issuer = await startIssuer()
      change(issuer)
      await using platform = await open(issuer)
      expect(await platform.statusOf(await issuer.sign({ sub: 'ada', aud: platform.desk }))).toBe(401)
    }
  })

  test('is refused if its key is symmetric, private, ambiguous, too short or for another use', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const jwk = (key: KeyObject, more: object = {}) => ({
      ...key.export({ format: 'jwk' }),
      kid: 'k',
      use: 'sig',
      ...more,
    })
    const sets: Record<string, [keys: object[], signing: KeyObject | Uint8Array, alg: string]> = {
      private: [[jwk(privateKey)], privateKey, 'RS256'],
      duplicate: [[jwk(other.publicKey), jwk(publicKey)], privateKey, 'RS256'],
      'for encryption': [[jwk(publicKey, { use: 'enc' })], privateKey, 'RS256'],
      'for another algorithm': [[jwk(publicKey, { alg: 'PS256' })], privateKey, 'RS256'],
      symmetric: [[{ kty: 'oct', k: 'c2VjcmV0', kid: 'k' }], Buffer.from('secret'), 'HS256'],
    }

    for (const [name, [keys, key, alg]] of Object.entries(sets)) {
      await using issuer = await startIssuer()
      issuer.keys = keys
      await using platform = await open(issuer)
      const token = await issuer.sign({ sub: 'ada', aud: platform.desk }, { key: key as KeyObject, alg })
      expect(await platform.statusOf(token), name).toBe(401)
    }
    // The library signs with no short key either, so this signature is made by hand.
    await using issuer = await startIssuer()
    issuer.keys = [jwk(weak.publicKey)]
    await using platform = await open(issuer)
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = { iss: issuer.url, sub: 'ada', aud: platform.desk, exp: Math.floor(Date.now() / 1000) + 300 }
    const text = `${encode({ alg: 'RS256', kid: 'k' })}.${encode(claims)}`
    const signature = sign('sha256', Buffer.from(text), weak.privateKey).toString('base64url')
    expect(await platform.statusOf(`${text}.${signature}`), 'too short').toBe(401)
  })

  test('is accepted with a new key of the issuer, and with the old one until it is gone', async () => {
    await using issuer = await startIssuer()
    await using platform = await open(issuer)
    const next = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const published = { ...next.publicKey.export({ format: 'jwk' }), kid: 'next', use: 'sig', alg: 'RS256' }
    const token = (more: object = {}) => issuer.sign({ sub: 'ada', aud: platform.desk }, { exp: '2h', ...more })
    const fresh = { key: next.privateKey, kid: 'next' }
    using _time = { [Symbol.dispose]: () => void vi.useRealTimers() }

    const before = await platform.statusOf(await token())
    const early = await platform.statusOf(await token(fresh))
    issuer.keys.push(published)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 31_000 })
    const both = [await platform.statusOf(await token(fresh)), await platform.statusOf(await token())]
    issuer.keys.shift()
    vi.setSystemTime(Date.now() + 11 * 60_000)
    const after = [await platform.statusOf(await token(fresh)), await platform.statusOf(await token())]

    expect([before, early]).toEqual([200, 401])
    expect(both).toEqual([200, 200])
    expect(after).toEqual([200, 401])
  })

  test('identifies a caller by issuer and subject', async () => {
    await using one = await startIssuer()
    await using two = await startIssuer()
    await using platform = await open(one)
    await platform.post('/trusted-issuers', { name: 'Second', issuer: two.url, access_policy_ids: ['pol_caller'] })
    const { desk, statusOf } = platform

    for (const issuer of [one, two])
      expect(await statusOf(await issuer.sign({ sub: 'key_environment', aud: desk }))).toBe(200)
    const rows = await platform.platform.store.engine.db.selectFrom('external_identities').select('id').execute()

    expect(new Set(rows.map(({ id }) => id)).size).toBe(2)
  })

  test('stops working when the issuer is no longer trusted', async () => {
    await using issuer = await startIssuer()
    await using platform = await open(issuer)
    const { desk, statusOf, made } = platform
    const token = await issuer.sign({ sub: 'ada', aud: desk })
    const before = await statusOf(token)

    await platform.patch(`/trusted-issuers/${made.body.id}`, { enabled: false })
    const disabled = await statusOf(token)
    await platform.patch(`/trusted-issuers/${made.body.id}`, { enabled: true })
    const enabled = await statusOf(token)
    await platform.delete(`/trusted-issuers/${made.body.id}`)

    expect([before, disabled, enabled, await statusOf(token)]).toEqual([200, 401, 200, 401])
  })

  test('of an issuer that tenants share belongs to the project of the server, or of the required claim', async () => {
    await using issuer = await startIssuer()
    await using platform = await open(issuer, { audience: 'api', required_claim: { claim: 'org', value: 'one' } })
    const { id: second } = (await platform.post('/projects', { name: 'second' })).body
    await platform.post('/servers', { slug: 'second', project_id: second })
    const trust = (fields: object) =>
      platform.post('/trusted-issuers', {
        ...{ name: 'Acme', issuer: issuer.url, project_id: second, access_policy_ids: ['pol_caller'], ...fields },
      })

    const clash = await trust({ audience: 'api' })
    const fine = await trust({ audience: 'api', required_claim: { claim: 'org', value: 'two' } })
    const token = (org: string) => issuer.sign({ sub: 'ada', aud: 'api', org })
    const [ofOne, ofTwo, ofNone] = [await token('one'), await token('two'), await token('three')]
    const there = `${platform.url}/mcp/second`

    expect([clash.status, fine.status]).toEqual([400, 201])
    expect([await platform.statusOf(ofOne), await platform.statusOf(ofOne, there)]).toEqual([200, 404])
    expect([await platform.statusOf(ofTwo), await platform.statusOf(ofTwo, there)]).toEqual([404, 200])
    expect([await platform.statusOf(ofNone), await platform.statusOf(ofNone, there)]).toEqual([401, 401])
  })

  test('gives no more than the person who trusts the issuer could give', async () => {
    await using issuer = await startIssuer()
    await using platform = await open(issuer)
    const weak = await platform.keyFor([{ effect: 'Allow', action: ['trusted-issuers:*'], resource: ['*'] }], {
      project_id: platform.projectId,
    })
    const make = (fields: object) =>
      platform.post('/trusted-issuers', { name: 'x', issuer: issuer.url, ...fields }, { key: weak })

    const direct = await make({ access_policy_ids: ['pol_administrator'] })
    const byRule = await make({ rules: [{ claim: 'a', value: 'b', access_policy_ids: ['pol_administrator'] }] })
    const plain = await make({ issuer: 'http://login.example.com' })

    expect([direct.status, byRule.status, plain.status]).toEqual([403, 403, 400])
  })
})
