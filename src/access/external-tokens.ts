import { hash } from 'node:crypto'
import { createRemoteJWKSet, customFetch, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import type { Principal } from '../model/principal.ts'
import type { TrustedIssuer } from '../model/trusted-issuer.ts'
import type { Store } from '../store/store.ts'

const timeoutMs = 5000
const cooldownMs = 30_000
/** Differences between clocks that are tolerated. */
const toleranceSeconds = 30
/** Work that a token has started may go on this long after the last valid token was seen. */
const lingerMs = 60 * 60 * 1000

export interface ExternalDeps {
  readonly store: Store
  /** Behind the egress guard, on connections of that project. */
  readonly fetchFor: (projectId: string) => typeof fetch
  /** The project of the MCP server with this URL. */
  readonly projectAt: (url: string) => Promise<string | undefined>
}

export interface Verified {
  readonly principal: Principal
  readonly expiresAt: number
}

/**
 * Access tokens of issuers that a project trusts. The issuer and the subject identify a caller, so the same subject at
 * another issuer is somebody else. What a caller may do follows from the claims of the token.
 */
export class ExternalTokens {
  readonly #deps: ExternalDeps
  readonly #keys = new Map<string, { readonly keys: Promise<JWTVerifyGetKey>; readonly at: number }>()

  constructor(deps: ExternalDeps) {
    this.#deps = deps
    deps.store.changes.subscribe('trusted_issuers', () => this.#keys.clear())
  }

  owns(id: string): boolean {
    return id.startsWith('ext_')
  }

  /** `issuer` is what the token says before it is verified. Undefined if no project accepts the token. */
  async verify(token: string, issuer: string): Promise<Verified | undefined> {
    for (const trusted of await this.#deps.store.trustedIssuers.enabledFor(issuer)) {
      const claims = await this.#claimsOf(token, trusted)
      const verified = claims && (await this.#admit(claims, trusted))
      if (verified) return verified
    }
    return undefined
  }

  /** As it was with the last token. Undefined some time after that, or once the issuer is no longer trusted. */
  async principal(id: string): Promise<Principal | undefined> {
    const { store } = this.#deps
    const row = await store.trustedIssuers.findIdentity(id)
    const trusted = row && (await store.trustedIssuers.find(row.trusted_issuer_id))
    if (!row || !trusted?.enabled) return undefined
    const token = { ...(row.audience !== null && { audience: row.audience }), scopes: ['mcp'] }
    return this.#principal(id, row.name, trusted, JSON.parse(row.access_policy_ids), token)
  }

  async #claimsOf(token: string, trusted: TrustedIssuer): Promise<JWTPayload | undefined> {
    try {
      const { payload } = await jwtVerify(token, await this.#keysOf(trusted), {
        algorithms: [...trusted.algorithms],
        issuer: trusted.issuer,
        requiredClaims: ['exp', 'sub', 'aud'],
        clockTolerance: toleranceSeconds,
      })
      return payload
    } catch {
      return undefined
    }
  }

  async #admit(claims: JWTPayload, trusted: TrustedIssuer): Promise<Verified | undefined> {
    const [audience, ...others] = [claims.aud].flat()
    const { sub = '', exp = 0 } = claims
    if (audience === undefined || others.length > 0 || sub === '') return undefined
    if (trusted.audience !== null && audience !== trusted.audience) return undefined
    if (trusted.audience === null && (await this.#deps.projectAt(audience)) !== trusted.project_id) return undefined
    if (trusted.required_claim && !has(claims, trusted.required_claim)) return undefined
    const id = `ext_${hash('sha256', JSON.stringify([trusted.id, trusted.issuer, sub])).slice(0, 32)}`
    const name = String(claims.name ?? claims.email ?? sub).slice(0, 200)
    const matching = trusted.rules.filter((rule) => has(claims, rule)).flatMap((rule) => rule.access_policy_ids)
    const policyIds = [...new Set([...trusted.access_policy_ids, ...matching])]
    const bound = trusted.audience === null ? audience : null
    const expiresAt = exp * 1000
    await this.#deps.store.trustedIssuers.putIdentity({
      ...{ id, trusted_issuer_id: trusted.id, name, audience: bound, expires_at: expiresAt + lingerMs },
      access_policy_ids: JSON.stringify(policyIds),
    })
    const token = { ...(bound !== null && { audience: bound }), scopes: ['mcp'] }
    return { principal: await this.#principal(id, name, trusted, policyIds, token), expiresAt }
  }

  async #principal(
    id: string,
    name: string,
    trusted: TrustedIssuer,
    policyIds: readonly string[],
    token: NonNullable<Principal['token']>,
  ): Promise<Principal> {
    const policies = await this.#deps.store.accessPolicies.findMany(policyIds)
    return {
      ...{ kind: 'oauth', id, name, projectId: trusted.project_id, endUserId: id, rateLimit: null, expiresAt: null },
      grants: policies.map((policy) => ({ policyId: policy.id, statements: policy.document.statement })),
      token,
    }
  }

  /** The keys of an issuer. A failure is remembered for a while, so that a flood of tokens is no flood of requests. */
  #keysOf(trusted: TrustedIssuer): Promise<JWTVerifyGetKey> {
    const known = this.#keys.get(trusted.id)
    if (known) return known.keys
    const keys = this.#discover(trusted)
    const entry = { keys, at: Date.now() }
    this.#keys.set(trusted.id, entry)
    keys.catch(() =>
      setTimeout(() => {
        if (this.#keys.get(trusted.id) === entry) this.#keys.delete(trusted.id)
      }, cooldownMs).unref(),
    )
    return keys
  }

  async #discover(trusted: TrustedIssuer): Promise<JWTVerifyGetKey> {
    const fetch = this.#deps.fetchFor(trusted.project_id)
    const issuer = new URL(trusted.issuer)
    const response = await oauth.discoveryRequest(issuer, {
      [oauth.customFetch]: fetch,
      [oauth.allowInsecureRequests]: issuer.protocol === 'http:',
      signal: AbortSignal.timeout(timeoutMs),
    })
    const metadata = await oauth.processDiscoveryResponse(issuer, response)
    // The library ignores a slash at the end, and RFC 8414 does not.
    if (metadata.issuer !== trusted.issuer) throw new Error('its metadata names another issuer')
    const url = new URL(metadata.jwks_uri ?? '')
    if (url.protocol !== issuer.protocol && url.protocol !== 'https:')
      throw new Error('its keys are not at an https URL')
    return createRemoteJWKSet(url, { [customFetch]: fetch, cooldownDuration: cooldownMs, timeoutDuration: timeoutMs })
  }
}

const has = (claims: JWTPayload, { claim, value }: { readonly claim: string; readonly value: string }): boolean =>
  Object.hasOwn(claims, claim) && [claims[claim]].flat().some((one) => one === value)
