import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { startAuthorization } from './authorize.ts'
import type { AuthorizationRequest } from './types.ts'

const issuer = 'https://auth.example.com'
const server = {
  issuer,
  authorization_endpoint: `${issuer}/authorize?tenant=7`,
  token_endpoint: `${issuer}/token`,
  code_challenge_methods_supported: ['S256'],
}
const client = { clientId: 'c1', issuer, kind: 'dynamic', authMethod: 'none' } as const
const redirectUri = 'https://qm.example.com/callback'

async function start(request: Partial<AuthorizationRequest> = {}) {
  const started = await startAuthorization({ server, client, redirectUri, ...request })
  return { ...started, query: Object.fromEntries(new URL(started.url).searchParams) }
}

test('the authorization request has state, PKCE with S256 and the resource', async () => {
  const { query, state, pending } = await start({ resource: 'https://mcp.example.com/mcp', scopes: ['read'] })
  expect(query).toEqual({
    tenant: '7',
    response_type: 'code',
    client_id: 'c1',
    redirect_uri: redirectUri,
    state,
    code_challenge: createHash('sha256').update(pending.verifier).digest('base64url'),
    code_challenge_method: 'S256',
    scope: 'read',
    resource: 'https://mcp.example.com/mcp',
  })
  expect(pending).toMatchObject({ issuer, clientId: 'c1', redirectUri, resource: 'https://mcp.example.com/mcp' })
  expect(JSON.stringify(pending)).not.toContain(state)
})

test('two authorizations share neither state nor verifier', async () => {
  const [one, two] = [await start(), await start()]
  expect(one.state).not.toBe(two.state)
  expect(one.pending.verifier).not.toBe(two.pending.verifier)
})

test('no scope is sent if none is known', async () => {
  const offline = { ...server, scopes_supported: ['offline_access'] }
  expect((await start({ server: offline })).query).not.toHaveProperty('scope')
})

test('offline_access is requested only where the server lists it', async () => {
  expect((await start({ scopes: ['read'] })).query.scope).toBe('read')
  const offline = { ...server, scopes_supported: ['read', 'offline_access'] }
  expect((await start({ server: offline, scopes: ['read'] })).query).toMatchObject({
    scope: 'read offline_access',
    prompt: 'consent',
  })
})

test('a step-up requests the previous scopes again', async () => {
  const { query, pending } = await start({ scopes: ['write', 'read'], previousScopes: ['read', 'list'] })
  expect(query.scope).toBe('read list write')
  expect(pending.scopes).toEqual(['read', 'list', 'write'])
})

test('a server that does not promise PKCE is refused', async () => {
  const { code_challenge_methods_supported: _, ...silent } = server
  await expect(start({ server: silent })).rejects.toMatchObject({ kind: 'misconfigured', code: 'unsupported_server' })
  const plain = { ...server, code_challenge_methods_supported: ['plain'] }
  await expect(start({ server: plain })).rejects.toMatchObject({ kind: 'misconfigured', code: 'unsupported_server' })
})

test('a client of another authorization server is refused', async () => {
  const other = { ...client, issuer: 'https://other.example.com' }
  await expect(start({ client: other })).rejects.toMatchObject({ kind: 'misconfigured', code: 'issuer_changed' })
})
