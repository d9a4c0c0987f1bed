import { type Place, plain, type Site } from './canary-places.ts'
import { TestBrowser } from './connect-peers.ts'
import { obtain, tokenRequest } from './oauth-kit.ts'

/** Places of connections, people, and the platform's own authorization server. */

/** A tool of an app, which returns the credentials that it is sent. */
async function toolOf({ create, service }: Site, app: string): Promise<void> {
  const execute = { url: `${service}/ok`, method: 'GET' }
  await create('/tools', { name: app, app, parameters: { type: 'object', properties: {} }, execute })
}

const connection =
  (app: string, fields: (secret: string, site: Site) => object): Place[2] =>
  async (site, secret) => {
    await toolOf(site, app)
    await site.create('/connections', { app, ...fields(secret, site) })
  }

/** Somebody connects an account at the issuer, which answers with the given code and tokens. */
const account =
  (app: string, issued: (secret: string) => { code?: string; tokens?: object }): Place[2] =>
  async (site, secret) => {
    const { create, issuer } = site
    const { code = 'a-code', tokens = {} } = issued(secret)
    issuer.issue(app, code, { access_token: `token-of-${app}-0123456789`, token_type: 'Bearer', ...tokens })
    await toolOf(site, app)
    await create('/auth-configs', {
      ...{ app, type: 'oauth2_authorization_code', client_id: app, client_secret: 'n0thing-of-interest' },
      ...{ authorization_endpoint: `${issuer.url}/authorize`, token_endpoint: `${issuer.url}/token/${app}` },
    })
    const link = await create('/connections/link', { app })
    const page = await new TestBrowser().connect(link.connect_url ?? '')
    site.record('the page of a connected account', page.text)
  }

const direct = ({ issuer }: Site, app: string) => {
  issuer.issue(app, '', { access_token: `token-of-${app}-0123456789`, token_type: 'Bearer', expires_in: 3600 })
  return { client_id: app, token_endpoint: `${issuer.url}/token/${app}` }
}

/** What an editor gets that signs in at the platform. Everything is used, also in wrong ways. */
const editor =
  (slug: string, choose: (issued: Awaited<ReturnType<typeof obtain>>) => string): Place[2] =>
  async ({ create, platform, admin, keep }) => {
    await create('/servers', { slug })
    const issued = await obtain(platform, `${platform}/mcp/${slug}`, { key: admin })
    keep(choose(issued))
    const { clientId: client_id, token } = issued
    for (const path of [`/mcp/${slug}`, '/mcp', '/api/v1/tools', `/mcp/${slug}?access_token=${token}`]) {
      await fetch(platform + path, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body: '{}' })
    }
    const refreshing = { grant_type: 'refresh_token', refresh_token: issued.refresh }
    await tokenRequest(platform, { ...refreshing, client_id: 'another' })
    await tokenRequest(platform, { ...refreshing, client_id, scope: 'nonsense' })
    await tokenRequest(platform, { ...refreshing, client_id })
    const redeeming = { grant_type: 'authorization_code', code: issued.code, redirect_uri: 'http://127.0.0.1/x' }
    await tokenRequest(platform, { ...redeeming, client_id, code_verifier: issued.verifier })
  }

/** Invites a person, who accepts with a password and signs in. */
const person =
  (email: string, isPassword: boolean): Place[2] =>
  async ({ create, platform, keep }, secret) => {
    const { invitation_url: url = '' } = await create('/users', { email, role: 'viewer' })
    const token = url.split('#')[1] ?? ''
    const password = isPassword ? secret : 'correct horse battery staple'
    if (!isPassword) keep(token)
    const post = (path: string, body: object) =>
      fetch(`${platform}/api/v1/dashboard/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
        body: JSON.stringify(body),
      })
    const { status } = await post('invitation/accept', { token, password })
    if (status !== 201) throw new Error(`The invitation was answered with ${status}`)
    await post('invitation/accept', { token, password })
    await post('session', { email, password })
    await post('session', { email: 'nobody@example.com', password })
    await post('session', { email, password, [password]: 1 })
  }

const signatureOf = (token: string) => token.split('.')[2] ?? ''

export const credentialPlaces: readonly Place[] = [
  [
    'API key of a connection',
    'seen',
    connection('conn_key', (value) => ({ type: 'api_key', header: 'x-any', value: plain(value) })),
  ],
  [
    'API key of a connection in the query',
    'seen',
    connection('conn_query', (value) => ({ type: 'api_key', query: 'k', value })),
  ],
  ['token of a connection', 'seen', connection('conn_bearer', (value) => ({ type: 'bearer', value: plain(value) }))],
  [
    'password of a connection',
    'unseen',
    connection('conn_basic', (value) => ({ type: 'basic', username: 'ana', password: plain(value) })),
  ],
  [
    'client secret of a connection',
    'unseen',
    connection('conn_client', (value, site) => ({
      ...{ type: 'oauth2_client_credentials', client_secret: value },
      ...direct(site, 'conn_client'),
    })),
  ],
  [
    'token to exchange',
    'seen',
    connection('conn_exchange', (value, site) => ({
      ...{ type: 'oauth2_token_exchange', subject_token: value, client_secret: 'n0thing-of-interest' },
      ...direct(site, 'conn_exchange'),
    })),
  ],
  [
    'client secret of an auth config',
    'unseen',
    async (site, value) => {
      await toolOf(site, 'config')
      const endpoints = direct(site, 'config')
      await site.create('/auth-configs', {
        ...{ app: 'config', type: 'oauth2_enterprise_managed', ...endpoints, client_secret: value },
        ...{ idp_issuer: site.issuer.url, idp_client_id: 'x', idp_client_secret: value },
      })
    },
  ],
  [
    'access token of an account',
    'seen',
    account('acc_access', (value) => ({ tokens: { access_token: plain(value) } })),
  ],
  [
    'refresh token of an account',
    'seen',
    account('acc_refresh', (value) => ({ tokens: { refresh_token: plain(value), expires_in: 1 } })),
  ],
  ['ID token of an account', 'unseen', account('acc_id', (value) => ({ tokens: { id_token: `e.${plain(value)}.e` } }))],
  ['authorization code of an account', 'seen', account('acc_code', (value) => ({ code: plain(value) }))],
  [
    'connect link',
    'unseen',
    async (site) => {
      await toolOf(site, 'linked')
      await site.create('/auth-configs', { app: 'linked', type: 'bearer' })
      const { connect_url = '' } = await site.create('/connections/link', { app: 'linked', end_user_id: 'ana' })
      site.keep(connect_url.split('/').at(-1) ?? '')
      await new TestBrowser().open(connect_url)
      await fetch(`${connect_url}?x=1`, { method: 'POST', body: 'csrf=wrong' })
    },
  ],
  ['access token of an editor', 'unseen', editor('ed-access', ({ token }) => signatureOf(token))],
  ['refresh token of an editor', 'unseen', editor('ed-refresh', ({ refresh }) => refresh)],
  ['authorization code of an editor', 'unseen', editor('ed-code', ({ code }) => code)],
  ['PKCE verifier of an editor', 'unseen', editor('ed-verifier', ({ verifier }) => verifier)],
  ['password of a person', 'unseen', person('p@example.com', true)],
  ['invitation of a person', 'unseen', person('i@example.com', false)],
  [
    'client secret of a sign-in provider',
    'unseen',
    ({ create, issuer }, value) =>
      create('/sign-in-providers', { name: 'Acme', issuer: issuer.url, client_id: 'x', client_secret: value }),
  ],
]

/** Requests that are refused must not repeat what they contained. */
export const refusedCredentials = (secret: string): readonly [path: string, body: unknown][] => [
  ['/connections', { app: 'conn_key', type: 'api_key', header: 'not a header', value: secret }],
  ['/connections', { app: 'none', type: 'basic', username: 'ana', password: secret }],
  ['/connections', { app: 'conn_key', type: 'nonsense', token: secret }],
  [
    '/connections',
    {
      ...{
        app: 'conn_key',
        type: 'oauth2_token_exchange',
        client_id: 'x',
        client_secret: secret,
        subject_token: secret,
      },
      ...{ owner: { kind: 'user', id: 'x' }, token_endpoint: 'http://127.0.0.1:9/token' },
    },
  ],
  ['/auth-configs', { app: 'none', type: 'bearer', client_secret: secret, client_id: 'x' }],
  ['/users', { email: secret, role: secret }],
  ['/sign-in-providers', { name: 'x', issuer: 'nonsense', client_id: 'x', client_secret: secret }],
  ['/dashboard/invitation/accept', { token: secret, password: secret }],
  ['/dashboard/session', { email: 'nobody@example.com', password: secret }],
]
