import type { Kysely } from 'kysely'

/** Events that workflow runs wait for. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('workflow_events')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('step', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('workflow_events_run').on('workflow_events').columns(['run_id', 'name', 'id']).execute()
}
