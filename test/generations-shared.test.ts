import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from './engines.ts'
import { adminKey, type Service, startPlatform, startService, type TestPlatform } from './kit.ts'

describe('with two processes on one database', () => {
  let database: FreshDatabase
  let one: TestPlatform
  let two: TestPlatform
  let service: Service
  let count = 0
  const held = new Map<string, Promise<unknown>>()

  beforeAll(async () => {
    database = await freshDatabase('postgres')
    const environment = { DATABASE_URL: database.options.databaseUrl ?? '' }
    one = await startPlatform(environment)
    two = await startPlatform(environment)
    service = await startService(async ({ url }) => {
      await held.get(url)
      return undefined
    })
  })

  afterAll(async () => {
    await one[Symbol.asyncDispose]()
    await two[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
    await database.remove()
  })

  const tool = async (fields: object) => {
    const name = `tool_${++count}`
    const made = await one.post('/tools', { name, parameters: { type: 'object' }, ...fields })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    return { id: made.body.id as string, name }
  }
  const http = (path: string) => tool({ execute: { url: service.url + path } })
  async function agentWith(steps: object[], fields: object = {}): Promise<string> {
    const script = { steps }
    const provider = await one.post('/ai-providers', { name: `provider-${++count}`, type: 'replay', script })
    const agent = await one.post('/agents', { name: `agent-${++count}`, ai_provider_id: provider.body.id, ...fields })
    expect(agent.status, JSON.stringify(agent.body)).toBe(201)
    return agent.body.id
  }
  const calls = (name: string, id?: string) => ({ answer: { tool_calls: [{ name, args: {}, ...(id && { id }) }] } })
  const hold = (path: string) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held.set(path, promise)
    return resolve
  }
  const asked = (path: string) => () => service.received.filter(({ url }) => url === path).length
  const detail = async (id: string) => (await one.get(`/generations/${id}`)).body
  const over = (id: string) =>
    expect.poll(async () => (await detail(id)).status, { timeout: 15_000 }).not.toMatch(/in_progress|requires_action/)
  /** Runs a query directly on the database. */
  const administer = async (text: string) => {
    const client = new pg.Client({ connectionString: database.options.databaseUrl })
    await client.connect()
    await client.query(text)
    await client.end()
  }

  test('a stream is complete and in order, whichever process continues the run', async () => {
    const words = Array.from({ length: 60 }, (_, n) => ({ text: `${n} `, delay_ms: n % 5 === 0 ? 15 : 0 }))
    const agent = await agentWith([{ answer: { text: [`${'x'.repeat(9000)} `, ...words] } }])
    const stream = async (platform: TestPlatform) => {
      const response = await platform.fetch(`/api/v1/agents/${agent}/generate`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ prompt: 'count', stream: true }),
      })
      const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'))
      return lines.map((line) => JSON.parse(line.slice(6)).choices[0].delta.content ?? '').join('')
    }
    const whole = `${'x'.repeat(9000)} ${words.map(({ text }) => text).join('')}`
    const texts = await Promise.all(Array.from({ length: 12 }, (_, n) => stream(n % 2 === 0 ? one : two)))
    expect(texts.filter((text) => text !== whole).map((text) => text.length)).toEqual([])
  })

  test('a run can be started, read, given tool outputs and cancelled through either process', async () => {
    const own = await tool({ type: 'client' })
    const agent = await agentWith([calls(own.name, 'c1'), calls(own.name, 'c2'), { answer: 'Done' }], {
      tool_ids: [own.id],
    })
    const first = (await one.post(`/agents/${agent}/generate`, { prompt: 'x' })).body
    const path = `/agents/${agent}/generate/${first.id}/tool-outputs`
    const outputs = (id: string) => ({ tool_outputs: [{ tool_call_id: id, output: 1 }] })
    const both = await Promise.all([two.post(path, outputs('c1')), one.post(path, outputs('c1'))])
    expect(both.map(({ body }) => body.required_action.tool_calls[0].tool_call_id)).toEqual(['c2', 'c2'])
    expect((await one.post(path, outputs('c2'))).body).toMatchObject({ status: 'completed' })

    // The delay is longer than the timeout of the test: cancelling does not wait for the model.
    const slow = await agentWith([{ answer: { text: 'never', delay_ms: 50_000 } }])
    for (const [starts, cancels] of [
      [one, two],
      [two, one],
    ] as const) {
      const { id } = (await starts.post(`/agents/${slow}/generate`, { prompt: 'x', async: true })).body
      await expect.poll(async () => (await detail(id)).step_list.length, { timeout: 5000 }).toBe(1)
      expect((await cancels.post(`/generations/${id}/cancel`)).body).toMatchObject({ status: 'cancelled' })
    }
  })

  test('a process whose run was taken over by another stops working on it and repeats no call', async () => {
    const tools = await http('/slow')
    const agent = await agentWith([calls(tools.name), { answer: 'Done' }], { tool_ids: [tools.id] })
    const release = hold('/slow')
    const { id } = (await one.post(`/agents/${agent}/generate`, { prompt: 'x', async: true })).body
    await expect.poll(asked('/slow'), { timeout: 5000 }).toBe(1)
    // A process does this if it considers the first one dead.
    await two.platform.store.generations.take(id)
    release()
    await expect.poll(async () => (await detail(id)).step_list[0].calls[0].status, { timeout: 5000 }).toBe('done')
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect((await detail(id)).step_list).toHaveLength(1)
    await two.post(`/generations/${id}/cancel`)
    expect(asked('/slow')()).toBe(1)
  })

  test('a run survives the loss of all database connections', async () => {
    const tools = await http('/steady')
    const steps = Array.from({ length: 12 }, () => calls(tools.name))
    const agent = await agentWith([...steps, { answer: 'Done' }], { tool_ids: [tools.id] })
    const ids = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const { body } = await one.post(`/agents/${agent}/generate`, { prompt: 'x', async: true })
        return body.id as string
      }),
    )
    for (let n = 0; n < 4; n++) {
      await new Promise((resolve) => setTimeout(resolve, 60))
      await administer(
        'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()',
      )
    }
    const statuses = async () =>
      Promise.all(
        ids.map((id) =>
          one.get(`/generations/${id}`).then(
            ({ body }) => body.status,
            () => 'away',
          ),
        ),
      )
    await expect.poll(statuses, { timeout: 25_000, interval: 500 }).toEqual(ids.map(() => 'completed'))
  }, 40_000)

  test('a run is cancelled before its next step if the cancel event was lost', async () => {
    const tools = await http('/deaf')
    const agent = await agentWith([calls(tools.name), { answer: 'Done' }], { tool_ids: [tools.id] })
    const release = hold('/deaf')
    const { id } = (await one.post(`/agents/${agent}/generate`, { prompt: 'x', async: true })).body
    await expect.poll(asked('/deaf'), { timeout: 5000 }).toBe(1)
    await administer(`update generations set cancel_requested = 1 where id = '${id}'`)
    release()
    await over(id)
    expect(await detail(id)).toMatchObject({ status: 'cancelled' })
  })
})
