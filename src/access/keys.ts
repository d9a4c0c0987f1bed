import { hash } from 'node:crypto'
import { Cached } from '../db/cached.ts'
import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import type { Store } from '../store/store.ts'

/**
 * Keys have about 240 random bits, so a fast hash protects them as well as a slow one. Lookups are by hash, so their
 * timing reveals nothing about the key.
 */
export const hashKey = (key: string): string => hash('sha256', key)

/** `last_used_at` is written at most this often per key. */
const usedEvery = 60_000

interface CachedKey {
  readonly principal: Principal
  usedAt: number
}

const isOver = ({ principal: { expiresAt } }: CachedKey, now: number): boolean => expiresAt !== null && expiresAt <= now

/** Finds the principal of a token. Keys are cached in memory until they or their policies change. */
export class Keys {
  /**
   * Keyed by the token itself: hashing it on every call would cost 2% of the call. Separate from `#byId`, so that an id
   * is never accepted as a token.
   */
  readonly #byToken: Cached<CachedKey>
  readonly #byId: Cached<CachedKey>
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
    const topics = { clearOn: ['api_keys', 'access_policies'] } as const
    this.#byToken = new Cached(store.changes, topics)
    this.#byId = new Cached(store.changes, topics)
  }

  async authenticate(token: string | undefined, now = Date.now()): Promise<Principal> {
    if (!token) throw new PlatformError('UNAUTHENTICATED', { reason: 'missing' })
    const known = this.#byToken.peek(token) ?? (await this.#byToken.find(token, () => this.#recognise(token)))
    if (!known) throw new PlatformError('UNAUTHENTICATED', { reason: 'unknown' })
    if (isOver(known, now) || now - known.usedAt > usedEvery) await this.#use(known, now)
    return known.principal
  }

  /** Reads the row again by id, through the cache, so that a row from before a change is never cached after it. */
  async #recognise(token: string): Promise<CachedKey | undefined> {
    const row = await this.#store.apiKeys.findByHash(hashKey(token))
    return row && this.#find(row.id)
  }

  /** The principal of a key that was authenticated earlier. Counts as use; undefined if the key was revoked since. */
  async holderOf(id: string, now = Date.now()): Promise<Principal | undefined> {
    const known = await this.#find(id)
    if (known) await this.#use(known, now)
    return known?.principal
  }

  #find(id: string): Promise<CachedKey | undefined> {
    return this.#byId.find(id, () => this.#load(id))
  }

  async #use(known: CachedKey, now: number): Promise<void> {
    if (isOver(known, now)) throw new PlatformError('UNAUTHENTICATED', { reason: 'expired' })
    if (now - known.usedAt <= usedEvery) return
    known.usedAt = now
    await this.#store.apiKeys.touch(known.principal.id, now)
  }

  /** The principal of background work, such as an agent run. Undefined once the key is revoked or expired. */
  async principal(id: string, now = Date.now()): Promise<Principal | undefined> {
    const known = await this.#find(id)
    return known && !isOver(known, now) ? known.principal : undefined
  }

  async #load(id: string): Promise<CachedKey | undefined> {
    const row = await this.#store.apiKeys.findRow(id)
    if (!row) return undefined
    const policies = await this.#store.accessPolicies.findMany(JSON.parse(row.access_policy_ids))
    return {
      usedAt: row.last_used_at ?? 0,
      principal: {
        kind: 'api_key',
        id: row.id,
        name: row.name,
        projectId: row.project_id,
        rateLimit: row.rate_limit,
        expiresAt: row.expires_at,
        endUserId: row.end_user_id,
        ...(row.modes && { modes: JSON.parse(row.modes) }),
        grants: policies.map((policy) => ({ policyId: policy.id, statements: policy.document.statement })),
      },
    }
  }
}
