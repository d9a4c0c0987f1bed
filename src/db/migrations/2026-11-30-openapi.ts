import { type Kysely, sql } from 'kysely'
import type { EngineName } from '../engine.ts'

/** Imported API documents: what the tools of a project offer and how they call it, compressed, by hash. */
export async function up(db: Kysely<unknown>, engine: EngineName): Promise<void> {
  const bytes = engine === 'sqlite' ? sql`blob` : sql`bytea`
  await db.schema
    .createTable('api_snapshots')
    .addColumn('project_id', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('bytes', bytes, (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('api_snapshots_key', ['project_id', 'hash'])
    .execute()
}
