import type { Kysely } from 'kysely'

/** The keys that a key was created with, directly or indirectly. Unknown for existing keys. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('api_keys')
    .addColumn('ancestors', 'text', (column) => column.notNull().defaultTo('[]'))
    .execute()
}
