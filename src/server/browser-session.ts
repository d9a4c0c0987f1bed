import { type DashboardSessions, isCsrfTokenOf, type SignedIn } from '../access/dashboard-sessions.ts'
import { PlatformError } from '../model/errors.ts'
import type { Exchange } from './exchange.ts'

type BrowserRequest = Pick<Exchange, 'method' | 'headers'>

/** Browsers share cookies between all ports of a host, so two platforms on one host need different names. */
function cookieName({ headers }: BrowserRequest, purpose: string): string {
  const [, port] = /:(\d+)$/.exec(headers.host ?? '') ?? []
  return port === undefined ? `qm_${purpose}` : `qm_${purpose}_${port}`
}

export const sessionTokenOf = (request: BrowserRequest): string | undefined => cookieOf(request, 'session')

/** The value of one of our cookies. */
export function cookieOf(request: BrowserRequest, purpose: string): string | undefined {
  const { cookie } = request.headers
  if (cookie === undefined) return undefined
  const name = cookieName(request, purpose)
  const cookies = cookie.split(';').map((one) => one.trim())
  return cookies.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1) || undefined
}

/**
 * Who is signed in to the dashboard in this browser; undefined if nobody is. The session cookie is Strict: browsers do not
 * send it if another site opened the page, not even after a redirect of ours.
 */
export async function findSignedIn(
  request: BrowserRequest,
  sessions: DashboardSessions,
): Promise<SignedIn | undefined> {
  const token = sessionTokenOf(request)
  if (token === undefined) return undefined
  return sessions.authenticate(token).catch((error: unknown) => {
    if (error instanceof PlatformError && error.code === 'UNAUTHENTICATED') return undefined
    throw error
  })
}

/** HttpOnly and SameSite=Strict: scripts cannot read it, and other sites cannot send it. */
export const sessionCookie = (token: string, request: BrowserRequest): string =>
  cookieText(request, { purpose: 'session', value: token, path: '/', sameSite: 'Strict', seconds: 30 * 24 * 60 * 60 })

export interface Cookie {
  readonly purpose: string
  /** An empty value deletes the cookie. */
  readonly value: string
  readonly path: string
  /** Lax cookies are also sent when another site sends the browser to a page of ours. */
  readonly sameSite: 'Strict' | 'Lax'
  readonly seconds: number
}

/** Scripts cannot read it. */
export function cookieText(request: BrowserRequest, { purpose, value, path, sameSite, seconds }: Cookie): string {
  const secure = request.headers['x-forwarded-proto']?.startsWith('https') ? '; Secure' : ''
  const maxAge = value === '' ? 0 : seconds
  return `${cookieName(request, purpose)}=${value}; Path=${path}; HttpOnly; SameSite=${sameSite}; Max-Age=${maxAge}${secure}`
}

const isSafe = (method: string) => method === 'GET' || method === 'HEAD'

/**
 * CSRF protection. SameSite is not enough: all ports of a host are the same site and share cookies. `Sec-Fetch-Site`
 * decides if the browser sends it. Otherwise the Origin must match the Host.
 */
export function requireOwnPage({ method, headers }: BrowserRequest): void {
  const { 'sec-fetch-site': from, origin } = headers
  const isOwn =
    from === undefined ? origin === undefined || hostOf(origin) === headers.host : isOwnSite(from, isSafe(method))
  if (!isOwn) throw new PlatformError('FORGED_REQUEST', { reason: 'origin' })
}

/** `none`: the user typed the address. */
const isOwnSite = (from: string, reads: boolean) => from === 'same-origin' || (from === 'none' && reads)

const hostOf = (origin: string) => URL.parse(origin)?.host

export function requireCsrfToken({ method, headers }: BrowserRequest, token: string): void {
  if (isSafe(method) || isCsrfTokenOf(token, headers['x-quartermaster-csrf'] ?? null)) return
  throw new PlatformError('FORGED_REQUEST', { reason: 'token' })
}
