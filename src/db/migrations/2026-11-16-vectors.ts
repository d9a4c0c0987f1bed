import { type Kysely, sql } from 'kysely'
import type { EngineName } from '../engine.ts'

/** Embeddings of actions, stored because they are expensive to compute. */
export async function up(db: Kysely<unknown>, engine: EngineName): Promise<void> {
  await db.schema
    .createTable('vectors')
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('text_hash', 'text', (column) => column.notNull())
    .addColumn('bytes', engine === 'sqlite' ? sql`blob` : sql`bytea`, (column) => column.notNull())
    .addPrimaryKeyConstraint('vectors_pk', ['model', 'text_hash'])
    .execute()
}
