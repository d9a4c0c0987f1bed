import type { Kysely } from 'kysely'

/** The token budget of an answer of RESOLVE_ACTIONS. Null is the default. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('servers').addColumn('resolve_tokens', 'integer').execute()
}
