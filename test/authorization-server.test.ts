import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey, startPlatform, startService } from './kit.ts'
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

/** The built-in authorization server, as OAuth clients and browsers see it. */

let platform: Awaited<ReturnType<typeof startListening>>
let resource: string
const redirect = 'http://127.0.0.1:51234/callback'

beforeAll(async () => {
  platform = await startListening()
  await platform.post('/servers', { slug: 'desk', name: 'Help desk' })
  resource = `${platform.url}/mcp/desk`
})
afterAll(() => platform[Symbol.asyncDispose]())

const newClient = async (metadata: object = {}) => {
  const { client_id } = await register(platform.url, {
    client_name: 'An editor',
    redirect_uris: [redirect],
    ...metadata,
  })
  return client_id ?? ''
}

const start = (clientId: string, more: Record<string, string> = {}, challenge = pkce().challenge) =>
  authorizeUrl({ issuer: platform.url, clientId, redirect, resource, more }, challenge)

/** A code that a person has allowed, with what is needed to redeem it. */
async function codeFor(clientId: string, more: Record<string, string> = {}) {
  const { verifier, challenge } = pkce()
  const { back } = await allow(new Visitor(), start(clientId, more, challenge), platform.url)
  const code = back.searchParams.get('code') ?? ''
  const fields = {
    grant_type: 'authorization_code',
    code,
    client_id: clientId,
    code_verifier: verifier,
    redirect_uri: redirect,
  }
  return { back, fields }
}

describe('metadata', () => {
  test('is at both well-known places, and names the issuer without regard to the headers of a request', async () => {
    const read = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(`${platform.url}${path}`, { headers })).json()

    const oauth = await read('/.well-known/oauth-authorization-server')
    const openid = await read('/.well-known/openid-configuration')
    const forged = await read('/.well-known/oauth-authorization-server', {
      ...{ 'x-forwarded-host': 'evil.test', 'x-forwarded-proto': 'https', forwarded: 'host=evil.test' },
    })

    expect(oauth).toMatchObject({
      issuer: platform.url,
      authorization_endpoint: `${platform.url}/oauth/authorize`,
      code_challenge_methods_supported: ['S256'],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
      scopes_supported: expect.arrayContaining(['mcp', 'mcp:read']),
    })
    expect(openid).toEqual(oauth)
    expect(forged).toEqual(oauth)
  })

  test('has the public URL, with its path, if there is one', async () => {
    await using behind = await startPlatform({ QM_PUBLIC_URL: 'https://example.com/tools/' })
    const headers = { host: 'evil.test' }

    const answers = await Promise.all(
      ['', '/tools'].map((path) => behind.fetch(`/.well-known/oauth-authorization-server${path}`, { headers })),
    )
    const [document, same] = await Promise.all(answers.map((answer) => answer.json()))
    const challenged = await behind.fetch('/mcp/desk', { method: 'POST', body: '{}' })
    const byHost = async (host: string) =>
      (await behind.fetch('/mcp/desk', { method: 'POST', headers: { host }, body: '{}' })).status

    expect(document).toMatchObject({
      issuer: 'https://example.com/tools',
      token_endpoint: 'https://example.com/tools/oauth/token',
    })
    expect(same).toEqual(document)
    expect([await byHost('example.com'), await byHost('evil.test')]).toEqual([401, 403])
    expect(challenged.headers.get('www-authenticate')).toBe(
      'Bearer resource_metadata="https://example.com/tools/mcp/desk/.well-known/oauth-protected-resource", error="invalid_token"',
    )
  })

  test('and tokens can be read from any page, but never with its cookies', async () => {
    const headers = { origin: 'https://page.example.com' }
    const answers = [
      await fetch(`${platform.url}/.well-known/oauth-authorization-server`, { headers }),
      await fetch(`${platform.url}/oauth/token`, { method: 'POST', headers }),
      await fetch(`${platform.url}/oauth/token`, {
        method: 'OPTIONS',
        headers: { ...headers, 'access-control-request-method': 'POST' },
      }),
    ]
    const page = await fetch(start(await newClient()), { headers, redirect: 'manual' })

    for (const answer of answers) {
      expect(answer.headers.get('access-control-allow-origin')).toBe('https://page.example.com')
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    }
    expect(page.status).toBe(303)
    expect(page.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('is absent if OAuth is turned off', async () => {
    await using off = await startPlatform({ QM_OAUTH: 'false' })

    const answers = await Promise.all(
      ['/.well-known/oauth-authorization-server', '/.well-known/oauth-protected-resource/mcp/desk', '/oauth/jwks'].map(
        (path) => off.fetch(path),
      ),
    )

    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404])
  })
})

describe('a client', () => {
  test('gets a token for one server after a person has signed in and allowed it', async () => {
    const { token, pages } = await obtain(platform.url, resource)

    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    expect(claims).toMatchObject({ iss: platform.url, aud: resource, sub: 'key_environment', scope: 'mcp' })
    expect(claims.exp - claims.iat).toBe(600)
    expect(pages.map(({ html }) => /<h1>(.*?)<\/h1>/.exec(html)?.[1])).toEqual([
      'Sign in to connect An editor',
      'Allow An editor to use Help desk?',
    ])
    expect(pages[1]?.html).toContain('an app on this computer (127.0.0.1:51234)')
    expect(pages[1]?.html).toContain('Continue only if you have just started this')
  })

  test('is told that the person did not allow it, with the issuer', async () => {
    const { back } = await allow(new Visitor(), start(await newClient()), platform.url, adminKey, 'deny')

    expect(Object.fromEntries(back.searchParams)).toMatchObject({
      error: 'access_denied',
      state: 's',
      iss: platform.url,
    })
  })

  test('needs consent every time, also if the person is still signed in', async () => {
    const visitor = new Visitor()
    const clientId = await newClient()
    await allow(visitor, start(clientId), platform.url)

    const again = await allow(visitor, start(clientId), platform.url)
    const silent = await follow(visitor, start(clientId, { prompt: 'none' }), platform.url)

    expect(again.pages.map(({ html }) => /<h1>(.*?)<\/h1>/.exec(html)?.[1])).toEqual([
      'Allow An editor to use Help desk?',
    ])
    expect(new URL(silent.url).searchParams.get('error')).toMatch(/^(consent|interaction)_required$/)
  })

  test('gets no code without a browser session if it asks for no prompt or names a user', async () => {
    const clientId = await newClient()

    const silent = await follow(new Visitor(), start(clientId, { prompt: 'none' }), platform.url)
    const hinted = await follow(new Visitor(), start(clientId, { login_hint: 'key_environment' }), platform.url)

    const idToken = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJrZXlfZW52aXJvbm1lbnQifQ.'
    const named = { prompt: 'none', scope: 'openid mcp', id_token_hint: idToken }
    const byToken = await follow(new Visitor(), start(clientId, named), platform.url)

    expect(new URL(silent.url).searchParams.get('error')).toBe('login_required')
    expect(new URL(byToken.url).searchParams.get('error')).toMatch(/^(invalid_request|login_required)$/)
    expect(await hinted.page?.text()).toContain('Sign in to connect')
  })

  test('must name an MCP endpoint of this platform as the resource', async () => {
    const clientId = await newClient()
    const errorFor = async (value: string | undefined) => {
      const url = new URL(start(clientId))
      if (value === undefined) url.searchParams.delete('resource')
      else url.searchParams.set('resource', value)
      const { url: back } = await follow(new Visitor(), url.href, platform.url)
      return new URL(back).searchParams.get('error')
    }

    const wrong = [undefined, `${platform.url}/`, `${platform.url}/mcp/desk/more`, `${platform.url}/mcpx`]
    const foreign = ['https://evil.test/mcp/desk', `${resource}?x=1`, `http://user@127.0.0.1/mcp/desk`]

    for (const value of [...wrong, ...foreign]) expect(await errorFor(value), value).toBe('invalid_target')
    const url = `${start(clientId)}&resource=${encodeURIComponent(`${platform.url}/mcp/other`)}`
    expect(new URL((await follow(new Visitor(), url, platform.url)).url).searchParams.get('error')).toBe(
      'invalid_target',
    )
  })

  test('learns nothing about servers that the person cannot use', async () => {
    const caller = await platform.keyFor([{ effect: 'Allow', action: ['tools:*'], resource: ['*'] }])
    const clientId = await newClient()
    const ask = async (slug: string, key: string) => {
      const url = new URL(start(clientId))
      url.searchParams.set('resource', `${platform.url}/mcp/${slug}`)
      const visitor = new Visitor()
      const { back, pages } = await allow(visitor, url.href, platform.url, key, 'deny')
      return { error: back.searchParams.get('error'), said: pages.at(-1)?.html.replaceAll(slug, '') }
    }

    const hidden = await ask('desk', caller)
    const absent = await ask('none', caller)

    expect(hidden.said).toContain('You cannot use this server')
    expect(hidden.said?.replaceAll(/\/interaction\/[\w-]+|value="[\w-]+"/g, '')).toBe(
      absent.said?.replaceAll(/\/interaction\/[\w-]+|value="[\w-]+"/g, ''),
    )
  })

  test('cannot redeem a code twice: what the first use gave is revoked', async () => {
    const { fields } = await codeFor(await newClient())
    const first = await tokenRequest(platform.url, fields)

    const second = await tokenRequest(platform.url, fields)
    const used = await fetch(resource, {
      method: 'POST',
      headers: { authorization: `Bearer ${first.body.access_token}` },
    })

    expect(first.status).toBe(200)
    expect(first.headers.get('cache-control')).toBe('no-store')
    expect(second).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect(used.status).toBe(401)
  })

  test('cannot redeem a code of two requests that arrive together more than once', async () => {
    const { fields } = await codeFor(await newClient())

    const answers = await Promise.all([tokenRequest(platform.url, fields), tokenRequest(platform.url, fields)])

    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
  })

  test('cannot redeem the code of another client, redirect or verifier', async () => {
    const clientId = await newClient()
    const other = await newClient({ client_name: 'Another' })
    const wrong = async (change: Record<string, string>) => {
      const { fields } = await codeFor(clientId)
      return (await tokenRequest(platform.url, { ...fields, ...change })).body.error
    }

    expect(await wrong({ client_id: other })).toBe('invalid_grant')
    expect(await wrong({ redirect_uri: 'http://127.0.0.1:51234/other' })).toBe('invalid_grant')
    expect(await wrong({ code_verifier: pkce().verifier })).toBe('invalid_grant')
    expect(await wrong({ code_verifier: '' })).toMatch(/^invalid_(grant|request)$/)
  })

  test('cannot get a token for an assertion, a password or another token', async () => {
    const clientId = await newClient()
    const grants = [
      { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: 'eyJ.x.y' },
      {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: 'eyJ.x.y',
        subject_token_type: 'x',
      },
      { grant_type: 'password', username: 'a', password: 'b' },
      { grant_type: 'client_credentials' },
    ]

    for (const fields of grants) {
      const { status, body } = await tokenRequest(platform.url, { client_id: clientId, resource, ...fields } as never)
      expect(status, fields.grant_type).toBe(400)
      expect(['unsupported_grant_type', 'unauthorized_client'], fields.grant_type).toContain(body.error)
    }
  })

  test('must use PKCE with S256', async () => {
    const clientId = await newClient()
    const errorFor = async (change: (params: URLSearchParams) => void) => {
      const url = new URL(start(clientId))
      change(url.searchParams)
      return new URL((await follow(new Visitor(), url.href, platform.url)).url).searchParams.get('error')
    }

    expect(await errorFor((params) => params.delete('code_challenge'))).toBe('invalid_request')
    expect(await errorFor((params) => params.set('code_challenge_method', 'plain'))).toBe('invalid_request')
  })

  test('is refused on an error page, and never redirected, if it or its redirect is unknown', async () => {
    const clientId = await newClient()
    const open = async (url: string) => (await follow(new Visitor(), url, platform.url)).page
    const bad = [
      'http://127.0.0.1:51234/callback/more',
      'http://127.0.0.1:51234/callback/../x',
      'http://127.0.0.1:51234/callback?x=1',
      'http://127.0.0.1:51234/callback#x',
      'http://user@127.0.0.1:51234/callback',
      'http://localhost.evil.test/callback',
      'http://127.0.0.1.evil.test/callback',
      'HTTP://127.0.0.1:51234/CALLBACK',
      'http://127.0.0.1.:51234/callback',
      'https://127.0.0.1:51234/callback',
      'http://evil.test/callback',
    ]

    for (const uri of bad) {
      const page = await open(
        authorizeUrl({ issuer: platform.url, clientId, redirect: uri, resource }, pkce().challenge),
      )
      expect(page?.status, uri).toBe(400)
      expect(await page?.text(), uri).toContain('an address that it has not registered')
    }
    const unknown = await open(start('nobody'))
    expect(unknown?.status).toBe(400)
    expect(await unknown?.text()).toContain('This did not work')
    expect(unknown?.headers.get('content-security-policy')).toMatch(/default-src 'none'/)
  })

  test('may use any port on loopback, and no other port elsewhere', async () => {
    const loopback = await newClient({ redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'] })
    const web = await newClient({ redirect_uris: ['https://app.example.com/callback'] })
    const statusFor = async (clientId: string, uri: string) => {
      const url = authorizeUrl({ issuer: platform.url, clientId, redirect: uri, resource }, pkce().challenge)
      return (await follow(new Visitor(), url, platform.url)).page?.status
    }

    expect(await statusFor(loopback, 'http://127.0.0.1:40000/callback')).toBe(200)
    expect(await statusFor(loopback, 'http://localhost:40001/callback')).toBe(200)
    expect(await statusFor(web, 'https://app.example.com/callback')).toBe(200)
    expect(await statusFor(web, 'https://app.example.com:8443/callback')).toBe(400)
  })
})

describe('a refresh token', () => {
  const refresh = (clientId: string, token: string, more: Record<string, string> = {}) =>
    tokenRequest(platform.url, { grant_type: 'refresh_token', refresh_token: token, client_id: clientId, ...more })
  /** Moves the first use of all refresh tokens into the past. */
  const age = async (ms: number) => {
    const { db } = platform.platform.store.engine
    const query = db.updateTable('oauth_artifacts').set((e) => ({ consumed_at: e('consumed_at', '-', ms) }))
    await query.where('kind', '=', 'RefreshToken').where('consumed_at', 'is not', null).execute()
  }

  test('is replaced with each use, and the old one works for half a minute more', async () => {
    const { clientId, refresh: first } = await obtain(platform.url, resource)

    const a = await refresh(clientId, first)
    const b = await refresh(clientId, first)
    await age(25_000)
    const c = await refresh(clientId, first)

    expect([a.status, b.status, c.status]).toEqual([200, 200, 200])
    expect(new Set([first, a.body.refresh_token, b.body.refresh_token, c.body.refresh_token]).size).toBe(4)
    expect(a.body.scope).toBe('mcp')
  })

  test('that is used again later revokes everything that came from it', async () => {
    const { clientId, refresh: first, token } = await obtain(platform.url, resource)
    const next = await refresh(clientId, first)
    await age(31_000)

    const replayed = await refresh(clientId, first)
    const successor = await refresh(clientId, next.body.refresh_token)
    const used = await fetch(resource, { method: 'POST', headers: { authorization: `Bearer ${token}` } })

    expect(replayed.body.error).toBe('invalid_grant')
    expect(successor.body.error).toBe('invalid_grant')
    expect(used.status).toBe(401)
  })

  test('that is used again later is reported to webhooks, and so is access that an app or a person ends', async () => {
    await using hooks = await startService()
    await platform.post('/webhooks', { name: 'w', url: hooks.url, events: ['oauth_grant.revoked'] })
    const [reused, left, removed] = [
      await obtain(platform.url, resource, { name: 'Reused' }),
      await obtain(platform.url, resource, { name: 'Left' }),
      await obtain(platform.url, resource, { name: 'Removed' }),
    ]
    await refresh(reused.clientId, reused.refresh)
    await age(31_000)

    await refresh(reused.clientId, reused.refresh)
    await fetch(`${platform.url}/oauth/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ token: left.refresh, client_id: left.clientId }),
    })
    const { data } = (await platform.get('/oauth-grants?limit=100')).body
    const { id } = data.find(({ client }: { client: { name: string } }) => client.name === 'Removed')
    await platform.delete(`/oauth-grants/${id}`)

    const received = () =>
      hooks.received.map(({ body }) => JSON.parse(body).data).map(({ client, reason }) => [client.name, reason])
    await expect
      .poll(() => received().sort())
      .toEqual([
        ['Left', 'revoked_by_app'],
        ['Removed', 'revoked'],
        ['Reused', 'token_reused'],
      ])
    const sent = JSON.stringify(hooks.received)
    for (const { token, refresh: secret } of [reused, left, removed]) {
      expect(sent).not.toContain(token)
      expect(sent).not.toContain(secret)
    }
  })

  test('gives no other scope, resource or client, and is not used up by asking', async () => {
    const { clientId, refresh: token } = await obtain(platform.url, resource, { scope: 'mcp:read' })
    const other = await newClient({ client_name: 'Another' })

    const wider = await refresh(clientId, token, { scope: 'mcp' })
    const elsewhere = await refresh(clientId, token, { resource: `${platform.url}/mcp/other` })
    const stolen = await refresh(other, token)
    await age(31_000)
    const honest = await refresh(clientId, token)

    expect([wider.body.error, elsewhere.body.error, stolen.body.error]).toEqual([
      'invalid_scope',
      'invalid_target',
      'invalid_grant',
    ])
    expect(honest).toMatchObject({ status: 200, body: { scope: 'mcp:read' } })
  })

  test('ends when the client revokes it', async () => {
    const { clientId, refresh: token, token: access } = await obtain(platform.url, resource)

    const answer = await fetch(`${platform.url}/oauth/revoke`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, client_id: clientId }).toString(),
    })
    const used = await fetch(resource, { method: 'POST', headers: { authorization: `Bearer ${access}` } })

    expect(answer.status).toBe(200)
    expect((await refresh(clientId, token)).body.error).toBe('invalid_grant')
    expect(used.status).toBe(401)
  })
})

describe('registration', () => {
  test('keeps nothing: the id of a client is its signed metadata', async () => {
    const { db } = platform.platform.store.engine
    const count = async () => (await db.selectFrom('oauth_artifacts').select('id').execute()).length
    const before = await count()

    const clientId = await newClient()
    const page = (await follow(new Visitor(), start(clientId), platform.url)).page

    expect(await count()).toBeLessThanOrEqual(before + 2)
    expect(page?.status).toBe(200)
    const rows = await db.selectFrom('oauth_artifacts').select('kind').execute()
    expect(rows.map(({ kind }) => kind)).not.toContain('Client')
  })

  test('with a forged, altered or truncated id is invalid_client', async () => {
    const clientId = await newClient()
    const [packed = '', signature = ''] = clientId.slice(4).split('.')
    const flipped = `${packed[0] === 'R' ? 'S' : 'R'}${packed.slice(1)}`
    const forged = [
      `dcr_${flipped}.${signature}`,
      `dcr_${packed}.`,
      `dcr_${packed}`,
      `dcr_.${signature}`,
      `${clientId}.x`,
    ]

    for (const id of forged) {
      const page = (await follow(new Visitor(), start(id), platform.url)).page
      expect(page?.status, id).toBe(400)
      const token = await tokenRequest(platform.url, { grant_type: 'refresh_token', refresh_token: 'x', client_id: id })
      expect(token.body.error, id).toBe('invalid_client')
    }
  })

  test('refuses redirects that are not https, loopback or a scheme of the app', async () => {
    const bad = [
      'http://evil.test/cb',
      'javascript:alert(1)',
      'data:text/html,x',
      'file:///etc/passwd',
      'vbscript:x',
      'x',
      '',
    ]

    for (const uri of bad) {
      const { status, error } = await register(platform.url, { redirect_uris: [uri] })
      expect([status, error], uri).toEqual(['400', expect.stringMatching(/^invalid_(redirect_uri|client_metadata)$/)])
    }
  })

  test('is bounded in size, in redirects and in number', async () => {
    await using small = await startListening()
    const many = Array.from({ length: 11 }, (_, n) => `https://app.example.com/${n}`)
    const long = Array.from({ length: 10 }, () => `https://app.example.com/${randomBytes(450).toString('base64url')}`)

    const huge = await register(small.url, { redirect_uris: [redirect], client_name: 'x'.repeat(20_000) })
    const plenty = await register(small.url, { redirect_uris: many })
    const wide = await register(small.url, { redirect_uris: long })
    const odd = await register(small.url, [] as object)
    let limited = ''
    for (let n = 0; n < 310 && limited === ''; n++) {
      const { status = '' } = await register(small.url, { redirect_uris: [redirect] })
      if (status === '429') limited = status
    }

    expect([huge.status, plenty.status, wide.status, odd.status]).toEqual(['413', '400', '400', '400'])
    expect(limited).toBe('429')
  }, 30_000)

  test('gives a secret to a client that wants one, and checks it', async () => {
    const metadata = { redirect_uris: [redirect], token_endpoint_auth_method: 'client_secret_post' }
    const { client_id: clientId = '', client_secret: secret = '' } = await register(platform.url, metadata)
    const { fields } = await codeFor(clientId)

    const without = await tokenRequest(platform.url, fields)
    const wrong = await tokenRequest(platform.url, { ...fields, client_secret: `${secret}x` })
    const right = await tokenRequest(platform.url, { ...fields, client_secret: secret })

    expect([without.status, wrong.status, right.status]).toEqual([401, 401, 200])
  })
})

describe('the pages', () => {
  const signInPage = async (name = 'An editor') => {
    const visitor = new Visitor()
    const at = await follow(visitor, start(await newClient({ client_name: name })), platform.url)
    return { visitor, url: at.url, page: at.page as Response, html: await (at.page as Response).text() }
  }

  test('cannot be framed or cached, run no script, and load nothing from elsewhere', async () => {
    const { page, html } = await signInPage()

    expect(page.headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    )
    expect(page.headers.get('x-frame-options')).toBe('DENY')
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.headers.get('referrer-policy')).toBe('same-origin')
    expect(html).not.toMatch(/<script|<style|\son\w+=|https?:\/\//)
  })

  test('show what a client says about itself as text', async () => {
    const { html } = await signInPage('<img src=x onerror=alert(1)>"\u202egnp.exe')

    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;&quot;\\u202egnp.exe')
    expect(html).not.toContain('<img src=x')
  })

  test('have cookies that scripts and other sites cannot use, and that are renewed at sign-in', async () => {
    const lines: string[] = []
    const visitor = new Visitor(async (url, init) => {
      const response = await fetch(url, init)
      lines.push(...response.headers.getSetCookie())
      return response
    })
    await allow(visitor, start(await newClient()), platform.url)

    const { port } = new URL(platform.url)
    for (const line of lines) expect(line).toMatch(/; httponly/i)
    for (const line of lines) expect(line).toMatch(/; samesite=lax/i)
    const sessions = lines.filter((line) => line.startsWith(`qm_oauth_${port}=`)).map((line) => line.split(';')[0])
    expect(new Set(sessions).size).toBeGreaterThan(1)
  })

  test('have Secure cookies with the __Host- prefix under https', async () => {
    await using behind = await startPlatform({ QM_PUBLIC_URL: 'https://example.com' })
    const lines: string[] = []
    const send = async (url: string, init: RequestInit) => {
      const response = await behind.platform.fetch(url, init)
      lines.push(...response.headers.getSetCookie())
      return response
    }
    await behind.post('/servers', { slug: 'desk' })
    const { client_id: clientId = '' } = await register(
      'https://example.com',
      { redirect_uris: [redirect] },
      send as typeof fetch,
    )
    const flow = { issuer: 'https://example.com', clientId, redirect, resource: 'https://example.com/mcp/desk' }

    const { back } = await allow(new Visitor(send), authorizeUrl(flow, pkce().challenge), 'https://example.com')

    expect(back.searchParams.get('code')).not.toBeNull()
    for (const line of lines) expect(line).toMatch(/^__(Host|Secure)-.*; secure/i)
    expect(lines.filter((line) => line.startsWith('__Host-')).every((line) => /; path=\/;/i.test(line))).toBe(true)
  })

  test('refuse forms that were not sent by themselves', async () => {
    const { visitor, url, html } = await signInPage()
    const fields = { ...hiddenOf(html), key: adminKey, do: 'sign-in' }
    const send = async (change: Record<string, string>, headers: Record<string, string> = {}, who = visitor) => {
      const { headers: usual, ...form } = formBody({ ...fields, ...change })
      return (await who.go(url, { ...form, headers: { ...usual, ...headers } })).status
    }

    expect(await send({ csrf: 'x' })).toBe(403)
    expect(await send({ csrf: '' })).toBe(403)
    expect(await send({}, { 'sec-fetch-site': 'cross-site' })).toBe(403)
    expect(await send({}, { 'sec-fetch-site': 'same-site' })).toBe(403)
    expect(await send({}, {}, new Visitor())).toBe(400)
    expect(await send({ do: 'allow' })).toBe(400)
    expect(await send({})).toBe(303)
  })

  test('cannot be used again once they are completed, nor by another browser', async () => {
    const visitor = new Visitor()
    const { pages } = await allow(visitor, start(await newClient()), platform.url)
    const last = pages.at(-1) as (typeof pages)[number]

    const replayed = await visitor.go(last.url, formBody({ ...hiddenOf(last.html), do: 'allow' }))
    const elsewhere = await new Visitor().go(last.url)

    expect(replayed.status).toBe(400)
    expect(await replayed.text()).toContain('has expired, was already completed, or was started in another browser')
    expect(elsewhere.status).toBe(400)
  })

  test('say the same for unknown and revoked keys, and slow down guessing', async () => {
    await using own = await startListening()
    await own.post('/servers', { slug: 'desk' })
    const key = await own.keyFor([{ effect: 'Allow', action: ['*'], resource: ['*'] }])
    const { id } = (await own.get('/api-keys')).body.data.find((one: { name: string }) => one.name === 'of a test')
    await own.delete(`/api-keys/${id}`)
    const { client_id: clientId = '' } = await register(own.url, { redirect_uris: [redirect] })
    const url = authorizeUrl({ issuer: own.url, clientId, redirect, resource: `${own.url}/mcp/desk` }, pkce().challenge)
    const visitor = new Visitor()
    const at = await follow(visitor, url, own.url)
    const hidden = hiddenOf(await (at.page as Response).text())
    const attempt = async (value: string) => {
      const answer = await visitor.go(at.url, formBody({ ...hidden, key: value, do: 'sign-in' }))
      return { status: answer.status, said: /role="alert">(.*?)</.exec(await answer.text())?.[1] }
    }

    const revoked = await attempt(key)
    const unknown = await attempt('sk_unknown')
    for (let n = 0; n < 20; n++) await attempt(`sk_${n}`)
    const waiting = await attempt(adminKey)

    expect(revoked).toEqual(unknown)
    expect(revoked).toMatchObject({ status: 400, said: expect.stringContaining('not valid') })
    expect(waiting.said).toMatch(/Too many/i)
  })

  test('let a person sign in as somebody else', async () => {
    const visitor = new Visitor()
    const clientId = await newClient()
    await allow(visitor, start(clientId), platform.url)
    const key = await platform.keyFor([{ effect: 'Allow', action: ['*'], resource: ['*'] }])

    const at = await follow(visitor, start(clientId), platform.url)
    const html = await (at.page as Response).text()
    const answer = await visitor.go(at.url, formBody({ ...hiddenOf(html), do: 'switch' }))
    const { pages, back } = await allow(visitor, answer.headers.get('location') ?? '', platform.url, key)

    expect(pages[1]?.html).toContain('of a test')
    expect(back.searchParams.get('code')).not.toBeNull()
  })
})

test('nothing that was issued is in the database as such', async () => {
  const { token, refresh, code } = await obtain(platform.url, resource)
  const { db } = platform.platform.store.engine

  const rows = [
    await db.selectFrom('oauth_artifacts').selectAll().execute(),
    await db.selectFrom('oauth_grants').selectAll().execute(),
    await db.selectFrom('oauth_keys').selectAll().execute(),
  ]

  const text = JSON.stringify(rows)
  for (const secret of [token, refresh, code, adminKey]) expect(text).not.toContain(secret)
  expect(text).not.toContain('"kty"')
})
