import { sql } from 'kysely'
import type { Engine } from '../db/engine.ts'
import { Settings } from './settings.ts'

/** Where each kind of secret is kept: what is sealed is bound to it, and does not open elsewhere. */
export const sealedAt = {
  providerKey: (id: string) => `ai_providers/${id}/api_key`,
  providerHeaders: (id: string) => `ai_providers/${id}/headers`,
  webhookSecret: (id: string) => `webhooks/${id}/secret`,
}

/** Every column with sealed values. One that is missing here is lost when the key is changed. */
const columns = [
  { table: 'ai_providers', column: 'api_key', at: sealedAt.providerKey },
  { table: 'ai_providers', column: 'headers', at: sealedAt.providerHeaders },
  { table: 'webhooks', column: 'secret', at: sealedAt.webhookSecret },
  { table: 'webhooks', column: 'previous_secret', at: sealedAt.webhookSecret },
] as const

export interface SealedValue {
  readonly table: string
  readonly column: string
  readonly id: string
  readonly place: string
  readonly sealed: string
}

const batch = 200
const idLength = 8

/** All sealed values, whatever they are for: `v1.<key id>.…`. */
export class Sealed {
  readonly #engine: Pick<Engine, 'db'>

  constructor(engine: Pick<Engine, 'db'>) {
    this.#engine = engine
  }

  /** What is done with the two that it is given is done as a whole, or not at all. */
  together<Result>(work: (sealed: Sealed, settings: Settings) => Promise<Result>): Promise<Result> {
    return this.#engine.db.transaction().execute((db) => work(new Sealed({ db }), new Settings({ db })))
  }

  /** Those that were sealed with a key. */
  async *by(keyId: string): AsyncGenerator<SealedValue> {
    for (const { table, column, at } of columns) {
      for (let last = ''; ; ) {
        const { rows } = await sql<{ id: string; sealed: string }>`
          select id, ${sql.ref(column)} as sealed from ${sql.table(table)}
          where id > ${last} and ${sql.ref(column)} like ${`v1.${keyId}.%`}
          order by id limit ${batch}`.execute(this.#engine.db)
        for (const { id, sealed } of rows) yield { table, column, id, place: at(id), sealed }
        last = rows.at(-1)?.id ?? last
        if (rows.length < batch) break
      }
    }
  }

  /** False where somebody has changed it meanwhile. */
  async replace({ table, column, id, sealed }: SealedValue, anew: string): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update ${sql.table(table)} set ${sql.ref(column)} = ${anew}
      where id = ${id} and ${sql.ref(column)} = ${sealed}`.execute(this.#engine.db)
    return numAffectedRows === 1n
  }

  /** The ids of all keys that something is sealed with. */
  async keyIds(): Promise<Set<string>> {
    const found = await Promise.all(
      columns.map(({ table, column }) =>
        sql<{ id: string }>`
          select distinct substr(${sql.ref(column)}, 4, ${idLength}) as id from ${sql.table(table)}
          where ${sql.ref(column)} is not null`.execute(this.#engine.db),
      ),
    )
    return new Set(found.flatMap(({ rows }) => rows.map(({ id }) => id)))
  }
}
