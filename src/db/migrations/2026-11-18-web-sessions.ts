import type { Kysely } from 'kysely'

/** Dashboard sessions. Only the browser has the token itself. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('web_sessions')
    .addColumn('token_hash', 'text', (column) => column.primaryKey())
    .addColumn('api_key_id', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
}
