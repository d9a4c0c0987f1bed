import type { Kysely } from 'kysely'

/** Who is signed in at the dashboard. The token itself is only in the browser. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('web_sessions')
    .addColumn('token_hash', 'text', (column) => column.primaryKey())
    .addColumn('api_key_id', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
}
