import type { Logger } from 'pino'
import type { DashboardSessions } from '../../access/dashboard-sessions.ts'
import {
  singleSignOnPath as base,
  flowSeconds,
  redirectUriAt,
  type SingleSignOn,
} from '../../credentials/single-sign-on.ts'
import { PlatformError } from '../../model/errors.ts'
import { cookieOf, cookieText, sessionCookie } from '../../server/browser-session.ts'
import { sendError, toPlatformError } from '../../server/error-reply.ts'
import { type Exchange, sendJson } from '../../server/exchange.ts'
import type { Route } from '../../server/router.ts'
import type { Store } from '../../store/store.ts'

const noStore = { 'cache-control': 'no-store' }

export interface SingleSignOnRouteDeps {
  readonly sessions: DashboardSessions
  readonly singleSignOn: SingleSignOn
  readonly store: Store
  readonly log: Logger
  publicUrl(): string | undefined
}

/**
 * Sign-in with a company account. The browser goes to the provider and comes back from another site, so the cookie of a
 * sign-in in progress is Lax. The session cookie stays Strict: the page that is opened then sends it itself.
 */
export function singleSignOnRoutes({ sessions, singleSignOn, store, log, publicUrl }: SingleSignOnRouteDeps): Route[] {
  /** Never from the Host header, which the client chooses. */
  const home = () => {
    const url = publicUrl()
    if (url === undefined) throw new PlatformError('PUBLIC_URL_REQUIRED', {})
    return url
  }
  /** The browser shows pages, so errors are shown on the sign-in page. */
  const toSignIn = (exchange: Exchange, error: unknown) => {
    const known = toPlatformError(error, log)
    if (known.code === 'SIGN_IN_PROVIDER_FAILED') log.warn({ code: known.code, details: known.details }, known.message)
    const { reason } = known.details as { reason?: string }
    const shown = known.code === 'SIGN_IN_REFUSED' ? String(reason).replaceAll(' ', '_') : 'failed'
    redirect(exchange, `/?sign_in_error=${shown}`)
  }
  const start = async (exchange: Exchange, id: string) => {
    const query = new URLSearchParams(exchange.query)
    const returnTo = pathOf(query.get('return_to'))
    // The provider returns to the public URL, and cookies of another host would not arrive there.
    if (new URL(home()).host !== exchange.headers.host && !query.has('here')) {
      return redirect(
        exchange,
        `${home()}${base}/${encodeURIComponent(id)}/start?here=1&return_to=${encodeURIComponent(returnTo)}`,
      )
    }
    const { url, cookie } = await singleSignOn.start(id, redirectUriAt(home()) as string, returnTo)
    exchange.addCookie(flowCookie(exchange, cookie))
    redirect(exchange, url.href)
  }
  const finish = async (exchange: Exchange) => {
    // One try per sign-in.
    exchange.addCookie(flowCookie(exchange, ''))
    const now = Date.now()
    const query = new URLSearchParams(exchange.query)
    const { principal, returnTo } = await singleSignOn.finish(cookieOf(exchange, 'sign_in'), query)
    const { token } = await sessions.start(principal, now)
    exchange.addCookie(sessionCookie(token, exchange))
    exchange.send(200, pageHeaders, goTo(returnTo))
  }
  const page = (path: string, handle: (exchange: Exchange, id: string) => Promise<void>): Route => ({
    method: 'GET',
    path: `${base}${path}`,
    handle: (exchange, { provider = '' }) => handle(exchange, provider).catch((error) => toSignIn(exchange, error)),
  })
  return [
    {
      method: 'GET',
      path: '/api/v1/dashboard/sign-in-options',
      handle: async (exchange) => {
        try {
          const options = {
            people: await store.users.exist(),
            providers: await store.signInProviders.listEnabled(),
            redirect_uri: redirectUriAt(publicUrl()) ?? null,
          }
          sendJson(exchange, 200, JSON.stringify(options), noStore)
        } catch (error) {
          sendError(exchange, error, log, noStore)
        }
      },
    },
    page('/callback', finish),
    page('/:provider/start', start),
  ]
}

const flowCookie = (exchange: Exchange, value: string) =>
  cookieText(exchange, { purpose: 'sign_in', value, path: base, sameSite: 'Lax', seconds: flowSeconds })

const pageHeaders = {
  ...noStore,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/**
 * A page that opens another one. After a redirect, browsers would still count the next request as one of the provider's
 * site and leave out the session cookie.
 */
function goTo(path: string): string {
  const url = escapeHtml(path)
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${url}">
<title>Signed in</title><p><a href="${url}">Continue</a></p></html>`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escapeHtml = (text: string) => text.replaceAll(/[&<>"']/g, (character) => entities[character] as string)

const redirect = (exchange: Exchange, location: string) =>
  exchange.send(303, { ...noStore, location, 'referrer-policy': 'no-referrer' })

/** A path of the dashboard, never another site. */
function pathOf(text: string | null): string {
  const url = URL.parse(text ?? '/', 'http://dashboard')
  // Two slashes would be the name of a host.
  return url?.origin === 'http://dashboard' ? `${url.pathname.replace(/^\/+/, '/')}${url.search}` : '/'
}
