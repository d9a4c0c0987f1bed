import { describe, expect, test } from 'vitest'
import { openStore } from '../src/store/store.ts'
import { engines, freshDatabase } from './engines.ts'
import { startPlatform, startService } from './kit.ts'
import { startProcess, temporaryFolder } from './process.ts'

const read = (url: string) => ({ name: 'look', parameters: {}, execute: { url, method: 'GET' } })

describe.each(engines)('calls that change nothing, on %s', (engine) => {
  test('are in the log once they are answered, with all fields of other calls', async () => {
    await using database = await freshDatabase(engine)
    await using service = await startService()
    const { databaseUrl } = database.options
    await using platform = await startPlatform({ ...(databaseUrl && { DATABASE_URL: databaseUrl }) })
    const look = (await platform.post('/tools', read(service.url))).body
    const change = (
      await platform.post('/tools', { ...read(service.url), name: 'change', execute: { url: service.url } })
    ).body

    await platform.post(`/tools/${look.id}/call`, { input: { n: 1 } })
    await platform.post(`/tools/${change.id}/call`, { input: { n: 1 } })
    const { data } = (await platform.get('/calls')).body
    const [changed, looked] = await Promise.all(
      data.map(async ({ id }: { id: string }) => (await platform.get(`/calls/${id}`)).body),
    )

    const own = ['id', 'tool_id', 'tool', 'action', 'response', 'duration_ms', 'created_at', 'completed_at']
    const common = (call: object) => Object.fromEntries(Object.entries(call).filter(([name]) => !own.includes(name)))
    expect(looked).toMatchObject({ tool: 'look', action: 'tools:look', status: 'success', request: { n: 1 } })
    expect(looked.duration_ms).toBeGreaterThan(0)
    expect(Date.parse(looked.completed_at)).toBeGreaterThanOrEqual(Date.parse(looked.created_at))
    expect(common(looked)).toEqual(common(changed))
  })

  test('are in the log while they run if they take long, and are completed when they end', async () => {
    await using database = await freshDatabase(engine)
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    await using service = await startService(async () => {
      await held
      return undefined
    })
    const { databaseUrl } = database.options
    await using platform = await startPlatform({ ...(databaseUrl && { DATABASE_URL: databaseUrl }) })
    const { id } = (await platform.post('/tools', read(service.url))).body
    const statuses = async () =>
      (await platform.get('/calls')).body.data.map(({ status }: { status: string }) => status)

    const calls = [1, 2, 3].map((n) => platform.post(`/tools/${id}/call`, { input: { n } }))
    await expect.poll(statuses).toEqual(Array(3).fill('pending'))
    letGo()
    await Promise.all(calls)

    expect(await statuses()).toEqual(Array(3).fill('success'))
  })

  test('stay in the log as pending if the process is killed while they run', async () => {
    await using database = await freshDatabase(engine)
    await using folder = await temporaryFolder()
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    await using service = await startService(async () => {
      await held
      return undefined
    })
    const { databaseUrl = '' } = database.options
    const running = await startProcess(folder.path, { QM_ADMIN_KEY: 'sk_of_the_test', DATABASE_URL: databaseUrl })
    const post = (path: string, body: object) =>
      fetch(`${running.url}/api/v1${path}`, {
        method: 'POST',
        headers: { authorization: 'Bearer sk_of_the_test', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const { id } = (await (await post('/tools', read(service.url))).json()) as { id: string }

    const call = post(`/tools/${id}/call`, { input: {} }).catch(() => 'cut off')
    await expect.poll(() => service.received.length).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 300))
    await running.stop('SIGKILL')
    letGo()

    expect(await call).toBe('cut off')
    const store = await openStore(databaseUrl ? database.options : { data: folder.path })
    const rows = await store.engine.db.selectFrom('calls').select(['action', 'status']).execute()
    await store.close()
    expect(rows).toEqual([{ action: 'tools:look', status: 'pending' }])
  })
})
