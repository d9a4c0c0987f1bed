import { Cached } from '../db/cached.ts'
import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import type { Store } from '../store/store.ts'
import { type IdentitySource, onChangeOf } from './authenticator.ts'

/** `last_seen_at` is written at most this often per person. */
const seenEvery = 60_000

interface CachedPerson {
  readonly principal: Principal
  /** Sessions that began before are over. */
  readonly signedOutAt: number
  seenAt: number
}

/** People who sign in. They have sessions, not tokens, so no request proves a person by its headers. */
export class People implements IdentitySource {
  readonly #byId: Cached<CachedPerson>
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
    this.#byId = new Cached(store.changes, { clearOn: ['access_policies'], removeOn: ['users'] })
  }

  owns(id: string): boolean {
    return id.startsWith('usr_')
  }

  authenticate(): Promise<Principal> {
    return Promise.reject(new PlatformError('UNAUTHENTICATED', { reason: 'missing' }))
  }

  async resume(id: string, since: number, now = Date.now()): Promise<Principal | undefined> {
    const known = await this.#find(id)
    if (!known || since < known.signedOutAt) return undefined
    if (now - known.seenAt > seenEvery) {
      known.seenAt = now
      await this.#store.users.touch(id, now)
    }
    return known.principal
  }

  async principal(id: string): Promise<Principal | undefined> {
    return (await this.#find(id))?.principal
  }

  onChange(principal: Principal, listener: () => void): () => void {
    return onChangeOf('users', principal, this.#store.changes, listener)
  }

  #find(id: string): Promise<CachedPerson | undefined> {
    return this.#byId.find(id, () => this.#load(id))
  }

  /** Undefined unless the person is active. */
  async #load(id: string): Promise<CachedPerson | undefined> {
    const row = await this.#store.users.findRow('id', id)
    if (row?.status !== 'active') return undefined
    const policies = await this.#store.accessPolicies.findMany(JSON.parse(row.access_policy_ids))
    return {
      signedOutAt: row.signed_out_at,
      seenAt: row.last_seen_at ?? 0,
      principal: {
        kind: 'user',
        id,
        name: row.name,
        projectId: row.project_id,
        rateLimit: null,
        expiresAt: null,
        endUserId: id,
        ...(row.modes && { modes: JSON.parse(row.modes) }),
        grants: policies.map((policy) => ({ policyId: policy.id, statements: policy.document.statement })),
      },
    }
  }
}
