import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { openStore } from '../src/store/store.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The name of a PostgreSQL database with all tables and no rows. */
    postgresTemplate: string
  }
}

/** Migrations are the slowest part of a fresh database. They run once here, and tests start from copies. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { postgresUrl } = project.getProvidedContext()
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-template-'))
  await (await openStore({ data: folder })).close()
  // An environment variable, which workers inherit, because `kit.ts` is also used outside of test runs.
  process.env.TEST_SQLITE_TEMPLATE = join(folder, 'quartermaster.db')

  const name = newDatabaseName()
  await administer(postgresUrl, `create database ${name}`)
  await (await openStore({ databaseUrl: databaseUrl(postgresUrl, name) })).close()
  project.provide('postgresTemplate', name)

  return async () => {
    await rm(folder, { recursive: true, force: true })
    await administer(postgresUrl, `drop database if exists ${name} with (force)`)
  }
}

export const newDatabaseName = (): string => `quartermaster_${randomUUID().replaceAll('-', '')}`

export const databaseUrl = (server: string, name: string): string =>
  Object.assign(new URL(server), { pathname: `/${name}` }).href

export async function administer(server: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
