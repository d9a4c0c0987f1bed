import type { Kysely } from 'kysely'

/** The client of a project at a company's identity provider, for connections without a browser. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('auth_configs').addColumn('idp_client_secret', 'text').execute()
}
