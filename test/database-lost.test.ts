import { sql } from 'kysely'
import pg from 'pg'
import { describe, expect, inject, test } from 'vitest'
import { freshDatabase } from './engines.ts'
import { type Answer, startPlatform, startService } from './kit.ts'
import { soak } from './soak.ts'

/** Runs statements on a separate connection. */
async function administrator(databaseUrl: string) {
  const client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
  const name = new URL(databaseUrl).pathname.slice(1)
  const dropConnections = () =>
    client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  return {
    dropConnections,
    async close(): Promise<void> {
      await client.query(`alter database ${name} with allow_connections false`)
      await dropConnections()
    },
    open: () => client.query(`alter database ${name} with allow_connections true`),
    [Symbol.asyncDispose]: () => client.end(),
  }
}

const calls = soak ? 160 : 80

const codeOf = ({ status, body }: Answer) => (status < 400 ? 'ok' : body.error.code)

describe('when PostgreSQL drops connections', () => {
  test('no call gets a 500, and no call that may have run is reported as safe to repeat', async () => {
    await using database = await freshDatabase('postgres')
    const url = String(database.options.databaseUrl)
    await using service = await startService()
    await using platform = await startPlatform({ DATABASE_URL: url })
    await using admin = await administrator(url)
    const tool = await platform.post('/tools', { name: 'write', parameters: {}, execute: { url: service.url } })
    let isOver = false
    const dropping = (async () => {
      for (let round = 0; round < 500 && !isOver; round++) {
        await admin.dropConnections()
        await new Promise((resolve) => setTimeout(resolve, 30))
      }
    })()

    const answers: { n: number; answer: Answer }[] = []
    const others: Answer[] = []
    const caller = async (start: number) => {
      for (let n = start; n < calls; n += 8) {
        answers.push({ n, answer: await platform.post(`/tools/${tool.body.id}/call`, { input: { n } }) })
        others.push(await platform.post('/documents', { path: `/${n}.md`, content: 'x' }))
        others.push(await platform.get('/documents?limit=1'))
      }
    }
    await Promise.all(Array.from({ length: 8 }, (_, start) => caller(start)))
    isOver = true
    await dropping

    const done = new Set(service.received.map(({ body }) => JSON.parse(body).n))
    const safe = answers.filter(({ answer }) => answer.status === 503)
    expect(answers).toHaveLength(calls)
    expect([...answers.map(({ answer }) => answer), ...others].filter(({ status }) => status === 500)).toEqual([])
    for (const { answer } of answers)
      expect(['ok', 'OUTCOME_UNKNOWN', 'DATABASE_UNAVAILABLE']).toContain(codeOf(answer))
    for (const answer of others) expect(['ok', 'DATABASE_UNAVAILABLE', 'NAME_TAKEN']).toContain(codeOf(answer))
    expect(safe.filter(({ n }) => done.has(n))).toEqual([])
    expect(service.received).toHaveLength(done.size)
  }, 60_000)

  test('a call that has reached its tool gets OUTCOME_UNKNOWN, and one that has not, or that only reads, can be repeated', async () => {
    await using database = await freshDatabase('postgres')
    const url = String(database.options.databaseUrl)
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    await using service = await startService(async () => {
      await held
      return undefined
    })
    await using platform = await startPlatform({ DATABASE_URL: url })
    await using admin = await administrator(url)
    const { id } = (await platform.post('/tools', { name: 'write', parameters: {}, execute: { url: service.url } }))
      .body
    const call = () => platform.post(`/tools/${id}/call`, { input: {} })
    const read = { name: 'look', parameters: {}, execute: { url: service.url, method: 'GET' } }
    const look = (await platform.post('/tools', read)).body

    const first = call()
    const reading = platform.post(`/tools/${look.id}/call`, { input: {} })
    await expect.poll(() => service.received.length).toBe(2)
    await admin.close()
    letGo()
    const answers = [
      await first,
      await reading,
      await call(),
      await platform.get('/documents'),
      await platform.post('/documents', { path: '/a', content: 'x' }),
    ]
    await admin.open()

    expect(answers.map(({ status }) => status)).toEqual([409, 503, 503, 503, 503])
    expect(answers.map(codeOf)).toEqual(['OUTCOME_UNKNOWN', ...Array(4).fill('DATABASE_UNAVAILABLE')])
    expect(answers.slice(1).map(({ body }) => body.error.details.retry_safe)).toEqual([true, true, true, false])
    expect(answers[2]?.headers.get('retry-after')).toBe('1')
    expect(service.received).toHaveLength(2)
    await expect.poll(async () => (await call()).status, { timeout: 10_000 }).toBe(200)
  }, 30_000)
})

describe('when the disk under SQLite is full', () => {
  test('nothing gets a 500, no unrecorded call is made, and the platform recovers once there is space', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { db } = platform.platform.store.engine
    const { id } = (await platform.post('/tools', { name: 'write', parameters: {}, execute: { url: service.url } }))
      .body
    const text = 'x'.repeat(20_000)
    const call = () => platform.post(`/tools/${id}/call`, { input: { text } })

    await sql`PRAGMA max_page_count = 1`.execute(db)
    const answers: Answer[] = []
    for (let n = 0; n < 40; n++) answers.push(await call())
    const failed = answers.filter(({ status }) => status !== 200)
    const received = service.received.length
    const document = await platform.post('/documents', { path: '/a.md', content: text })
    const ready = await platform.fetch('/ready')
    const told = await ready.json()
    await sql`PRAGMA max_page_count = 1000000`.execute(db)

    expect(failed.length).toBeGreaterThan(0)
    expect(new Set(failed.map(codeOf))).toEqual(new Set(['DATABASE_UNAVAILABLE']))
    expect(failed[0]?.body.error).toMatchObject({ message: expect.stringContaining('the disk is full') })
    expect(received).toBe(answers.length - failed.length)
    expect(document).toMatchObject({ status: 503, body: { error: { code: 'DATABASE_UNAVAILABLE' } } })
    expect({ status: ready.status, told }).toEqual({
      status: 503,
      told: { status: 'not ready', reason: 'The database is unavailable: the disk is full.' },
    })
    expect((await call()).status).toBe(200)
    await expect.poll(async () => (await platform.fetch('/ready')).status, { timeout: 10_000 }).toBe(200)
  })
})
