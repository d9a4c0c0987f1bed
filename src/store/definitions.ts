import type { Engine } from '../db/engine.ts'
import type { DefinitionRow } from '../db/tables.ts'
import type { Page, Window } from '../model/page.ts'

/** A definition as it was seen: what it is known by again, and its text, where that is not too long to be kept. */
export interface SeenDefinition {
  readonly hash: string
  readonly text: string | null
}

export interface KnownDefinition extends Pick<DefinitionRow, 'accepted_hash' | 'current_hash'> {
  /** Whether the text of the accepted one is kept. */
  readonly isKept: boolean
}

export type ChangedDefinition = Pick<DefinitionRow, 'name' | 'current_hash' | 'changed_at' | 'accepted' | 'current'>

/** How someone else's tools were described when they were last seen, and when they were accepted. */
export class Definitions {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async of(toolId: string): Promise<Map<string, KnownDefinition>> {
    const rows = await this.#engine.db
      .selectFrom('definitions')
      .select(['name', 'accepted_hash', 'current_hash'])
      .select((e) => e.case().when('accepted', 'is not', null).then(1).else(0).end().as('kept'))
      .where('tool_id', '=', toolId)
      .execute()
    return new Map(rows.map(({ name, kept, ...hashes }) => [name, { ...hashes, isKept: Number(kept) === 1 }]))
  }

  /** Those that are not accepted, in the order of their names. */
  async changed(toolId: string, { limit, offset }: Window): Promise<Page<ChangedDefinition>> {
    const where = this.#engine.db
      .selectFrom('definitions')
      .where('tool_id', '=', toolId)
      .whereRef('accepted_hash', '!=', 'current_hash')
    const columns = ['name', 'current_hash', 'changed_at', 'accepted', 'current'] as const
    const [{ n }, data] = await Promise.all([
      where.select((e) => e.fn.countAll().as('n')).executeTakeFirstOrThrow(),
      where.select(columns).orderBy('name').limit(limit).offset(offset).execute(),
    ])
    return { data, total: Number(n), limit, offset }
  }

  /** Keeps what is seen for the first time, and the texts of those of which only the hash was kept. */
  async meet(toolId: string, seen: readonly (SeenDefinition & { name: string })[]): Promise<void> {
    const now = Date.now()
    for (let start = 0; start < seen.length; start += 500) {
      const rows = seen.slice(start, start + 500).map(({ name, hash, text }) => ({
        tool_id: toolId,
        name,
        accepted_hash: hash,
        current_hash: hash,
        changed_at: now,
        accepted: text,
        current: null,
      }))
      await this.#engine.db
        .insertInto('definitions')
        .values(rows)
        .onConflict((conflict) =>
          conflict
            .columns(['tool_id', 'name'])
            .doUpdateSet({ accepted: (e) => e.ref('excluded.accepted') })
            .where('definitions.accepted', 'is', null)
            .whereRef('definitions.accepted_hash', '=', 'excluded.accepted_hash'),
        )
        .execute()
    }
  }

  /** Keeps what has changed. True for the one who is first to see it this way, however many processes look at once. */
  async see(
    toolId: string,
    name: string,
    { hash, text }: SeenDefinition,
    accept: 'at once' | 'later',
  ): Promise<boolean> {
    const texts = accept === 'later' ? { current: text } : { accepted_hash: hash, accepted: text, current: null }
    const updated = await this.#engine.db
      .updateTable('definitions')
      .set({ current_hash: hash, changed_at: Date.now(), ...texts })
      .where('tool_id', '=', toolId)
      .where('name', '=', name)
      .where('current_hash', '!=', hash)
      .executeTakeFirst()
    return Number(updated.numUpdatedRows) === 1
  }

  /** Accepts what was last seen, of all or of some; how many that were. */
  async accept(toolId: string, names: readonly string[] | undefined): Promise<number> {
    let query = this.#accepting(toolId)
    if (names) query = query.where('name', 'in', names)
    return Number((await query.executeTakeFirst()).numUpdatedRows)
  }

  /** Accepts a definition only if it is still the one that someone has read. */
  async acceptRead(toolId: string, name: string, hash: string): Promise<boolean> {
    const query = this.#accepting(toolId).where('name', '=', name).where('current_hash', '=', hash)
    return Number((await query.executeTakeFirst()).numUpdatedRows) === 1
  }

  async forget(toolId: string): Promise<void> {
    await this.#engine.db.deleteFrom('definitions').where('tool_id', '=', toolId).execute()
  }

  #accepting(toolId: string) {
    return this.#engine.db
      .updateTable('definitions')
      .set((e) => ({ accepted_hash: e.ref('current_hash'), accepted: e.ref('current'), current: null }))
      .where('tool_id', '=', toolId)
      .whereRef('accepted_hash', '!=', 'current_hash')
  }
}
