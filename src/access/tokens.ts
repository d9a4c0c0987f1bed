import { type CryptoKey, decodeJwt, type JWTPayload, jwtVerify } from 'jose'
import { Cached } from '../db/cached.ts'
import type { ChangeEvents } from '../db/change-events.ts'
import type { OauthGrantRow } from '../db/tables.ts'
import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import type { Store } from '../store/store.ts'
import { type Authenticator, bearerToken, type IdentitySource, onChangeOf } from './authenticator.ts'
import type { ExternalTokens } from './external-tokens.ts'

/** `last_used_at` is written at most this often per grant. */
const usedEvery = 60_000
/** Longer tokens are not ours. */
const maxLength = 8192
/** Clients replace their tokens every few minutes, so the cache must not keep them all. */
const maxCached = 10_000

export interface TokenIssuer {
  /** The issuer of our own tokens. */
  readonly issuer: () => string
  /** The public keys they may be signed with, by key id. */
  readonly keys: () => Promise<ReadonlyMap<string, CryptoKey>>
}

interface CachedToken {
  readonly principal: Principal
  readonly expiresAt: number
  /** Shared by all tokens of a grant. Absent for tokens of other issuers. */
  readonly grant?: { usedAt: number }
}

export interface TokenDeps {
  readonly store: Store
  readonly issuer: TokenIssuer
  /** The people and keys that grants act for. */
  readonly holders: Pick<Authenticator, 'principal' | 'onChange'>
  readonly external: Pick<ExternalTokens, 'verify' | 'principal' | 'owns'>
}

/**
 * Finds the principal of an OAuth access token: the person or key that gave the grant, limited to the endpoint and scopes
 * that it was given for. Tokens are cached until they expire, or until the grant, the key or a policy changes.
 */
export class Tokens {
  readonly #byToken: Cached<CachedToken>
  readonly #byGrant: Cached<CachedToken>
  readonly #deps: TokenDeps

  constructor(deps: TokenDeps) {
    const clearOn = ['oauth_grants', 'oauth_keys', 'api_keys', 'users', 'access_policies', 'trusted_issuers'] as const
    this.#deps = deps
    this.#byToken = new Cached(deps.store.changes, {
      clearOn,
      limit: maxCached,
      lifetime: ({ expiresAt }) => expiresAt - Date.now(),
    })
    // Read again now and then, because a refresh extends a grant without an event.
    this.#byGrant = new Cached(deps.store.changes, { clearOn, limit: maxCached, lifetime: () => 10 * usedEvery })
  }

  async authenticate(token: string, now = Date.now()): Promise<Principal> {
    const known = this.#byToken.peek(token) ?? (await this.#byToken.find(token, () => this.#verify(token)))
    if (!known || isOver(known.principal, now)) throw invalid()
    await this.#use(known, now)
    return known.principal
  }

  /** The principal of work that goes on without the token. Undefined once the grant or its giver has no access any more. */
  async principal(grantId: string, now = Date.now()): Promise<Principal | undefined> {
    if (this.#deps.external.owns(grantId)) return this.#deps.external.principal(grantId)
    const known = await this.#byGrant.find(grantId, () => this.#load(grantId))
    return known && known.expiresAt > now && !isOver(known.principal, now) ? known.principal : undefined
  }

  async #use({ principal, grant }: CachedToken, now: number): Promise<void> {
    if (!grant || now - grant.usedAt <= usedEvery) return
    grant.usedAt = now
    await this.#deps.store.oauthGrants.touch(principal.id, { last_used_at: now })
  }

  async #verify(token: string): Promise<CachedToken | undefined> {
    const { issuer, external } = this.#deps
    const claimed = token.length > maxLength ? undefined : issuerOf(token)
    if (claimed === undefined) return undefined
    if (claimed !== issuer.issuer()) return external.verify(token, claimed)
    const claims = await this.#claimsOf(token)
    // The endpoint compares the audience with its own URL, so a list of several would be ambiguous.
    if (typeof claims?.aud !== 'string' || typeof claims.grant !== 'string') return undefined
    const known = await this.#byGrant.find(claims.grant, () => this.#load(claims.grant as string))
    const { principal, grant } = known ?? {}
    const isOwn = principal?.actsFor === claims.sub && principal?.token?.audience === claims.aud
    if (!principal?.token || !grant || !isOwn) return undefined
    const scopes = String(claims.scope ?? '').split(' ')
    const limits = { ...principal.token, scopes: principal.token.scopes.filter((scope) => scopes.includes(scope)) }
    return { principal: { ...principal, token: limits }, expiresAt: (claims.exp ?? 0) * 1000, grant }
  }

  /** The claims of a token that we have signed. The header chooses among our own keys, and nothing else. */
  async #claimsOf(token: string): Promise<JWTPayload | undefined> {
    const { issuer, keys } = this.#deps.issuer
    try {
      const known = await keys()
      const find = ({ kid = '' }) => {
        const key = known.get(kid)
        if (!key) throw invalid()
        return key
      }
      const { payload } = await jwtVerify(token, find, {
        algorithms: ['RS256'],
        typ: 'at+jwt',
        issuer: issuer(),
        requiredClaims: ['exp', 'iat', 'aud', 'sub', 'client_id', 'grant'],
      })
      return payload
    } catch {
      return undefined
    }
  }

  async #load(grantId: string): Promise<CachedToken | undefined> {
    const row = await this.#deps.store.oauthGrants.findRow(grantId)
    const holder = row && (await this.#deps.holders.principal(row.principal_id))
    if (!row || !holder) return undefined
    return { principal: limited(holder, row), expiresAt: row.expires_at, grant: { usedAt: row.last_used_at ?? 0 } }
  }
}

/** What the token says about its issuer. It only decides whose keys the token is checked with. */
function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss
  } catch {
    return undefined
  }
}

const isOver = ({ expiresAt }: Principal, now: number): boolean => expiresAt !== null && expiresAt <= now

const invalid = () => new PlatformError('UNAUTHENTICATED', { reason: 'token' })

/** What the holder may do, within the grant. */
const limited = (holder: Principal, grant: OauthGrantRow): Principal => ({
  ...holder,
  kind: 'oauth',
  id: grant.id,
  name: `${holder.name} via ${grant.client_name}`,
  projectId: grant.project_id ?? holder.projectId,
  actsFor: holder.id,
  ...(grant.signed_in_at !== null && { signedInAt: grant.signed_in_at }),
  token: { audience: grant.resource, serverId: grant.server_id, scopes: grant.scope.split(' ') },
})

/** OAuth access tokens, which are JWTs. */
export const tokenAuthenticator = (
  tokens: Tokens,
  holders: Pick<Authenticator, 'onChange'>,
  changes: ChangeEvents,
): IdentitySource => ({
  owns: (id) => id.startsWith('grant_') || id.startsWith('ext_'),
  accepts: (token) => token.startsWith('eyJ'),
  authenticate: ({ authorization }) => tokens.authenticate(bearerToken(authorization) ?? ''),
  resume: (id) => tokens.principal(id),
  principal: (id) => tokens.principal(id),
  onChange(principal, listener) {
    const { actsFor } = principal
    const stops = [
      onChangeOf('oauth_grants', principal, changes, listener),
      actsFor === undefined
        ? changes.subscribe('trusted_issuers', listener)
        : holders.onChange({ ...principal, id: actsFor }, listener),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  },
})
