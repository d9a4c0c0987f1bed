import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { EngineName } from '../src/db/engine.ts'
import { openStore, type Store, type StoreOptions } from '../src/store/store.ts'
import { copyTables } from './kit.ts'
import { administer, databaseUrl, newDatabaseName } from './templates.ts'

/** For `describe.each`: the store behaves the same on both. */
export const engines = ['sqlite', 'postgres'] as const satisfies readonly EngineName[]

export interface FreshDatabase extends AsyncDisposable {
  readonly options: StoreOptions
  remove(): Promise<void>
}

/** A database with all tables and no rows. `remove` deletes it, as does `await using` at the end of the block. */
export async function freshDatabase(engine: EngineName): Promise<FreshDatabase> {
  if (engine === 'postgres') return postgresDatabase(` template ${inject('postgresTemplate')}`)
  const database = await sqliteFolder()
  await copyTables(database.options.data)
  return database
}

/** The same without tables, for tests of the first start. */
export const emptyDatabase = (engine: EngineName): Promise<FreshDatabase> =>
  engine === 'postgres' ? postgresDatabase('') : sqliteFolder()

async function sqliteFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  return { options: { data: join(folder, 'data') }, remove, [Symbol.asyncDispose]: remove }
}

async function postgresDatabase(how: string): Promise<FreshDatabase> {
  const server = inject('postgresUrl')
  const name = newDatabaseName()
  await administer(server, `create database ${name}${how}`)
  const remove = () => administer(server, `drop database if exists ${name} with (force)`)
  return { options: { databaseUrl: databaseUrl(server, name) }, remove, [Symbol.asyncDispose]: remove }
}

export interface FreshStore extends AsyncDisposable {
  readonly store: Store
  readonly options: StoreOptions
}

/** An open store on a fresh database. */
export async function freshStore(engine: EngineName): Promise<FreshStore> {
  const { options, remove } = await freshDatabase(engine)
  const store = await openStore(options)
  return {
    store,
    options,
    async [Symbol.asyncDispose]() {
      await store.close()
      await remove()
    },
  }
}
