import { describe, expect, test } from 'vitest'
import { apiKeyAuthenticator } from '../src/access/authenticator.ts'
import { csrfTokenOf, DashboardSessions } from '../src/access/dashboard-sessions.ts'
import { Keys } from '../src/access/keys.ts'
import { verifyKey } from '../src/access/sign-in.ts'
import { SignInAttempts } from '../src/access/sign-in-attempts.ts'
import { startListening } from './clients.ts'
import { engines, freshStore } from './engines.ts'
import { adminKey, startPlatform, startService, type TestPlatform } from './kit.ts'

const own = { 'sec-fetch-site': 'same-origin' }
const path = '/api/v1/dashboard/session'

/** Signs in like a browser on a page of the dashboard. */
async function signedIn(platform: TestPlatform, key = adminKey) {
  const answer = await platform.post(path, { key }, { key: null, headers: own })
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  const headers = { ...own, cookie, 'x-quartermaster-csrf': answer.body.csrf_token }
  return { answer, cookie, headers }
}

describe('a dashboard session', () => {
  test('is created with a key, stored in an HttpOnly cookie, and describes its key', async () => {
    await using platform = await startPlatform()

    const { answer, headers } = await signedIn(platform)

    expect(answer.status).toBe(201)
    expect(answer.headers.get('set-cookie')).toMatch(
      /^qm_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=/,
    )
    expect(answer.headers.get('set-cookie')).not.toMatch(/Secure/)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const told = await platform.get(path, { key: null, headers })
    expect(told.body).toMatchObject({
      principal: { kind: 'api_key', id: 'key_environment', project_id: null, email: null },
      csrf_token: headers['x-quartermaster-csrf'],
      version: expect.any(String),
    })
    const rows = await platform.platform.store.engine.db.selectFrom('web_sessions').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(headers.cookie.slice('qm_session='.length))
  })

  test('has a Secure cookie if the page was loaded over https', async () => {
    await using platform = await startPlatform()

    const headers = { ...own, 'x-forwarded-proto': 'https' }
    const answer = await platform.post(path, { key: adminKey }, { key: null, headers })

    expect(answer.headers.get('set-cookie')).toMatch(/; Secure$/)
  })

  test('has the permissions of its key, and its calls are recorded with the surface web', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { headers } = await signedIn(platform)
    const tool = await platform.post(
      '/tools',
      { name: 'echo', execute: { url: service.url }, parameters: { type: 'object' } },
      { key: null, headers },
    )

    const called = await platform.post(`/tools/${tool.body.id}/call`, { input: {} }, { key: null, headers })

    expect(called).toMatchObject({ status: 200, body: { ok: true } })
    const [call] = (await platform.get('/calls')).body.data
    expect(call).toMatchObject({ surface: 'web', client: { name: 'dashboard' }, principal: { id: 'key_environment' } })
  })

  test('ends on sign-out, and when its key is revoked', async () => {
    await using platform = await startPlatform()
    const key = await platform.keyFor([{ effect: 'Allow', action: ['*'] }])
    const { id } = (await platform.get('/api-keys')).body.data.find((one: { name: string }) => one.name === 'of a test')
    const leaver = await signedIn(platform, key)
    const stayer = await signedIn(platform, key)
    const status = async ({ headers }: typeof leaver) => (await platform.get('/tools', { key: null, headers })).status

    const left = await platform.delete(path, { key: null, headers: leaver.headers })
    expect(left.status).toBe(204)
    expect(left.headers.get('set-cookie')).toMatch(/^qm_session=; .*Max-Age=0/)
    expect([await status(leaver), await status(stayer)]).toEqual([401, 200])

    await platform.delete(`/api-keys/${id}`)
    const refused = await platform.get('/tools', { key: null, headers: stayer.headers })
    expect(refused).toMatchObject({
      status: 401,
      body: { error: { message: 'Your session has ended. Sign in again.' } },
    })
  })

  test('is refused for a wrong key, and many attempts are rate limited', async () => {
    await using platform = await startPlatform()
    const attempt = (key: string) => platform.post(path, { key }, { key: null, headers: own })

    expect(await attempt('sk_wrong')).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHENTICATED' } } })
    for (let n = 1; n < 20; n++) await attempt(`sk_wrong_${n}`)
    const waiting = await attempt(adminKey)

    expect(waiting).toMatchObject({ status: 429, body: { error: { code: 'TOO_MANY_SIGN_INS' } } })
    expect(Number(waiting.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test('rejects requests from other pages that send its cookie', async () => {
    await using platform = await startPlatform()
    const { cookie, headers } = await signedIn(platform)
    const csrf = headers['x-quartermaster-csrf']
    const make = (given: Record<string, string>) =>
      platform.post('/skills', { name: `of ${Object.keys(given)}`, content: 'x' }, { key: null, headers: given })
    const refused = (reason: string) => ({
      status: 403,
      body: { error: { code: 'FORGED_REQUEST', details: { reason } } },
    })

    expect(await make({ ...own, cookie })).toMatchObject(refused('token'))
    expect(await make({ ...own, cookie, 'x-quartermaster-csrf': csrfTokenOf('another') })).toMatchObject(
      refused('token'),
    )
    for (const site of ['cross-site', 'same-site', 'none']) {
      expect(await make({ ...headers, 'sec-fetch-site': site })).toMatchObject(refused('origin'))
    }
    const elsewhere = { cookie, 'x-quartermaster-csrf': csrf, host: 'platform.test' }
    expect(await make({ ...elsewhere, origin: 'http://platform.test:8080' })).toMatchObject(refused('origin'))
    expect(await make({ ...elsewhere, origin: 'null' })).toMatchObject(refused('origin'))
    const reading = await platform.get('/tools', { key: null, headers: { cookie, 'sec-fetch-site': 'same-site' } })
    expect(reading).toMatchObject(refused('origin'))
    expect(
      (await platform.post(path, { key: adminKey }, { key: null, headers: { 'sec-fetch-site': 'cross-site' } })).status,
    ).toBe(403)
    expect((await platform.delete(path, { key: null, headers: { ...own, cookie } })).status).toBe(403)

    expect((await make({ ...elsewhere, origin: 'http://platform.test' })).status).toBe(201)
  })

  test('is ignored if an API key is sent, and does not work for MCP', async () => {
    await using platform = await startListening()
    const answer = await fetch(`${platform.url}${path}`, {
      method: 'POST',
      headers: { ...own, 'content-type': 'application/json' },
      body: JSON.stringify({ key: adminKey }),
    })
    const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
    const ask = (to: string, headers: Record<string, string>, body: unknown = {}) =>
      fetch(`${platform.url}${to}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })

    const call = '/api/v1/tools/tool_1/call'
    expect((await ask(call, { cookie })).status).toBe(403)
    expect((await ask(call, { cookie, authorization: 'Bearer sk_wrong' })).status).toBe(401)
    expect((await ask(call, { cookie, authorization: `Bearer ${adminKey}` })).status).toBe(404)
    const mcp = { cookie, accept: 'application/json, text/event-stream' }
    expect((await ask('/mcp', mcp, { jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(401)
  })
})

describe.each(engines)('a session on %s', (engine) => {
  test('expires twelve hours after its last use', async () => {
    await using fresh = await freshStore(engine)
    const { store } = fresh
    const { hashKey } = await import('../src/access/keys.ts')
    await store.apiKeys.create({
      ...{ id: 'key_1', name: 'of a test', project_id: null, key_hash: hashKey('sk_1'), key_prefix: 'sk_1' },
      ...{ access_policy_ids: [], rate_limit: null, expires_at: null },
    })
    const authenticator = apiKeyAuthenticator(new Keys(store), store.changes)
    const sessions = new DashboardSessions(store, authenticator)
    const hour = 60 * 60 * 1000
    const start = Date.now()

    const signIn = { store, authenticator, attempts: new SignInAttempts() }
    const { token } = await sessions.start(await verifyKey('sk_1', '', signIn), start)

    await sessions.authenticate(token, start + 11 * hour)
    await sessions.authenticate(token, start + 22 * hour)
    await expect(sessions.authenticate(token, start + 35 * hour)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await store.webSessions.sweep(start + 35 * hour)
    expect(await store.engine.db.selectFrom('web_sessions').selectAll().execute()).toEqual([])
  })
})

describe('the files of the dashboard', () => {
  const html = { accept: 'text/html,application/xhtml+xml' }

  test('have a content security policy that allows only themselves, and are cached while unchanged', async () => {
    await using platform = await startPlatform()

    const page = await platform.fetch('/', { headers: html })
    const text = await page.text()
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(text)?.[1] as string
    const file = await platform.fetch(script, { headers: { 'accept-encoding': 'gzip' } })
    const again = await platform.fetch('/tools', {
      headers: { ...html, 'if-none-match': page.headers.get('etag') ?? '' },
    })

    expect(page.status).toBe(200)
    const policy = page.headers.get('content-security-policy')
    expect(policy).toMatch(/default-src 'none'; script-src 'self'; style-src 'self'/)
    expect(policy).toMatch(/frame-ancestors 'none'/)
    expect(policy).not.toMatch(/unsafe/)
    expect(page.headers.get('x-content-type-options')).toBe('nosniff')
    expect(page.headers.get('cache-control')).toBe('no-cache')
    expect(text).not.toMatch(/<script(?![^>]*src=)|<style|\son\w+=/)
    expect(file.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(file.headers.get('content-encoding')).toBe('gzip')
    expect(again.status).toBe(304)
  })

  test('are served to browsers at any path, and never instead of a JSON error to programs', async () => {
    await using platform = await startPlatform()
    const status = async (to: string, headers: Record<string, string> = {}) => {
      const answer = await platform.fetch(to, { headers })
      return `${answer.status} ${answer.headers.get('content-type')?.split(';')[0]}`
    }

    expect(await status('/tools/tool_1', html)).toBe('200 text/html')
    expect(await status('/tools/tool_1')).toBe('404 application/json')
    expect(await status('/nowhere', html)).toBe('200 text/html')
    expect(await status('/nowhere')).toBe('404 application/json')
    expect(await status('/api/v1/nowhere', html)).toBe('404 application/json')
    expect(await status('/assets/gone.js', html)).toBe('404 application/json')
    expect(await status('/assets/..%2f..%2fpackage.json', html)).toBe('404 application/json')
    expect(await status('/assets/%ff', html)).toBe('404 application/json')
    expect(await status('/health')).toBe('200 application/json')
  })
})
