import type { Keys } from '../access/keys.ts'
import { isCsrfTokenOf, type Sessions } from '../access/sessions.ts'
import type { Surface } from '../model/call.ts'
import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import { bearer, restSurface } from './asking.ts'

export interface Identity {
  readonly principal: Principal
  readonly surface: Surface
}

type Asked = Pick<Request, 'method' | 'headers'>

/** Who sends a request: the holder of its API key or, where it has none, whoever is signed in at the dashboard. */
export async function identify(request: Asked, host: { keys: Keys; sessions: Sessions }): Promise<Identity> {
  const { headers } = request
  const authorization = headers.get('authorization') ?? undefined
  const token = authorization === undefined ? sessionTokenOf(request) : undefined
  if (token === undefined) {
    const surface = restSurface(headers.get('x-quartermaster-surface') ?? undefined)
    return { principal: await host.keys.authenticate(bearer(authorization)), surface }
  }
  requireOwnPage(request)
  const { principal } = await host.sessions.authenticate(token)
  requireCsrfToken(request, token)
  return { principal, surface: 'web' }
}

/** A browser keeps the cookies of all ports of a host together, so those of two platforms need two names. */
function cookieName({ headers }: Asked): string {
  const [, port] = /:(\d+)$/.exec(headers.get('host') ?? '') ?? []
  return port === undefined ? 'qm_session' : `qm_session_${port}`
}

export function sessionTokenOf(request: Asked): string | undefined {
  const { headers } = request
  const name = cookieName(request)
  const cookies = (headers.get('cookie') ?? '').split(';').map((cookie) => cookie.trim())
  return cookies.find((cookie) => cookie.startsWith(`${name}=`))?.slice(name.length + 1) || undefined
}

/** A cookie that scripts cannot read, and that the browser sends to nobody but us and from nowhere but our own pages. */
export function sessionCookie(token: string, request: Request): string {
  const { headers, url } = request
  const isSecure = (headers.get('x-forwarded-proto') ?? new URL(url).protocol).startsWith('https')
  const lasts = token === '' ? 0 : 30 * 24 * 60 * 60
  return `${cookieName(request)}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${lasts}${isSecure ? '; Secure' : ''}`
}

const isSafe = (method: string) => method === 'GET' || method === 'HEAD'

/**
 * A browser sends cookies to every port of a host and calls all of them one site, so SameSite does not suffice. What the
 * browser says of where the request comes from decides, where it says so; else the origin must be the host that was asked.
 */
export function requireOwnPage({ method, headers }: Asked): void {
  const from = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  const isOwn =
    from === null ? origin === null || hostOf(origin) === headers.get('host') : isOwnSite(from, isSafe(method))
  if (!isOwn) throw new PlatformError('FORGED_REQUEST', { reason: 'origin' })
}

/** `none` is a person who typed the address. */
const isOwnSite = (from: string, reads: boolean) => from === 'same-origin' || (from === 'none' && reads)

const hostOf = (origin: string) => (URL.canParse(origin) ? new URL(origin).host : undefined)

export function requireCsrfToken({ method, headers }: Asked, token: string): void {
  if (isSafe(method) || isCsrfTokenOf(token, headers.get('x-quartermaster-csrf'))) return
  throw new PlatformError('FORGED_REQUEST', { reason: 'token' })
}
