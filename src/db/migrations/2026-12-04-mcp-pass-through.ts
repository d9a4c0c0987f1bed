import type { Kysely } from 'kysely'

/** Whether a server passes on the prompts and resources of the MCP servers behind it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['pass_prompts', 'pass_resources']) {
    await db.schema
      .alterTable('servers')
      .addColumn(column, 'integer', (c) => c.notNull().defaultTo(1))
      .execute()
  }
}
