import { expect, test } from 'vitest'
import { startAuthorization } from '../src/credentials/oauth/authorize.ts'
import { discover } from '../src/credentials/oauth/discover.ts'
import { clientCredentials } from '../src/credentials/oauth/grants.ts'
import { register } from '../src/credentials/oauth/register.ts'
import type { OAuthClient } from '../src/credentials/oauth/types.ts'
import { openContext, redirectUri, soundMetadata, soundServer, startScripted } from './oauth-peers.ts'

const resourcePath = '/.well-known/oauth-protected-resource'
const serverPath = '/.well-known/oauth-authorization-server'

test.for([
  'https://169.254.169.254/metadata',
  'https://10.1.2.3/metadata',
  'https://[::1]/metadata',
  'https://2130706433/metadata',
  'https://0177.0.0.1/metadata',
  'https://internal.example.com/metadata',
])('a server cannot make the platform fetch metadata from a private address: %s', async (resourceMetadata) => {
  await using context = openContext({
    allowLoopback: false,
    lookup: ((_name: string, _options: object, done: (...found: unknown[]) => void) =>
      done(null, [{ address: '10.0.0.1', family: 4 }])) as never,
  })
  const request = { resourceUrl: 'https://mcp.example.com/mcp', challenge: { resourceMetadata } }
  await expect(discover(request, context)).rejects.toMatchObject({ kind: 'misconfigured', code: 'egress_blocked' })
  expect(context.steps).toMatchObject([
    { step: 'challenge', ok: true, detail: expect.stringContaining('asks for authorization') },
    { step: 'resource_metadata', ok: false },
  ])
})

test.for(['http://169.254.169.254/', 'http://mcp.example.com/', 'ftp://h/', 'https://u:p@h.example/', 'javascript:1'])(
  'metadata is not fetched from %s',
  async (resourceMetadata) => {
    await using context = openContext()
    const request = { resourceUrl: 'https://mcp.example.com/mcp', challenge: { resourceMetadata } }
    await expect(discover(request, context)).rejects.toMatchObject({ kind: 'misconfigured', code: 'insecure_url' })
  },
)

test('an authorization server at a private address is not asked', async () => {
  await using server = await startScripted((url) => ({
    [`GET ${resourcePath}/mcp`]: { body: { resource: `${url}/mcp`, authorization_servers: ['https://10.0.0.1'] } },
  }))
  await using context = openContext()
  const found = discover({ resourceUrl: `${server.url}/mcp` }, context)
  await expect(found).rejects.toMatchObject({ code: 'egress_blocked', host: '10.0.0.1' })
})

test('credentials are not sent to a token endpoint at a private address', async () => {
  await using server = await startScripted((url) => ({
    ...soundServer(url),
    [`GET ${serverPath}`]: { body: { ...soundMetadata(url), token_endpoint: 'https://192.168.0.1/token' } },
  }))
  await using context = openContext()
  const found = await discover({ resourceUrl: `${server.url}/mcp` }, context)
  const client = { clientId: 'c', clientSecret: 's', issuer: server.url, kind: 'pre_registered' } as const
  await expect(
    clientCredentials({ ...found, client: { ...client, authMethod: 'client_secret_basic' } }, context),
  ).rejects.toMatchObject({ kind: 'misconfigured', code: 'egress_blocked' })
})

test('metadata is not fetched from another origin by redirect, but within the origin it is', async () => {
  await using other = await startScripted((url) => ({ [`GET ${resourcePath}`]: { body: { resource: url } } }))
  await using server = await startScripted((url) => ({
    ...soundServer(url),
    [`GET ${resourcePath}/mcp`]: { status: 302, headers: { location: `${other.url}${resourcePath}` } },
    [`GET ${serverPath}`]: { status: 301, headers: { location: '/moved' } },
    'GET /moved': { body: soundMetadata(url) },
  }))
  await using context = openContext()
  const request = { resourceUrl: `${server.url}/mcp` }
  await expect(discover(request, context)).rejects.toMatchObject({ kind: 'misconfigured', code: 'redirected' })
  expect(other.received).toEqual([])
  Object.assign(server.script, soundServer(server.url), {
    [`GET ${serverPath}`]: { status: 301, headers: { location: '/moved' } },
  })
  expect((await discover(request, context)).issuer).toBe(server.url)
})

test('a token request is not redirected, so that the client secret stays where it belongs', async () => {
  await using other = await startScripted(() => ({
    'POST /token': { body: { access_token: 'x', token_type: 'bearer' } },
  }))
  await using server = await startScripted((url) => ({
    ...soundServer(url),
    'POST /token': { status: 307, headers: { location: `${other.url}/token` } },
  }))
  await using context = openContext()
  const found = await discover({ resourceUrl: `${server.url}/mcp` }, context)
  const client = serviceOf(server.url)
  await expect(clientCredentials({ ...found, client }, context)).rejects.toMatchObject({
    kind: 'misconfigured',
    status: 307,
  })
  expect(other.received).toEqual([])
})

const serviceOf = (issuer: string): OAuthClient => ({
  clientId: 'service',
  clientSecret: 'service-secret',
  issuer,
  kind: 'pre_registered',
  authMethod: 'client_secret_basic',
})

test.for(['https://other.example/mcp', '/', '/mcp/', '/mcpx', '/mc', '/other', '/MCP', '/mcp?x=1', '/mcp#x'])(
  'metadata for another resource is not used: %s',
  async (resource) => {
    await using server = await startScripted((url) => ({
      ...soundServer(url),
      [`GET ${resourcePath}/mcp`]: {
        body: { resource: new URL(resource, url).href, authorization_servers: [url] },
      },
    }))
    await using context = openContext()
    const found = discover({ resourceUrl: `${server.url}/mcp` }, context)
    await expect(found).rejects.toMatchObject({ kind: 'misconfigured', code: 'resource_mismatch' })
    expect(server.received.map(({ path }) => path)).toEqual([`${resourcePath}/mcp`])
  },
)

test.for([
  ['/', true],
  ['/a', true],
  ['/a/', true],
  ['/a/mcp', true],
  ['/a/mcp/x', false],
  ['/b', false],
  ['/a/mc', false],
] as const)(
  'metadata at the root of the origin may name a parent of the server: %s %s',
  async ([resource, accepted]) => {
    await using server = await startScripted((url) => ({
      [`GET ${serverPath}`]: { body: soundMetadata(url) },
      [`GET ${resourcePath}`]: { body: { resource: url + resource, authorization_servers: [url] } },
    }))
    await using context = openContext()
    const found = discover({ resourceUrl: `${server.url}/a/mcp` }, context)
    if (accepted) expect((await found).resource).toBe(server.url + resource)
    else await expect(found).rejects.toMatchObject({ code: 'resource_mismatch' })
  },
)

test('metadata is looked up where the challenge says, and nowhere else', async () => {
  await using server = await startScripted((url) => ({
    ...soundServer(url),
    'GET /custom': { body: { resource: `${url}/mcp`, authorization_servers: [url], scopes_supported: ['listed'] } },
  }))
  await using context = openContext()
  const challenge = { resourceMetadata: `${server.url}/custom`, scopes: ['asked'] }
  const found = await discover({ resourceUrl: `${server.url}/mcp`, challenge }, context)
  expect(found.scopes).toEqual(['asked'])
  expect(server.received.map(({ path }) => path)).toEqual(['/custom', serverPath])
  const missing = { resourceMetadata: `${server.url}/missing` }
  await expect(discover({ resourceUrl: `${server.url}/mcp`, challenge: missing }, context)).rejects.toMatchObject({
    code: 'invalid_metadata',
  })
})

test('metadata of an issuer with a path is looked up in the order of the specification', async () => {
  await using server = await startScripted((url) => ({
    [`GET ${resourcePath}/mcp`]: { body: { resource: `${url}/mcp`, authorization_servers: [`${url}/tenant`] } },
    'GET /tenant/.well-known/openid-configuration': { body: { ...soundMetadata(url), issuer: `${url}/tenant` } },
  }))
  await using context = openContext()
  expect(await discover({ resourceUrl: `${server.url}/mcp` }, context)).toMatchObject({
    issuer: `${server.url}/tenant`,
  })
  expect(server.received.map(({ path }) => path)).toEqual([
    `${resourcePath}/mcp`,
    `${serverPath}/tenant`,
    '/.well-known/openid-configuration/tenant',
    '/tenant/.well-known/openid-configuration',
  ])
})

test.for([
  (url: string) => `${url}/`,
  (url: string) => url.toUpperCase(),
  (url: string) => url.replace(/\d+$/, '1'),
  () => 'https://honest.example.com',
])('metadata that names another issuer is not used, unless an administrator set it: %#', async (named) => {
  await using server = await startScripted((url) => ({
    ...soundServer(url),
    [`GET ${serverPath}`]: { body: { ...soundMetadata(url), issuer: named(url) } },
  }))
  await using context = openContext()
  const request = { resourceUrl: `${server.url}/mcp` }
  await expect(discover(request, context)).rejects.toMatchObject({ kind: 'misconfigured', code: 'issuer_mismatch' })
  const issuerOverride = named(server.url)
  expect(await discover({ ...request, issuerOverride }, context)).toMatchObject({ issuer: issuerOverride })
  const other = discover({ ...request, issuerOverride: `${server.url}/else` }, context)
  await expect(other).rejects.toMatchObject({ code: 'issuer_mismatch' })
})

test('of several authorization servers, the one that is already in use is chosen', async () => {
  await using second = await startScripted((url) => ({ [`GET ${serverPath}`]: { body: soundMetadata(url) } }))
  await using server = await startScripted((url) => ({
    ...soundServer(url),
    [`GET ${resourcePath}/mcp`]: { body: { resource: `${url}/mcp`, authorization_servers: [url, second.url] } },
  }))
  await using context = openContext()
  const request = { resourceUrl: `${server.url}/mcp` }
  expect((await discover(request, context)).issuer).toBe(server.url)
  expect((await discover({ ...request, preferredIssuer: second.url }, context)).issuer).toBe(second.url)
  const unlisted = { ...request, preferredIssuer: 'https://not-listed.example' }
  expect((await discover(unlisted, context)).issuer).toBe(server.url)
})

test('when a server moves to another authorization server, the old credentials are not sent there', async () => {
  await using server = await startScripted(soundServer)
  await using context = openContext()
  const found = await discover({ resourceUrl: `${server.url}/mcp` }, context)
  const client = serviceOf('https://old.example.com')
  const expected = { kind: 'misconfigured', code: 'issuer_changed' }
  await expect(clientCredentials({ ...found, client }, context)).rejects.toMatchObject(expected)
  const request = { ...found, redirectUri, clientName: 'Quartermaster', preRegistered: client }
  await expect(register(request, context)).rejects.toMatchObject(expected)
  expect(server.received.filter(({ method }) => method === 'POST')).toEqual([])
})

test.for([
  ['is not JSON', '<html>hello</html>', 'invalid_metadata'],
  ['is a list', '[]', 'invalid_metadata'],
  ['is too deep', `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`, 'invalid_metadata'],
  ['is too large', `{"a":"${'x'.repeat(300_000)}"}`, 'response_too_large'],
  ['lacks fields', '{}', 'invalid_metadata'],
  ['names no authorization server', '{"resource":"URL/mcp"}', 'invalid_metadata'],
  ['has fields of wrong types', '{"resource":7,"authorization_servers":"x"}', 'invalid_metadata'],
] as const)('metadata that %s gives a clear error', async ([, body, code]) => {
  await using server = await startScripted((url) => ({
    [`GET ${resourcePath}/mcp`]: { body: body.replace('URL', url) },
  }))
  await using context = openContext()
  const found = discover({ resourceUrl: `${server.url}/mcp` }, context)
  await expect(found).rejects.toMatchObject({ kind: 'misconfigured', code, host: new URL(server.url).host })
})

test('a server that never finishes its answer is given up on, and a caller can cancel', async () => {
  const reached = Promise.withResolvers<void>()
  await using server = await startScripted(() => ({
    [`GET ${resourcePath}/mcp`]: () => {
      reached.resolve()
      return { stalls: true }
    },
  }))
  await using context = openContext()
  const request = { resourceUrl: `${server.url}/mcp` }
  const late = discover(request, { ...context, timeoutMs: 50 })
  await expect(late).rejects.toMatchObject({ kind: 'transient', code: 'timeout' })
  const caller = new AbortController()
  const cancelled = discover(request, { ...context, signal: caller.signal })
  await reached.promise
  caller.abort(new Error('The caller left'))
  await expect(cancelled).rejects.toThrow('The caller left')
})

test.for([500, 503, 429])('status %i during discovery is a temporary failure', async (status) => {
  await using server = await startScripted(() => ({
    [`GET ${resourcePath}/mcp`]: { status, headers: { 'retry-after': '7' } },
  }))
  await using context = openContext()
  const found = discover({ resourceUrl: `${server.url}/mcp` }, context)
  await expect(found).rejects.toMatchObject({ kind: 'transient', status, retryAfterMs: 7000 })
})

test.for([
  ['authorization_endpoint', 'javascript:alert(1)'],
  ['authorization_endpoint', 'data:text/html,hello'],
  ['authorization_endpoint', 'http://auth.example.com/authorize'],
  ['authorization_endpoint', 'http://127.0.0.1.evil.example/authorize'],
  ['token_endpoint', 'http://auth.example.com/token'],
  ['token_endpoint', 'https://user:password@auth.example.com/token'],
  ['registration_endpoint', 'file:///etc/passwd'],
  ['revocation_endpoint', 'not a url'],
] as const)('metadata with an insecure %s is not used: %s', async ([field, value]) => {
  await using server = await startScripted((url) => ({
    ...soundServer(url),
    [`GET ${serverPath}`]: { body: { ...soundMetadata(url), [field]: value } },
  }))
  await using context = openContext()
  const found = discover({ resourceUrl: `${server.url}/mcp` }, context)
  await expect(found).rejects.toMatchObject({ code: 'insecure_url', message: expect.stringContaining(field) })
})

test('a server without PKCE in its metadata gets neither a registration nor an authorization request', async () => {
  await using server = await startScripted((url) => ({
    ...soundServer(url),
    [`GET ${serverPath}`]: { body: { ...soundMetadata(url), code_challenge_methods_supported: undefined } },
  }))
  await using context = openContext()
  const found = await discover({ resourceUrl: `${server.url}/mcp` }, context)
  const expected = { kind: 'misconfigured', code: 'unsupported_server' }
  await expect(register({ ...found, redirectUri, clientName: 'Quartermaster' }, context)).rejects.toMatchObject(
    expected,
  )
  const client = serviceOf(server.url)
  await expect(startAuthorization({ ...found, client, redirectUri })).rejects.toMatchObject(expected)
  expect(server.received.filter(({ method }) => method === 'POST')).toEqual([])
})

test('a server without resource metadata may be its own authorization server, or have one that an administrator set', async () => {
  await using server = await startScripted((url) => ({ [`GET ${serverPath}`]: { body: soundMetadata(url) } }))
  await using bare = await startScripted(() => ({}))
  await using context = openContext()
  expect(await discover({ resourceUrl: `${server.url}/mcp` }, context)).toMatchObject({
    issuer: server.url,
    resource: `${server.url}/mcp`,
  })
  const request = { resourceUrl: `${bare.url}/mcp` }
  await expect(discover(request, context)).rejects.toMatchObject({ kind: 'misconfigured', code: 'no_metadata' })
  expect(await discover({ ...request, issuerOverride: server.url }, context)).toMatchObject({
    issuer: server.url,
    resource: `${bare.url}/mcp`,
  })
})
