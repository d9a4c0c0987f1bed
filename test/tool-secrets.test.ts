import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../src/config.ts'
import { createPlatform, type Platform } from '../src/main.ts'
import { openStore } from '../src/store/store.ts'
import { engines, freshDatabase } from './engines.ts'
import { adminKey, type Received, type Service, startPlatform, startService, type TestPlatform } from './kit.ts'

const token = 'correct-horse-battery-staple'
const key = 'b4ck-d00r-key'
const next = 'tr0ub4dor-and-three-more'

/** A service that returns everything it was sent. */
const mirror = ({ headers, url }: Received) => ({ body: JSON.stringify({ headers, url }) })

const pin = 'open-sesame-4711'

const toolAt = (url: string) => ({
  name: 'crm',
  parameters: {},
  preset_parameters: { password: pin, units: 'metric', nested: { api_key: [pin] } },
  execute: {
    url: `${url}/v1?key=${key}&units=metric`,
    method: 'GET',
    headers: { authorization: `Bearer ${token}`, accept: 'text/plain', 'x-pin': '12345' },
  },
})

const shownAt = (url: string) => ({
  url: `${url}/v1?key=[hidden]&units=metric`,
  method: 'GET',
  headers: { authorization: '[hidden]', accept: 'text/plain', 'x-pin': '12345' },
})

async function register(platform: TestPlatform, tool: object) {
  const { status, body } = await platform.post('/tools', { project_id: platform.projectId, ...tool })
  expect(status, JSON.stringify(body)).toBe(201)
  return body
}

const sentOf = ({ received }: Service) => received.map(({ headers, url }) => `${headers.authorization} ${url}`)
const withoutPresets = { preset_parameters: null }

async function rowsOf(platform: Platform) {
  const { rows } = await sql<{ config: string; secrets: string }>`select * from tools`.execute(platform.store.engine.db)
  return rows
}

describe.each(engines)('credentials in the config of a tool, on %s,', (engine) => {
  test('are encrypted in the database, sent with calls, and never returned', async () => {
    await using database = await freshDatabase(engine)
    await using service = await startService(mirror)
    await using platform = await startPlatform(
      database.options.databaseUrl ? { DATABASE_URL: database.options.databaseUrl } : {},
    )

    const made = await register(platform, toolAt(service.url))
    const changed = await platform.patch(`/tools/${made.id}`, { description: 'CRM' })
    const answers = [made, changed.body, (await platform.get(`/tools/${made.id}`)).body]
    const listed = await platform.get('/tools')
    const called = await platform.post(`/tools/${made.id}/call`, { input: {} })
    const rows = await rowsOf(platform.platform)

    for (const one of [...answers, ...listed.body.data]) {
      expect(one.execute).toEqual(shownAt(service.url))
      expect(one.preset_parameters).toEqual({
        password: '[hidden]',
        units: 'metric',
        nested: { api_key: ['[hidden]'] },
      })
    }
    expect(sentOf(service)[0]).toMatch(`Bearer ${token} /v1?key=${key}&units=metric&password=${pin}`)
    expect(called.body.url).toContain('password=[redacted]')
    expect(called.body.headers.authorization).toBe('[redacted]')
    expect(rows[0]?.secrets).toMatch(/^v1\./)
    expect(JSON.stringify(rows)).not.toMatch(new RegExp(`${token}|${key}|${pin}`))
  })

  test('of tools and webhooks that were stored before are encrypted at the next start, by one of several processes', async () => {
    await using service = await startService(mirror)
    await using database = await freshDatabase(engine)
    const data = database.options.data ?? (await mkdtemp(join(tmpdir(), 'quartermaster-')))
    const start = () =>
      createPlatform(
        readConfig(
          {},
          {
            ...{ QM_DATA: data, QM_ADMIN_KEY: adminKey, QM_LOG_LEVEL: 'silent', QM_EMBEDDINGS: 'off' },
            ...(database.options.databaseUrl && { DATABASE_URL: database.options.databaseUrl }),
          },
        ),
      )
    await (await start()).close()
    const { name, preset_parameters, ...config } = toolAt(service.url)
    const store = await openStore(database.options)
    const [project] = (await store.projects.list({ limit: 1, offset: 0 }, undefined)).data
    for (const [index, row] of [
      { type: 'http', config },
      { type: 'gone', config: { key } },
    ].entries()) {
      await sql`insert into tools (id, project_id, name, type, config, preset_parameters, pin_definitions, level, ask_destructive, created_at, updated_at)
        values (${`tool_${index}`}, ${project?.id}, ${`${name}-${index}`}, ${row.type}, ${JSON.stringify(row.config)}, ${JSON.stringify(preset_parameters)}, 0, 'open', 0, 1, 1)`.execute(
        store.engine.db,
      )
    }
    await sql`insert into webhooks (id, project_id, name, url, events, enabled, secret, created_at, updated_at)
      values ('wh_0', ${project?.id}, 'hook', ${`https://a.example/?key=${key}`}, '["*"]', 1, 'v1.', 1, 1)`.execute(
      store.engine.db,
    )
    await store.close()

    // One process owns a SQLite database, and any number share PostgreSQL.
    const platforms = await Promise.all(engine === 'sqlite' ? [start()] : [start(), start(), start()])
    const ask = (path: string, init: RequestInit = {}) =>
      platforms[0]?.fetch(`http://platform.test/api/v1${path}`, {
        headers: { authorization: `Bearer ${adminKey}` },
        ...init,
      })
    const listed = (await (await ask('/tools'))?.json()) as { data: { execute: unknown }[] }
    await ask('/tools/tool_0/call', { method: 'POST' })
    const rows = await rowsOf(platforms[0] as Platform)
    const { rows: hooks } = await sql`select url, sealed_url from webhooks`.execute(
      (platforms[0] as Platform).store.engine.db,
    )
    for (const platform of platforms) await platform.close()
    if (database.options.data === undefined) await rm(data, { recursive: true, force: true })

    expect(listed.data.map(({ execute }) => execute)).toContainEqual(shownAt(service.url))
    expect(JSON.stringify(listed)).not.toMatch(new RegExp(`${token}|${key}|${pin}`))
    expect(sentOf(service)[0]).toMatch(`Bearer ${token} /v1?key=${key}&units=metric&password=${pin}`)
    expect(rows.filter(({ secrets }) => secrets?.startsWith('v1.'))).toHaveLength(1)
    expect(hooks).toEqual([{ url: 'https://a.example/?key=[hidden]', sealed_url: expect.stringMatching(/^v1\./) }])
    // What is secret in a tool of an unknown type is unknown, too.
    expect(rows.filter(({ secrets }) => secrets === null)).toHaveLength(1)
  })
})

describe('a change of a tool', () => {
  test('keeps the credentials whose masks are sent back, and replaces the others', async () => {
    await using service = await startService(mirror)
    await using platform = await startPlatform()
    const { id, execute } = await register(platform, { ...toolAt(service.url), ...withoutPresets })
    const call = () => platform.post(`/tools/${id}/call`, { input: {} })

    const kept = await platform.patch(`/tools/${id}`, {
      execute: { ...execute, url: execute.url.replace('metric', 'imperial') },
    })
    await call()
    const headers = { ...execute.headers, authorization: `Bearer ${next}` }
    const replaced = await platform.patch(`/tools/${id}`, { execute: { ...execute, headers } })
    await call()

    expect([kept.status, replaced.status]).toEqual([200, 200])
    expect(kept.body.execute.url).toBe(`${service.url}/v1?key=[hidden]&units=imperial`)
    expect(replaced.body.execute).toEqual(shownAt(service.url))
    expect(sentOf(service)).toEqual([
      `Bearer ${token} /v1?key=${key}&units=imperial`,
      `Bearer ${next} /v1?key=${key}&units=metric`,
    ])
  })

  test('that changes nothing leaves it as it is', async () => {
    await using platform = await startPlatform()
    const made = await register(platform, toolAt('http://127.0.0.1:9'))

    const same = await platform.patch(`/tools/${made.id}`, { execute: toolAt('http://127.0.0.1:9').execute })
    const masked = await platform.patch(`/tools/${made.id}`, { execute: made.execute })
    const other = await platform.patch(`/tools/${made.id}`, {
      execute: { ...made.execute, headers: { ...made.execute.headers, authorization: `Bearer ${next}` } },
    })

    expect([same.body, masked.body]).toEqual([made, made])
    expect(other.body.updated_at > made.updated_at).toBe(true)
  })

  test('cannot redirect credentials to another host or program without sending them again', async () => {
    await using elsewhere = await startService(mirror)
    await using platform = await startPlatform({ QM_ALLOW_STDIO: 'true' })
    const http = await register(platform, toolAt('http://127.0.0.1:9'))
    const stdio = await register(platform, {
      ...{ name: 'files', type: 'mcp' },
      mcp: { command: 'server', args: ['--api-key', key], env: { TOKEN: token } },
    })
    const errors = async (id: string, change: object) =>
      (await platform.patch(`/tools/${id}`, change)).body.error?.details.errors.map(
        ({ path, message }: { path: string; message: string }) => `${path} ${message.split(',')[0]}`,
      )

    expect(await errors(http.id, { execute: { ...http.execute, url: elsewhere.url } })).toEqual([
      'execute.headers.authorization must be sent again',
      'preset_parameters.password must be sent again',
      'preset_parameters.nested.api_key[0] must be sent again',
    ])
    expect(await errors(stdio.id, { mcp: { ...stdio.mcp, command: 'printenv' } })).toEqual([
      'mcp.args[1] must be sent again',
      'mcp.env.TOKEN must be sent again',
    ])
    expect(await errors(stdio.id, { mcp: { ...stdio.mcp, args: ['-e'] } })).toEqual([
      'mcp.env.TOKEN must be sent again',
    ])
    expect(await errors(stdio.id, { mcp: { ...stdio.mcp, env: { TOKEN: token } } })).toBeUndefined()
    expect(await errors(http.id, toolAt(elsewhere.url))).toBeUndefined()
  })

  test('is refused if a mask stands for nothing', async () => {
    await using platform = await startPlatform()
    const { id, execute } = await register(platform, toolAt('http://127.0.0.1:9'))
    const headers = { 'x-token': '[hidden]' }

    const moved = await platform.patch(`/tools/${id}`, { execute: { ...execute, headers } })
    const copied = await platform.post('/tools', { name: 'copy', parameters: {}, execute })

    expect(moved.body.error.details.errors).toEqual([
      { path: 'execute.headers.x-token', message: 'is masked: send the value again' },
    ])
    expect(copied.body.error.details.errors.map(({ path }: { path: string }) => path)).toEqual([
      'execute.url',
      'execute.headers.authorization',
    ])
  })
})

test('a tool whose credentials cannot be decrypted is listed, and can be called again after they are sent again', async () => {
  await using service = await startService(mirror)
  await using platform = await startPlatform()
  const { id, execute } = await register(platform, toolAt(service.url))
  const { db } = platform.platform.store.engine
  await sql`update tools set secrets = ${`${(await rowsOf(platform.platform))[0]?.secrets.slice(0, -4)}AAAA`}`.execute(
    db,
  )
  platform.platform.store.changes.publish('tools', [id])
  const call = () => platform.post(`/tools/${id}/call`, { input: {} })

  const listed = await platform.get('/tools')
  const broken = await call()
  const kept = await platform.patch(`/tools/${id}`, { execute: { ...execute, method: 'POST' } })
  const repaired = await platform.patch(`/tools/${id}`, toolAt(service.url))
  const works = await call()

  expect(listed.body.data[0].execute).toEqual(shownAt(service.url))
  expect([broken, kept].map(({ body }) => body.error.code)).toEqual(['SECRET_UNREADABLE', 'SECRET_UNREADABLE'])
  expect([repaired.status, works.status]).toEqual([200, 200])
  expect(service.received).toHaveLength(1)
})
