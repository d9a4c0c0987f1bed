import { isCsrfTokenOf } from '../access/sessions.ts'
import { PlatformError } from '../model/errors.ts'
import type { Exchange } from './exchange.ts'

type Asked = Pick<Exchange, 'method' | 'headers'>

/** A browser keeps the cookies of all ports of a host together, so two platforms on one host need two names. */
function cookieName({ headers }: Asked): string {
  const [, port] = /:(\d+)$/.exec(headers.host ?? '') ?? []
  return port === undefined ? 'qm_session' : `qm_session_${port}`
}

export function sessionTokenOf(request: Asked): string | undefined {
  const { cookie } = request.headers
  if (cookie === undefined) return undefined
  const name = cookieName(request)
  const cookies = cookie.split(';').map((one) => one.trim())
  return cookies.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1) || undefined
}

/** Scripts cannot read it, and the browser sends it to no one but us, from no pages but ours. */
export function sessionCookie(token: string, request: Asked): string {
  const isSecure = request.headers['x-forwarded-proto']?.startsWith('https')
  const maxAge = token === '' ? 0 : 30 * 24 * 60 * 60
  return `${cookieName(request)}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${isSecure ? '; Secure' : ''}`
}

const isSafe = (method: string) => method === 'GET' || method === 'HEAD'

/**
 * A browser sends cookies to every port of a host and calls all of them one site, so SameSite does not suffice.
 * `Sec-Fetch-Site` decides where it is sent; otherwise the origin must be the host that was asked.
 */
export function requireOwnPage({ method, headers }: Asked): void {
  const { 'sec-fetch-site': from, origin } = headers
  const isOwn =
    from === undefined ? origin === undefined || hostOf(origin) === headers.host : isOwnSite(from, isSafe(method))
  if (!isOwn) throw new PlatformError('FORGED_REQUEST', { reason: 'origin' })
}

/** `none` is a person who typed the address. */
const isOwnSite = (from: string, reads: boolean) => from === 'same-origin' || (from === 'none' && reads)

const hostOf = (origin: string) => URL.parse(origin)?.host

export function requireCsrfToken({ method, headers }: Asked, token: string): void {
  if (isSafe(method) || isCsrfTokenOf(token, headers['x-quartermaster-csrf'] ?? null)) return
  throw new PlatformError('FORGED_REQUEST', { reason: 'token' })
}
