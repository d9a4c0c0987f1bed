import { hash } from 'node:crypto'
import type { ApiKeyRow } from '../db/tables.ts'
import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import type { Store } from '../store/store.ts'

/**
 * A key has some 240 random bits, so one fast hash protects it as well as a slow one would; and since it is the hash
 * that is looked up, the time that takes tells nothing about the key.
 */
export const hashKey = (key: string): string => hash('sha256', key)

/** How exactly it is kept when a key was last used. */
const usedEvery = 60_000

interface Known {
  readonly principal: Principal
  usedAt: number
}

const isOver = ({ principal: { expiresAt } }: Known, now: number): boolean => expiresAt !== null && expiresAt <= now

/** From a token to the principal behind it. Known keys are held in memory until they, or their policies, change. */
export class Keys {
  /** By the key itself: to hash it for each call would be a fiftieth of the work. Apart, for an id is no key. */
  readonly #byToken = new Map<string, Known>()
  readonly #byId = new Map<string, Known>()
  readonly #loading = new Map<string, Promise<Known | undefined>>()
  readonly #store: Store
  #changes = 0

  constructor(store: Store) {
    this.#store = store
    for (const topic of ['api_keys', 'access_policies'] as const) {
      store.notices.hear(topic, () => {
        this.#changes++
        this.#byToken.clear()
        this.#byId.clear()
        this.#loading.clear()
      })
    }
  }

  async authenticate(token: string | undefined, now = Date.now()): Promise<Principal> {
    if (!token) throw new PlatformError('UNAUTHENTICATED', { reason: 'missing' })
    const known = this.#byToken.get(token) ?? (await this.#recognise(token))
    if (!known) throw new PlatformError('UNAUTHENTICATED', { reason: 'unknown' })
    return this.#used(known, now)
  }

  async #recognise(token: string): Promise<Known | undefined> {
    const known = await this.#load(() => this.#store.apiKeys.findByHash(hashKey(token)))
    // Not if something has changed since it was read.
    if (known && this.#byId.get(known.principal.id) === known) this.#byToken.set(token, known)
    return known
  }

  /** The principal behind a key that was shown before, and may have been revoked since. */
  async holderOf(id: string, now = Date.now()): Promise<Principal | undefined> {
    const known = await this.#find(id)
    return known && this.#used(known, now)
  }

  async #find(id: string): Promise<Known | undefined> {
    const known = this.#byId.get(id)
    if (known) return known
    // Many streams of one key ask at the same moment, namely when something has changed.
    const loading = this.#loading.get(id) ?? this.#load(() => this.#store.apiKeys.findRow(id))
    this.#loading.set(id, loading)
    return loading.finally(() => {
      if (this.#loading.get(id) === loading) this.#loading.delete(id)
    })
  }

  async #used(known: Known, now: number): Promise<Principal> {
    if (isOver(known, now)) throw new PlatformError('UNAUTHENTICATED', { reason: 'expired' })
    if (now - known.usedAt > usedEvery) {
      known.usedAt = now
      await this.#store.apiKeys.touch(known.principal.id, now)
    }
    return known.principal
  }

  /** Who started something that goes on without a request; nobody, once the key is revoked or has expired. */
  async principal(id: string, now = Date.now()): Promise<Principal | undefined> {
    const known = await this.#find(id)
    return known && !isOver(known, now) ? known.principal : undefined
  }

  async #load(find: () => Promise<ApiKeyRow | undefined>): Promise<Known | undefined> {
    const changesBefore = this.#changes
    const row = await find()
    if (!row) return undefined
    const policies = await this.#store.accessPolicies.findMany(JSON.parse(row.access_policy_ids))
    const known: Known = {
      usedAt: row.last_used_at ?? 0,
      principal: {
        kind: 'api_key',
        id: row.id,
        name: row.name,
        projectId: row.project_id,
        rateLimit: row.rate_limit,
        expiresAt: row.expires_at,
        grants: policies.map((policy) => ({ policyId: policy.id, statements: policy.document.statement })),
      },
    }
    // Something changed while we read: use what was read for this request, but do not keep it.
    if (changesBefore === this.#changes) this.#byId.set(row.id, known)
    return known
  }
}
