import type { Kysely } from 'kysely'

/** Tools that are MCP servers elsewhere. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('tools').addColumn('mcp', 'text').execute()
}
