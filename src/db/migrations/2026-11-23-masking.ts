import type { Kysely } from 'kysely'

/** The names of the presets that a call ran with, and where the schema of an action declares secrets. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('calls').addColumn('preset_keys', 'text').execute()
  await db.schema.alterTable('approvals').addColumn('secret_paths', 'text').execute()
}
