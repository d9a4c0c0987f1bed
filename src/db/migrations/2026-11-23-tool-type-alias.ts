import type { Kysely } from 'kysely'

/** The alias of its type that a tool was registered with, such as `soat` for `platform`. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('tools').addColumn('type_alias', 'text').execute()
}
