import type { Engine } from './engine.ts'
import type { DefinitionRow } from './tables.ts'

/** How someone else's tools were described when they were last seen, and when they were accepted. */
export class Definitions {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async of(toolId: string): Promise<Map<string, DefinitionRow>> {
    const rows = await this.#engine.db.selectFrom('definitions').selectAll().where('tool_id', '=', toolId).execute()
    return new Map(rows.map((row) => [row.name, row]))
  }

  /** Keeps what is seen for the first time. */
  async meet(toolId: string, seen: readonly { name: string; hash: string }[]): Promise<void> {
    const now = Date.now()
    for (let start = 0; start < seen.length; start += 500) {
      const rows = seen.slice(start, start + 500).map(({ name, hash }) => ({
        tool_id: toolId,
        name,
        accepted_hash: hash,
        current_hash: hash,
        changed_at: now,
      }))
      await this.#engine.db
        .insertInto('definitions')
        .values(rows)
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    }
  }

  /** Keeps what has changed. True for the one who is first to see it this way, however many processes look at once. */
  async see(toolId: string, name: string, hash: string, accept: 'at once' | 'later'): Promise<boolean> {
    const updated = await this.#engine.db
      .updateTable('definitions')
      .set({ current_hash: hash, changed_at: Date.now(), ...(accept === 'at once' && { accepted_hash: hash }) })
      .where('tool_id', '=', toolId)
      .where('name', '=', name)
      .where('current_hash', '!=', hash)
      .executeTakeFirst()
    return Number(updated.numUpdatedRows) === 1
  }

  /** Accepts what was last seen, of all or of some; how many that were. */
  async accept(toolId: string, names: readonly string[] | undefined): Promise<number> {
    let query = this.#engine.db
      .updateTable('definitions')
      .set((e) => ({ accepted_hash: e.ref('current_hash') }))
      .where('tool_id', '=', toolId)
      .whereRef('accepted_hash', '!=', 'current_hash')
    if (names) query = query.where('name', 'in', names)
    return Number((await query.executeTakeFirst()).numUpdatedRows)
  }

  async forget(toolId: string): Promise<void> {
    await this.#engine.db.deleteFrom('definitions').where('tool_id', '=', toolId).execute()
  }
}
