import type { Kysely } from 'kysely'

/** How an action is described, before and now, for those who are to accept the change. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('definitions').addColumn('accepted', 'text').execute()
  await db.schema.alterTable('definitions').addColumn('current', 'text').execute()
}
