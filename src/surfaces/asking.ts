import type { Allowance } from '../access/rate-limit.ts'
import { type Surface, surfaces } from '../model/call.ts'
import type { Principal } from '../model/principal.ts'
import type { Request as Asking } from '../operations/operation.ts'

/** The token of an Authorization header. */
export const bearer = (header: string | undefined): string | undefined => /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1]

/** Who asks, and with what: the command line and the SDK name themselves, others are known by their user agent. */
export function asking(principal: Principal, named: string | undefined, userAgent: string | undefined): Asking {
  const [, name = null, version = null] = /^([^\s/]+)(?:\/(\S+))?/.exec(userAgent ?? '') ?? []
  return {
    principal,
    surface: surfaces.includes(named as Surface) ? (named as Surface) : 'rest',
    client: { name, version },
    parentCallId: null,
    depth: 0,
  }
}

/** How much a key may still ask, in the headers that clients know. */
export const rateHeaders = (allowance: Allowance | undefined): Record<string, string> =>
  allowance
    ? {
        'ratelimit-limit': String(allowance.limit),
        'ratelimit-remaining': String(allowance.remaining),
        'ratelimit-reset': String(allowance.resetSeconds),
      }
    : {}
