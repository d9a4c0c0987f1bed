import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { type CompanyIdp, startCompanyIdp } from './company-idp.ts'
import type { TestPlatform } from './kit.ts'
import { accept, person, tokenOf } from './signing-in.ts'

type Listening = TestPlatform & { readonly url: string }

interface Office extends AsyncDisposable {
  readonly platform: Listening
  readonly idp: CompanyIdp
  readonly provider: string
}

/** A platform and a company's provider, which it trusts. */
async function open(fields: object = {}): Promise<Office> {
  const platform = await startListening()
  const idp = await startCompanyIdp(`${platform.url}/api/v1/dashboard/sso/callback`)
  const made = await platform.post('/sign-in-providers', { name: 'Acme', issuer: idp.issuer, ...idp.client, ...fields })
  if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  return {
    ...{ platform, idp, provider: made.body.id },
    async [Symbol.asyncDispose]() {
      await idp[Symbol.asyncDispose]()
      await platform[Symbol.asyncDispose]()
    },
  }
}

/** A browser without scripts: it keeps cookies per host, and follows redirects one by one. */
class Browser {
  readonly #cookies = new Map<string, Map<string, string>>()

  async visit(url: string, init: RequestInit = {}): Promise<Response> {
    const { origin } = new URL(url)
    const jar = this.#cookies.get(origin) ?? new Map<string, string>()
    this.#cookies.set(origin, jar)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', ...init, headers: { cookie, ...init.headers } })
    for (const text of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? []
      if (value === '' || /max-age=0|1970/i.test(text)) jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }

  /** Follows redirects to the first page, or to the first URL that `stop` accepts. */
  async follow(url: string, stop: (url: string) => boolean = () => false, init?: RequestInit): Promise<string> {
    let next = url
    let request = init
    for (let hops = 0; hops < 20; hops++) {
      if (stop(next)) return next
      const response = await this.visit(next, request)
      request = undefined
      const text = await response.text()
      const location = response.headers.get('location') ?? /content="0;url=([^"]*)"/.exec(text)?.[1] ?? null
      const form = location === null ? /action="([^"]+)"[\s\S]*name="prompt" value="(\w+)"/.exec(text) : null
      if (form) {
        request = { method: 'POST', headers: formType, body: `prompt=${form[2]}&login=${this.login}&password=x` }
        next = new URL(form[1] as string, next).href
      } else if (location === null) return next
      else next = new URL(location, next).href
    }
    throw new Error('too many redirects')
  }

  login = 'rita'
}

const formType = { 'content-type': 'application/x-www-form-urlencoded' }
const startOf = ({ platform, provider }: Office, query = '') =>
  `${platform.url}/api/v1/dashboard/sso/${provider}/start${query}`
const isCallback = (url: string) => url.includes('/sso/callback')

/** Signs in completely. Returns the page the browser ends on, and who is signed in. */
async function signIn(office: Office, browser = new Browser(), query = '') {
  const page = await browser.follow(startOf(office, query), (url) => !isCallback(url) && isHome(url, office))
  const session = await browser.visit(`${office.platform.url}/api/v1/dashboard/session`)
  const { principal } = (await session.json()) as { principal?: Record<string, unknown> }
  return { page: page.slice(office.platform.url.length), principal, browser }
}
const isHome = (url: string, { platform }: Office) => url.startsWith(platform.url) && !url.includes('/sso/')

const verified = { sub: 'rita', email: 'Rita@acme.test', email_verified: true, name: 'Rita R.' }

describe('signing in with a company account', () => {
  test('links the account to the invited person, and recognises it later without the email address', async () => {
    await using office = await open()
    const { platform, idp } = office
    const invited = (await platform.post('/users', { email: 'rita@acme.test', role: 'reviewer' })).body
    idp.accounts.set('rita', verified)

    const first = await signIn(office, new Browser(), '?return_to=/approvals/apr_1')
    idp.accounts.set('rita', { sub: 'rita' })
    const second = await signIn(office)

    expect(first).toMatchObject({
      page: '/approvals/apr_1',
      principal: { kind: 'user', id: invited.id, role: 'reviewer' },
    })
    expect(second).toMatchObject({ page: '/', principal: { id: invited.id } })
    const user = (await platform.get(`/users/${invited.id}`)).body
    expect(user).toMatchObject({ status: 'active', has_password: false, sso_issuer: idp.issuer })
  })

  test('creates a person with the default role and project, from allowed domains only', async () => {
    await using office = await open({ allowed_domains: ['acme.test'], default_role: 'viewer' })
    const { platform, idp, provider } = office
    await platform.patch(`/sign-in-providers/${provider}`, { default_project_id: platform.projectId })
    idp.accounts.set('rita', verified)
    idp.accounts.set('eve', { sub: 'eve', email: 'eve@evil.test', email_verified: true })
    const eve = new Browser()
    eve.login = 'eve'

    const signedIn = await signIn(office)
    const stranger = await signIn(office, eve)

    expect(signedIn.principal).toMatchObject({ name: 'Rita R.', role: 'viewer', project_id: platform.projectId })
    expect(stranger).toMatchObject({ page: '/?sign_in_error=domain_not_allowed', principal: undefined })
    expect((await platform.get('/users')).body.total).toBe(1)
  })

  test('is refused without an invitation or a verified address, for other accounts, and once disabled', async () => {
    await using office = await open()
    const { platform, idp } = office
    idp.accounts.set('rita', verified)
    const uninvited = await signIn(office)
    const { id } = (await platform.post('/users', { email: 'rita@acme.test', role: 'owner' })).body
    idp.accounts.set('rita', { ...verified, email_verified: false })
    const unverified = await signIn(office)
    idp.accounts.set('rita', verified)
    await signIn(office)
    const again = new Browser()
    again.login = 'rehired'
    idp.accounts.set('rehired', { ...verified, sub: 'rehired' })
    const other = await signIn(office, again)
    await platform.patch(`/users/${id}`, { status: 'disabled' }, {})
    const disabled = await signIn(office)

    expect([uninvited, unverified, other, disabled].map(({ page }) => page)).toEqual([
      '/?sign_in_error=not_invited',
      '/?sign_in_error=email_not_verified',
      '/?sign_in_error=other_account',
      '/?sign_in_error=disabled',
    ])
    for (const { principal } of [uninvited, unverified, other, disabled]) expect(principal).toBeUndefined()
  })

  test('can be the second way to sign in, beside a password', async () => {
    await using office = await open()
    const rita = await person(office.platform, 'rita@acme.test', { role: 'viewer' })
    office.idp.accounts.set('rita', verified)

    const { principal } = await signIn(office)

    expect(principal?.id).toBe(rita.id)
    expect((await office.platform.get('/users/current', rita.session)).body).toMatchObject({ has_password: true })
  })

  test('is bound to the browser that began it, and cannot be finished twice', async () => {
    await using office = await open()
    await office.platform.post('/users', { email: 'rita@acme.test', role: 'viewer' })
    office.idp.accounts.set('rita', verified)
    const [attacker, victim] = [new Browser(), new Browser()]
    const callback = await attacker.follow(startOf(office), isCallback)

    const elsewhere = await victim.visit(callback)
    const own = await attacker.visit(callback)
    const twice = await attacker.visit(callback)

    expect(elsewhere.headers.get('location')).toBe('/?sign_in_error=expired')
    expect([own.status, await own.text()]).toEqual([200, expect.stringContaining('content="0;url=/"')])
    expect(own.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^qm_sign_in_\d+=; Path=\/api\/v1\/dashboard\/sso; HttpOnly; SameSite=Lax; Max-Age=0$/),
      expect.stringMatching(/^qm_session_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict/),
    ])
    expect(twice.headers.get('location')).toBe('/?sign_in_error=expired')
  })

  test('asks the provider for its metadata once, however often a sign-in is started', async () => {
    await using office = await open()
    const { idp } = office

    await Promise.all(Array.from({ length: 20 }, () => new Browser().visit(startOf(office))))
    await new Browser().visit(startOf(office))

    expect(idp.requests).toEqual(['/.well-known/openid-configuration'])
  })

  test('makes the open invitation link useless', async () => {
    await using office = await open()
    const invited = (await office.platform.post('/users', { email: 'rita@acme.test', role: 'viewer' })).body
    office.idp.accounts.set('rita', verified)

    await signIn(office)
    const { answer } = await accept(office.platform, tokenOf(invited))

    expect(answer.body.error.code).toBe('INVITATION_NOT_VALID')
  })

  test('compares state and issuer before it sends the code anywhere', async () => {
    await using office = await open()
    office.idp.accounts.set('rita', verified)
    const tokenRequests = () => office.idp.requests.filter((path) => path === '/token').length
    const pages: (string | null)[] = []
    for (const [name, value] of [
      ['state', 'another'],
      ['iss', 'https://evil.test'],
    ] as const) {
      const browser = new Browser()
      const callback = new URL(await browser.follow(startOf(office), isCallback))
      callback.searchParams.set(name, value)
      pages.push((await browser.visit(callback.href)).headers.get('location'))
    }

    expect(pages).toEqual(['/?sign_in_error=failed', '/?sign_in_error=failed'])
    expect(tokenRequests()).toBe(0)
  })

  test('never returns to another site', async () => {
    await using office = await open()
    await office.platform.post('/users', { email: 'rita@acme.test', role: 'viewer' })
    office.idp.accounts.set('rita', verified)
    const pages: string[] = []
    for (const to of ['https://evil.test/x', '//evil.test', '/\\evil.test', '/.//evil.test', 'javascript:alert(1)']) {
      pages.push((await signIn(office, new Browser(), `?return_to=${encodeURIComponent(to)}`)).page)
    }

    expect(pages).toEqual(['/', '/', '/', '/evil.test', '/'])
  })

  test('uses the public URL for the redirect, whatever the Host header says', async () => {
    await using office = await open()
    const { platform, provider } = office

    const wrong = await platform.fetch(`/api/v1/dashboard/sso/${provider}/start`, { headers: { host: 'evil.test' } })
    const forced = await platform.fetch(`/api/v1/dashboard/sso/${provider}/start?here=1`, {
      headers: { host: 'evil.test', 'x-forwarded-host': 'evil.test' },
    })

    expect(wrong.headers.get('location')).toBe(startOf(office, '?here=1&return_to=%2F'))
    const url = new URL(forced.headers.get('location') ?? '')
    expect(url.searchParams.get('redirect_uri')).toBe(`${platform.url}/api/v1/dashboard/sso/callback`)
    expect(url.searchParams.get('code_challenge_method')).toBe('S256')
    expect((await platform.get(`/sign-in-providers/${provider}`)).body.redirect_uri).toBe(
      `${platform.url}/api/v1/dashboard/sso/callback`,
    )
  })

  test('returns to the page with its parameters, and nothing in them becomes markup', async () => {
    await using office = await open()
    await office.platform.post('/users', { email: 'rita@acme.test', role: 'viewer' })
    office.idp.accounts.set('rita', verified)
    const browser = new Browser()
    const to = encodeURIComponent(`/calls?q="><script>alert(1)</script>&status='x'`)
    const callback = await browser.follow(startOf(office, `?return_to=${to}`), isCallback)

    const page = await browser.visit(callback)

    const text = await page.text()
    expect(text).toContain('/calls?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&amp;status=%27x%27"')
    expect(text).not.toContain('<script')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  test('shows the sign-in page again if the person cancels', async () => {
    await using office = await open()
    const browser = new Browser()
    const start = await browser.visit(startOf(office))
    const state = new URL(start.headers.get('location') ?? '').searchParams.get('state')

    const { idp, platform } = office
    const query = `error=access_denied&error_description=%3Cscript%3E&state=${state}&iss=${encodeURIComponent(idp.issuer)}`
    const back = await browser.visit(`${platform.url}/api/v1/dashboard/sso/callback?${query}`)

    expect(back.headers.get('location')).toBe('/?sign_in_error=cancelled')
  })
})

describe('an ID token', () => {
  const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const another = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const signed = (token: string, change: object, key: KeyObject) => {
    const text = `${encoded(headerOf(token))}.${encoded({ ...claimsOf(token), ...change })}`
    return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
  }
  const headerOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())

  test.each([
    ['signed with another key', (token: string) => signed(token, {}, another)],
    ['without a signature', (token: string) => `${encoded({ alg: 'none' })}.${token.split('.')[1]}.`],
    ['of a symmetric key', (token: string) => `${encoded({ alg: 'HS256' })}.${token.split('.')[1]}.AAAA`],
    ['for another client', (token: string, key: KeyObject) => signed(token, { aud: 'another' }, key)],
    ['of another issuer', (token: string, key: KeyObject) => signed(token, { iss: 'https://evil.test' }, key)],
    ['with another nonce', (token: string, key: KeyObject) => signed(token, { nonce: 'another' }, key)],
    ['that has expired', (token: string, key: KeyObject) => signed(token, { exp: 1 }, key)],
  ])('%s is refused', async (_, change) => {
    await using office = await open()
    const { idp, platform } = office
    await platform.post('/users', { email: 'rita@acme.test', role: 'viewer' })
    idp.accounts.set('rita', verified)
    let isChanged = false
    idp.tamper = (path, body) => {
      if (path !== '/token') return body
      const answer = JSON.parse(body)
      isChanged = true
      return JSON.stringify({ ...answer, id_token: change(answer.id_token, idp.signingKey) })
    }

    const { page, principal } = await signIn(office)

    expect(isChanged).toBe(true)
    expect({ page, principal }).toEqual({ page: '/?sign_in_error=failed', principal: undefined })
  })

  test('that the test signs with the key of the provider is accepted, so the refusals above are due to their claims', async () => {
    await using office = await open()
    const { idp, platform } = office
    await platform.post('/users', { email: 'rita@acme.test', role: 'viewer' })
    idp.accounts.set('rita', verified)
    idp.tamper = (path, body) => {
      if (path !== '/token') return body
      const answer = JSON.parse(body)
      return JSON.stringify({ ...answer, id_token: signed(answer.id_token, {}, idp.signingKey) })
    }

    expect((await signIn(office)).page).toBe('/')
  })

  test('is not accepted if userinfo is about someone else', async () => {
    await using office = await open()
    const { idp, platform } = office
    await platform.post('/users', { email: 'boss@acme.test', role: 'owner' })
    idp.accounts.set('rita', verified)
    idp.tamper = (path, body) =>
      path === '/me' ? JSON.stringify({ sub: 'boss', email: 'boss@acme.test', email_verified: true }) : body

    const { page } = await signIn(office)

    expect(page).toBe('/?sign_in_error=failed')
  })
})

describe('a sign-in provider', () => {
  const draft = {
    name: 'Acme',
    issuer: 'https://login.acme.test',
    client_id: 'qm',
    client_secret: 'a-client-secret-of-a-test',
  }

  test('never returns its client secret, which is encrypted, and lists only its name to strangers', async () => {
    await using platform = await startListening()

    const made = await platform.post('/sign-in-providers', draft)
    const listed = await platform.get('/sign-in-providers')
    const rotated = await platform.patch(`/sign-in-providers/${made.body.id}`, {
      client_secret: 'another-secret-of-a-test',
    })
    const strangers = await platform.get('/api/v1/dashboard/sign-in-options', { key: null })
    await platform.patch(`/sign-in-providers/${made.body.id}`, { enabled: false })
    const disabled = await platform.get('/api/v1/dashboard/sign-in-options', { key: null })
    const rows = await platform.platform.store.engine.db.selectFrom('sign_in_providers').selectAll().execute()

    expect(made.body).toMatchObject({ id: expect.stringMatching(/^sip_/), has_client_secret: true, default_role: null })
    for (const text of [made, listed, rotated, rows].map((one) => JSON.stringify(one))) {
      expect(text).not.toMatch(/secret-of-a-test/)
    }
    const redirect_uri = `${platform.url}/api/v1/dashboard/sso/callback`
    expect(strangers.body).toEqual({ people: false, providers: [{ id: made.body.id, name: 'Acme' }], redirect_uri })
    expect(disabled.body).toEqual({ people: false, providers: [], redirect_uri })
    expect((await platform.delete(`/sign-in-providers/${made.body.id}`)).status).toBe(204)
  })

  test.each([
    [{ issuer: 'http://login.acme.test' }, /issuer: must be an https URL/],
    [{ issuer: 'https://user:pass@login.acme.test' }, /issuer/],
    [{ issuer: 'javascript:alert(1)' }, /issuer/],
    [{ default_role: 'viewer' }, /allowed_domains: must not be empty/],
    [{ allowed_domains: ['@acme'] }, /must be a domain/],
    [{ default_project_id: 'proj_none' }, /default_project_id: does not exist/],
  ])('is not created with %j', async (fields, message) => {
    await using platform = await startListening()

    const answer = await platform.post('/sign-in-providers', { ...draft, ...fields })

    expect(answer).toMatchObject({ status: 400, body: { error: { message: expect.stringMatching(message) } } })
  })

  test('is configured by administrators only, because it can sign anyone in', async () => {
    await using platform = await startListening()
    const { id } = (await platform.post('/sign-in-providers', draft)).body
    const key = await platform.keyFor([{ effect: 'Allow', action: ['sign-in-providers:*'] }])
    const bound = await platform.keyFor([{ effect: 'Allow', action: ['*'] }], { project_id: platform.projectId })

    const answers = [
      await platform.post('/sign-in-providers', draft, { key }),
      await platform.patch(`/sign-in-providers/${id}`, { client_id: 'mine' }, { key }),
      await platform.post('/sign-in-providers', draft, { key: bound }),
      await platform.patch(`/sign-in-providers/${id}`, { client_id: 'mine' }, { key: bound }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403])
    expect((await platform.get('/sign-in-providers', { key: bound })).body.data).toEqual([])
  })

  test('is tested: an issuer that cannot be reached, is blocked or is another one is explained', async () => {
    await using office = await open()
    const { platform, idp, provider } = office
    const problem = async (id: string) => (await platform.post(`/sign-in-providers/${id}/test`, {})).body
    const fine = await problem(provider)
    idp.tamper = (path, body) =>
      path === '/.well-known/openid-configuration'
        ? body.replace(/"issuer":"[^"]*"/, '"issuer":"https://evil.test"')
        : body
    const other = await problem(provider)
    const metadata = { ...draft, issuer: 'https://169.254.169.254' }
    const blocked = await problem((await platform.post('/sign-in-providers', metadata)).body.id)

    expect(fine).toEqual({ authorization_endpoint: `${idp.issuer}/auth` })
    expect(other.error).toMatchObject({ code: 'SIGN_IN_PROVIDER_FAILED', message: expect.stringMatching(/issuer/) })
    expect(blocked.error).toMatchObject({ message: expect.stringMatching(/metadata address/) })
  })
})
