import type { Kysely } from 'kysely'

/** Which MCP server of ours a call came by. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('calls').addColumn('server_id', 'text').execute()
}
