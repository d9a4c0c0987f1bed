import type { JsonObject } from '../../lib/json.ts'
import { parseScopes } from './challenge.ts'
import type { Tokens } from './types.ts'

/** Assumed if a server names no lifetime. Applies only to tokens that can be refreshed. */
const defaultSeconds = 3600

export interface TokenExpectation {
  readonly scopes?: readonly string[] | undefined
  /** Kept if the response has none. */
  readonly refreshToken?: string
  readonly account?: string | undefined
}

/** The tokens of a standard response. Without `scope`, the scopes are those that were requested (RFC 6749, section 5.1). */
export function toTokens(response: JsonObject, { scopes: requested = [], ...expected }: TokenExpectation): Tokens {
  const { access_token, refresh_token = expected.refreshToken, expires_in, scope } = response
  const refreshToken = typeof refresh_token === 'string' ? refresh_token : undefined
  const seconds = typeof expires_in === 'number' ? expires_in : refreshToken === undefined ? undefined : defaultSeconds
  const scopes = (typeof scope === 'string' ? parseScopes(scope) : undefined) ?? requested
  return {
    accessToken: String(access_token),
    ...(refreshToken !== undefined && { refreshToken }),
    tokenType: 'Bearer',
    ...(seconds !== undefined && { expiresAt: Date.now() + seconds * 1000 }),
    scopes,
    extraScopes: scopes.filter((one) => !requested.includes(one)),
    ...(expected.account !== undefined && { account: expected.account }),
  }
}
