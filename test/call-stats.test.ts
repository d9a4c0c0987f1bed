import { describe, expect, test } from 'vitest'
import { newId } from '../src/model/ids.ts'
import type { Store } from '../src/store/store.ts'
import { engines, freshDatabase } from './engines.ts'
import { startPlatform } from './kit.ts'

const minute = 60_000
/** The start of a minute in the past. */
const began = Math.floor(Date.now() / minute) * minute - 30 * minute

interface Told {
  at: number
  id?: string
  status?: string
  took?: number | null
  waited?: number | null
  project?: string
}

const record = (store: Store, told: Told) => {
  const { at, id = newId('call', at), status = 'success', took = 1, waited = null, project = 'proj_1' } = told
  return store.calls.refuse({
    ...{ id, project_id: project, parent_call_id: null, generation_id: null, agent_id: null },
    ...{ tool_id: 'tool_1', tool: 'echo', app: 'tools', action: 'tools:echo', status },
    ...{
      principal_kind: 'api_key',
      principal_id: 'key_1',
      principal_name: 'of a test',
      surface: 'rest',
      server_id: null,
    },
    ...{
      client_name: null,
      client_version: null,
      request: '{}',
      request_truncated: 0,
      preset_keys: null,
      response: null,
    },
    ...{
      response_truncated: 0,
      error: null,
      duration_ms: took,
      waited_ms: waited,
      mode: null,
      created_at: at,
      completed_at: took === null ? null : at,
    },
  })
}

describe.each(engines)('call statistics on %s', (engine) => {
  async function start() {
    const { options, remove } = await freshDatabase(engine)
    const platform = await startPlatform(options.databaseUrl ? { DATABASE_URL: options.databaseUrl } : {})
    return {
      ...platform,
      async [Symbol.asyncDispose]() {
        await platform[Symbol.asyncDispose]()
        await remove()
      },
    }
  }

  test('are grouped by minute and status, with p50 and p95 latency', async () => {
    await using platform = await start()
    const { store } = platform.platform
    for (let n = 1; n <= 100; n++) await record(store, { at: began + n, took: n })
    await record(store, { at: began + 2 * minute, status: 'execution_error', took: 4321 })
    await record(store, { at: began + 2 * minute + 1, status: 'pending', took: null })

    const { status, body } = await platform.get('/calls/stats')

    expect(status).toBe(200)
    expect(body).toMatchObject({
      complete: true,
      total: 102,
      by_status: { success: 100, execution_error: 1, pending: 1 },
      minutes: [
        { at: new Date(began).toISOString(), total: 100, by_status: { success: 100 }, p50_ms: 50, p95_ms: 95 },
        { at: new Date(began + 2 * minute).toISOString(), total: 2, p50_ms: 4320 },
      ],
    })
  })

  test('separate waiting for approval from execution, and refusals from failures', async () => {
    await using platform = await start()
    const { store } = platform.platform
    const second = 1000
    await record(store, { at: began, took: 10 })
    await record(store, { at: began + 1, took: 60 * second + 20, waited: 60 * second })
    await record(store, { at: began + 2, took: 30, status: 'execution_error' })
    await record(store, { at: began + 3, took: 300 * second, waited: 300 * second, status: 'rejected' })
    await record(store, { at: began + 4, status: 'validation_error', took: 0.1 })
    await record(store, { at: began + 5, status: 'permission_denied', took: 0.1 })
    await record(store, { at: began + 6, status: 'pending', took: null })

    const { body } = await platform.get('/calls/stats')

    const numbers = {
      ...{ total: 7, executed: 3, failed: 1, refused: 3, p50_ms: 20, p95_ms: 30 },
      waited: { total: 2, p50_ms: 60 * second, p95_ms: 300 * second },
    }
    expect(body).toMatchObject({ ...numbers, minutes: [numbers] })
  })

  test('can be filtered by time, tool and project, and include only calls that the key may see', async () => {
    await using platform = await start()
    const { store } = platform.platform
    const { id: other } = (await platform.post('/projects', { name: 'other' })).body
    await record(store, { at: began, project: other })
    await record(store, { at: began + 5 * minute, project: platform.projectId })
    const bound = await platform.keyFor([{ effect: 'Allow', action: ['calls:*'] }], { project_id: platform.projectId })
    const choosy = await platform.keyFor([{ effect: 'Allow', action: ['calls:*'], resource: [`qm:${other}:call:*`] }])
    const blind = await platform.keyFor([{ effect: 'Allow', action: ['tools:*'] }])
    const total = async (query = '', key?: string) =>
      (await platform.get(`/calls/stats${query}`, key ? { key } : {})).body.total

    expect(await total()).toBe(2)
    expect(await total(`?to=${new Date(began + minute).toISOString()}`)).toBe(1)
    expect(await total('?tool=echo')).toBe(2)
    expect(await total('?tool=other')).toBe(0)
    expect(await total('', bound)).toBe(1)
    expect(await total(`?project_id=${other}`, bound)).toBe(0)
    expect(await total('', choosy)).toBe(1)
    expect(await total('', blind)).toBe(0)
  })

  test('stay up to date when calls end and new ones arrive', async () => {
    await using platform = await start()
    const { store } = platform.platform
    const id = newId('call', began)
    await record(store, { id, at: began, status: 'pending', took: null })
    const numbers = async () => (await platform.get('/calls/stats')).body
    const before = await numbers()

    const end = {
      response: null,
      response_truncated: 0,
      error: null,
      duration_ms: 7,
      waited_ms: null,
      completed_at: began + 7,
    }
    await store.calls.end({ id, status: 'success', ...end })
    await record(store, { at: Date.now() - 50 })
    const after = await numbers()
    const again = await numbers()

    expect(before).toMatchObject({ total: 1, by_status: { pending: 1 }, p50_ms: null })
    expect(after).toMatchObject({ total: 2, by_status: { success: 2 } })
    expect(again).toMatchObject({ total: 2, by_status: { success: 2 } })
  })

  test('are refused for an empty or too long time range', async () => {
    await using platform = await start()

    const none = await platform.get(`/calls/stats?from=${new Date(Date.now() + minute).toISOString()}`)
    const long = await platform.get('/calls/stats?from=2020-01-01T00:00:00Z')

    expect(none).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_FAILED' } } })
    expect(long.body.error.message).toMatch(/from: must be at most a day before/)
  })
})
