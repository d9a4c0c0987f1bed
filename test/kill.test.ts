import { describe, expect, test } from 'vitest'
import { openStore, type StoreOptions } from '../src/store/store.ts'
import { engines, freshDatabase } from './engines.ts'
import { startService } from './kit.ts'
import { type Running, startProcess, temporaryFolder } from './process.ts'
import { soak } from './soak.ts'

const key = 'sk_of_the_kill_test'
const rounds = soak ? 20 : 5
const concurrent = 200

const ask = (url: string, path: string, init: RequestInit = {}) =>
  fetch(`${url}/api/v1${path}`, {
    ...init,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })

/** Every call in the log, read directly from the database. */
async function everyCall(options: StoreOptions): Promise<{ n: number; status: string }[]> {
  const store = await openStore(options)
  const rows = await store.engine.db.selectFrom('calls').select(['status', 'request']).execute()
  await store.close()
  return rows.map(({ status, request }) => ({ status, n: JSON.parse(request).n }))
}

describe.each(engines)('on %s', (engine) => {
  test(`${rounds} kills during ${concurrent} calls lose no call that was answered, and record no call twice`, {
    timeout: 300_000,
  }, async () => {
    let slow = 0
    await using service = await startService(async () => {
      await new Promise((resolve) => setTimeout(resolve, slow++ % 40))
      return undefined
    })
    await using database = await freshDatabase(engine)
    await using folder = await temporaryFolder()
    const start = () =>
      startProcess(folder.path, {
        QM_ADMIN_KEY: key,
        QM_RATE_LIMIT: '0',
        DATABASE_URL: database.options.databaseUrl ?? '',
      })

    let running: Running = await start()
    const tool = { name: 'count', execute: { url: service.url }, parameters: { type: 'object', required: ['n'] } }
    const read = { ...tool, name: 'look', execute: { url: service.url, method: 'GET' } }
    const create = async (body: object) => {
      const made = await ask(running.url, '/tools', { method: 'POST', body: JSON.stringify(body) })
      return ((await made.json()) as { id: string }).id
    }
    const ids = [await create(tool), await create(read)]
    const answered = new Set<number>()
    let sent = 0

    for (let round = 0; round < rounds; round++) {
      const { url } = running
      const callOnce = async (n: number) => {
        const id = ids[n % 2]
        const response = await ask(url, `/tools/${id}/call`, { method: 'POST', body: JSON.stringify({ input: { n } }) })
        await response.text()
        if (response.status === 200) answered.add(n)
      }
      const calls = Array.from({ length: concurrent }, () => callOnce(sent++).catch(() => {}))
      // After some calls were answered, before all were.
      const before = answered.size
      const enough = 1 + ((round * 37) % (concurrent / 2))
      const deadline = Date.now() + 10_000
      while (answered.size - before < enough && Date.now() < deadline)
        await new Promise((resolve) => setTimeout(resolve, 1))
      await running.stop('SIGKILL')
      await Promise.all(calls)
      running = await start()
    }

    expect(await running.stop('SIGTERM')).toBe(0)
    const recorded = await everyCall(database.options.databaseUrl ? database.options : { data: folder.path })
    const byNumber = Map.groupBy(recorded, ({ n }) => n)
    const changes = service.received.filter(({ method }) => method === 'POST')
    const reached = new Set(changes.map(({ body }) => (JSON.parse(body) as { n: number }).n))
    expect(answered.size).toBeGreaterThan(rounds)
    expect(answered.size).toBeLessThan(sent)
    for (const n of answered) {
      expect(
        byNumber.get(n)?.map(({ status }) => status),
        `call ${n}`,
      ).toEqual(['success'])
    }
    for (const n of reached) expect(byNumber.get(n), `effect ${n} has its record`).toHaveLength(1)
    expect(changes).toHaveLength(reached.size)
    for (const [n, records] of byNumber) expect(records, `call ${n}`).toHaveLength(1)
  })
})
