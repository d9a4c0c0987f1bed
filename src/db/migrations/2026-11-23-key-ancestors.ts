import type { Kysely } from 'kysely'

/** Which keys a key was created with, transitively. Of keys that were there before, nobody knows. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('api_keys')
    .addColumn('ancestors', 'text', (column) => column.notNull().defaultTo('[]'))
    .execute()
}
