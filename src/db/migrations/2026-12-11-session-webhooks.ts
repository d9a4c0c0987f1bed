import { type Kysely, sql } from 'kysely'

/** The offset up to which the events of a session were handed to webhooks. Existing events were. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('sessions')
    .addColumn('published', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  await sql`update sessions set published = next_offset`.execute(db)
  await sql`create index sessions_unpublished on sessions (id) where published < next_offset`.execute(db)
}
