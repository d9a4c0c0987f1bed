import type { Kysely } from 'kysely'

/** AI providers and their recorded steps. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('ai_providers')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text', (column) => column.notNull().references('projects.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('base_url', 'text')
    .addColumn('default_model', 'text')
    .addColumn('prices', 'text')
    .addColumn('record', 'integer', (column) => column.notNull())
    .addColumn('timeout_seconds', 'double precision', (column) => column.notNull())
    .addColumn('max_retries', 'integer', (column) => column.notNull())
    // `api_key` and `headers` are encrypted.
    .addColumn('api_key', 'text')
    .addColumn('api_key_hint', 'text')
    .addColumn('headers', 'text')
    .addColumn('header_names', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addColumn('script', 'text')
    .addUniqueConstraint('ai_providers_name', ['project_id', 'name'])
    .execute()

  await db.schema
    .createTable('recorded_steps')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('ai_provider_id', 'text', (column) => column.notNull())
    .addColumn('step', 'text', (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('recorded_steps_provider')
    .on('recorded_steps')
    .columns(['ai_provider_id', 'id'])
    .execute()
  await db.schema.createIndex('agents_ai_provider').on('agents').column('ai_provider_id').execute()
}
