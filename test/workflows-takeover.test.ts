import { expect, test } from 'vitest'
import type { WorkflowRunDetail } from '../src/model/workflow-run.ts'
import { freshDatabase } from './engines.ts'
import { type Answer, startService } from './kit.ts'
import { type Running, startProcess, temporaryFolder } from './process.ts'

const key = 'sk_admin_of_the_takeover_test'
const parameters = { type: 'object', properties: { n: { type: 'string' } }, required: ['n'] }

const client = ({ url }: Running) => ({
  async send(method: string, path: string, body?: object): Promise<Pick<Answer, 'status' | 'body'>> {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        accept: 'application/json, text/event-stream',
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json() }
  },
})

test('a second live replica takes over the runs of one that is killed, and repeats only what is safe to repeat', {
  timeout: 120_000,
}, async () => {
  await using database = await freshDatabase('postgres')
  await using folder = await temporaryFolder()
  const start = (name: string) =>
    startProcess(`${folder.path}/${name}`, {
      ...{ QM_ADMIN_KEY: key, QM_EMBEDDINGS: 'off', QM_LOG_LEVEL: 'error', QM_SECRET_KEY: 'a'.repeat(64) },
      DATABASE_URL: database.options.databaseUrl ?? '',
    })
  // The first requests get no answer while the first replica lives.
  const killed = Promise.withResolvers<void>()
  await using service = await startService(async ({ url }) => {
    if (/in-flight/.test(url)) await killed.promise
    return { body: JSON.stringify({ done: url }) }
  })
  const first = await start('first')
  const one = client(first)
  for (const [name, method] of [
    ['look', 'GET'],
    ['order', 'POST'],
  ]) {
    const made = await one.send('POST', '/api/v1/tools', {
      ...{ name, app: 'shop', parameters, execute: { url: `${service.url}/${name}/{n}`, method } },
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
  }
  await one.send('POST', '/api/v1/servers', { slug: 'shop', code_mode: true })
  const workflow = {
    steps: [
      { id: 'before', call: 'shop:order', input: { n: 'flow-before' } },
      { id: 'order', call: 'shop:order', input: { n: 'flow-order-in-flight' }, on_error: 'continue' },
      { id: 'look', call: 'shop:look', input: { n: 'flow-look' } },
      { id: 'after', call: 'shop:order', input: { n: 'flow-after' } },
    ],
    output: ['${{ steps.order.error.code }}', '${{ steps.look.output.done }}'],
  }
  const { body: tool } = await one.send('POST', '/api/v1/tools', {
    ...{ name: 'flow', app: 'shop', type: 'workflow', workflow },
  })
  const { body: run } = await one.send('POST', '/api/v1/workflow-runs', { tool_id: tool.id })
  const code = `
    await call('shop:order', { n: 'code-before' })
    const seen = (await call('shop:look', { n: 'code-look-in-flight' })).done
    const error = await call('shop:order', { n: 'code-order' }).then(() => 'none', (thrown) => thrown.message)
    return [seen, error]
  `
  const params = { name: 'EXECUTE_CODE', arguments: { code } }
  // Its caller goes with the first replica.
  const answered = one
    .send('POST', '/mcp/shop', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    .catch(() => {})
  const inFlight = () => service.received.filter(({ url }) => url.includes('in-flight')).length
  await expect.poll(inFlight, { timeout: 20_000 }).toBe(2)

  await using second = await start('second')
  const two = client(second)
  const before = await two.send('GET', `/api/v1/workflow-runs/${run.id}`)
  await first.stop('SIGKILL')
  killed.resolve()
  await answered
  const detail = async (id: string) => (await two.send('GET', `/api/v1/workflow-runs/${id}`)).body as WorkflowRunDetail
  const [program] = (await two.send('GET', '/api/v1/workflow-runs?kind=code')).body.data
  for (const id of [run.id, program.id])
    await expect.poll(async () => (await detail(id)).status, { timeout: 60_000, interval: 100 }).toBe('completed')

  expect(before.body.status).toBe('running')
  expect((await detail(run.id)).output).toEqual(['OUTCOME_UNKNOWN', '/look/flow-look'])
  expect((await detail(program.id)).output).toEqual(['/look/code-look-in-flight', 'none'])
  const sent = service.received.map(({ url }) => url.split('/').at(-1)).sort()
  expect(sent).toEqual(
    [
      ...['flow-before', 'flow-order-in-flight', 'flow-look', 'flow-after'],
      ...['code-before', 'code-look-in-flight', 'code-look-in-flight', 'code-order'],
    ].sort(),
  )
})
