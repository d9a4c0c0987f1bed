import { type Kysely, sql } from 'kysely'

const fields = ['parameters', 'execute', 'mcp', 'actions'] as const
type OldRow = { readonly id: string; readonly type: string } & Readonly<Record<(typeof fields)[number], string | null>>

/**
 * Moves the type-specific fields of tools to one JSON column, so that new types need no new columns. Whether a type has many
 * actions becomes a column too: the unique indexes depend on it, and previously listed the types by name.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index tools_name_in_app`.execute(db)
  await sql`drop index tools_namespace`.execute(db)
  await sql`alter table tools add column config text not null default '{}'`.execute(db)
  await sql`alter table tools add column many_actions integer not null default 0`.execute(db)
  const { rows } = await sql<OldRow>`select id, type, parameters, execute, mcp, actions from tools`.execute(db)
  for (const row of rows) {
    const many = row.type === 'mcp' || row.type === 'platform' ? 1 : 0
    await sql`update tools set config = ${configOf(row)}, many_actions = ${many} where id = ${row.id}`.execute(db)
  }
  for (const field of fields) await sql`alter table tools drop column ${sql.ref(field)}`.execute(db)
  await sql`create unique index tools_name_in_app on tools (
    project_id,
    coalesce(app, case when many_actions = 1 then lower(name) else 'tools' end),
    name
  )`.execute(db)
  await sql`create unique index tools_namespace on tools (project_id, name) where many_actions = 1`.execute(db)
}

const configOf = (row: OldRow): string => {
  const present = fields.flatMap((field) => (row[field] === null ? [] : [[field, JSON.parse(row[field])]]))
  return JSON.stringify(Object.fromEntries(present))
}
