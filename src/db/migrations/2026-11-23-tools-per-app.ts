import { type Kysely, sql } from 'kysely'
import type { EngineName } from '../engine.ts'

/**
 * Names of tools are unique within their app. Names of tools with many actions are unique within the project, because they
 * are namespaces. A tool without an app has the default app of its type.
 */
export async function up(db: Kysely<unknown>, engine: EngineName): Promise<void> {
  if (engine === 'sqlite') await rebuildWithoutConstraint(db)
  else await sql`alter table tools drop constraint tools_name`.execute(db)
  await sql`create unique index tools_name_in_app on tools (
    project_id,
    coalesce(app, case when type in ('mcp', 'platform') then lower(name) else 'tools' end),
    name
  )`.execute(db)
  await sql`create unique index tools_namespace on tools (project_id, name) where type in ('mcp', 'platform')`.execute(
    db,
  )
  await renameInRules(db)
}

/** Updates approval rules: the id of the action of a tool with an app now starts with that app. */
async function renameInRules(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ project_id: string; app: string; name: string }>`
    select project_id, app, name from tools where app is not null and app <> 'tools' and type in ('http', 'client')
  `.execute(db)
  for (const { project_id, app, name } of rows) {
    for (const quote of ['"', "'"]) {
      const [before, after] = [`${quote}tools:${name}${quote}`, `${quote}${app}:${name}${quote}`]
      await sql`update approval_rules set expression = replace(expression, ${before}, ${after})
        where project_id = ${project_id}`.execute(db)
    }
  }
}

const constraint = /,\s*constraint "tools_name" unique \("project_id", "name"\)/i

/** SQLite cannot drop a constraint, so the table is copied to a new one without it. No other table references it. */
async function rebuildWithoutConstraint(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ sql: string }>`select sql from sqlite_schema where name = 'tools'`.execute(db)
  const [{ sql: before } = { sql: '' }] = rows
  if (!constraint.test(before)) throw new Error('the table "tools" is not as the earlier migrations made it')
  const without = before.replace(constraint, '').replace(/^create table "tools"/i, 'create table "tools_per_app"')
  await sql.raw(without).execute(db)
  await sql`insert into tools_per_app select * from tools`.execute(db)
  await sql`drop table tools`.execute(db)
  await sql`alter table tools_per_app rename to tools`.execute(db)
}
