import { type Kysely, sql } from 'kysely'
import type { EngineName } from '../engine.ts'

/** How long a call waited for approval. Computed from the approvals for existing calls. */
export async function up(db: Kysely<unknown>, engine: EngineName): Promise<void> {
  const real = engine === 'sqlite' ? sql`real` : sql`double precision`
  await db.schema.alterTable('calls').addColumn('waited_ms', real).execute()
  await sql`
    update calls set waited_ms = (
      select case when a.status = 'used' and a.used_at - a.created_at < calls.duration_ms
        then a.used_at - a.created_at else calls.duration_ms end
      from approvals a where a.call_id = calls.id
    )
    where duration_ms is not null and id in (select call_id from approvals)`.execute(db)
}
