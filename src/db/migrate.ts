import { type Migration, Migrator } from 'kysely/migration'
import { StartError } from '../model/start-error.ts'
import type { Engine } from './engine.ts'
import { migrations } from './migrations/index.ts'

/** The database was written by a newer version. */
export class DatabaseTooNew extends StartError {}

/** Migrates the database to this version. Holds a lock, so that of several replicas that start together only one does it. */
export async function migrate(engine: Engine): Promise<void> {
  const steps: Record<string, Migration> = {}
  for (const [name, step] of Object.entries(migrations)) steps[name] = { up: (db) => step(db, engine.name) }

  await refuseNewer(engine)
  const migrator = new Migrator({ db: engine.db, provider: { getMigrations: async () => steps } })
  const { error } = await migrator.migrateToLatest()
  if (error) throw error
}

async function refuseNewer({ db }: Engine): Promise<void> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some((table) => table.name === 'kysely_migration')) return

  const done = await db
    .withTables<{ kysely_migration: { name: string } }>()
    .selectFrom('kysely_migration')
    .select('name')
    .execute()
  const unknown = done.map(({ name }) => name).filter((name) => !(name in migrations))
  if (unknown.length > 0) {
    throw new DatabaseTooNew(
      `The database was written by a newer version of Quartermaster (it has ${unknown.join(', ')}). Start that version, or a later one.`,
    )
  }
}
