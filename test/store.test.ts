import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import pg from 'pg'
import { describe, expect, test, vi } from 'vitest'
import type { Engine } from '../src/db/engine.ts'
import { DatabaseTooNew } from '../src/db/migrate.ts'
import { migrations } from '../src/db/migrations/index.ts'
import { openPostgres } from '../src/db/postgres.ts'
import { FolderInUse, openSqlite } from '../src/db/sqlite.ts'
import type { CallEnd, CallRow } from '../src/db/tables.ts'
import { firstIdAt, newId } from '../src/model/ids.ts'
import type { Tags } from '../src/model/page.ts'
import { openStore, type Store, type StoreOptions } from '../src/store/store.ts'
import type { SealedDraft } from '../src/store/tools.ts'
import { emptyDatabase, engines, freshDatabase, freshStore } from './engines.ts'

const window = { limit: 50, offset: 0 }
const firstTime = Date.UTC(2026, 0, 1)

const draft = (fields: Partial<SealedDraft> = {}): SealedDraft => ({
  name: 'weather',
  type: 'http',
  description: null,
  config: {},
  secrets: '',
  many_actions: false,
  preset_parameters: null,
  app: null,
  pin_definitions: false,
  level: 'open',
  auto_approve: null,
  timeout_seconds: null,
  ask_destructive: false,
  approval_timeout_seconds: null,
  ...fields,
})

const call = (fields: Partial<CallRow> = {}): CallRow => ({
  id: newId('call', fields.created_at),
  project_id: null,
  parent_call_id: null,
  generation_id: null,
  agent_id: null,
  tool_id: null,
  tool: null,
  app: null,
  action: null,
  status: 'pending',
  principal_kind: 'api_key',
  principal_id: 'key_1',
  principal_name: 'Ada',
  surface: 'rest',
  server_id: null,
  client_name: null,
  client_version: null,
  request: '{}',
  request_truncated: 0,
  preset_keys: null,
  response: null,
  response_truncated: 0,
  error: null,
  duration_ms: null,
  waited_ms: null,
  mode: null,
  created_at: Date.now(),
  completed_at: null,
  ...fields,
})

const success = (id: string, fields: Partial<CallEnd> = {}): CallEnd => ({
  id,
  status: 'success',
  response: '"done"',
  response_truncated: 0,
  error: null,
  duration_ms: 1.5,
  waited_ms: null,
  completed_at: Date.now(),
  ...fields,
})

const key = (name: string, fields: { project_id?: string; access_policy_ids?: string[] } = {}) => ({
  project_id: null,
  name,
  key_hash: `hash of ${name}`,
  key_prefix: 'sk_abc',
  access_policy_ids: [],
  rate_limit: null,
  expires_at: null,
  ...fields,
})

async function* pieces(bytes: Uint8Array, size = 100_000): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.byteLength; start += size) yield bytes.subarray(start, start + size)
}

async function upload(store: Store, projectId: string, path: string, bytes: Uint8Array, tags: Tags = {}) {
  const content = await store.files.store(pieces(bytes), 100_000_000)
  return store.files.create(projectId, { path, content_type: 'application/octet-stream', tags }, content)
}

const download = async (store: Store, id: string, start: number, end: number) =>
  Buffer.concat(await Array.fromAsync(store.files.read(id, start, end)))

async function chunksKept(store: Store): Promise<number> {
  const rows = await store.engine.db.selectFrom('file_chunks').select('position').execute()
  return rows.length
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

const done = (engine: Engine) =>
  engine.db
    .withTables<{ kysely_migration: { name: string; timestamp: string } }>()
    .selectFrom('kysely_migration')
    .selectAll()
    .execute()

/** Tables and migrations of a database, read without opening a store. */
async function schemaOf(options: StoreOptions) {
  const engine = options.databaseUrl ? await openPostgres(options.databaseUrl) : openSqlite(options.data as string)
  const tables = await engine.db.introspection.getTables({ withInternalKyselyTables: true })
  const schema = { tables, done: await done(engine) }
  await engine.close()
  return schema
}

/** A database as it was before one of the migrations. */
async function openBefore(options: StoreOptions, migration: string): Promise<Engine> {
  const engine = options.databaseUrl ? await openPostgres(options.databaseUrl) : openSqlite(options.data as string)
  const names = Object.keys(migrations)
  const earlier = names.slice(0, names.indexOf(migration))
  const steps = earlier.map((name) => [name, { up: (db: never) => migrations[name]?.(db, engine.name) }])
  const migrator = new Migrator({
    db: engine.db,
    provider: { getMigrations: async () => Object.fromEntries(steps) },
  })
  const { error } = await migrator.migrateToLatest()
  if (error) throw error
  return engine
}

const oldTool = {
  ...{ project_id: 'proj_1', type: 'http', description: 'kept', parameters: null, execute: null, mcp: null },
  ...{ actions: null, preset_parameters: null, pin_definitions: 0, level: 'open', auto_approve: null },
  ...{ timeout_seconds: null, ask_destructive: 0, approval_timeout_seconds: null, created_at: 1, updated_at: 1 },
}

describe.each(engines)('a store on %s', (engine) => {
  test('creates the tables on the first start', async () => {
    await using database = await emptyDatabase(engine)

    const store = await openStore(database.options)

    expect(await store.projects.count()).toBe(0)
    expect((await done(store.engine)).map(({ name }) => name)).toEqual(Object.keys(migrations))
    await store.close()
  })

  test('keeps its tables and data on the second start', async () => {
    await using database = await emptyDatabase(engine)
    const first = await openStore(database.options)
    const project = await first.projects.create('Shop')
    await first.close()
    const before = await schemaOf(database.options)

    const second = await openStore(database.options)

    expect(await second.projects.find(project.id)).toEqual(project)
    await second.close()
    expect(await schemaOf(database.options)).toEqual(before)
  })

  test('refuses a database of a newer version, and does not change it', async () => {
    await using database = await emptyDatabase(engine)
    const store = await openStore(database.options)
    await store.engine.db
      .withTables<{ kysely_migration: { name: string; timestamp: string } }>()
      .insertInto('kysely_migration')
      .values({ name: '2031-01-01-future', timestamp: '2031-01-01T00:00:00Z' })
      .execute()
    await store.close()
    const before = await schemaOf(database.options)

    const start = openStore(database.options)

    await expect(start).rejects.toThrow(DatabaseTooNew)
    await expect(start).rejects.toThrow(/newer version.*2031-01-01-future/)
    expect(await schemaOf(database.options)).toEqual(before)
  })

  test('can be closed while calls are being written, and loses none', async () => {
    await using database = await freshDatabase(engine)
    const store = await openStore(database.options)
    const rows = Array.from({ length: 20 }, () => call())

    const begun = Promise.all(rows.map((row) => store.calls.begin(row, 'once')))
    await store.close()
    await begun

    const again = await openStore(database.options)
    expect((await again.calls.list(window, undefined)).total).toBe(20)
    await again.close()
  })
})

test('eight stores that start at once on one PostgreSQL database create its tables once', async () => {
  await using database = await emptyDatabase('postgres')

  const stores = await Promise.all(Array.from({ length: 8 }, () => openStore(database.options)))

  const [first] = stores as [Store]
  const project = await first.projects.create('Shop')
  for (const store of stores) expect(await store.projects.findOnly()).toEqual(project)
  expect((await done(first.engine)).map(({ name }) => name)).toEqual(Object.keys(migrations))
  await Promise.all(stores.map((store) => store.close()))
})

describe('a data folder', () => {
  /** A separate process that opens the folder and prints the result. */
  function open(folder: string): { process: ChildProcess; says: Promise<string> } {
    const program = `
      import { openStore } from ${JSON.stringify(new URL('../src/store/store.ts', import.meta.url).href)}
      try {
        await openStore({ data: ${JSON.stringify(folder)} })
        console.log('open')
        setInterval(() => {}, 1000)
      } catch (error) {
        console.log(error.constructor.name + ': ' + error.message)
      }`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return { process: child, says: once(child.stdout, 'data').then(([text]) => String(text).trim()) }
  }

  test('cannot be opened twice, and the error names the process that uses it and says what to do', async () => {
    await using first = await freshStore('sqlite')

    const second = openStore(first.options)

    await expect(second).rejects.toThrow(FolderInUse)
    await expect(second).rejects.toThrow(
      `The data folder ${first.options.data} is in use by another Quartermaster (process ${process.pid}). ` +
        'Stop that one, or choose another folder with --data.',
    )
  })

  test('cannot be opened by a second process', async () => {
    await using first = await freshStore('sqlite')

    const second = await open(first.options.data as string).says

    expect(second).toMatch(/^FolderInUse: The data folder .* is in use by another Quartermaster/)
  })

  test('can be opened immediately after its process was killed, with all its data', async () => {
    await using database = await freshDatabase('sqlite')
    const { data } = database.options as { data: string }
    const owner = open(data)
    const said = await owner.says
    const early = await openStore({ data }).catch((error: unknown) => error)

    owner.process.kill('SIGKILL')
    await once(owner.process, 'exit')
    const store = await openStore({ data })

    expect(said).toBe('open')
    expect(early).toBeInstanceOf(FolderInUse)
    expect(String(early)).toContain(`(process ${owner.process.pid})`)
    expect(await store.projects.count()).toBe(0)
    await store.close()
  })

  test('can be opened again after it was closed', async () => {
    await using database = await freshDatabase('sqlite')
    const first = await openStore(database.options)
    await first.close()

    const second = await openStore(database.options)

    expect(await second.projects.count()).toBe(0)
    await second.close()
  })

  test('with a damaged lock file is not reported as in use', async () => {
    await using database = await freshDatabase('sqlite')
    const { data } = database.options as { data: string }
    await (await openStore({ data })).close()
    await writeFile(join(data, 'lock.db'), 'this is not a database '.repeat(100))

    const start = openStore({ data })

    await expect(start).rejects.toThrow('not a database')
    await expect(start).rejects.not.toThrow(FolderInUse)
  })
})

describe.each(engines)('projects on %s', (engine) => {
  test('can be created, found, renamed and removed', async () => {
    await using fresh = await freshStore(engine)
    const { projects } = fresh.store

    const made = await projects.create('Shop')
    const found = await projects.find(made.id)
    const renamed = await projects.update(made.id, { name: 'Store', approval_timeout_seconds: null })
    await projects.remove(made.id)

    expect(made.id).toMatch(/^proj_/)
    expect(found).toEqual(made)
    expect(renamed).toEqual({ ...made, name: 'Store', updated_at: expect.any(String) })
    expect(await projects.find(made.id)).toBeUndefined()
    expect(await projects.update(made.id, { name: 'Gone', approval_timeout_seconds: null })).toBeUndefined()
  })

  test('have unique names', async () => {
    await using fresh = await freshStore(engine)
    const { projects } = fresh.store
    await projects.create('Shop')
    const other = await projects.create('Bank')
    const taken = { code: 'NAME_TAKEN', details: { kind: 'project', name: 'Shop' } }

    const again = projects.create('Shop')
    await expect(again).rejects.toMatchObject(taken)
    const renamed = projects.update(other.id, { name: 'Shop', approval_timeout_seconds: null })
    await expect(renamed).rejects.toMatchObject(taken)

    expect(await projects.count()).toBe(2)
  })

  test('have a default as long as there is only one', async () => {
    await using fresh = await freshStore(engine)
    const { projects } = fresh.store

    const none = await projects.findOnly()
    const made = await projects.create('Shop')
    const one = await projects.findOnly()
    await projects.create('Bank')
    const several = await projects.findOnly()

    expect([none, one, several]).toEqual([undefined, made, undefined])
  })

  test('list their contents, and cannot be removed while they have any', async () => {
    await using fresh = await freshStore(engine)
    const { projects, tools, apiKeys, documents } = fresh.store
    const project = await projects.create('Shop')
    await tools.create(project.id, newId('tool'), draft())
    await apiKeys.create(key('Ada', { project_id: project.id }))
    await documents.create(project.id, { path: '/a', content: '', tags: {} })

    const held = await projects.contents(project.id)
    await expect(projects.remove(project.id)).rejects.toThrow(/foreign key/i)

    expect(held).toEqual(['1 tools', '1 documents', '1 api keys'])
    expect(await projects.find(project.id)).toEqual(project)
  })
})

describe.each(engines)('modes on %s', (engine) => {
  test('can be created, changed and removed, and calls find the current one by its slug', async () => {
    await using fresh = await freshStore(engine)
    const { modes, projects } = fresh.store
    const { id: projectId } = await projects.create('Shop')
    const limits = { levels: ['restricted' as const], servers: ['desk'], tools: null, groups: ['read' as const] }
    const fields = { slug: 'support', name: 'Support', description: null, ...limits, sign_in_within_seconds: 300 }

    const made = await modes.create(projectId, fields)
    const found = await modes.named(projectId, 'support')
    await modes.update(made.id, { groups: null, sign_in_within_seconds: null })
    const changed = await modes.named(projectId, 'support')
    await modes.remove(made.id)

    expect(found).toEqual({ ...made, ...fields })
    expect(changed).toMatchObject({ groups: null, sign_in_within_seconds: null, servers: ['desk'] })
    expect(await modes.named(projectId, 'support')).toBeUndefined()
    expect(await modes.named('proj_other', 'support')).toBeUndefined()
  })

  test('of people and sessions, and settings of actions, are read as they were written', async () => {
    await using fresh = await freshStore(engine)
    const { users, sessions, tools, projects } = fresh.store
    const { id: projectId } = await projects.create('Shop')
    const settings = { wipe: { enabled: false }, '*': { level: 'restricted' as const } }
    const principal = { id: 'key_1', name: 'Ada' }

    const tool = await tools.create(projectId, newId('tool'), draft({ action_settings: settings }))
    const user = await users.create({
      ...{ project_id: null, email: 'ada@example.com', name: 'Ada', access_policy_ids: [], status: 'invited' },
      ...{ created_by: null, ancestors: [], modes: ['support'] },
    })
    const session = await sessions.create({
      ...{ project_id: projectId, agent_id: 'agt_1', end_user_id: null, title: null, metadata: {} },
      ...{ principal, mode: 'support' },
    })
    const caller = { mode: 'quiet', within: ['look'], signed_in_at: firstTime }
    const event = { kind: 'message' as const, source: 'customer' as const, data: { message: 'Hello' } }
    await sessions.append(session.id, [event], { wanted: true, as: { ...principal, caller } })

    expect((await tools.find(tool.id))?.action_settings).toEqual(settings)
    expect((await users.find(user.id))?.modes).toEqual(['support'])
    expect((await users.update(user.id, { modes: [] }))?.modes).toEqual([])
    expect(await sessions.find(session.id)).toMatchObject({ mode: 'support', caller })
  })
})

describe.each(engines)('lists on %s', (engine) => {
  test('are paginated in the order of creation, with a total', async () => {
    await using fresh = await freshStore(engine)
    const { projects } = fresh.store
    for (let n = 0; n < 5; n++) {
      await projects.create(`project ${n}`)
      await sleep(2)
    }

    const page = await projects.list({ limit: 2, offset: 2 }, undefined)
    const last = await projects.list({ limit: 2, offset: 4 }, undefined)
    const beyond = await projects.list({ limit: 2, offset: 10 }, undefined)

    expect(page).toMatchObject({ total: 5, limit: 2, offset: 2 })
    expect(page.data.map(({ name }) => name)).toEqual(['project 2', 'project 3'])
    expect(last.data.map(({ name }) => name)).toEqual(['project 4'])
    expect(beyond).toMatchObject({ data: [], total: 5 })
  })

  test('contain and count only records that the caller can see', async () => {
    await using fresh = await freshStore(engine)
    const { projects } = fresh.store
    const even = new Set<string>()
    for (let n = 0; n < 6; n++) {
      const { id } = await projects.create(`project ${n}`)
      if (n % 2 === 0) even.add(id)
      await sleep(2)
    }

    const page = await projects.list({ limit: 2, offset: 1 }, ({ id }) => even.has(id))

    expect(page).toMatchObject({ total: 3, limit: 2, offset: 1 })
    expect(page.data.map(({ name }) => name)).toEqual(['project 2', 'project 4'])
  })

  test('are filtered in batches if the caller can see only some records, without blocking other work', async () => {
    await using fresh = await freshStore(engine)
    const { calls, engine: database } = fresh.store
    const rows = Array.from({ length: 2500 }, (_, n) =>
      call({ project_id: n % 2 === 0 ? 'proj_1' : 'proj_2', tool: String(n), created_at: firstTime + n }),
    )
    await database.writeCalls(rows, [])

    let turns = 0
    const count = () => {
      turns++
      turn = setImmediate(count)
    }
    let turn = setImmediate(count)
    const page = await calls.list({ limit: 3, offset: 600 }, ({ project_id }) => project_id === 'proj_1')
    clearImmediate(turn)

    expect(turns).toBeGreaterThan(1)
    expect(page.total).toBe(1250)
    expect(page.data.map(({ tool }) => tool)).toEqual(['1298', '1296', '1294'])
  })
})

test('ending a call reads only that call on PostgreSQL, also in a log that was small at first', async () => {
  await using fresh = await freshStore('postgres')
  const { calls, engine: database } = fresh.store
  const endFew = async () => {
    for (let n = 0; n < 20; n++) {
      const begun = call({ project_id: 'proj_1', status: 'pending', completed_at: null })
      await calls.begin(begun, 'once')
      await calls.end({ ...begun, status: 'success', completed_at: firstTime })
    }
  }
  const rowsRead = async () => {
    await sql`select pg_stat_force_next_flush()`.execute(database.db)
    const { rows } = await sql<{ read: number }>`
      select seq_tup_read::int as read from pg_stat_user_tables where relname = 'calls'`.execute(database.db)
    return rows[0]?.read ?? 0
  }

  await endFew()
  const old = Array.from({ length: 20_000 }, () => call({ project_id: 'proj_1' }))
  for (let start = 0; start < old.length; start += 500) await database.writeCalls(old.slice(start, start + 500), [])
  const before = await rowsRead()
  await endFew()
  await sleep(1100)

  expect((await rowsRead()) - before).toBeLessThan(old.length)
}, 30_000)

describe.each(engines)('API keys on %s', (engine) => {
  test('can be created, found by id and by hash, changed and removed', async () => {
    await using fresh = await freshStore(engine)
    const { apiKeys } = fresh.store
    const expiry = Date.UTC(2030, 0, 1)

    const made = await apiKeys.create({
      ...key('Ada'),
      access_policy_ids: ['pol_1'],
      rate_limit: 60,
      expires_at: expiry,
    })
    const found = await apiKeys.find(made.id)
    const byHash = await apiKeys.findByHash('hash of Ada')
    const changed = await apiKeys.update(made.id, { access_policy_ids: ['pol_2'], rate_limit: null, expires_at: null })
    await apiKeys.remove(made.id)

    expect(made).toMatchObject({ access_policy_ids: ['pol_1'], rate_limit: 60, expires_at: '2030-01-01T00:00:00.000Z' })
    expect(found).toEqual(made)
    expect(byHash).toMatchObject({ id: made.id, expires_at: expiry })
    expect(changed).toMatchObject({ name: 'Ada', access_policy_ids: ['pol_2'], rate_limit: null, expires_at: null })
    expect(await apiKeys.find(made.id)).toBeUndefined()
    expect(await apiKeys.findByHash('hash of Ada')).toBeUndefined()
    expect(await apiKeys.update(made.id, { name: 'Gone' })).toBeUndefined()
  })

  test('store when they were last used', async () => {
    await using fresh = await freshStore(engine)
    const { apiKeys } = fresh.store
    const made = await apiKeys.create(key('Ada'))

    await apiKeys.touch(made.id, firstTime)

    expect(made.last_used_at).toBeNull()
    expect(await apiKeys.find(made.id)).toEqual({ ...made, last_used_at: '2026-01-01T00:00:00.000Z' })
  })

  test('are listed by project', async () => {
    await using fresh = await freshStore(engine)
    const { apiKeys, projects } = fresh.store
    const project = await projects.create('Shop')
    await apiKeys.create(key('Ada'))
    const bound = await apiKeys.create(key('Bob', { project_id: project.id }))

    const page = await apiKeys.list({ ...window, project_id: project.id }, undefined)

    expect(page).toEqual({ data: [bound], total: 1, ...window })
    expect((await apiKeys.list(window, undefined)).total).toBe(2)
  })
})

describe.each(engines)('access policies on %s', (engine) => {
  const document = { statement: [{ effect: 'Allow' as const, action: ['tools:*'], resource: ['*'] }] }
  const policy = { project_id: null, name: 'Tools', description: null, document }

  test('can be created, found, changed and removed', async () => {
    await using fresh = await freshStore(engine)
    const { accessPolicies } = fresh.store
    const stricter = { statement: [{ effect: 'Deny' as const, action: ['*'], resource: ['*'] }] }

    const made = await accessPolicies.create(policy)
    const given = await accessPolicies.create({ ...policy, id: 'pol_admin' })
    const found = await accessPolicies.findMany([made.id, 'pol_admin', 'pol_none'])
    const changed = await accessPolicies.update(made.id, { document: stricter, description: 'Nothing' })
    await accessPolicies.remove('pol_admin')

    expect(made).toMatchObject({ ...policy, id: expect.stringMatching(/^pol_/) })
    expect(found).toHaveLength(2)
    expect(found).toEqual(expect.arrayContaining([made, given]))
    expect(changed).toMatchObject({ name: 'Tools', document: stricter, description: 'Nothing' })
    expect(await accessPolicies.find('pol_admin')).toBeUndefined()
    expect(await accessPolicies.findMany([])).toEqual([])
  })

  test('are listed by project', async () => {
    await using fresh = await freshStore(engine)
    const { accessPolicies, projects } = fresh.store
    const project = await projects.create('Shop')
    await accessPolicies.create(policy)
    const bound = await accessPolicies.create({ ...policy, project_id: project.id })

    const page = await accessPolicies.list({ ...window, project_id: project.id }, undefined)

    expect(page).toEqual({ data: [bound], total: 1, ...window })
  })

  test('list the keys that have them', async () => {
    await using fresh = await freshStore(engine)
    const { accessPolicies, apiKeys } = fresh.store
    const holder = await apiKeys.create(key('Ada', { access_policy_ids: ['pol_other', 'pol_admin'] }))
    await apiKeys.create(key('Bob', { access_policy_ids: ['pol_admin2', 'xpol_admin'] }))

    const holders = await accessPolicies.holders('pol_admin')

    expect(holders).toEqual([holder.id])
  })
})

describe.each(engines)('API snapshots on %s', (engine) => {
  test('belong to a project, and are removed once no tool of it refers to them', async () => {
    await using fresh = await freshStore(engine)
    const { apiSnapshots, projects, tools } = fresh.store
    const [mine, other] = [await projects.create('mine'), await projects.create('other')]
    const hash = (digit: string) => digit.repeat(64)
    for (const digit of ['a', 'b']) await apiSnapshots.save(mine.id, hash(digit), new Uint8Array([1, 2]))
    await apiSnapshots.save(other.id, hash('a'), new Uint8Array([3]))
    const config = { openapi: { snapshot: hash('a') } }
    await tools.create(mine.id, newId('tool'), draft({ type: 'openapi', config, many_actions: true }))
    const found = async () =>
      [
        await apiSnapshots.find(mine.id, hash('a')),
        await apiSnapshots.find(mine.id, hash('b')),
        await apiSnapshots.find(other.id, hash('a')),
      ].map((bytes) => bytes && [...bytes])

    const before = await found()
    await apiSnapshots.sweep(Date.now() - 1000)
    const tooNew = await found()
    await apiSnapshots.sweep(Date.now() + 1000)

    expect(before).toEqual([[1, 2], [1, 2], [3]])
    expect(tooNew).toEqual(before)
    expect(await found()).toEqual([[1, 2], undefined, undefined])
  })
})

describe.each(engines)('tools on %s', (engine) => {
  const full = draft({
    description: 'The weather in a city',
    config: {
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
      execute: { url: 'https://example.com/{city}', method: 'GET', headers: { accept: 'text/plain' } },
    },
    preset_parameters: { units: 'metric', secret: '\0 \ud800 👩‍🚀' },
    app: 'weather',
    level: 'restricted',
    auto_approve: false,
    timeout_seconds: 2.5,
  })

  test('can be created, found, changed and removed', async () => {
    await using fresh = await freshStore(engine)
    const { tools, projects } = fresh.store
    const project = await projects.create('Shop')

    const made = await tools.create(project.id, newId('tool'), full)
    const found = await tools.find(made.id)
    const changed = await tools.update(made.id, draft({ name: 'forecast', auto_approve: true }))
    await tools.remove(made.id)

    expect(made).toMatchObject({ ...full, project_id: project.id })
    expect(found).toEqual(made)
    expect(changed).toEqual({
      ...made,
      ...draft({ name: 'forecast', auto_approve: true }),
      updated_at: expect.any(String),
    })
    expect(await tools.find(made.id)).toBeUndefined()
    expect(await tools.update(made.id, full)).toBeUndefined()
  })

  test('have unique names within an app, and within the project if they have several actions (S0.9)', async () => {
    await using fresh = await freshStore(engine)
    const { tools, projects } = fresh.store
    const shop = await projects.create('Shop')
    const make = (fields: Partial<SealedDraft>) =>
      tools.create(shop.id, newId('tool'), draft({ name: 'create_contact', ...fields }))
    const taken = { code: 'NAME_TAKEN', details: { kind: 'tool' } }

    const salesforce = await make({ app: 'salesforce' })
    const hubspot = await make({ app: 'hubspot' })
    await make({ app: null })
    await make({ name: 'crm', many_actions: true, app: 'salesforce' })

    await expect(make({ app: 'salesforce' })).rejects.toMatchObject(taken)
    await expect(make({ app: 'tools' })).rejects.toMatchObject(taken)
    await expect(make({ app: 'salesforce', many_actions: true })).rejects.toMatchObject(taken)
    await expect(make({ name: 'crm', many_actions: true, app: 'hubspot' })).rejects.toMatchObject(taken)
    await expect(tools.update(hubspot.id, draft({ name: 'create_contact', app: 'salesforce' }))).rejects.toMatchObject(
      taken,
    )
    expect((await tools.list({ name: 'create_contact', limit: 50, offset: 0 }, undefined)).total).toBe(3)
    expect((await tools.find(salesforce.id))?.app).toBe('salesforce')
  })

  test('survive the migration to names that are unique per app, and rules still refer to their actions', async () => {
    await using database = await emptyDatabase(engine)
    const before = await openBefore(database.options, '2026-11-23-tools-per-app')
    const { db } = before
    const time = { created_at: 1, updated_at: 1 }
    await db
      .insertInto('projects')
      .values({ id: 'proj_1', name: 'Shop', ...time })
      .execute()
    await db
      .insertInto('tools')
      .values({ ...oldTool, id: 'tool_1', name: 'refund', app: 'shop' } as never)
      .execute()
    await db
      .insertInto('tools')
      .values({ ...oldTool, id: 'tool_2', name: 'pay', app: null } as never)
      .execute()
    const expression = `action.id == "tools:refund" || action.id in ['tools:refund', 'tools:pay']`
    const rule = { project_id: 'proj_1', name: 'r', enabled: 1, two_people: 0, timeout_seconds: null, reason: null }
    await db
      .insertInto('approval_rules')
      .values({ id: 'rule_1', expression, ...rule, ...time })
      .execute()
    await before.close()

    const store = await openStore(database.options)

    expect(await store.tools.find('tool_1')).toMatchObject({ name: 'refund', app: 'shop', description: 'kept' })
    expect(await store.tools.find('tool_2')).toMatchObject({ name: 'pay', app: null })
    const [kept] = await store.engine.db.selectFrom('approval_rules').select('expression').execute()
    expect(kept?.expression).toBe(`action.id == "shop:refund" || action.id in ['shop:refund', 'tools:pay']`)
    await store.close()
  })

  test('keep their config in the migration that moves it to one column', async () => {
    await using database = await emptyDatabase(engine)
    const before = await openBefore(database.options, '2026-11-24-tool-config')
    const insert = (row: object) =>
      before.db
        .insertInto('tools')
        .values({ ...oldTool, type_alias: null, app: null, ...row } as never)
        .execute()
    await before.db
      .insertInto('projects')
      .values({ id: 'proj_1', name: 'Shop', created_at: 1, updated_at: 1 })
      .execute()
    const execute = { url: 'https://example.com/?key=ü', method: 'GET', headers: { accept: 'text/plain' } }
    const mcp = { command: 'npx', args: ['-y', 'server'], env: { TOKEN: 'x' }, required: true }
    const parameters = { type: 'object', properties: { city: { type: 'string' } } }
    await insert({
      id: 'tool_1',
      name: 'pay',
      parameters: JSON.stringify(parameters),
      execute: JSON.stringify(execute),
    })
    await insert({ id: 'tool_2', name: 'crm', type: 'mcp', mcp: JSON.stringify(mcp) })
    await insert({ id: 'tool_3', name: 'docs', type: 'platform', type_alias: 'soat', actions: '["get-document"]' })
    await before.close()

    const store = await openStore(database.options)

    expect(await store.tools.find('tool_1')).toMatchObject({ config: { parameters, execute }, many_actions: false })
    expect(await store.tools.find('tool_2')).toMatchObject({ config: { mcp }, many_actions: true })
    expect(await store.tools.find('tool_3')).toMatchObject({
      config: { actions: ['get-document'] },
      many_actions: true,
      type_alias: 'soat',
    })
    const again = draft({ name: 'crm', app: 'other', many_actions: true })
    await expect(store.tools.create('proj_1', newId('tool'), again)).rejects.toMatchObject({ code: 'NAME_TAKEN' })
    await store.close()
  })

  test('of one app have unique names within a project', async () => {
    await using fresh = await freshStore(engine)
    const { tools, projects } = fresh.store
    const [shop, bank] = [await projects.create('Shop'), await projects.create('Bank')]
    await tools.create(shop.id, newId('tool'), draft({ name: 'weather' }))
    const other = await tools.create(shop.id, newId('tool'), draft({ name: 'news' }))
    const taken = { code: 'NAME_TAKEN', details: { kind: 'tool', name: 'weather' } }

    const again = tools.create(shop.id, newId('tool'), draft({ name: 'weather' }))
    await expect(again).rejects.toMatchObject(taken)
    const renamed = tools.update(other.id, draft({ name: 'weather' }))
    await expect(renamed).rejects.toMatchObject(taken)
    const elsewhere = await tools.create(bank.id, newId('tool'), draft({ name: 'weather' }))

    expect(elsewhere.name).toBe('weather')
  })

  test('are listed by project, type and name', async () => {
    await using fresh = await freshStore(engine)
    const { tools, projects } = fresh.store
    const [shop, bank] = [await projects.create('Shop'), await projects.create('Bank')]
    const weather = await tools.create(shop.id, newId('tool'), draft({ name: 'weather' }))
    const client = await tools.create(shop.id, newId('tool'), draft({ name: 'ask', type: 'client' }))
    const other = await tools.create(bank.id, newId('tool'), draft({ name: 'weather' }))

    const byProject = await tools.list({ ...window, project_id: bank.id }, undefined)
    const byType = await tools.list({ ...window, type: 'client' }, undefined)
    const byBoth = await tools.list({ ...window, project_id: shop.id, name: 'weather' }, undefined)

    expect(byProject).toEqual({ data: [other], total: 1, ...window })
    expect(byType).toEqual({ data: [client], total: 1, ...window })
    expect(byBoth).toEqual({ data: [weather], total: 1, ...window })
  })
})

describe.each(engines)('definitions on %s', (engine) => {
  const changed = async ({ definitions }: Store) =>
    (await definitions.changed('tool_1', window)).data.map(({ name, accepted, current }) => [name, accepted, current])

  test('are compared by hash, and the accepted and the current text are stored until a change is accepted', async () => {
    await using fresh = await freshStore(engine)
    const { definitions } = fresh.store
    await definitions.meet('tool_1', [
      { name: 'a', hash: 'a1', text: '{"a":1}' },
      { name: 'b', hash: 'b1', text: null },
    ])

    const news = await definitions.see('tool_1', 'a', { hash: 'a2', text: '{"a":2}' }, 'later')
    const again = await definitions.see('tool_1', 'a', { hash: 'a2', text: '{"a":2}' }, 'later')
    await definitions.see('tool_1', 'b', { hash: 'b2', text: '{"b":2}' }, 'later')
    const before = await changed(fresh.store)
    const stale = await definitions.acceptRead('tool_1', 'a', 'a1')
    const read = await definitions.acceptRead('tool_1', 'a', 'a2')
    const after = await changed(fresh.store)
    await definitions.see('tool_1', 'a', { hash: 'a3', text: '{"a":3}' }, 'at once')

    expect([news, again, stale, read]).toEqual([true, false, false, true])
    expect(before).toEqual([
      ['a', '{"a":1}', '{"a":2}'],
      ['b', null, '{"b":2}'],
    ])
    expect(after).toEqual([['b', null, '{"b":2}']])
    expect((await definitions.changed('tool_1', { limit: 1, offset: 1 })).total).toBe(1)
    expect((await definitions.of('tool_1')).get('a')).toEqual({ accepted_hash: 'a3', current_hash: 'a3', isKept: true })
  })

  test('without a stored text get it when the same hash is seen again, and no other text', async () => {
    await using fresh = await freshStore(engine)
    const { definitions } = fresh.store
    await definitions.meet('tool_1', [{ name: 'a', hash: 'a1', text: null }])

    await definitions.meet('tool_1', [{ name: 'a', hash: 'other', text: '{"other":1}' }])
    const unkept = (await definitions.of('tool_1')).get('a')
    await definitions.meet('tool_1', [{ name: 'a', hash: 'a1', text: '{"a":1}' }])
    await definitions.meet('tool_1', [{ name: 'a', hash: 'a1', text: '{"late":1}' }])
    await definitions.see('tool_1', 'a', { hash: 'a2', text: '{"a":2}' }, 'later')

    expect(unkept).toEqual({ accepted_hash: 'a1', current_hash: 'a1', isKept: false })
    expect(await changed(fresh.store)).toEqual([['a', '{"a":1}', '{"a":2}']])
  })
})

describe.each(engines)('documents on %s', (engine) => {
  async function library() {
    const fresh = await freshStore(engine)
    const { documents, projects } = fresh.store
    const shop = await projects.create('Shop')
    const write = (path: string, content: string, projectId = shop.id) =>
      documents.create(projectId, { path, content, tags: {} })
    const search = async (...words: string[]) => {
      const found = await documents.search({ project_ids: null, words, limit: 10 }, undefined)
      return found.map(({ path }) => path)
    }
    return { ...fresh, documents, projects, shop, write, search }
  }

  test('can be created, found, changed and removed', async () => {
    await using fresh = await library()
    const { documents, shop } = fresh

    const made = await documents.create(shop.id, { path: '/a.md', content: 'naïve', tags: { team: 'red' } })
    const found = await documents.find(made.id)
    const changed = await documents.update(made.id, { content: '👩‍🚀', tags: {} })
    const moved = await documents.update(made.id, { path: '/b.md' })
    await documents.remove(made.id)

    expect(made).toMatchObject({ path: '/a.md', content: 'naïve', tags: { team: 'red' }, size: 6 })
    expect(found).toEqual(made)
    expect(changed).toMatchObject({ path: '/a.md', content: '👩‍🚀', tags: {}, size: 11 })
    expect(moved).toMatchObject({ path: '/b.md', content: '👩‍🚀', size: 11 })
    expect(await documents.find(made.id)).toBeUndefined()
    expect(await documents.update(made.id, { content: '' })).toBeUndefined()
  })

  test('have unique paths within a project', async () => {
    await using fresh = await library()
    const { documents, projects, write } = fresh
    const bank = await projects.create('Bank')
    await write('/a.md', '')
    const other = await write('/b.md', '')
    const taken = { code: 'NAME_TAKEN', details: { kind: 'document', name: '/a.md' } }

    await expect(write('/a.md', '')).rejects.toMatchObject(taken)
    await expect(documents.update(other.id, { path: '/a.md' })).rejects.toMatchObject(taken)
    const elsewhere = await write('/a.md', '', bank.id)

    expect(elsewhere.path).toBe('/a.md')
  })

  test('are listed by project and path prefix, without their content', async () => {
    await using fresh = await library()
    const { documents, projects, shop, write } = fresh
    const bank = await projects.create('Bank')
    const report = await write('/reports/100%_sure.md', 'x')
    await write('/reports/100 percent sure.md', 'x')
    const folder = await write('/📁 inbox/a.md', 'x')
    await write('/reports/100%_sure.md', 'x', bank.id)

    const byPrefix = await documents.list({ ...window, project_id: shop.id, path_prefix: '/reports/100%_' }, undefined)
    const byEmoji = await documents.list({ ...window, path_prefix: '/📁 inbox/' }, undefined)

    const { content: _, ...summary } = report
    expect(byPrefix).toEqual({ data: [summary], total: 1, ...window })
    expect(byEmoji.data.map(({ id }) => id)).toEqual([folder.id])
    expect((await documents.list({ ...window, project_id: shop.id }, undefined)).total).toBe(3)
  })

  test('are found by other forms of their words', async () => {
    await using fresh = await library()
    const { write, search } = fresh
    await write('/a', 'How to run the shop')
    await write('/b', 'She was running late')
    await write('/c', 'Nothing of that kind')

    expect((await search('running')).sort()).toEqual(['/a', '/b'])
    expect((await search('run')).sort()).toEqual(['/a', '/b'])
    expect((await search('RUNS')).sort()).toEqual(['/a', '/b'])
  })

  test('are found by the words of their path', async () => {
    await using fresh = await library()
    const { write, search } = fresh
    await write('/handbook/travel-policy_2026.md', 'Book early.')

    for (const word of ['handbook', 'travel', 'policies', '2026']) {
      expect(await search(word), word).toEqual(['/handbook/travel-policy_2026.md'])
    }
  })

  test('are found by any of the words, best match first, with a snippet', async () => {
    await using fresh = await library()
    const { documents, write } = fresh
    await write('/once', `Once: refund. ${'Other words follow here. '.repeat(40)}`)
    await write('/refund', 'A refund is a refund: how to ask for one.')
    await write('/none', 'Nothing of that kind')

    const found = await documents.search({ project_ids: null, words: ['refund', 'unheard'], limit: 10 }, undefined)

    expect(found.map(({ path }) => path)).toEqual(['/refund', '/once'])
    expect(found[0]?.score).toBeGreaterThan(found[1]?.score ?? Number.NaN)
    expect(found[1]?.snippet).toContain('**refund**')
    expect(found[1]?.snippet.length).toBeLessThan(300)
  })

  test('are found regardless of punctuation around the words', async () => {
    await using fresh = await library()
    const { write, search } = fresh
    await write('/a', 'How to run the shop')

    for (const word of `"run" 'run' run* run:* !run (run run) -run ^run run& <->run \\run`.split(' ')) {
      expect(await search(word), word).toEqual(['/a'])
      expect(await search('unheard', word), word).toEqual(['/a'])
    }
  })

  test('can be searched for punctuation and empty words without an error', async () => {
    await using fresh = await library()
    const { write, search } = fresh
    await write('/a', 'How to run the shop')

    const signs = `" ' '' \\ * () & | ! <-> : AND NOT NEAR 👩‍🚀`.split(' ')
    for (const word of ['', ' ', '\0', '\ud800', ...signs]) {
      expect(await search(word), JSON.stringify(word)).toEqual([])
      expect(await search(word, 'run'), JSON.stringify(word)).toEqual(['/a'])
    }
    expect(await search()).toEqual([])
  })

  test('are searched only in the given projects', async () => {
    await using fresh = await library()
    const { documents, projects, shop, write } = fresh
    const bank = await projects.create('Bank')
    await write('/shop', 'refund')
    await write('/bank', 'refund', bank.id)
    const search = async (project_ids: string[] | null) => {
      const found = await documents.search({ project_ids, words: ['refund'], limit: 10 }, undefined)
      return found.map(({ path }) => path).sort()
    }

    expect(await search([bank.id])).toEqual(['/bank'])
    expect(await search([shop.id, bank.id])).toEqual(['/bank', '/shop'])
    expect(await search(null)).toEqual(['/bank', '/shop'])
    expect(await search([])).toEqual([])
  })

  test('that the caller cannot see do not count toward the limit of a search', async () => {
    await using fresh = await library()
    const { documents, write } = fresh
    for (let n = 0; n < 5; n++) await write(`/secret/refund/${n}`, 'refund refund refund')
    await write('/open', 'A refund')

    const found = await documents.search(
      { project_ids: null, words: ['refund'], limit: 2 },
      ({ path }) => path === '/open',
    )
    const limited = await documents.search({ project_ids: null, words: ['refund'], limit: 2 }, undefined)

    expect(found.map(({ path }) => path)).toEqual(['/open'])
    expect(limited).toHaveLength(2)
  })

  test('are found by their new words after a change, and not at all after removal', async () => {
    await using fresh = await library()
    const { documents, write, search } = fresh
    const changed = await write('/old', 'apple')
    const removed = await write('/gone', 'cherry')
    const tagged = await write('/tagged', 'damson')

    await documents.update(changed.id, { path: '/new', content: 'banana' })
    await documents.update(tagged.id, { tags: { team: 'red' } })
    await documents.remove(removed.id)

    expect(await search('apple', 'old')).toEqual([])
    expect(await search('banana')).toEqual(['/new'])
    expect(await search('new')).toEqual(['/new'])
    expect(await search('cherry', 'gone')).toEqual([])
    expect(await search('damson')).toEqual(['/tagged'])
  })

  test('can have many different words, and are found at least by their beginning', async () => {
    await using fresh = await library()
    const { documents, write, search } = fresh
    const content = Array.from({ length: 250_000 }, (_, n) => (n + 46_656).toString(36)).join(' ')

    const made = await write('/long', `beginning ${content}`)

    expect((await documents.find(made.id))?.content).toBe(`beginning ${content}`)
    expect(await search('beginning')).toEqual(['/long'])
  })

  test('can be long prose, and are found by their last word', async () => {
    await using fresh = await library()
    const { write, search } = fresh

    await write('/long', `${'It was the best of times, it was the worst of times. '.repeat(20_000)} epilogue`)

    expect(await search('epilogue')).toEqual(['/long'])
  })
})

test('documents in a data folder are still found after a vacuum of its database', async () => {
  await using fresh = await freshStore('sqlite')
  const { documents, projects, engine } = fresh.store
  const project = await projects.create('Shop')
  const write = (content: string) => documents.create(project.id, { path: `/${content}.md`, content, tags: {} })
  const first = await write('apple')
  await write('banana')
  await documents.remove(first.id)

  await sql`vacuum`.execute(engine.db)

  const found = await documents.search({ project_ids: null, words: ['banana'], limit: 10 }, undefined)
  expect(found.map(({ path }) => path)).toEqual(['/banana.md'])
})

describe.each(engines)('files on %s', (engine) => {
  async function shelf() {
    const fresh = await freshStore(engine)
    const project = await fresh.store.projects.create('Shop')
    return { ...fresh, files: fresh.store.files, project }
  }

  test('return the bytes that were stored, with their size and hash', async () => {
    await using fresh = await shelf()
    const { store, project } = fresh
    const bytes = randomBytes(3_000_001)

    const file = await upload(store, project.id, '/a.bin', bytes, { team: 'red' })

    expect(file).toMatchObject({ path: '/a.bin', tags: { team: 'red' }, size: 3_000_001, sha256: sha256(bytes) })
    expect(await store.files.find(file.id)).toEqual(file)
    expect((await download(store, file.id, 0, file.size)).equals(bytes)).toBe(true)
    expect(await chunksKept(store)).toBe(12)
  })

  test('of every size around the chunk size are returned complete, from pieces of any size', async () => {
    await using fresh = await shelf()
    const { store, files, project } = fresh
    const chunk = 256 * 1024

    for (const size of [0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk]) {
      const bytes = randomBytes(size)
      const content = await files.store(pieces(bytes, size === chunk ? chunk : 65_537), size)
      const file = await files.create(project.id, { path: `/${size}`, content_type: 'x/y', tags: {} }, content)

      expect(file.size, `${size}`).toBe(size)
      expect((await download(store, file.id, 0, size)).equals(bytes), `${size}`).toBe(true)
    }
  })

  test('return any requested range', async () => {
    await using fresh = await shelf()
    const { store, project } = fresh
    const bytes = randomBytes(1_000_000)
    const file = await upload(store, project.id, '/a.bin', bytes)

    for (const [start, end] of [
      [0, 1],
      [0, 262_144],
      [262_143, 262_145],
      [262_144, 524_288],
      [999_999, 1_000_000],
      [5, 999_995],
      [7, 7],
    ] as const) {
      const part = await download(store, file.id, start, end)

      expect(part.equals(bytes.subarray(start, end)), `${start}-${end}`).toBe(true)
    }
  })

  test('over the limit are refused and leave nothing behind', async () => {
    await using fresh = await shelf()
    const { store, files } = fresh

    const stored = files.store(pieces(randomBytes(1_000_000)), 999_999)

    await expect(stored).rejects.toMatchObject({ code: 'BODY_TOO_LARGE', details: { limit: 999_999 } })
    expect(await chunksKept(store)).toBe(0)
  })

  test('whose upload is interrupted leave nothing behind', async () => {
    await using fresh = await shelf()
    const { store, files } = fresh
    async function* broken() {
      yield randomBytes(600_000)
      throw new Error('the caller went away')
    }

    await expect(files.store(broken(), 10_000_000)).rejects.toThrow('the caller went away')

    expect(await chunksKept(store)).toBe(0)
  })

  test('have unique paths within a project, and a refused file leaves nothing behind', async () => {
    await using fresh = await shelf()
    const { store, files, project } = fresh
    const first = await upload(store, project.id, '/a.bin', Buffer.from('first'))
    const other = await upload(store, project.id, '/b.bin', Buffer.from('other'))
    const taken = { code: 'NAME_TAKEN', details: { kind: 'file', name: '/a.bin' } }

    await expect(upload(store, project.id, '/a.bin', Buffer.from('second'))).rejects.toMatchObject(taken)
    const content = await files.store(pieces(Buffer.from('third')), 100)
    await expect(files.update(other.id, { path: '/a.bin' }, content)).rejects.toMatchObject(taken)

    expect(await chunksKept(store)).toBe(2)
    expect(String(await download(store, first.id, 0, first.size))).toBe('first')
    expect(String(await download(store, other.id, 0, other.size))).toBe('other')
  })

  test('can be moved, tagged and replaced, and the old content is deleted', async () => {
    await using fresh = await shelf()
    const { store, files, project } = fresh
    const made = await upload(store, project.id, '/a.bin', randomBytes(600_000))

    const moved = await files.update(made.id, { path: '/b.txt', content_type: 'text/plain', tags: { team: 'red' } })
    const content = await files.store(pieces(Buffer.from('new')), 100)
    const filled = await files.update(made.id, {}, content)

    expect(moved).toMatchObject({
      path: '/b.txt',
      content_type: 'text/plain',
      tags: { team: 'red' },
      sha256: made.sha256,
    })
    expect(filled).toMatchObject({ path: '/b.txt', size: 3, sha256: sha256(Buffer.from('new')) })
    expect(String(await download(store, made.id, 0, 3))).toBe('new')
    expect(await chunksKept(store)).toBe(1)
  })

  test('that were removed cannot get new content, and its bytes are not kept', async () => {
    await using fresh = await shelf()
    const { store, files } = fresh
    const content = await files.store(pieces(Buffer.from('late')), 100)

    const updated = await files.update('file_gone', {}, content)

    expect(updated).toBeUndefined()
    expect(await chunksKept(store)).toBe(0)
  })

  test('that are removed are deleted with their bytes', async () => {
    await using fresh = await shelf()
    const { store, files, project } = fresh
    const file = await upload(store, project.id, '/a.bin', randomBytes(600_000))

    await files.remove(file.id)

    expect(await files.find(file.id)).toBeUndefined()
    expect(await download(store, file.id, 0, 600_000)).toHaveLength(0)
    expect(await chunksKept(store)).toBe(0)
  })

  test('that are replaced while they are read fail instead of mixing old and new content', async () => {
    await using fresh = await shelf()
    const { store, files, project } = fresh
    const file = await upload(store, project.id, '/a.bin', randomBytes(600_000))
    const reading = files.read(file.id, 0, file.size)
    await reading.next()

    await files.update(file.id, {}, await files.store(pieces(randomBytes(600_000)), 1_000_000))

    await expect(reading.next()).rejects.toThrow('changed while it was read')
  })

  test('of interrupted uploads are cleaned up, and no others', async () => {
    await using fresh = await shelf()
    const { store, files, project } = fresh
    const file = await upload(store, project.id, '/a.bin', Buffer.from('kept'))
    await files.store(pieces(Buffer.from('abandoned')), 100)
    await sleep(5)
    const now = Date.now()
    await sleep(5)
    await files.store(pieces(Buffer.from('still being uploaded')), 100)

    await files.sweep(firstIdAt('bytes', now))

    expect(await chunksKept(store)).toBe(2)
    expect(String(await download(store, file.id, 0, file.size))).toBe('kept')
  })

  test('are listed by project, if the caller can see them', async () => {
    await using fresh = await shelf()
    const { store, files, project } = fresh
    const bank = await store.projects.create('Bank')
    const open = await upload(store, project.id, '/open', Buffer.from('1'))
    await upload(store, project.id, '/secret', Buffer.from('2'))
    await upload(store, bank.id, '/open', Buffer.from('3'))

    const page = await files.list({ ...window, project_id: project.id }, ({ path }) => path === '/open')

    expect(page).toEqual({ data: [open], total: 1, ...window })
    expect((await files.list({ ...window, project_id: project.id }, undefined)).total).toBe(2)
  })
})

test('a file keeps its new content when the old cannot be removed', async () => {
  await using fresh = await freshStore('sqlite')
  const { files, projects, engine } = fresh.store
  const project = await projects.create('Shop')
  const file = await upload(fresh.store, project.id, '/a.txt', Buffer.from('old'))
  await sql`create trigger failing before delete on file_chunks when cast(old.bytes as text) = 'old'
    begin select raise(abort, 'the disk is failing'); end`.execute(engine.db)
  const content = await files.store(pieces(Buffer.from('new')), 100)

  const updated = files.update(file.id, {}, content)

  await expect(updated).rejects.toThrow('the disk is failing')
  expect(String(await download(fresh.store, file.id, 0, 3))).toBe('new')
})

describe.each(engines)('calls on %s', (engine) => {
  test('are recorded when they start and when they end', async () => {
    await using fresh = await freshStore(engine)
    const { calls } = fresh.store
    const row = call({
      project_id: 'proj_1',
      parent_call_id: 'call_1',
      tool_id: 'tool_1',
      tool: 'weather',
      app: 'skies',
      action: 'weather:now',
      client_name: 'curl',
      client_version: '8',
      request: '{"city":"Recife"}',
    })

    await calls.begin(row, 'once')
    const begun = await calls.find(row.id)
    await calls.end(success(row.id, { response: '{"sun":true}', duration_ms: 12.25, completed_at: firstTime }))
    const ended = await calls.find(row.id)

    expect(begun).toEqual({
      id: row.id,
      project_id: 'proj_1',
      parent_call_id: 'call_1',
      generation_id: null,
      agent_id: null,
      tool_id: 'tool_1',
      tool: 'weather',
      app: 'skies',
      action: 'weather:now',
      status: 'pending',
      principal: { kind: 'api_key', id: 'key_1', name: 'Ada' },
      surface: 'rest',
      server_id: null,
      client: { name: 'curl', version: '8' },
      request: { city: 'Recife' },
      request_truncated: false,
      preset_keys: [],
      response: null,
      response_truncated: false,
      error: null,
      duration_ms: null,
      waited_ms: null,
      mode: null,
      created_at: new Date(row.created_at).toISOString(),
      completed_at: null,
    })
    expect(ended).toEqual({
      ...begun,
      status: 'success',
      response: { sun: true },
      duration_ms: 12.25,
      completed_at: '2026-01-01T00:00:00.000Z',
    })
  })

  test('that are refused are recorded immediately, with the reason', async () => {
    await using fresh = await freshStore(engine)
    const { calls } = fresh.store
    const error = { code: 'FORBIDDEN', message: 'No.', details: { layer: 'access policy' } }
    const row = call({
      status: 'permission_denied',
      error: JSON.stringify(error),
      duration_ms: 0.1,
      completed_at: firstTime,
    })

    await calls.refuse(row)

    expect(await calls.find(row.id)).toMatchObject({ status: 'permission_denied', error, duration_ms: 0.1 })
  })

  test('whose request or response was truncated show its beginning as text', async () => {
    await using fresh = await freshStore(engine)
    const { calls } = fresh.store
    const row = call({ request: '{"text":"aaa', request_truncated: 1 })

    await calls.begin(row, 'once')
    await calls.end(success(row.id, { response: '["bbb', response_truncated: 1 }))

    expect(await calls.find(row.id)).toMatchObject({
      request: '{"text":"aaa',
      request_truncated: true,
      response: '["bbb',
      response_truncated: true,
    })
  })

  test('are all recorded if hundreds arrive at once', async () => {
    await using fresh = await freshStore(engine)
    const { calls } = fresh.store
    const rows = Array.from({ length: 500 }, (_, n) => call({ request: `${n}` }))

    await Promise.all(
      rows.map(async (row) => {
        await calls.begin(row, 'once')
        await calls.end(success(row.id, { response: row.request }))
      }),
    )

    const kept = await calls.findMany(rows.map(({ id }) => id))
    expect(kept).toHaveLength(500)
    expect(kept.filter(({ status, request, response }) => status === 'success' && request === response)).toHaveLength(
      500,
    )
    expect(kept.map(({ request }) => request).toSorted((a, b) => Number(a) - Number(b))).toEqual(rows.map((_, n) => n))
  })

  test('are listed newest first, without request and response', async () => {
    await using fresh = await freshStore(engine)
    const { calls } = fresh.store
    const rows = Array.from({ length: 5 }, (_, n) => call({ created_at: firstTime + n }))
    await Promise.all(rows.map((row) => calls.begin(row, 'once')))

    const page = await calls.list({ limit: 2, offset: 1 }, undefined)
    const seen = await calls.list(window, ({ id }) => id === rows[0]?.id)

    expect(page).toMatchObject({ total: 5, limit: 2, offset: 1 })
    expect(page.data.map(({ id }) => id)).toEqual([rows[3]?.id, rows[2]?.id])
    expect(page.data[0]).not.toHaveProperty('request')
    expect(page.data[0]).not.toHaveProperty('response')
    expect(seen).toMatchObject({ total: 1, data: [{ id: rows[0]?.id }] })
  })

  test('can be filtered by each of their fields', async () => {
    await using fresh = await freshStore(engine)
    const { calls } = fresh.store
    const marks = {
      project_id: 'proj_1',
      status: 'success',
      app: 'skies',
      tool_id: 'tool_1',
      tool: 'weather',
      action: 'weather:now',
      principal_id: 'key_2',
      surface: 'mcp',
    }
    const rows = Object.entries(marks).map(([mark, value]) => ({ mark, value, row: call({ [mark]: value }) }))
    const all = call(marks)
    await Promise.all([calls.begin(all, 'once'), ...rows.map(({ row }) => calls.begin(row, 'once'))])

    for (const { mark, value, row } of rows) {
      const page = await calls.list({ ...window, [mark]: value }, undefined)

      expect(page.total, mark).toBe(2)
      expect(page.data.map(({ id }) => id).sort(), mark).toEqual([row.id, all.id].sort())
    }
    expect((await calls.list({ ...window, ...marks }, undefined)).data.map(({ id }) => id)).toEqual([all.id])
    expect((await calls.list({ ...window, tool: 'nothing' }, undefined)).total).toBe(0)
  })

  test('can be filtered by time, with an inclusive start and an exclusive end', async () => {
    await using fresh = await freshStore(engine)
    const { calls } = fresh.store
    const rows = Array.from({ length: 5 }, (_, n) => call({ created_at: firstTime + n }))
    await Promise.all(rows.map((row) => calls.begin(row, 'once')))
    const numbers = async (times: { from?: number; to?: number }) => {
      const { data } = await calls.list({ ...window, ...times }, undefined)
      return data.map(({ id }) => rows.findIndex((row) => row.id === id))
    }

    expect(await numbers({ from: firstTime + 3 })).toEqual([4, 3])
    expect(await numbers({ to: firstTime + 2 })).toEqual([1, 0])
    expect(await numbers({ from: firstTime + 1, to: firstTime + 4 })).toEqual([3, 2, 1])
    expect(await numbers({ from: firstTime + 9 })).toEqual([])
  })

  test('keep text of any length and script, including escape sequences', async () => {
    await using fresh = await freshStore(engine)
    const { calls } = fresh.store

    for (const text of ['👩‍🚀 é 漢字 \u202e', '\\u0000 \\ud800 \\', '"\'`;--\n\t\u0001', 'é'.repeat(65_536)]) {
      const names = {
        tool: text,
        app: text,
        action: text,
        client_name: text,
        client_version: text,
        principal_name: text,
      }
      const row = call({ ...names, request: JSON.stringify({ [text]: text }) })
      const error = { code: 'X', message: text, details: { text } }
      await calls.begin(row, 'once')
      await calls.end(success(row.id, { response: JSON.stringify(text), error: JSON.stringify(error) }))

      expect(await calls.find(row.id)).toMatchObject({
        tool: text,
        app: text,
        action: text,
        client: { name: text, version: text },
        principal: { name: text },
        request: { [text]: text },
        response: text,
        error,
      })
    }
  })

  test('keep NUL characters and lone surrogates in their JSON', async () => {
    await using fresh = await freshStore(engine)
    const { calls } = fresh.store
    const text = 'a\0b \ud83d c \udc00'
    const row = call({ request: JSON.stringify({ [text]: text }) })
    const error = { code: 'X', message: text, details: { text } }

    await calls.begin(row, 'once')
    await calls.end(success(row.id, { response: JSON.stringify([text]), error: JSON.stringify(error) }))

    expect(await calls.find(row.id)).toMatchObject({ request: { [text]: text }, response: [text], error })
  })

  test('that cannot be written fail, and later ones do not', async () => {
    await using fresh = await freshStore(engine)
    const { calls } = fresh.store
    const row = call()
    await calls.begin(row, 'once')

    await expect(calls.begin(row, 'once')).rejects.toThrow(/unique/i)
    const next = call()
    await calls.begin(next, 'once')

    expect(await calls.find(next.id)).toMatchObject({ status: 'pending' })
  })

  test('are published when they start and when they end', async () => {
    await using fresh = await freshStore(engine)
    const { calls, changes } = fresh.store
    const heard: string[] = []
    const row = call()
    changes.subscribe('calls', (ids) => heard.push(...ids))

    await calls.begin(row, 'once')
    await calls.end(success(row.id))

    expect(heard).toEqual([row.id, row.id])
  })
})

test('calls whose end is lost to a PostgreSQL deadlock are ended by a retry', async () => {
  await using fresh = await freshStore('postgres')
  const { store, options } = fresh
  const [first, second] = [call({ created_at: firstTime }), call({ created_at: firstTime + 1 })]
  await Promise.all([store.calls.begin(first, 'repeatable'), store.calls.begin(second, 'repeatable')])
  const other = new pg.Client({ connectionString: options.databaseUrl })
  await other.connect()
  try {
    const touch = (id: string) => other.query('update calls set client_name = $1 where id = $2', ['other', id])
    await other.query('begin')
    await touch(second.id)
    const ended = Promise.all([store.calls.end(success(first.id)), store.calls.end(success(second.id))])
    await sleep(300)
    await touch(first.id)
    await other.query('rollback')
    await ended
  } finally {
    await other.end()
  }

  const calls = await store.calls.findMany([first.id, second.id])
  expect(calls.map(({ status }) => status)).toEqual(['success', 'success'])
})

describe.each(engines)('idempotency keys on %s', (engine) => {
  test('are claimed by the first request, and others get its response', async () => {
    await using fresh = await freshStore(engine)
    const { idempotencyKeys } = fresh.store

    const first = await idempotencyKeys.claim('key_1', 'a', 'hash')
    const early = await idempotencyKeys.claim('key_1', 'a', 'other hash')
    await idempotencyKeys.keep('key_1', 'a', { status: 201, body: '{}' })
    const late = await idempotencyKeys.claim('key_1', 'a', 'hash')
    const other = await idempotencyKeys.claim('key_2', 'a', 'hash')

    expect(first).toBeUndefined()
    expect(early).toEqual({ request_hash: 'hash', answer: null })
    expect(late).toEqual({ request_hash: 'hash', answer: { status: 201, body: '{}' } })
    expect(other).toBeUndefined()
  })

  test('can be claimed again after they were released or cleaned up', async () => {
    await using fresh = await freshStore(engine)
    const { idempotencyKeys } = fresh.store
    await idempotencyKeys.claim('key_1', 'released', 'hash')
    await idempotencyKeys.claim('key_1', 'swept', 'hash')

    await idempotencyKeys.release('key_1', 'released')
    const released = await idempotencyKeys.claim('key_1', 'released', 'hash')
    await idempotencyKeys.sweep(Date.now() - 60_000)
    const kept = await idempotencyKeys.claim('key_1', 'swept', 'hash')
    await idempotencyKeys.sweep(Date.now() + 1)
    const swept = await idempotencyKeys.claim('key_1', 'swept', 'hash')

    expect([released, kept?.request_hash, swept]).toEqual([undefined, 'hash', undefined])
  })

  test('are never held by two requests at once, even while others release them', async () => {
    await using fresh = await freshStore(engine)
    const { idempotencyKeys } = fresh.store
    let holders = 0
    let most = 0
    const take = async () => {
      if ((await idempotencyKeys.claim('key_1', 'a', 'hash')) !== undefined) return
      most = Math.max(most, ++holders)
      await sleep(1)
      holders--
      await idempotencyKeys.release('key_1', 'a')
    }

    await Promise.all(
      Array.from({ length: 20 }, async () => {
        for (let n = 0; n < 20; n++) await take()
      }),
    )

    expect(most).toBe(1)
  })
})

describe.each(engines)('settings on %s', (engine) => {
  test('are won by exactly one of several simultaneous claims', async () => {
    await using fresh = await freshStore(engine)
    const { settings } = fresh.store

    const claims = Array.from({ length: 20 }, (_, n) => settings.claim('first start', `${n}`))
    const won = await Promise.all(claims)

    expect(won.filter(Boolean)).toHaveLength(1)
    expect(await settings.find('first start')).toBe(`${won.indexOf(true)}`)
  })
})

describe.each(engines)('change events on %s', (engine) => {
  test('are received once in the store that publishes them, until the subscription ends', async () => {
    await using fresh = await freshStore(engine)
    const { apiKeys, changes } = fresh.store
    const heard: (readonly string[])[] = []
    const stop = changes.subscribe('api_keys', (ids) => heard.push(ids))

    const { id } = await apiKeys.create(key('Ada'))
    await apiKeys.update(id, { name: 'Bob' })
    await apiKeys.touch(id, firstTime)
    await apiKeys.remove(id)
    const all = [...heard]
    stop()
    await apiKeys.create(key('Eve'))

    expect(all).toEqual([[id], [id], [id]])
    expect(heard).toHaveLength(3)
  })
})

describe('change events between stores on one PostgreSQL database', () => {
  async function pair() {
    const fresh = await freshStore('postgres')
    const other = await openStore(fresh.options)
    return {
      options: fresh.options,
      one: fresh.store,
      other,
      async [Symbol.asyncDispose]() {
        await other.close()
        await fresh[Symbol.asyncDispose]()
      },
    }
  }

  function listenTo(store: Store) {
    const heard: [topic: string, ids: readonly string[]][] = []
    for (const topic of ['api_keys', 'access_policies', 'tools', 'calls'] as const) {
      store.changes.subscribe(topic, (ids) => heard.push([topic, ids]))
    }
    return heard
  }

  const cutListeners = (store: Store) =>
    sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query ilike 'listen%'`.execute(store.engine.db)

  test('are received by the other store, and once by the store itself', async () => {
    await using stores = await pair()
    const { one, other } = stores
    const [byOne, byOther] = [listenTo(one), listenTo(other)]

    const { id } = await one.apiKeys.create(key('Ada'))
    const policy = await other.accessPolicies.update('pol_1', { name: 'x' })

    const all = [
      ['api_keys', [id]],
      ['access_policies', ['pol_1']],
    ]
    expect(policy).toBeUndefined()
    await vi.waitFor(() => expect(byOther.toSorted()).toEqual(all.toSorted()), { timeout: 1000, interval: 5 })
    await vi.waitFor(() => expect(byOne.toSorted()).toEqual(all.toSorted()), { timeout: 1000, interval: 5 })
    await sleep(100)
    expect([byOne.length, byOther.length]).toEqual([2, 2])
  })

  test('are complete for a change of a thousand records', async () => {
    await using stores = await pair()
    const { one, other } = stores
    const heard = listenTo(other)
    const ids = Array.from({ length: 1000 }, () => newId('call'))

    await one.changes.publish('calls', ids)

    await vi.waitFor(() => expect(heard.flatMap(([, some]) => some)).toEqual(ids), { timeout: 1000, interval: 5 })
  })

  test('invalidate everything after a lost connection is restored', async () => {
    await using stores = await pair()
    const { one, other } = stores
    const heard = listenTo(other)

    await cutListeners(one)

    const all = [
      ['api_keys', []],
      ['access_policies', []],
      ['tools', []],
    ]
    await vi.waitFor(() => expect(heard).toEqual(all), { timeout: 5000, interval: 10 })
    await one.changes.publish('tools', ['tool_1'])
    await vi.waitFor(() => expect(heard).toEqual([...all, ['tools', ['tool_1']]]), { timeout: 1000, interval: 5 })
  })

  test('leave no connection open if a store is closed during a reconnect', async () => {
    await using stores = await pair()
    const { one, options } = stores
    const closing = [0, 50, 100, 102, 104, 106, 108, 110, 115, 120, 150]
    const others = await Promise.all(closing.map(() => openStore(options)))

    await cutListeners(one)
    await Promise.all(closing.map((delay, n) => sleep(delay).then(() => others[n]?.close())))
    await sleep(500)

    const { rows } = await sql<{ n: number }>`select count(*) as n from pg_stat_activity
      where datname = current_database() and query ilike 'listen%'`.execute(one.engine.db)
    expect(rows).toEqual([{ n: 2 }])
  })
})

describe.each(engines)('vectors on %s', (engine) => {
  test('are stored by model and text, and never overwritten', async () => {
    await using fresh = await freshStore(engine)
    const { store } = fresh
    const bytes = Buffer.from([0, 1, 127, 128, 255])

    await store.vectors.add('small', [
      { text_hash: 'a', bytes },
      { text_hash: 'b', bytes },
    ])
    await store.vectors.add('small', [{ text_hash: 'a', bytes: Buffer.from([9]) }])
    await store.vectors.add('small', [])

    const found = await store.vectors.find('small', ['a', 'none'])
    expect(found.map(({ text_hash, bytes: kept }) => [text_hash, [...kept]])).toEqual([['a', [...bytes]]])
    expect(await store.vectors.find('large', ['a', 'b'])).toEqual([])
    expect(await store.vectors.find('small', [])).toEqual([])
  })
})
