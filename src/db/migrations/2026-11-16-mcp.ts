import type { Kysely } from 'kysely'

/** Tools that use remote MCP servers, the platform's own MCP servers, and skills. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('tools').addColumn('mcp', 'text').execute()
  await db.schema
    .alterTable('tools')
    .addColumn('pin_definitions', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()

  await db.schema
    .createTable('definitions')
    .addColumn('tool_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('accepted_hash', 'text', (column) => column.notNull())
    .addColumn('current_hash', 'text', (column) => column.notNull())
    .addColumn('changed_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('definitions_pk', ['tool_id', 'name'])
    .execute()

  await db.schema
    .createTable('servers')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text', (column) => column.notNull().references('projects.id'))
    .addColumn('slug', 'text', (column) => column.notNull().unique())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('enabled', 'integer', (column) => column.notNull())
    .addColumn('agent_mode', 'integer', (column) => column.notNull())
    .addColumn('retrieve_skill', 'integer', (column) => column.notNull())
    .addColumn('tool_names', 'text', (column) => column.notNull())
    .addColumn('apps', 'text')
    .addColumn('skill_ids', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()

  await db.schema
    .createTable('skills')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text', (column) => column.notNull().references('projects.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('summary', 'text', (column) => column.notNull())
    .addColumn('category', 'text')
    .addColumn('apps', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('enabled', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('skills_name', ['project_id', 'name'])
    .execute()
}
