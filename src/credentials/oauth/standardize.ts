import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { isScope } from './challenge.ts'
import type { Quirks } from './types.ts'

/** A year. */
const maxSeconds = 31_536_000

/** Error codes of popular apps, and what the standard calls them. */
const standardCodes: Readonly<Record<string, string>> = {
  bad_verification_code: 'invalid_grant',
  bad_refresh_token: 'invalid_grant',
  incorrect_client_credentials: 'invalid_client',
  invalid_code: 'invalid_grant',
  code_already_used: 'invalid_grant',
  code_expired: 'invalid_grant',
  invalid_refresh_token: 'invalid_grant',
  token_expired: 'invalid_grant',
  token_revoked: 'invalid_grant',
  invalid_client_id: 'invalid_client',
  bad_client_secret: 'invalid_client',
  ratelimited: 'temporarily_unavailable',
  internal_error: 'temporarily_unavailable',
}

/**
 * Turns the token responses of apps into standard ones. Slack reports errors with `ok: false` and status 200, GitHub with
 * status 200; several leave out `token_type`, separate scopes by commas, or send lifetimes that are no lifetimes.
 */
export function standardize(body: JsonObject, quirks: Quirks | undefined): JsonObject {
  const { error, ...success } = body
  // Some apps send an empty error on success.
  if (error || body.ok === false) {
    const code = typeof error === 'string' ? (standardCodes[error] ?? error) : (error ?? 'unknown_error')
    return { ...body, error: code }
  }
  const inner = quirks?.tokenPath === undefined ? undefined : at(body, quirks.tokenPath)
  // Scopes beside the inner token are those of another token.
  const { scope: _, ...outer } = success
  const stated: JsonObject = isObject(inner) ? { ...outer, ...inner } : success
  const { access_token, refresh_token, expires_in, scope, token_type, ...rest } = stated
  const seconds = secondsIn(expires_in)
  const scopes = scopesIn(scope, quirks !== undefined)
  return {
    ...rest,
    ...(isToken(access_token) && { access_token }),
    ...(isToken(refresh_token) && { refresh_token }),
    ...(seconds !== undefined && { expires_in: seconds }),
    ...(scopes !== undefined && { scope: scopes }),
    // Apps name their own kinds here, such as `bot`. All of them are used as bearer tokens.
    token_type: quirks || typeof token_type !== 'string' || token_type === '' ? 'bearer' : token_type,
  }
}

/** Tokens are sent in a header, so only characters that are valid there are accepted. */
const isToken = (value: Json | undefined): value is string =>
  typeof value === 'string' && /^[\x20-\x7e]{1,65536}$/.test(value)

function secondsIn(value: Json | undefined): number | undefined {
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof seconds === 'number' && seconds > 0 ? Math.min(Math.ceil(seconds), maxSeconds) : undefined
}

function scopesIn(value: Json | undefined, withCommas: boolean): string | undefined {
  const texts = Array.isArray(value) ? value : [value]
  const separator = withCommas ? /[\s,]+/ : /\s+/
  const scopes = texts.flatMap((text) => (typeof text === 'string' ? text.split(separator) : [])).filter(isScope)
  return scopes.length > 0 ? [...new Set(scopes)].join(' ') : undefined
}

/** The value at a path such as `team.name`. */
export function at(value: Json | undefined, path: string): Json | undefined {
  let current = value
  for (const name of path.split('.')) {
    if (Array.isArray(current)) current = current[Number(name)]
    else if (isObject(current) && Object.hasOwn(current, name)) current = current[name]
    else return undefined
  }
  return current
}
