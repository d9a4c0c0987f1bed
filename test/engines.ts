import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import type { EngineName } from '../src/db/engine.ts'
import { openStore, type Store, type StoreOptions } from '../src/store/store.ts'

/** For `describe.each`: what the store promises, it promises on both. */
export const engines = ['sqlite', 'postgres'] as const satisfies readonly EngineName[]

export interface FreshDatabase extends AsyncDisposable {
  readonly options: StoreOptions
  remove(): Promise<void>
}

/** A database that nobody has used: gone with `remove`, or at the end of the block with `await using`. */
export async function freshDatabase(engine: EngineName): Promise<FreshDatabase> {
  const { options, remove } = engine === 'sqlite' ? await freshFolder() : await freshPostgres()
  return { options, remove, [Symbol.asyncDispose]: remove }
}

async function freshFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-'))
  return { options: { data: join(folder, 'data') }, remove: () => rm(folder, { recursive: true, force: true }) }
}

async function freshPostgres() {
  const name = `quartermaster_${randomUUID().replaceAll('-', '')}`
  const url = new URL(inject('postgresUrl'))
  url.pathname = `/${name}`
  await administer(`create database ${name}`)
  return {
    options: { databaseUrl: url.href },
    remove: () => administer(`drop database if exists ${name} with (force)`),
  }
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

export interface FreshStore extends AsyncDisposable {
  readonly store: Store
  readonly options: StoreOptions
}

/** An open store on a database of its own. */
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
