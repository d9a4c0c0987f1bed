import { expect, test, vi } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { standardize } from './standardize.ts'
import { toTokens } from './tokens.ts'
import type { Quirks } from './types.ts'

const read = (body: JsonObject, scopes: readonly string[] = [], quirks?: Quirks) =>
  toTokens(standardize(body, quirks), { scopes })

const now = new Date('2026-11-18T00:00:00Z')
const secondsLeft = (body: JsonObject) => {
  vi.useFakeTimers({ now })
  const { expiresAt } = read({ access_token: 'at', ...body })
  vi.useRealTimers()
  return expiresAt === undefined ? undefined : (expiresAt - now.getTime()) / 1000
}

test.for([
  [3600, 3600],
  ['7200', 7200],
  [59.5, 60],
  [undefined, 3600],
  [null, 3600],
  [0, 3600],
  [-5, 3600],
  ['soon', 3600],
  ['', 3600],
  [true, 3600],
  [{}, 3600],
  [1e12, 31_536_000],
  [Number.POSITIVE_INFINITY, 31_536_000],
] as const)('a lifetime of %o is taken as %o seconds', ([stated, seconds]) => {
  const body = { refresh_token: 'rt', ...(stated !== undefined && { expires_in: stated as number }) }
  expect(secondsLeft(body)).toBe(seconds)
})

test('a token without lifetime and without refresh token is used until it is rejected', () => {
  expect(secondsLeft({})).toBeUndefined()
  expect(secondsLeft({ expires_in: -1 })).toBeUndefined()
})

test('scopes are those granted, and those that nobody requested are pointed out', () => {
  const narrower = read({ access_token: 'at', scope: 'read' }, ['read', 'write'])
  expect(narrower).toMatchObject({ scopes: ['read'], extraScopes: [] })
  const wider = read({ access_token: 'at', scope: 'read admin' }, ['read'])
  expect(wider).toMatchObject({ scopes: ['read', 'admin'], extraScopes: ['admin'] })
  const silent = read({ access_token: 'at' }, ['read'])
  expect(silent).toMatchObject({ scopes: ['read'], extraScopes: [] })
})

test('scopes may be separated by commas, or be a list', () => {
  const comma = { scopeDelimiter: ',' }
  expect(read({ access_token: 'at', scope: 'repo,user:email' }, [], comma).scopes).toEqual(['repo', 'user:email'])
  expect(read({ access_token: 'at', scope: ['a', 'b'] }).scopes).toEqual(['a', 'b'])
})

test('the user token of an app that also issues a bot token can be chosen', () => {
  const body = {
    ok: true,
    access_token: 'xoxb-bot',
    scope: 'bot:scope',
    authed_user: { id: 'U1', access_token: 'xoxp-user', scope: 'search:read,users:read', token_type: 'user' },
  }
  const quirks = { tokenPath: 'authed_user', scopeDelimiter: ',' }
  expect(read(body, [], quirks)).toMatchObject({ accessToken: 'xoxp-user', scopes: ['search:read', 'users:read'] })
  expect(read(body, [], { scopeDelimiter: ',' })).toMatchObject({ accessToken: 'xoxb-bot', scopes: ['bot:scope'] })
})

test.for(['with\nnewline', 'ünicode', '', 7, null, {}] as const)('%o is not accepted as a token', (token) => {
  expect(standardize({ access_token: token }, undefined)).not.toHaveProperty('access_token')
  expect(standardize({ access_token: 'at', refresh_token: token }, undefined)).not.toHaveProperty('refresh_token')
})
