import { createHash, randomBytes } from 'node:crypto'
import { adminKey } from './kit.ts'

/** A browser without scripts: keeps cookies by path, and does not follow redirects by itself. */
export class Visitor {
  readonly #jar = new Map<string, { value: string; path: string }>()
  readonly #fetch: (url: string, init: RequestInit) => Promise<Response>

  constructor(send: (url: string, init: RequestInit) => Promise<Response> = fetch) {
    this.#fetch = send
  }

  async go(url: string, init: RequestInit = {}): Promise<Response> {
    const { pathname } = new URL(url)
    const cookies = [...this.#jar].filter(([, { path }]) => pathname.startsWith(path))
    const headers = new Headers(init.headers)
    if (cookies.length > 0) headers.set('cookie', cookies.map(([name, { value }]) => `${name}=${value}`).join('; '))
    const response = await this.#fetch(url, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) this.#keep(line)
    return response
  }

  cookies(): string[] {
    return [...this.#jar.keys()]
  }

  #keep(line: string): void {
    const [pair = '', ...attributes] = line.split('; ')
    const [name = '', value = ''] = pair.split(/=(.*)/s)
    const path = attributes.find((one) => one.toLowerCase().startsWith('path='))?.slice(5) ?? '/'
    const isGone = attributes.some((one) => one.toLowerCase().startsWith('expires=thu, 01 jan 1970'))
    if (value === '' || isGone) this.#jar.delete(name)
    else this.#jar.set(name, { value, path })
  }
}

export const pkce = () => {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

export interface Flow {
  readonly issuer: string
  readonly clientId: string
  readonly redirect: string
  readonly resource?: string
  readonly scope?: string
  readonly state?: string
  readonly more?: Record<string, string>
}

export function authorizeUrl(
  { issuer, clientId, redirect, resource, scope, state = 's', more = {} }: Flow,
  challenge: string,
) {
  const query = new URLSearchParams({
    ...{ response_type: 'code', client_id: clientId, redirect_uri: redirect, state },
    ...{ code_challenge: challenge, code_challenge_method: 'S256' },
    ...(resource !== undefined && { resource }),
    ...(scope !== undefined && { scope }),
    ...more,
  })
  return `${issuer}/oauth/authorize?${query}`
}

/** The values of a form's hidden fields. */
export const hiddenOf = (html: string): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, n, v]) => [n, v]),
  )

export const formBody = (fields: Record<string, string>) => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
  body: new URLSearchParams(fields).toString(),
})

/** Follows redirects of the platform until a page is shown, or until they lead elsewhere. */
export async function follow(
  visitor: Visitor,
  start: string,
  issuer: string,
): Promise<{ url: string; page?: Response }> {
  for (let url = start, hops = 0; hops < 10; hops++) {
    if (!url.startsWith(`${issuer}/`)) return { url }
    const response = await visitor.go(url)
    const location = response.headers.get('location')
    if (location === null) return { url, page: response }
    url = new URL(location, url).href
  }
  throw new Error('too many redirects')
}

export interface Person {
  readonly email: string
  readonly password: string
}

export interface Consented {
  readonly back: URL
  readonly pages: { readonly url: string; readonly html: string; readonly headers: Headers }[]
}

/** Signs in and allows, as a person does in the browser. Returns where the browser ends up. */
export async function allow(
  visitor: Visitor,
  start: string,
  issuer: string,
  key: string | Person = adminKey,
  last = 'allow',
): Promise<Consented> {
  const pages: Consented['pages'] = []
  let at = await follow(visitor, start, issuer)
  while (at.page) {
    const html = await at.page.text()
    pages.push({ url: at.url, html, headers: at.page.headers })
    const isSignIn = html.includes('name="key"')
    if (pages.length > 4 || !html.includes('<form')) throw new Error(`${at.page.status} ${html}`)
    const account: Record<string, string> =
      typeof key === 'string' ? { method: 'api_key', key } : { method: 'password', ...key }
    const fields = { ...hiddenOf(html), ...(isSignIn ? { ...account, do: 'sign-in' } : { do: last }) }
    const answer = await visitor.go(at.url, formBody(fields))
    const location = answer.headers.get('location')
    if (location === null) throw new Error(`${answer.status} ${await answer.text()}`)
    at = await follow(visitor, new URL(location, at.url).href, issuer)
  }
  return { back: new URL(at.url), pages }
}

export async function register(
  issuer: string,
  metadata: object,
  send: typeof fetch = fetch,
): Promise<Record<string, string>> {
  const response = await send(`${issuer}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(metadata),
  })
  return { ...((await response.json()) as Record<string, string>), status: String(response.status) }
}

export async function tokenRequest(issuer: string, fields: Record<string, string>, send: typeof fetch = fetch) {
  const response = await send(`${issuer}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  })
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses field by field, and a wrong field name fails the test
  return { status: response.status, headers: response.headers, body: (await response.json()) as any }
}

export interface Obtained {
  readonly token: string
  readonly refresh: string
  readonly clientId: string
  readonly code: string
  readonly verifier: string
  readonly pages: Consented['pages']
}

/** A token for an endpoint, obtained as an editor does: register, open the browser, exchange the code. */
export async function obtain(
  issuer: string,
  resource: string,
  options: { key?: string; person?: Person; scope?: string; name?: string } = {},
): Promise<Obtained> {
  const { key = adminKey, person, scope, name = 'An editor' } = options
  const redirect = 'http://127.0.0.1:51234/callback'
  const { client_id: clientId = '' } = await register(issuer, { client_name: name, redirect_uris: [redirect] })
  const { verifier, challenge } = pkce()
  const start = authorizeUrl({ issuer, clientId, redirect, resource, ...(scope && { scope }) }, challenge)
  const { back, pages } = await allow(new Visitor(), start, issuer, person ?? key)
  const code = back.searchParams.get('code') ?? ''
  const answer = await tokenRequest(issuer, {
    ...{
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirect,
      client_id: clientId,
      code_verifier: verifier,
      resource,
    },
  })
  if (answer.status !== 200) throw new Error(`${back.href} ${JSON.stringify(answer.body)}`)
  return { token: answer.body.access_token, refresh: answer.body.refresh_token, clientId, code, verifier, pages }
}
