import type { Authenticator } from '../access/authenticator.ts'
import type { Allowance, RateLimit } from '../access/rate-limit.ts'
import type { Sessions } from '../access/sessions.ts'
import { type Lineage, lineageHeader } from '../http/lineage.ts'
import type { Surface } from '../model/call.ts'
import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import type { Request as Caller } from '../operations/operation.ts'
import { requireCsrfToken, requireOwnPage, sessionTokenOf } from './browser-session.ts'
import type { Exchange, ReplyHeaders } from './exchange.ts'

/** A caller who was let in, and what its replies say about its rate limit. */
export interface Admission {
  readonly caller: Caller
  readonly headers: ReplyHeaders
}

export interface AdmitDeps {
  readonly authenticator: Authenticator
  readonly sessions: Sessions
  readonly rateLimit: RateLimit
  readonly lineage: Lineage
  /** Aborted when the platform stops. */
  readonly closing: AbortSignal
  /** Whether only this machine can reach the platform, so that a foreign Host header means a tricked browser. */
  readonly onLoopback: boolean
}

export type Admit = (exchange: Exchange, door: 'rest' | 'mcp') => Promise<Admission>

/**
 * Every request that needs a caller passes here, once, before its body is read: is the platform running, who is it, may
 * it ask more, and is it part of another call.
 */
export function createAdmit(deps: AdmitDeps): Admit {
  const { authenticator, sessions, rateLimit, lineage, closing, onLoopback } = deps

  /** REST also takes the cookie of someone who is signed in at the dashboard. */
  const identify = async (exchange: Exchange): Promise<{ principal: Principal; surface: Surface }> => {
    const { headers } = exchange
    const token = headers.authorization === undefined ? sessionTokenOf(exchange) : undefined
    if (token === undefined) {
      const surface = restSurface(headers['x-quartermaster-surface'])
      return { principal: await authenticator.authenticate(headers), surface }
    }
    requireOwnPage(exchange)
    const { principal } = await sessions.authenticate(token)
    requireCsrfToken(exchange, token)
    return { principal, surface: 'web' }
  }

  return async (exchange, door) => {
    const { headers } = exchange
    if (closing.aborted) throw new PlatformError('SHUTTING_DOWN', {})
    if (door === 'mcp') requireOwnHost(exchange, onLoopback)
    const { principal, surface } =
      door === 'mcp'
        ? { principal: await authenticator.authenticate(headers), surface: door }
        : await identify(exchange)
    const allowance = rateLimit.take(principal.id, principal.rateLimit)
    const parent = lineage.read(headers[lineageHeader])
    const caller: Caller = {
      principal,
      surface,
      // What a browser calls itself says nothing about who asked.
      client: clientOf(surface === 'web' ? 'dashboard' : headers['user-agent']),
      parentCallId: parent?.parentCallId ?? null,
      depth: parent?.depth ?? 0,
      gone: () => exchange.gone,
      home: door === 'mcp' && headers.host ? `http://${headers.host}` : undefined,
    }
    return { caller, headers: rateHeaders(allowance) }
  }
}

/** The command line and the SDK name themselves; every other surface is known by how a request comes in. */
const restSurface = (named: string | undefined): Surface => (named === 'cli' || named === 'sdk' ? named : 'rest')

/** A page in a browser that was tricked into calling us says so in its Host or Origin header. */
function requireOwnHost({ headers: { host = '', origin } }: Exchange, onLoopback: boolean): void {
  if (onLoopback && host !== '' && !localHost.test(host)) throw new PlatformError('FOREIGN_ORIGIN', { header: 'Host' })
  const isForeign = origin !== undefined && origin !== 'null' && URL.parse(origin)?.host !== host
  if (isForeign) throw new PlatformError('FOREIGN_ORIGIN', { header: 'Origin' })
}

const localHost = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i

/** The program that a request comes from, as far as its user agent says. */
function clientOf(userAgent = ''): Caller['client'] {
  const [, name = null, version = null] = /^([^\s/]+)(?:\/(\S+))?/.exec(userAgent) ?? []
  return { name, version }
}

const rateHeaders = (allowance: Allowance | undefined): ReplyHeaders =>
  allowance
    ? {
        'ratelimit-limit': String(allowance.limit),
        'ratelimit-remaining': String(allowance.remaining),
        'ratelimit-reset': String(allowance.resetSeconds),
      }
    : noHeaders

const noHeaders: ReplyHeaders = {}
