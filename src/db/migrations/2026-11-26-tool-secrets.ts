import { type Kysely, sql } from 'kysely'

/**
 * Adds a column for the encrypted credentials of tools. It stays null here, because migrations have no key: the next start
 * moves the credentials of existing tools into it. The same holds for keys in the URLs of webhooks. Secrets can be read
 * from a file.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table tools add column secrets text`.execute(db)
  await sql`alter table webhooks add column sealed_url text`.execute(db)
  await sql`alter table secrets add column file text`.execute(db)
}
