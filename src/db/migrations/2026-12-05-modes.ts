import type { Kysely } from 'kysely'

/** Modes, the modes of API keys, and the mode of each call. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('modes')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text', (column) => column.notNull())
    .addColumn('slug', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('levels', 'text', (column) => column.notNull())
    .addColumn('servers', 'text')
    .addColumn('tools', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('modes_slug').on('modes').columns(['project_id', 'slug']).unique().execute()
  await db.schema.alterTable('api_keys').addColumn('modes', 'text').execute()
  await db.schema.alterTable('calls').addColumn('mode', 'text').execute()
}
