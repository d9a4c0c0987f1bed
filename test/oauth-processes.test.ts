import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { freshDatabase } from './engines.ts'
import { adminKey, ask, startPlatform } from './kit.ts'
import {
  allow,
  authorizeUrl,
  follow,
  formBody,
  hiddenOf,
  obtain,
  pkce,
  register,
  tokenRequest,
  Visitor,
} from './oauth-kit.ts'
import { startProcess, temporaryFolder } from './process.ts'

const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
const request = (token: string): RequestInit => ({
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${token}`,
  },
  body: list,
})

test('after a restart, clients, tokens and refresh tokens still work, and no secret was written or logged', async () => {
  await using folder = await temporaryFolder()
  const environment = { QM_ADMIN_KEY: adminKey, QM_LOG_LEVEL: 'trace', QM_EMBEDDINGS: 'off' }
  const first = await startProcess(folder.path, environment)
  const { port } = new URL(first.url)
  await ask(first, 'POST', '/servers', { slug: 'desk' })
  const desk = `${first.url}/mcp/desk`
  const issued = await obtain(first.url, desk)
  const visitor = new Visitor()
  const start = {
    issuer: first.url,
    clientId: issued.clientId,
    redirect: 'http://127.0.0.1:51234/callback',
    resource: desk,
  }
  const at = await follow(visitor, authorizeUrl(start, pkce().challenge), first.url)
  const hidden = hiddenOf(await (at.page as Response).text())
  await visitor.go(at.url, formBody({ ...hidden, key: 'sk_canary_of_a_wrong_key', do: 'sign-in' }))
  await tokenRequest(first.url, {
    grant_type: 'refresh_token',
    refresh_token: 'canary-refresh',
    client_id: issued.clientId,
  })
  await fetch(desk, request(`${issued.token}x`))
  await first.stop('SIGTERM')

  await using second = await startProcess(folder.path, environment, port)
  const used = await fetch(desk, request(issued.token))
  const refreshed = await tokenRequest(second.url, {
    ...{ grant_type: 'refresh_token', refresh_token: issued.refresh, client_id: issued.clientId },
  })
  const written = await Promise.all(
    ['quartermaster.db', 'quartermaster.db-wal'].map((name) =>
      readFile(join(folder.path, name)).catch(() => Buffer.alloc(0)),
    ),
  )

  expect([used.status, refreshed.status]).toEqual([200, 200])
  const output = first.output() + second.output()
  const secrets = [issued.token, issued.refresh, issued.code, issued.verifier, refreshed.body.refresh_token, adminKey]
  for (const secret of [...secrets, 'sk_canary_of_a_wrong_key', 'canary-refresh']) {
    expect(output.includes(secret)).toBe(false)
    for (const bytes of written) expect(bytes.includes(secret)).toBe(false)
  }
}, 60_000)

describe('two processes on PostgreSQL', () => {
  test('share keys, codes and refresh tokens, and both refuse what one has revoked', async () => {
    await using database = await freshDatabase('postgres')
    const issuer = 'http://platform.test'
    const environment = {
      DATABASE_URL: database.options.databaseUrl ?? '',
      QM_SECRET_KEY: 'a passphrase of the tests',
      QM_PUBLIC_URL: issuer,
    }
    await using one = await startPlatform(environment)
    await using two = await startPlatform(environment)
    await one.post('/servers', { slug: 'desk' })
    const desk = `${issuer}/mcp/desk`
    const redirect = 'http://127.0.0.1:51234/callback'
    const at = (platform: typeof one) =>
      ((url: string, init: RequestInit) => platform.platform.fetch(url, init)) as typeof fetch
    // Both create the keys of the installation at the same time.
    const registered = await Promise.all(
      [one, two].map((platform) => register(issuer, { redirect_uris: [redirect] }, at(platform))),
    )
    const clientId = registered[0]?.client_id ?? ''
    const { verifier, challenge } = pkce()
    let turn = 0
    // The browser reaches another process with each request.
    const visitor = new Visitor((url, init) => at(turn++ % 2 === 0 ? one : two)(url, init))

    const { back } = await allow(
      visitor,
      authorizeUrl({ issuer, clientId, redirect, resource: desk }, challenge),
      issuer,
    )
    const code = back.searchParams.get('code') ?? ''
    const fields = {
      grant_type: 'authorization_code',
      code,
      client_id: clientId,
      code_verifier: verifier,
      redirect_uri: redirect,
    }
    const issued = await tokenRequest(issuer, fields, at(two))
    const token = issued.body.access_token
    const statuses = async () =>
      Promise.all([one, two].map(async (platform) => (await at(platform)(desk, request(token))).status))
    const before = await statuses()
    const again = await Promise.all(
      [one, two].map((platform) =>
        tokenRequest(
          issuer,
          { grant_type: 'refresh_token', refresh_token: issued.body.refresh_token, client_id: clientId },
          at(platform),
        ),
      ),
    )
    const [grant] = (await one.get('/oauth-grants')).body.data
    await one.delete(`/oauth-grants/${grant.id}`)

    expect(registered[0]?.client_id).toBe(registered[1]?.client_id)
    expect(before).toEqual([200, 200])
    expect(again.map(({ status }) => status)).toEqual([200, 200])
    await expect.poll(statuses, { timeout: 10_000 }).toEqual([401, 401])
  }, 60_000)
})
