import { sql } from 'kysely'
import type { Engine } from '../db/engine.ts'

/**
 * Imported API documents, as compressed bytes under their hash. Tools refer to them by the hash, so that reading a tool
 * stays cheap, and a tool changes to another snapshot in one write.
 */
export class ApiSnapshots {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async save(projectId: string, hash: string, bytes: Uint8Array): Promise<void> {
    const now = Date.now()
    await this.#engine.db
      .insertInto('api_snapshots')
      .values({ project_id: projectId, hash, bytes, created_at: now })
      // Counts as new, so that the cleanup does not remove it before a tool refers to it.
      .onConflict((conflict) => conflict.columns(['project_id', 'hash']).doUpdateSet({ created_at: now }))
      .execute()
  }

  async find(projectId: string, hash: string): Promise<Uint8Array | undefined> {
    const row = await this.#engine.db
      .selectFrom('api_snapshots')
      .select('bytes')
      .where('project_id', '=', projectId)
      .where('hash', '=', hash)
      .executeTakeFirst()
    return row?.bytes
  }

  /** Deletes snapshots that no tool uses and that are older than `before`. */
  async sweep(before: number): Promise<void> {
    await this.#engine.db
      .deleteFrom('api_snapshots')
      .where('created_at', '<', before)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('tools')
              .select('tools.id')
              .whereRef('tools.project_id', '=', 'api_snapshots.project_id')
              .where(sql<boolean>`tools.config like '%' || api_snapshots.hash || '%'`),
          ),
        ),
      )
      .execute()
  }
}
