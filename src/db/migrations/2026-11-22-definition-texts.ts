import type { Kysely } from 'kysely'

/** The accepted and the current definition of an action, to review a change. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('definitions').addColumn('accepted', 'text').execute()
  await db.schema.alterTable('definitions').addColumn('current', 'text').execute()
}
