import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { freshDatabase } from './engines.ts'
import { adminKey, ask } from './kit.ts'
import { obtain, tokenRequest } from './oauth-kit.ts'
import { startProcess, temporaryFolder } from './process.ts'

const listing = (token: string): RequestInit => ({
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${token}`,
  },
  body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
})

const kidOf = (token: string) => decodeProtectedHeader(token).kid

/** The key ids that anyone can read. */
async function published(url: string): Promise<string[]> {
  const metadata = (await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json()) as { jwks_uri: string }
  const { keys } = (await (await fetch(metadata.jwks_uri)).json()) as { keys: { kid: string; d?: string }[] }
  expect(keys.filter(({ d }) => d !== undefined)).toEqual([])
  return keys.map(({ kid }) => kid)
}

test('a new signing key signs new tokens, and tokens of the earlier one work until they expire', async () => {
  await using platform = await startListening()
  const { url } = platform
  await platform.post('/servers', { slug: 'desk' })
  const desk = `${url}/mcp/desk`
  const before = await obtain(url, desk)

  const { status, body } = await platform.post('/signing-keys/rotate', {})
  const refreshed = await tokenRequest(url, {
    ...{ grant_type: 'refresh_token', refresh_token: before.refresh, client_id: before.clientId },
  })
  const after = await obtain(url, desk)
  const keys = await published(url)
  const jwks = createRemoteJWKSet(new URL(`${url}/oauth/jwks`))
  const answers = await Promise.all([before.token, after.token].map((token) => fetch(desk, listing(token))))

  expect(status).toBe(200)
  expect(body.data).toMatchObject([
    { id: kidOf(after.token), status: 'current', valid_until: null },
    { id: kidOf(before.token), status: 'replaced', valid_until: expect.any(String) },
  ])
  expect(kidOf(refreshed.body.access_token)).toBe(kidOf(after.token))
  expect(kidOf(before.token)).not.toBe(kidOf(after.token))
  expect(keys.sort()).toEqual([kidOf(before.token), kidOf(after.token)].sort())
  for (const token of [before.token, after.token]) await jwtVerify(token, jwks, { issuer: url })
  expect(answers.map((answer) => answer.status)).toEqual([200, 200])
})

test('a key whose tokens have expired is published no longer, and removed at the next rotation', async () => {
  await using platform = await startListening()
  const { url } = platform
  const { store } = platform.platform
  const first = (await platform.get('/signing-keys')).body.data[0].id
  const second = (await platform.post('/signing-keys/rotate', {})).body.data[0].id

  // As time would: the second key replaced the first an hour ago.
  await store.engine.db
    .updateTable('oauth_keys')
    .set((e) => ({ created_at: e('created_at', '-', 60 * 60_000) }))
    .where('id', 'like', 'signing%')
    .execute()
  await store.changes.publish('oauth_keys', [])
  const later = await published(url)
  const third = (await platform.post('/signing-keys/rotate', {})).body.data.map(({ id }: { id: string }) => id)
  const rows = await store.oauthKeys.list('signing')

  expect(later).toEqual([second])
  expect(third).toHaveLength(2)
  expect(third).not.toContain(first)
  expect(rows.map(({ id }) => id)).toEqual([`signing/${third[0]}`, `signing/${second}`])
})

test('tokens of a key that leaked are rejected at once if earlier keys are revoked', async () => {
  await using platform = await startListening()
  const { url } = platform
  await platform.post('/servers', { slug: 'desk' })
  const desk = `${url}/mcp/desk`
  const before = await obtain(url, desk)
  const known = await fetch(desk, listing(before.token))

  await platform.post('/signing-keys/rotate', { revoke_earlier: true })
  const rejected = await fetch(desk, listing(before.token))
  const refreshed = await tokenRequest(url, {
    ...{ grant_type: 'refresh_token', refresh_token: before.refresh, client_id: before.clientId },
  })
  const again = await fetch(desk, listing(refreshed.body.access_token))

  expect([known.status, rejected.status, again.status]).toEqual([200, 401, 200])
  expect(rejected.headers.get('www-authenticate')).toContain('resource_metadata=')
  expect(await published(url)).toEqual([kidOf(refreshed.body.access_token)])
})

test('only administrators of the whole platform rotate keys', async () => {
  await using platform = await startListening()
  const editor = await platform.keyFor([{ effect: 'Allow', action: ['*'] }], { project_id: platform.projectId })

  const { status } = await platform.post('/signing-keys/rotate', {}, { key: editor })

  expect(status).toBe(403)
})

test('a key that one process rotates is used by the others', { timeout: 60_000 }, async () => {
  await using database = await freshDatabase('postgres')
  await using folder = await temporaryFolder()
  const environment = {
    DATABASE_URL: String(database.options.databaseUrl),
    ...{ QM_ADMIN_KEY: adminKey, QM_SECRET_KEY: 'a passphrase of the tests', QM_EMBEDDINGS: 'off' },
  }
  await using one = await startProcess(`${folder.path}/1`, environment)
  // Both are reached at the same public URL.
  await using two = await startProcess(`${folder.path}/2`, { ...environment, QM_PUBLIC_URL: one.url })
  await ask(one, 'POST', '/servers', { slug: 'desk' })
  const before = await obtain(one.url, `${one.url}/mcp/desk`)
  const use = async (token: string) => (await fetch(`${two.url}/mcp/desk`, listing(token))).status
  expect(await use(before.token)).toBe(200)

  await ask(one, 'POST', '/signing-keys/rotate', { revoke_earlier: true })
  const after = await obtain(one.url, `${one.url}/mcp/desk`)

  await expect.poll(() => use(after.token), { timeout: 10_000 }).toBe(200)
  await expect.poll(() => use(before.token), { timeout: 10_000 }).toBe(401)
})
