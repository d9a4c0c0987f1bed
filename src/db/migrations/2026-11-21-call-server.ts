import type { Kysely } from 'kysely'

/** The platform's MCP server that received a call. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('calls').addColumn('server_id', 'text').execute()
}
