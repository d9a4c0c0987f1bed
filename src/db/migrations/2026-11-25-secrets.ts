import type { Kysely } from 'kysely'

/** Credentials that the tools of a project reference by name. `value` is encrypted; `env` names a variable instead. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('secrets')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('value', 'text')
    .addColumn('env', 'text')
    .addColumn('rotated_at', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('secrets_name').on('secrets').columns(['project_id', 'name']).unique().execute()
}
