import type { Engine } from '../db/engine.ts'
import type { IdempotencyRow } from '../db/tables.ts'

export interface StoredResponse {
  readonly request_hash: string
  readonly answer: { readonly status: number; readonly body: string } | null
}

const toKept = (row: IdempotencyRow): StoredResponse => ({
  request_hash: row.request_hash,
  answer: row.status === null ? null : { status: row.status, body: row.body ?? '' },
})

/** Responses to requests with an Idempotency-Key, kept for a day. */
export class IdempotencyKeys {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Undefined for the first request. Later ones get the state of the first. */
  async claim(principalId: string, key: string, requestHash: string): Promise<StoredResponse | undefined> {
    const row = {
      principal_id: principalId,
      key,
      request_hash: requestHash,
      status: null,
      body: null,
      created_at: Date.now(),
    }
    const { db } = this.#engine
    const result = await db
      .insertInto('idempotency_keys')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst()
    if (Number(result.numInsertedOrUpdatedRows ?? 0) === 1) return undefined

    const kept = await db
      .selectFrom('idempotency_keys')
      .selectAll()
      .where('principal_id', '=', principalId)
      .where('key', '=', key)
      .executeTakeFirst()
    // The first request released the key in between, so try again.
    return kept ? toKept(kept) : this.claim(principalId, key, requestHash)
  }

  async keep(principalId: string, key: string, answer: { status: number; body: string }): Promise<void> {
    await this.#engine.db
      .updateTable('idempotency_keys')
      .set(answer)
      .where('principal_id', '=', principalId)
      .where('key', '=', key)
      .execute()
  }

  /** For a request without effect: the key can be used again. */
  async release(principalId: string, key: string): Promise<void> {
    await this.#engine.db
      .deleteFrom('idempotency_keys')
      .where('principal_id', '=', principalId)
      .where('key', '=', key)
      .execute()
  }

  async sweep(before: number): Promise<void> {
    await this.#engine.db.deleteFrom('idempotency_keys').where('created_at', '<', before).execute()
  }
}
