import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CallRow } from '../src/db/tables.ts'
import { sweep } from '../src/housekeeping.ts'
import { newId } from '../src/model/ids.ts'
import { gated, pending } from './approving.ts'
import { engines, freshDatabase } from './engines.ts'
import { type Service, startPlatform, startService, type TestPlatform } from './kit.ts'

const day = 24 * 60 * 60 * 1000
const mcp = { surface: 'mcp', principal_kind: 'api_key', principal_id: 'key_1', principal_name: 'Ana' }

const row = (projectId: string, createdAt: number, fields: Partial<CallRow> = {}): CallRow => ({
  ...{ id: newId('call', createdAt), project_id: projectId, parent_call_id: null, generation_id: null },
  ...{ agent_id: null, tool_id: null, tool: 'refund', app: 'shop', action: 'shop:refund', status: 'success' },
  ...{
    ...mcp,
    server_id: null,
    client_name: null,
    client_version: null,
    request: '{}',
    request_truncated: 0,
    preset_keys: null,
  },
  ...{
    response: '1',
    response_truncated: 0,
    error: null,
    duration_ms: 2,
    waited_ms: null,
    mode: null,
    completed_at: createdAt,
  },
  created_at: createdAt,
  ...fields,
})

const failed = (code: string, message: string, details = {}): Partial<CallRow> => ({
  status: 'execution_error',
  error: JSON.stringify({ code, message, details }),
})

describe.each(engines)('the call log on %s', (engine) => {
  let platform: TestPlatform
  let service: Service
  let remove: () => Promise<void>
  let now: number
  let ids: string[]

  beforeAll(async () => {
    const database = await freshDatabase(engine)
    remove = database.remove
    const { databaseUrl } = database.options
    platform = await startPlatform({ QM_CALL_RETENTION_DAYS: '30', ...(databaseUrl && { DATABASE_URL: databaseUrl }) })
    service = await startService()
    now = Date.now() - 60_000
    const { projectId } = platform
    const rows = [
      row(projectId, now - 4000, { tool: '=cmd|calc', action: 'shop:=cmd', principal_name: 'Ana, "the" boss' }),
      row(
        projectId,
        now - 3000,
        failed('TOOL_TIMEOUT', 'The tool did not answer in 30 s.', { secret_detail: 'hunter' }),
      ),
      row(projectId, now - 2000, { tool: 'send-mail', action: 'mail:send' }),
      row('proj_other', now - 1000, { tool: 'send-mail', action: 'mail:send' }),
    ]
    ids = rows.map(({ id }) => id)
    await platform.platform.store.engine.writeCalls(rows, [])
  })
  afterAll(async () => {
    await platform?.[Symbol.asyncDispose]()
    await service?.[Symbol.asyncDispose]()
    await remove?.()
  })

  const found = async (q: string, key?: string) => {
    const { body } = await platform.get(`/calls?q=${encodeURIComponent(q)}`, key ? { key } : {})
    expect(body.total).toBe(body.data.length)
    return body.data.map(({ id }: { id: string }) => ids.indexOf(id))
  }

  test('can be searched by action, tool, error and id, ignoring case, and every word must match', async () => {
    expect(await found('SEND')).toEqual([3, 2])
    expect(await found('refund')).toEqual([1])
    expect(await found('tool_timeout')).toEqual([1])
    expect(await found('did not ANSWER')).toEqual([1])
    expect(await found('refund send')).toEqual([])
    expect(await found(ids[2] as string)).toEqual([2])
    expect(await found((ids[1] as string).slice(0, 13))).toContain(1)
    expect(await found('%')).toEqual([])
    expect(await found('details')).toEqual([])
    expect((await platform.get('/calls?q=send&limit=1&offset=1')).body).toMatchObject({
      total: 2,
      data: [{ id: ids[2] }],
    })
    expect((await platform.get('/calls?q=send&app=none')).body.total).toBe(0)
    expect((await platform.get(`/calls?q=${'x'.repeat(201)}`)).status).toBe(400)
  })

  test('shows only calls that the key may see in a search', async () => {
    const bound = await platform.keyFor([{ effect: 'Allow', action: ['calls:*'] }], { project_id: platform.projectId })
    const one = await platform.keyFor([
      { effect: 'Allow', action: ['calls:*'], resource: [`qm:${platform.projectId}:call:${ids[1]}`] },
    ])

    expect(await found('send', bound)).toEqual([2])
    expect(await found('send', one)).toEqual([])
    expect(await found('timeout', one)).toEqual([1])
  })

  test('is exported as CSV that is safe to open in a spreadsheet', async () => {
    const answer = await platform.get(`/calls/export?project_id=${platform.projectId}`)

    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="calls.csv"')
    const [head, ...lines] = String(answer.body).trimEnd().split('\r\n')
    expect(head).toMatch(/^id,created_at,completed_at,duration_ms,status,action,tool,/)
    expect(lines).toHaveLength(3)
    expect(lines[1]).toContain('TOOL_TIMEOUT,The tool did not answer in 30 s.')
    expect(lines[2]).toContain(`,shop:=cmd,'=cmd|calc,`)
    expect(lines[2]).toContain(',"Ana, ""the"" boss",')
  })

  test('is exported as JSON lines, with the filters of the list and only calls that the key may see', async () => {
    const bound = await platform.keyFor([{ effect: 'Allow', action: ['calls:*'] }], { project_id: platform.projectId })
    const blind = await platform.keyFor([{ effect: 'Allow', action: ['tools:*'] }])
    const lines = async (query: string, key?: string) =>
      String((await platform.get(`/calls/export?format=jsonl${query}`, key ? { key } : {})).body)
        .split('\n')
        .filter(Boolean)
        .map((line) => ids.indexOf(JSON.parse(line).id))

    expect(await lines('')).toEqual([3, 2, 1, 0])
    expect(await lines('&q=send', bound)).toEqual([2])
    expect(await lines('&status=execution_error')).toEqual([1])
    expect(await lines(`&project_id=proj_other`, bound)).toEqual([])
    expect(await lines('', blind)).toEqual([])
    expect((await platform.get('/calls/export?format=xlsx')).status).toBe(400)
  })

  test('is exported completely, in batches, however long it is', async () => {
    const rows = Array.from({ length: 2300 }, (_, n) => row('proj_many', now - 10_000 + n))
    await platform.platform.store.engine.writeCalls(rows, [])

    const { body } = await platform.get('/calls/export?format=jsonl&project_id=proj_many')

    const exported = String(body).trimEnd().split('\n')
    expect(exported.map((line) => JSON.parse(line).id)).toEqual(rows.map(({ id }) => id).reverse())
  })

  test('deletes calls after the retention period, except pending ones', async () => {
    const { store, webhooks, connections, config } = platform.platform
    const { id, caller, reviewer } = await gated(platform, service.url)
    const input = (city: string) => ({ input: { city }, wait: false })
    await platform.post(`/tools/${id}/call`, input('Recife'), { key: caller })
    const decided = await pending(platform)
    await platform.post(`/approvals/${decided.id}/reject`, {}, { key: reviewer })
    await platform.post(`/tools/${id}/call`, input('Olinda'), { key: caller })
    const waiting = await pending(platform)
    const long = Date.now() - 31 * day
    // Backdates these two calls by a month.
    for (const approval of [decided, waiting]) {
      const old = newId('call', long)
      await store.engine.db.updateTable('calls').set({ id: old }).where('id', '=', approval.call_id).execute()
      await store.engine.db
        .updateTable('approvals')
        .set({ call_id: old, closed: 1 })
        .where('id', '=', approval.id)
        .execute()
    }
    const old = Array.from({ length: 1200 }, () => row(platform.projectId, long))
    const young = row(platform.projectId, Date.now() - 29 * day)
    await store.engine.writeCalls([...old, young], [])

    await sweep({ store, webhooks, keeper: connections.keeper, config })

    const { body } = await platform.get(`/calls?to=${new Date(Date.now() - 20 * day).toISOString()}`)
    expect(body.data.map(({ status }: { status: string }) => status)).toEqual(['success', 'pending'])
    expect(body.data[0].id).toBe(young.id)
    expect((await platform.get(`/approvals/${decided.id}`)).status).toBe(404)
    expect((await platform.get(`/approvals/${waiting.id}`)).body.status).toBe('pending')
  })

  test('keeps calls forever if no retention period is set', async () => {
    const { store, webhooks, connections } = platform.platform
    const old = row(platform.projectId, Date.now() - 4000 * day)
    await store.engine.writeCalls([old], [])

    await sweep({
      store,
      webhooks,
      keeper: connections.keeper,
      config: { callRetentionDays: 0, sessionRetentionDays: 0 },
    })

    expect((await platform.get(`/calls/${old.id}`)).status).toBe(200)
  })
})
