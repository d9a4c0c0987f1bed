import type { Allowance } from '../access/rate-limit.ts'
import type { Surface } from '../model/call.ts'
import type { Principal } from '../model/principal.ts'
import type { Request as Asking } from '../operations/operation.ts'

/** The token of an Authorization header. */
export const bearer = (header: string | undefined): string | undefined => /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1]

/** The command line and the SDK name themselves; every other surface is known by the way a request comes in. */
export const restSurface = (named: string | undefined): Surface => (named === 'cli' || named === 'sdk' ? named : 'rest')

/** Who asks, and with what. */
export const asking = (principal: Principal, surface: Surface, client: Asking['client']): Asking => ({
  principal,
  surface,
  client,
  parentCallId: null,
  depth: 0,
})

/** The program that someone asks with, as far as the user agent tells. */
export function clientOf(userAgent = ''): Asking['client'] {
  const [, name = null, version = null] = /^([^\s/]+)(?:\/(\S+))?/.exec(userAgent) ?? []
  return { name, version }
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
