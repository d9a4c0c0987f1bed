import { expect, test } from 'vitest'
import { startAuthorization } from '../src/credentials/oauth/authorize.ts'
import { finishAuthorization } from '../src/credentials/oauth/finish.ts'
import { enterpriseAuthorization, exchangeToken, refresh } from '../src/credentials/oauth/grants.ts'
import { register } from '../src/credentials/oauth/register.ts'
import { revoke } from '../src/credentials/oauth/revoke.ts'
import type { AuthorizationServer, OAuthClient, OAuthContext } from '../src/credentials/oauth/types.ts'
import { openContext, redirectUri, soundMetadata, soundServer, startScripted } from './oauth-peers.ts'

const clientOf = (issuer: string, more: Partial<OAuthClient> = {}): OAuthClient => ({
  clientId: 'client-1',
  clientSecret: 'client-secret-1',
  issuer,
  kind: 'pre_registered',
  authMethod: 'client_secret_basic',
  ...more,
})

const sentTo = (server: { received: readonly { path: string; body: string }[] }, path: string) =>
  server.received.filter((one) => one.path === path).map(({ body }) => Object.fromEntries(new URLSearchParams(body)))

/** An authorization that is under way at a scripted server. */
async function begin(server: AuthorizationServer, more: { resource?: string } = {}) {
  const client = clientOf(server.issuer)
  const started = await startAuthorization({ server, client, redirectUri, scopes: ['read'], ...more })
  const finish = (params: URLSearchParams | Record<string, string>, context: OAuthContext) =>
    finishAuthorization({ pending: started.pending, params: new URLSearchParams(params), server, client }, context)
  return { ...started, client, finish }
}

test.for([
  ['supported and right', true, 'URL', true],
  ['supported and missing', true, undefined, false],
  ['supported and of another server', true, 'https://evil.example.com', false],
  ['not supported and missing', false, undefined, true],
  ['not supported and right', false, 'URL', true],
  ['not supported and of another server', false, 'https://evil.example.com', false],
  ['right but for a slash', true, 'URL/', false],
  ['right but for the scheme in capitals', true, 'HTTP://URL', false],
  ['empty', false, '', false],
] as const)(
  'a response whose issuer is %s: the code is sent only if it is right',
  async ([, supported, iss, accepted]) => {
    await using as = await startScripted(soundServer)
    await using context = openContext()
    const server = { ...soundMetadata(as.url), authorization_response_iss_parameter_supported: supported }
    const { finish, state } = await begin(server)
    const named = iss?.replace('HTTP://URL', as.url.replace('http', 'HTTP')).replace('URL', as.url)
    const params = { code: 'code-1', state, ...(named !== undefined && { iss: named }) }
    const finished = finish(params, context)
    if (accepted) expect((await finished).accessToken).toBe('at-secret-1')
    else await expect(finished).rejects.toMatchObject({ kind: 'misconfigured', code: 'issuer_mismatch' })
    expect(as.received.length).toBe(accepted ? 1 : 0)
  },
)

test('nothing of an error is shown if it comes from another server', async () => {
  await using context = openContext()
  const { finish, state } = await begin(soundMetadata('https://auth.example.com'))
  const params = {
    error: 'access_denied',
    error_description: 'Call +1 555 0100',
    state,
    iss: 'https://evil.example.com',
  }
  const error: Error = await finish(params, context).then(String as never, (reason) => reason)
  expect(error).toMatchObject({ code: 'issuer_mismatch' })
  expect(error.message + JSON.stringify(context.steps)).not.toMatch(/555|denied|evil/)
})

test.for([
  ['access_denied', 'terminal'],
  ['temporarily_unavailable', 'transient'],
  ['server_error', 'transient'],
  ['invalid_scope', 'misconfigured'],
  ['unauthorized_client', 'misconfigured'],
] as const)('an authorization that ends with %s is %s', async ([error, kind]) => {
  await using context = openContext()
  const { finish, state } = await begin(soundMetadata('https://auth.example.com'))
  const params = { error, error_description: 'It did\n\tnot work\u202e.', state }
  await expect(finish(params, context)).rejects.toMatchObject({
    kind,
    code: error,
    message: expect.stringContaining(`(${error}: It did not work)`),
  })
})

test.for([
  ['without state', 'code=c', 'state_mismatch'],
  ['with another state', 'code=c&state=other', 'state_mismatch'],
  ['with two codes', 'code=a&code=b&state=STATE', 'invalid_response'],
  ['with two states', 'code=a&state=STATE&state=other', 'invalid_response'],
  ['with two issuers', 'code=a&state=STATE&iss=a&iss=b', 'invalid_response'],
  ['without code', 'state=STATE', 'invalid_response'],
  ['with an empty code', 'code=&state=STATE', 'invalid_response'],
  ['of 100 KB', `code=${'x'.repeat(100_000)}&state=STATE`, 'invalid_response'],
  ['with a token in it', 'code=a&state=STATE&id_token=x', 'invalid_response'],
  ['that is a JWT', 'response=x&state=STATE', 'invalid_response'],
] as const)('a callback %s is rejected, and nothing is sent', async ([, query, code]) => {
  await using as = await startScripted(soundServer)
  await using context = openContext()
  const { finish, state } = await begin(soundMetadata(as.url))
  const params = new URLSearchParams(query.replaceAll('STATE', state))
  const error: Error = await finish(params, context).then(String as never, (reason) => reason)
  expect(error).toMatchObject({ kind: 'terminal', code })
  expect(error.message.length).toBeLessThan(300)
  expect(as.received).toEqual([])
})

test('an authorization cannot be finished at another server or with another client', async () => {
  await using as = await startScripted(soundServer)
  await using context = openContext()
  const { pending, state } = await begin(soundMetadata('https://auth.example.com'))
  const params = new URLSearchParams({ code: 'code-1', state })
  const other = { pending, params, server: soundMetadata(as.url), client: clientOf(as.url) }
  await expect(finishAuthorization(other, context)).rejects.toMatchObject({ code: 'issuer_changed' })
  const here = await begin(soundMetadata(as.url))
  await expect(
    finishAuthorization(
      {
        pending: here.pending,
        params: new URLSearchParams({ code: 'c', state: here.state }),
        server: soundMetadata(as.url),
        client: clientOf(as.url, { clientId: 'client-2' }),
      },
      context,
    ),
  ).rejects.toMatchObject({ code: 'state_mismatch' })
  expect(as.received).toEqual([])
})

test('the code is exchanged with verifier, redirect URI and resource', async () => {
  await using as = await startScripted(soundServer)
  await using context = openContext()
  const { finish, state, pending } = await begin(soundMetadata(as.url), { resource: 'https://mcp.example.com/mcp' })
  const tokens = await finish({ code: 'code-1', state }, context)
  expect(sentTo(as, '/token')).toEqual([
    {
      grant_type: 'authorization_code',
      code: 'code-1',
      code_verifier: pending.verifier,
      redirect_uri: redirectUri,
      resource: 'https://mcp.example.com/mcp',
    },
  ])
  expect(as.received[0]?.headers.authorization).toBe(`Basic ${btoa('client-1:client-secret-1')}`)
  expect(tokens).toMatchObject({ accessToken: 'at-secret-1', scopes: ['read'] })
})

test.for([
  [400, { error: 'invalid_grant' }, 'terminal'],
  [500, { error: 'invalid_grant' }, 'terminal'],
  [400, { error: 'invalid_request' }, 'terminal'],
  [200, { error: 'bad_refresh_token' }, 'terminal'],
  [200, { ok: false, error: 'invalid_refresh_token' }, 'terminal'],
  [401, { error: 'invalid_client' }, 'invalid_client'],
  [400, { error: 'invalid_client' }, 'invalid_client'],
  [401, {}, 'invalid_client'],
  [200, { error: 'incorrect_client_credentials' }, 'invalid_client'],
  [500, {}, 'transient'],
  [502, '<html>Bad gateway</html>', 'transient'],
  [429, { error: 'invalid_grant' }, 'transient'],
  [408, {}, 'transient'],
  [400, { error: 'temporarily_unavailable' }, 'transient'],
  [200, { ok: false, error: 'ratelimited' }, 'transient'],
  [400, { error: 'invalid_scope' }, 'misconfigured'],
  [400, { error: 'invalid_target' }, 'misconfigured'],
  [400, { error: 'unsupported_grant_type' }, 'misconfigured'],
  [404, '<html>Not found</html>', 'misconfigured'],
  [302, {}, 'misconfigured'],
  [200, '<html>Sign in</html>', 'misconfigured'],
  [200, { access_token: 7 }, 'misconfigured'],
  [200, { access_token: 'at', token_type: 'DPoP-like' }, 'misconfigured'],
  [200, 'null', 'misconfigured'],
] as const)('a refresh that is answered with %i %o is %s, after one request', async ([status, body, kind]) => {
  await using as = await startScripted(() => ({ 'POST /token': { status, body, headers: { 'retry-after': '3' } } }))
  await using context = openContext()
  const server = soundMetadata(as.url)
  const refreshed = refresh({ server, client: clientOf(as.url), refreshToken: 'rt-secret-1' }, context)
  await expect(refreshed).rejects.toMatchObject({ kind, host: new URL(as.url).host })
  if (kind === 'transient') await expect(refreshed).rejects.toMatchObject({ retryAfterMs: 3000 })
  expect(as.received.length).toBe(1)
})

test('an unreachable server is a temporary failure', async () => {
  const as = await startScripted(() => ({}))
  await as[Symbol.asyncDispose]()
  await using context = openContext()
  const request = { server: soundMetadata(as.url), client: clientOf(as.url), refreshToken: 'rt-secret-1' }
  await expect(refresh(request, context)).rejects.toMatchObject({
    kind: 'transient',
    message: expect.stringContaining('connection refused'),
  })
})

test('a server that quotes what it received does not make a secret appear in a message or a trace', async () => {
  await using as = await startScripted(() => ({
    'POST /token': ({ body, headers }) => ({
      status: 400,
      body: { error: 'invalid_grant', error_description: `You sent ${body} and ${headers.authorization}` },
    }),
  }))
  await using context = openContext()
  const server = soundMetadata(as.url)
  const client = clientOf(as.url)
  const { finish, state, pending } = await begin(server)
  const errors = await Promise.all([
    refresh({ server, client, refreshToken: 'rt-secret-1' }, context).catch((error: Error) => error),
    finish({ code: 'code-secret-1', state }, context).catch((error: Error) => error),
  ])
  const seen = JSON.stringify([...context.steps, ...errors.map((error) => [String(error), error])])
  expect(seen).toContain('invalid_grant')
  for (const secret of ['rt-secret-1', 'code-secret-1', 'client-secret-1', pending.verifier, state]) {
    expect(seen).not.toContain(secret)
    expect(seen).not.toContain(btoa(secret).slice(2, -4))
  }
})

test('a refresh keeps the refresh token and the scopes if the server names no others', async () => {
  await using as = await startScripted(soundServer)
  await using context = openContext()
  const request = {
    server: soundMetadata(as.url),
    client: clientOf(as.url),
    scopes: ['read'],
    resource: 'https://r.example',
  }
  expect(await refresh({ ...request, refreshToken: 'rt-1' }, context)).toMatchObject({
    accessToken: 'at-secret-1',
    refreshToken: 'rt-1',
    scopes: ['read'],
  })
  expect(sentTo(as, '/token')).toEqual([
    { grant_type: 'refresh_token', refresh_token: 'rt-1', resource: 'https://r.example' },
  ])
})

test('a client is registered with what the platform needs, and no more is believed than needed', async () => {
  await using as = await startScripted((url) => ({
    ...soundServer(url),
    'POST /register': {
      status: 200,
      body: {
        client_id: 'c-9',
        client_secret: 's-9',
        client_secret_expires_at: 4_000_000_000,
        logo_uri: null,
        issuer: 'https://evil.example',
      },
    },
  }))
  await using context = openContext()
  const server = soundMetadata(as.url)
  const uri = 'https://qm.example.com/callback'
  const client = await register({ server, redirectUri: uri, clientName: 'Quartermaster', scopes: ['read'] }, context)
  expect(client).toEqual({
    clientId: 'c-9',
    clientSecret: 's-9',
    issuer: as.url,
    kind: 'dynamic',
    authMethod: 'client_secret_basic',
    expiresAt: 4_000_000_000_000,
  })
  expect(JSON.parse(as.received[0]?.body ?? '')).toEqual({
    client_name: 'Quartermaster',
    redirect_uris: [uri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_basic',
    application_type: 'web',
    scope: 'read',
  })
})

test('a server that rejects the application type gets a second registration without it, and no third', async () => {
  const rejects = { status: 400, body: { error: 'invalid_client_metadata', error_description: 'application_type' } }
  await using as = await startScripted((url) => ({
    ...soundServer(url),
    'POST /register': ({ body }) =>
      'application_type' in JSON.parse(body) ? rejects : { status: 201, body: { client_id: 'c-2' } },
  }))
  await using context = openContext()
  const request = { server: soundMetadata(as.url), redirectUri, clientName: 'Quartermaster' }
  expect(await register(request, context)).toMatchObject({ clientId: 'c-2', authMethod: 'none' })
  as.script['POST /register'] = rejects
  await expect(register(request, context)).rejects.toMatchObject({
    kind: 'misconfigured',
    code: 'invalid_client_metadata',
    message: expect.stringContaining('Register a client there by hand'),
  })
  expect(as.received.length).toBe(4)
})

test('a client is chosen in the order of the specification', async () => {
  await using as = await startScripted(soundServer)
  await using context = openContext()
  const server = { ...soundMetadata(as.url), client_id_metadata_document_supported: true }
  const clientMetadataUrl = 'https://qm.example.com/oauth/client.json'
  const request = { server, redirectUri, clientName: 'Quartermaster', clientMetadataUrl }
  const preRegistered = { clientId: 'mine', clientSecret: 'secret' }
  expect(await register({ ...request, preRegistered }, context)).toMatchObject({
    kind: 'pre_registered',
    clientId: 'mine',
    issuer: as.url,
  })
  expect(await register(request, context)).toMatchObject({ kind: 'metadata_document', clientId: clientMetadataUrl })
  expect(as.received).toEqual([])
  expect(await register({ ...request, server: soundMetadata(as.url) }, context)).toMatchObject({ kind: 'dynamic' })
  const { registration_endpoint: _, ...closed } = soundMetadata(as.url)
  await expect(register({ ...request, server: closed }, context)).rejects.toMatchObject({ code: 'client_required' })
})

test('enterprise-managed authorization: an ID token becomes an assertion, and the assertion an access token', async () => {
  const tokenType = 'urn:ietf:params:oauth:token-type:id-jag'
  await using idp = await startScripted(() => ({
    'POST /token': { body: { access_token: 'assertion-1', issued_token_type: tokenType, token_type: 'N_A' } },
  }))
  await using as = await startScripted(soundServer)
  await using context = openContext()
  const identityProvider = { server: soundMetadata(idp.url), client: clientOf(idp.url, { clientId: 'at-idp' }) }
  const resource = 'https://mcp.example.com/mcp'
  const request = { identityProvider, idToken: 'id-token-1', resource, scopes: ['read'] }
  const tokens = await enterpriseAuthorization(
    { ...request, server: soundMetadata(as.url), client: clientOf(as.url) },
    context,
  )
  expect(tokens).toMatchObject({ accessToken: 'at-secret-1', scopes: ['read'] })
  expect(sentTo(idp, '/token')).toEqual([
    {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: tokenType,
      audience: as.url,
      resource,
      scope: 'read',
      subject_token: 'id-token-1',
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    },
  ])
  expect(sentTo(as, '/token')).toEqual([
    {
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: 'assertion-1',
      scope: 'read',
      resource,
    },
  ])
})

test('a token of the identity provider is not passed on if it is not the assertion that was requested', async () => {
  await using idp = await startScripted(() => ({
    'POST /token': { body: { access_token: 'idp-access-1', token_type: 'Bearer' } },
  }))
  await using as = await startScripted(soundServer)
  await using context = openContext()
  const identityProvider = { server: soundMetadata(idp.url), client: clientOf(idp.url) }
  const request = { identityProvider, idToken: 'id-token-1', resource: 'https://mcp.example.com/mcp' }
  await expect(
    enterpriseAuthorization({ ...request, server: soundMetadata(as.url), client: clientOf(as.url) }, context),
  ).rejects.toMatchObject({ kind: 'misconfigured', code: 'unexpected_token_type' })
  expect(as.received).toEqual([])
})

test.for(['javascript:alert(1)', 'http://auth.example.com/x', 'not a url', ''])(
  'endpoints that an operator entered are checked like published ones: %s',
  async (endpoint) => {
    await using context = openContext()
    const issuer = 'https://auth.example.com'
    const server = {
      ...soundMetadata(issuer),
      authorization_endpoint: endpoint,
      token_endpoint: endpoint,
      revocation_endpoint: endpoint,
    }
    const client = clientOf(issuer)
    const expected = { kind: 'misconfigured', code: 'insecure_url' }
    await expect(startAuthorization({ server, client, redirectUri })).rejects.toMatchObject(expected)
    await expect(refresh({ server, client, refreshToken: 'rt' }, context)).rejects.toMatchObject(expected)
    await expect(revoke({ server, client, refreshToken: 'rt' }, context)).rejects.toMatchObject(expected)
  },
)

test.for([
  [201, { access_token: 'at', token_type: 'bearer' }],
  [200, { access_token: 'at', error: null }],
  [200, { access_token: 'at', error: '', token_type: '' }],
] as const)('a token response of %i %o is accepted', async ([status, body]) => {
  await using as = await startScripted(() => ({ 'POST /token': { status, body } }))
  await using context = openContext()
  const request = { server: soundMetadata(as.url), client: clientOf(as.url), refreshToken: 'rt' }
  expect(await refresh(request, context)).toMatchObject({ accessToken: 'at', refreshToken: 'rt' })
})

test('a token is exchanged for another one', async () => {
  await using as = await startScripted(soundServer)
  await using context = openContext()
  const request = { server: soundMetadata(as.url), client: clientOf(as.url, { authMethod: 'client_secret_post' }) }
  const subjectTokenType = 'urn:ietf:params:oauth:token-type:access_token'
  await exchangeToken({ ...request, subjectToken: 'st-1', subjectTokenType, audience: 'api' }, context)
  expect(sentTo(as, '/token')).toMatchObject([
    { subject_token: 'st-1', audience: 'api', client_id: 'client-1', client_secret: 'client-secret-1' },
  ])
})

test.for([
  [200, {}, 'revoked'],
  [200, { ok: false, error: 'invalid_auth' }, 'misconfigured'],
  [400, { error: 'unsupported_token_type' }, 'misconfigured'],
  [503, {}, 'transient'],
] as const)('a revocation that is answered with %i %o is %s', async ([status, body, outcome]) => {
  await using as = await startScripted(() => ({ 'POST /revoke': { status, body } }))
  await using context = openContext()
  const request = { server: soundMetadata(as.url), client: clientOf(as.url), refreshToken: 'rt-secret-1' }
  const revoked = revoke({ ...request, accessToken: 'at-1' }, context)
  if (outcome === 'revoked') expect(await revoked).toBe('revoked')
  else await expect(revoked).rejects.toMatchObject({ kind: outcome })
  expect(sentTo(as, '/revoke')).toEqual([{ token: 'rt-secret-1', token_type_hint: 'refresh_token' }])
})
