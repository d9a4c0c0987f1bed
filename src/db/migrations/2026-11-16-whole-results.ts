import type { Kysely } from 'kysely'

/** Results that are too large to return to a model at once, stored for a while so that it can read them in parts. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('servers').addColumn('result_limit', 'integer').execute()

  await db.schema
    .createTable('results')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text', (column) => column.notNull())
    .addColumn('principal_id', 'text', (column) => column.notNull())
    .addColumn('server_id', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addColumn('characters', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    // Last, so that the other columns can be read without it.
    .addColumn('text', 'text', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('results_principal').on('results').columns(['principal_id', 'id']).execute()
}
