import { expect, test } from 'vitest'
import { findApp } from '../src/credentials/apps.ts'
import { startAuthorization } from '../src/credentials/oauth/authorize.ts'
import { finishAuthorization } from '../src/credentials/oauth/finish.ts'
import { refresh } from '../src/credentials/oauth/grants.ts'
import { register } from '../src/credentials/oauth/register.ts'
import { revoke } from '../src/credentials/oauth/revoke.ts'
import type { AuthorizationServer } from '../src/credentials/oauth/types.ts'
import { openContext, redirectUri, startScripted } from './oauth-peers.ts'

/** The app, with all of its URLs on this server. Paths stay. */
function appAt(slug: string, url: string) {
  const app = findApp(slug)
  if (!app) throw new Error(`There is no app ${slug}`)
  const moved = JSON.parse(JSON.stringify(app.server).replaceAll(/https:\/\/[^/"]+/g, url)) as AuthorizationServer
  return { ...app, server: moved }
}

/** Connects the app as a user would, who comes back with this code. */
async function connect(slug: string, url: string) {
  const { server, scopes, authMethod } = appAt(slug, url)
  const context = openContext()
  const preRegistered = { clientId: 'my-app', clientSecret: 'my-app-secret', authMethod }
  const client = await register({ server, redirectUri, clientName: 'Quartermaster', preRegistered }, context)
  const { pending, state, url: authorize } = await startAuthorization({ server, client, redirectUri, scopes })
  const params = new URLSearchParams({ code: 'code-1', state, iss: 'https://some.issuer.example' })
  const finish = () => finishAuthorization({ pending, params, server, client }, context)
  const query = Object.fromEntries(new URL(authorize).searchParams)
  return { server, client, context, finish, query, [Symbol.asyncDispose]: () => context[Symbol.asyncDispose]() }
}

test('GitHub: form-encoded answers, scopes with commas, the login as account, and removal of the grant', async () => {
  await using github = await startScripted(() => ({
    'POST /login/oauth/access_token': {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'access_token=gho_secret1&scope=read%3Auser%2Crepo&token_type=bearer',
    },
    'GET /user': ({ headers }) => ({ body: { login: headers.authorization === 'Bearer gho_secret1' ? 'alice' : '?' } }),
    'DELETE /applications/my-app/grant': { status: 204 },
  }))
  await using app = await connect('github', github.url)
  expect(app.query).toMatchObject({ scope: 'read:user', code_challenge_method: 'S256' })
  const tokens = await app.finish()
  expect(tokens).toMatchObject({ account: 'alice', scopes: ['read:user', 'repo'], extraScopes: ['repo'] })
  expect(tokens).not.toHaveProperty('expiresAt')
  const { accessToken } = tokens
  expect(await revoke({ ...app, accessToken }, app.context)).toBe('revoked')
  expect(github.received.at(-1)).toMatchObject({
    body: '{"access_token":"gho_secret1"}',
    headers: { authorization: `Basic ${btoa('my-app:my-app-secret')}` },
  })
})

test('GitHub: an error with status 200 is an error', async () => {
  await using github = await startScripted(() => ({
    'POST /login/oauth/access_token': { body: 'error=bad_verification_code&error_description=The+code+is+incorrect.' },
  }))
  await using app = await connect('github', github.url)
  await expect(app.finish()).rejects.toMatchObject({
    kind: 'terminal',
    code: 'invalid_grant',
    message: expect.stringContaining('The code is incorrect'),
  })
})

test('Slack: a user token is requested and used, and errors with status 200 are errors', async () => {
  await using slack = await startScripted(() => ({
    'POST /api/oauth.v2.access': ({ body }) => ({
      body: body.includes('code-1')
        ? {
            ok: true,
            team: { name: 'Acme' },
            authed_user: { access_token: 'xoxp-1', refresh_token: 'xoxe-1', expires_in: 43200, scope: 'search:read' },
          }
        : { ok: false, error: 'invalid_refresh_token' },
    }),
    'POST /api/auth.revoke': ({ headers }) => ({ body: { ok: headers.authorization === 'Bearer xoxp-1' } }),
  }))
  await using app = await connect('slack-user', slack.url)
  expect(app.query).toMatchObject({ user_scope: 'search:read,users:read' })
  expect(app.query).not.toHaveProperty('scope')
  const tokens = await app.finish()
  expect(tokens).toMatchObject({
    accessToken: 'xoxp-1',
    refreshToken: 'xoxe-1',
    account: 'Acme',
    scopes: ['search:read'],
  })
  await expect(refresh({ ...app, refreshToken: 'xoxe-1' }, app.context)).rejects.toMatchObject({ kind: 'terminal' })
  const { accessToken, refreshToken } = tokens
  expect(await revoke({ ...app, accessToken, refreshToken }, app.context)).toBe('revoked')
})

test('Notion: token requests in JSON, without PKCE, and the workspace as account', async () => {
  await using notion = await startScripted(() => ({
    'POST /v1/oauth/token': { body: { access_token: 'ntn_1', workspace_name: 'Acme HQ', bot_id: 'b1' } },
  }))
  await using app = await connect('notion', notion.url)
  expect(app.query).toMatchObject({ owner: 'user' })
  expect(app.query).not.toHaveProperty('code_challenge')
  expect(await app.finish()).toMatchObject({ accessToken: 'ntn_1', account: 'Acme HQ', tokenType: 'Bearer' })
  expect(notion.received[0]?.headers['content-type']).toBe('application/json')
  expect(JSON.parse(notion.received[0]?.body ?? '')).toEqual({
    grant_type: 'authorization_code',
    code: 'code-1',
    redirect_uri: redirectUri,
  })
})

test('Linear: the account is found by GraphQL, and a connection works if it cannot be found', async () => {
  await using linear = await startScripted(() => ({
    'POST /oauth/token': { body: { access_token: 'lin_secret1', expires_in: 86400, scope: 'read' } },
    'POST /graphql': ({ body }) => ({
      body: { data: { viewer: { email: JSON.parse(body).query && 'alice@acme.example' } } },
    }),
  }))
  await using app = await connect('linear', linear.url)
  expect(await app.finish()).toMatchObject({ account: 'alice@acme.example' })
  linear.script['POST /graphql'] = { status: 500, body: 'lin_secret1' }
  await using other = await connect('linear', linear.url)
  const tokens = await other.finish()
  expect(tokens).toMatchObject({ accessToken: 'lin_secret1' })
  expect(tokens).not.toHaveProperty('account')
  expect(JSON.stringify(other.context.steps)).not.toContain('lin_secret1')
})

test('Google: a response of another issuer is rejected, because the issuer of Google is known', async () => {
  await using google = await startScripted(() => ({}))
  await using app = await connect('google', google.url)
  expect(app.query).toMatchObject({ access_type: 'offline', prompt: 'consent', scope: 'openid email' })
  await expect(app.finish()).rejects.toMatchObject({ code: 'issuer_mismatch' })
  expect(google.received).toEqual([])
})

test('Figma: tokens are refreshed at an endpoint of their own', async () => {
  await using figma = await startScripted(() => ({
    'POST /v1/oauth/refresh': { body: { access_token: 'figu_2', expires_in: 7776000 } },
  }))
  await using app = await connect('figma', figma.url)
  expect(await refresh({ ...app, refreshToken: 'figur_1' }, app.context)).toMatchObject({
    accessToken: 'figu_2',
    refreshToken: 'figur_1',
  })
})
