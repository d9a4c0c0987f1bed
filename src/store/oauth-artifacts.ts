import type { Engine } from '../db/engine.ts'
import type { OauthArtifactRow } from '../db/tables.ts'

/** What the authorization server keeps for a while: sessions, sign-ins in progress, codes, refresh tokens, grants. */
export class OauthArtifacts {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Keeps the time of the first use. */
  async put(row: Omit<OauthArtifactRow, 'consumed_at'>): Promise<void> {
    const { id, ...change } = row
    await this.#engine.db
      .insertInto('oauth_artifacts')
      .values({ ...row, consumed_at: null })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(change))
      .execute()
  }

  find(id: string, now = Date.now()): Promise<OauthArtifactRow | undefined> {
    return this.#engine.db
      .selectFrom('oauth_artifacts')
      .selectAll()
      .where('id', '=', id)
      .where('expires_at', '>', now)
      .executeTakeFirst()
  }

  findByUid(kind: string, uidHash: string, now = Date.now()): Promise<OauthArtifactRow | undefined> {
    return this.#engine.db
      .selectFrom('oauth_artifacts')
      .selectAll()
      .where('uid_hash', '=', uidHash)
      .where('kind', '=', kind)
      .where('expires_at', '>', now)
      .executeTakeFirst()
  }

  /** True for the first use only. */
  async consume(id: string, now = Date.now()): Promise<boolean> {
    const { numUpdatedRows } = await this.#engine.db
      .updateTable('oauth_artifacts')
      .set({ consumed_at: now })
      .where('id', '=', id)
      .where('consumed_at', 'is', null)
      .executeTakeFirst()
    return numUpdatedRows === 1n
  }

  async remove(id: string): Promise<void> {
    await this.#engine.db.deleteFrom('oauth_artifacts').where('id', '=', id).execute()
  }

  async removeByGrant(grantId: string): Promise<void> {
    await this.#engine.db.deleteFrom('oauth_artifacts').where('grant_id', '=', grantId).execute()
  }

  async sweep(now = Date.now()): Promise<void> {
    await this.#engine.db.deleteFrom('oauth_artifacts').where('expires_at', '<', now).execute()
  }
}
