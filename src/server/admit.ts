import type { Authenticator } from '../access/authenticator.ts'
import type { DashboardSessions } from '../access/dashboard-sessions.ts'
import type { Allowance, RateLimit } from '../access/rate-limit.ts'
import { type Lineage, lineageHeader } from '../http/lineage.ts'
import type { Surface } from '../model/call.ts'
import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import type { RequestContext as Caller } from '../operations/operation.ts'
import { requireCsrfToken, requireOwnPage, sessionTokenOf } from './browser-session.ts'
import type { Exchange, ReplyHeaders } from './exchange.ts'

/** An admitted caller and its remaining rate limit; undefined without a limit. */
export interface Admission {
  readonly caller: Caller
  readonly allowance: Allowance | undefined
}

export interface AdmitDeps {
  readonly authenticator: Authenticator
  readonly sessions: DashboardSessions
  readonly rateLimit: RateLimit
  readonly lineage: Lineage
  /** Aborted when the platform stops. */
  readonly closing: AbortSignal
  /** Whether the platform listens on loopback only. Then a foreign Host header means DNS rebinding. */
  readonly onLoopback: boolean
  /** QM_PUBLIC_URL. A proxy on this machine may pass its host on. */
  readonly publicUrl?: string | undefined
}

export type Admit = (exchange: Exchange, endpoint: 'rest' | 'mcp') => Promise<Admission>

/**
 * Every authenticated request passes here once, before its body is read: shutdown, identity, rate limit, and lineage
 * (whether it is part of another call).
 */
export function createAdmit(deps: AdmitDeps): Admit {
  const { authenticator, sessions, rateLimit, lineage, closing, onLoopback } = deps
  const publicHost = deps.publicUrl && new URL(deps.publicUrl).host

  /** REST also accepts the session cookie of the dashboard. */
  const identify = async (exchange: Exchange): Promise<{ principal: Principal; surface: Surface }> => {
    const { headers } = exchange
    const token = headers.authorization === undefined ? sessionTokenOf(exchange) : undefined
    if (token === undefined) {
      const surface = restSurface(headers['x-quartermaster-surface'])
      const principal = await authenticator.authenticate(headers)
      // Tokens are issued for MCP endpoints.
      if (principal.token) throw new PlatformError('UNAUTHENTICATED', { reason: 'token' })
      return { principal, surface }
    }
    requireOwnPage(exchange)
    const { principal } = await sessions.authenticate(token)
    requireCsrfToken(exchange, token)
    return { principal, surface: 'web' }
  }

  return async (exchange, endpoint) => {
    const { headers } = exchange
    if (closing.aborted) throw new PlatformError('SHUTTING_DOWN', {})
    if (endpoint === 'mcp') requireOwnHost(exchange, onLoopback, publicHost)
    const { principal, surface } =
      endpoint === 'mcp'
        ? { principal: await authenticator.authenticate(headers), surface: endpoint }
        : await identify(exchange)
    const allowance = rateLimit.take(principal.actsFor ?? principal.id, principal.rateLimit)
    const parent = lineage.read(headers[lineageHeader])
    const caller: Caller = {
      principal: inMode(principal, headers['x-quartermaster-mode']),
      surface,
      // The user agent of a browser says nothing about who made the request.
      client: clientOf(surface === 'web' ? 'dashboard' : headers['user-agent']),
      parentCallId: parent?.parentCallId ?? null,
      depth: parent?.depth ?? 0,
      gone: () => exchange.gone,
      home: endpoint === 'mcp' && headers.host ? `http://${headers.host}` : undefined,
    }
    return { caller, allowance }
  }
}

/** A request can choose one of the modes of its key. */
function inMode(principal: Principal, mode: string | undefined): Principal {
  if (mode === undefined) return principal
  const { modes = [] } = principal
  if (!modes.includes(mode)) throw new PlatformError('MODE_NOT_ALLOWED', { mode: mode.slice(0, 100), modes })
  return { ...principal, mode }
}

/** The CLI and the SDK identify themselves. Every other surface is determined by the endpoint. */
const restSurface = (named: string | undefined): Surface => (named === 'cli' || named === 'sdk' ? named : 'rest')

/** Blocks DNS rebinding and cross-origin requests, which show in the Host or Origin header. */
function requireOwnHost({ headers: { host = '', origin } }: Exchange, onLoopback: boolean, publicHost?: string): void {
  const isOther = onLoopback && host !== '' && host !== publicHost && !localHost.test(host)
  if (isOther) throw new PlatformError('FOREIGN_ORIGIN', { header: 'Host' })
  const isForeign = origin !== undefined && origin !== 'null' && URL.parse(origin)?.host !== host
  if (isForeign) throw new PlatformError('FOREIGN_ORIGIN', { header: 'Origin' })
}

const localHost = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i

/** The client program, from the user agent. */
function clientOf(userAgent = ''): Caller['client'] {
  const [, name = null, version = null] = /^([^\s/]+)(?:\/(\S+))?/.exec(userAgent) ?? []
  return { name, version }
}

/** The rate limit headers of a reply. */
export const rateHeaders = (allowance: Allowance | undefined): ReplyHeaders =>
  allowance
    ? {
        'ratelimit-limit': String(allowance.limit),
        'ratelimit-remaining': String(allowance.remaining),
        'ratelimit-reset': String(allowance.resetSeconds),
      }
    : noHeaders

const noHeaders: ReplyHeaders = {}
