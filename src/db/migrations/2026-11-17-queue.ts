import type { Kysely } from 'kysely'
import type { EngineName } from '../engine.ts'

/** The job queue on SQLite. On PostgreSQL, pg-boss has its own schema. */
export async function up(db: Kysely<unknown>, engine: EngineName): Promise<void> {
  if (engine === 'postgres') return
  await db.schema
    .createTable('queue')
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint')
    .addColumn('taken', 'integer', (column) => column.notNull())
    .addColumn('failures', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('queue_key', ['kind', 'id'])
    .execute()
  await db.schema.createIndex('queue_due').on('queue').columns(['kind', 'taken', 'at']).execute()
}
