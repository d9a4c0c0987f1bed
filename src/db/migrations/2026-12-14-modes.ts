import type { Kysely } from 'kysely'

/** Modes of agents, sessions and people, what a mode requires beside a level, and settings for single actions. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('modes').addColumn('groups', 'text').execute()
  await db.schema.alterTable('modes').addColumn('sign_in_within_seconds', 'integer').execute()
  await db.schema.alterTable('agents').addColumn('mode', 'text').execute()
  await db.schema.alterTable('sessions').addColumn('mode', 'text').execute()
  await db.schema.alterTable('sessions').addColumn('caller', 'text').execute()
  await db.schema.alterTable('users').addColumn('modes', 'text').execute()
  await db.schema.alterTable('oauth_grants').addColumn('signed_in_at', 'bigint').execute()
  await db.schema.alterTable('tools').addColumn('action_settings', 'text').execute()
}
