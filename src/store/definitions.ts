import type { Engine } from '../db/engine.ts'
import type { DefinitionRow } from '../db/tables.ts'
import type { Page, Window } from '../model/page.ts'

/** A definition as it was seen: its hash, and its text unless that is too long to store. */
export interface SeenDefinition {
  readonly hash: string
  readonly text: string | null
}

export interface KnownDefinition extends Pick<DefinitionRow, 'accepted_hash' | 'current_hash'> {
  /** Whether the text of the accepted definition is stored. */
  readonly isKept: boolean
}

export type ChangedDefinition = Pick<DefinitionRow, 'name' | 'current_hash' | 'changed_at' | 'accepted' | 'current'>

/** The definitions of remote tools, as last seen and as accepted. */
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

  /** Definitions that differ from the accepted ones, by name. */
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

  /** Stores definitions that are new, and texts of which only the hash was stored. */
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

  /** Stores a changed definition. True for exactly one of any number of processes that see the change. */
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

  /** Accepts the current definitions, all or the named ones. Returns how many. */
  async accept(toolId: string, names: readonly string[] | undefined): Promise<number> {
    let query = this.#accepting(toolId)
    if (names) query = query.where('name', 'in', names)
    return Number((await query.executeTakeFirst()).numUpdatedRows)
  }

  /** Accepts a definition if it is still the one with this hash. */
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
