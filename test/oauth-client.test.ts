import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startAuthorization } from '../src/credentials/oauth/authorize.ts'
import { discover } from '../src/credentials/oauth/discover.ts'
import { GrantRejected } from '../src/credentials/oauth/errors.ts'
import { finishAuthorization } from '../src/credentials/oauth/finish.ts'
import { clientCredentials, refresh } from '../src/credentials/oauth/grants.ts'
import { register } from '../src/credentials/oauth/register.ts'
import { revoke } from '../src/credentials/oauth/revoke.ts'
import type { OAuthContext } from '../src/credentials/oauth/types.ts'
import { browse, openContext, redirectUri, startAuthorizationServer } from './oauth-peers.ts'

/** Discovers, registers, authorizes in a browser and exchanges the code. */
async function connect(resourceUrl: string, context: OAuthContext, more: { scopes?: readonly string[] } = {}) {
  const { server, resource, scopes } = await discover({ resourceUrl }, context)
  const client = await register({ server, redirectUri, clientName: 'Quartermaster' }, context)
  const started = await startAuthorization({ server, client, redirectUri, resource, scopes, ...more })
  const params = await browse(started.url)
  const { pending } = started
  const tokens = await finishAuthorization({ pending, params, server, client }, context)
  return { server, client, resource, pending, params, tokens }
}

test('a protected server can be connected without any setting: discovery, registration, consent, tokens', async () => {
  await using as = await startAuthorizationServer()
  await using context = openContext()
  const { client, resource, tokens } = await connect(as.resource, context)
  expect(client).toMatchObject({ kind: 'dynamic', issuer: as.url, authMethod: 'client_secret_basic' })
  expect(resource).toBe(as.resource)
  expect(tokens).toMatchObject({ tokenType: 'Bearer', scopes: ['notes:read'], extraScopes: [] })
  expect(tokens.refreshToken).toEqual(expect.any(String))
  expect(tokens.expiresAt).toBeGreaterThan(Date.now())
  const stored = await as.provider.AccessToken.find(tokens.accessToken)
  expect(stored).toMatchObject({ accountId: 'alice', aud: as.resource, scope: 'notes:read' })
})

test('the account is named by the ID token when the server issues one', async () => {
  await using as = await startAuthorizationServer()
  await using context = openContext()
  const { tokens } = await connect(as.resource, context, { scopes: ['openid', 'notes:read'] })
  expect(tokens.account).toBe('alice@example.com')
})

test('a refresh token is used once: the new one works, and reuse of the old one ends the connection', async () => {
  await using as = await startAuthorizationServer()
  await using context = openContext()
  const { server, client, resource, tokens } = await connect(as.resource, context)
  const refreshToken = tokens.refreshToken as string
  const next = await refresh({ server, client, refreshToken, resource, scopes: tokens.scopes }, context)
  expect(next.refreshToken).not.toBe(refreshToken)
  expect(next.accessToken).not.toBe(tokens.accessToken)
  expect(next.scopes).toEqual(['notes:read'])
  const again = refresh({ server, client, refreshToken, resource }, context)
  await expect(again).rejects.toBeInstanceOf(GrantRejected)
  await expect(again).rejects.toMatchObject({ kind: 'terminal', code: 'invalid_grant' })
  const after = refresh({ server, client, refreshToken: next.refreshToken as string, resource }, context)
  await expect(after).rejects.toMatchObject({ kind: 'terminal' })
})

test('an authorization code works once', async () => {
  await using as = await startAuthorizationServer()
  await using context = openContext()
  const { server, client, pending, params } = await connect(as.resource, context)
  await expect(finishAuthorization({ pending, params, server, client }, context)).rejects.toMatchObject({
    kind: 'terminal',
    code: 'invalid_grant',
  })
})

test('a code of another authorization is useless: the server rejects it for want of the verifier', async () => {
  await using as = await startAuthorizationServer()
  await using context = openContext()
  const { server, resource } = await discover({ resourceUrl: as.resource }, context)
  const client = await register({ server, redirectUri, clientName: 'Quartermaster' }, context)
  const request = { server, client, redirectUri, resource, scopes: ['notes:read'] }
  const [attacker, victim] = [await startAuthorization(request), await startAuthorization(request)]
  const params = await browse(attacker.url)
  params.set('state', victim.state)
  const { pending } = victim
  await expect(finishAuthorization({ pending, params, server, client }, context)).rejects.toMatchObject({
    kind: 'terminal',
    code: 'invalid_grant',
  })
})

test('a removed registration is reported as such, so that a new one can be made', async () => {
  await using as = await startAuthorizationServer()
  await using context = openContext()
  const { server, client, tokens } = await connect(as.resource, context)
  const gone = { ...client, clientId: 'gone' }
  await expect(
    refresh({ server, client: gone, refreshToken: tokens.refreshToken as string }, context),
  ).rejects.toMatchObject({ kind: 'invalid_client', message: expect.stringContaining('Connect again to register') })
})

test('disconnecting revokes the refresh token at the authorization server', async () => {
  await using as = await startAuthorizationServer()
  await using context = openContext()
  const { server, client, tokens } = await connect(as.resource, context)
  const { refreshToken = '', accessToken } = tokens
  expect(await revoke({ server, client, refreshToken, accessToken }, context)).toBe('revoked')
  await expect(refresh({ server, client, refreshToken }, context)).rejects.toMatchObject({ code: 'invalid_grant' })
  const { revocation_endpoint: _, ...without } = server
  expect(await revoke({ server: without, client, refreshToken }, context)).toBe('unsupported')
})

test('a service gets tokens with its client secret, whatever characters it has', async () => {
  await using as = await startAuthorizationServer()
  await using context = openContext()
  const { server, resource } = await discover({ resourceUrl: as.resource }, context)
  const preRegistered = { clientId: 'service', clientSecret: 'a secret with % and + and : in it' }
  const client = await register({ server, redirectUri, clientName: 'Quartermaster', preRegistered }, context)
  const tokens = await clientCredentials({ server, client, resource, scopes: ['notes:read'] }, context)
  expect(tokens).toMatchObject({ scopes: ['notes:read'] })
  expect(tokens.refreshToken).toBeUndefined()
  const wrong = { ...client, clientSecret: 'not the secret' }
  await expect(clientCredentials({ server, client: wrong, resource }, context)).rejects.toMatchObject({
    kind: 'invalid_client',
    message: expect.not.stringContaining('not the secret'),
  })
})

test('a service gets tokens with a private key', async () => {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  const client = {
    client_id: 'signer',
    token_endpoint_auth_method: 'private_key_jwt' as const,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    jwks: { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'ES256' }] },
  }
  await using as = await startAuthorizationServer({ clients: [client as never] })
  await using context = openContext()
  const { server, resource } = await discover({ resourceUrl: as.resource }, context)
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const preRegistered = { clientId: 'signer', privateKey: { pem, alg: 'ES256', kid: 'k1' } }
  const signer = await register({ server, redirectUri, clientName: 'Quartermaster', preRegistered }, context)
  expect(signer.authMethod).toBe('private_key_jwt')
  const tokens = await clientCredentials({ server, client: signer, resource, scopes: ['notes:read'] }, context)
  expect(tokens.accessToken).toEqual(expect.any(String))
})

test('a trace shows every step and no secret', async () => {
  await using as = await startAuthorizationServer()
  await using context = openContext()
  const { client, params, pending, tokens } = await connect(as.resource, context, { scopes: ['openid', 'notes:read'] })
  expect(context.steps.map(({ step, ok, status }) => [step, ok, status])).toEqual([
    ['resource_metadata', true, 200],
    ['server_metadata', true, 200],
    ['registration', true, 201],
    ['authorization', true, undefined],
    ['token', true, 200],
  ])
  const text = JSON.stringify(context.steps)
  const secrets = [client.clientSecret, params.get('code'), params.get('state'), pending.verifier, tokens.accessToken]
  for (const secret of [...secrets, tokens.refreshToken]) expect(text).not.toContain(secret)
})
