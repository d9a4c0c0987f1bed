import { describe, expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { engines, type FreshDatabase, freshDatabase } from './engines.ts'
import { startPlatform, startService } from './kit.ts'
import { parameters, received, register, startCrm, text, until } from './workflow-kit.ts'

const environmentOf = ({ options }: FreshDatabase): Record<string, string> =>
  options.databaseUrl ? { DATABASE_URL: options.databaseUrl } : { QM_DATA: options.data ?? '' }

const reviewers = [{ effect: 'Allow', action: ['approvals:*'] }]

const payment = {
  steps: [
    { id: 'paid', wait_for: { event: 'payment', data: parameters({ amount: { type: 'number' } }, ['amount']) } },
    { id: 'note', call: 'crm:create_note', input: { text: 'Paid ${{ string(steps.paid.output.amount) }}' } },
  ],
  output: '${{ steps.note.output.got.text }}',
}

describe.each(engines)('on %s', (engine) => {
  test('a run waits for an event, and continues with its data after a restart', async () => {
    await using database = await freshDatabase(engine)
    const first = await startPlatform(environmentOf(database))
    await using service = await startCrm(first)
    const tool = await register(first, 'pay', payment)
    const { body: started } = await first.post('/workflow-runs', { tool_id: tool.id })
    const waiting = await until(first, started.id, 'waiting')
    await first[Symbol.asyncDispose]()

    await using second = await startPlatform(environmentOf(database))
    const sent = await second.post(`/workflow-runs/${started.id}/events`, { name: 'payment', data: { amount: 20 } })
    const run = await until(second, started.id, 'completed')

    expect(waiting.awaited_events).toEqual([{ name: 'payment', step: 'paid', expires_at: null }])
    expect(waiting.steps.map(({ status }: { status: string }) => status)).toEqual(['waiting', 'pending'])
    expect(sent.status).toBe(200)
    expect(run).toMatchObject({ output: 'Paid 20', awaited_events: [] })
    expect(received(service, '/create_note')).toHaveLength(1)
  })

  test('an event can arrive before its step, and each is used once', async () => {
    await using database = await freshDatabase(engine)
    await using platform = await startPlatform(environmentOf(database))
    await using _service = await startCrm(platform)
    const tool = await register(platform, 'pay', {
      steps: [
        { id: 'start', wait_for: { event: 'start' } },
        { id: 'first', wait_for: { event: 'part' } },
        { id: 'second', wait_for: { event: 'part' } },
      ],
      output: ['${{ steps.first.output }}', '${{ steps.second.output }}'],
    })
    const { body: started } = await platform.post('/workflow-runs', { tool_id: tool.id })
    const send = (name: string, data?: unknown) =>
      platform.post(`/workflow-runs/${started.id}/events`, { name, ...(data !== undefined && { data }) })

    await send('part', 1)
    await send('part', 2)
    await send('start')
    const run = await until(platform, started.id, 'completed')
    const late = await send('part', 3)

    expect(run.output).toEqual([1, 2])
    expect([late.status, late.body.error.code]).toEqual([409, 'RUN_OVER'])
  })

  test('an event that does not arrive in time fails its step, or is replaced by its on_error', async () => {
    await using database = await freshDatabase(engine)
    await using platform = await startPlatform(environmentOf(database))
    await using service = await startCrm(platform)
    const wait_for = { event: 'payment', timeout_seconds: '${{ 0.01 }}' }
    const failing = await register(platform, 'failing', {
      steps: [{ id: 'paid', wait_for, on_error: { call: 'crm:refund', input: { amount: 1 } } }],
    })
    const tolerant = await register(platform, 'tolerant', {
      steps: [
        { id: 'paid', wait_for, on_error: { output: '${{ error.code }}' } },
        { id: 'again', wait_for, on_error: 'continue' },
      ],
      output: ['${{ steps.paid.output }}', '${{ steps.again.error.code }}'],
    })

    const failed = await platform.post(`/tools/${failing.id}/call`, {})
    const answered = await platform.post(`/tools/${tolerant.id}/call`, {})

    expect(failed.body.error).toMatchObject({
      code: 'WORKFLOW_FAILED',
      details: { step: 'paid', code: 'EVENT_TIMEOUT', compensation: 'done' },
    })
    expect(answered.body).toEqual(['EVENT_TIMEOUT', 'EVENT_TIMEOUT'])
    expect(received(service, '/refund')).toHaveLength(1)
  })

  test('an approval that is decided after a restart continues the run', async () => {
    await using database = await freshDatabase(engine)
    const first = await startPlatform(environmentOf(database))
    await using service = await startCrm(first)
    const reviewer = await first.keyFor(reviewers)
    const tool = await register(first, 'pay', {
      steps: [
        { id: 'note', call: 'crm:create_note', input: { text: 'before' } },
        { id: 'charge', call: 'crm:charge', input: { amount: 5 }, wait_for: { approval: true } },
      ],
    })
    const { body: started } = await first.post('/workflow-runs', { tool_id: tool.id })
    const [pending] = (await until(first, started.id, 'waiting')).pending_approvals
    await first[Symbol.asyncDispose]()

    await using second = await startPlatform(environmentOf(database))
    await second.post(`/approvals/${pending.approval_id}/approve`, {}, { key: reviewer })
    const run = await until(second, started.id, 'completed')

    expect(run.output).toMatchObject({ got: { amount: 5 } })
    expect(service.received.map(({ url }) => url)).toEqual(['/create_note', '/charge'])
  })

  test('a rejected approval fails its step, after the call that undoes earlier steps', async () => {
    await using database = await freshDatabase(engine)
    await using platform = await startPlatform(environmentOf(database))
    await using service = await startCrm(platform)
    const reviewer = await platform.keyFor(reviewers)
    const tool = await register(platform, 'pay', {
      steps: [
        { id: 'charge', call: 'crm:charge', input: { amount: 5 } },
        {
          ...{ id: 'note', call: 'crm:create_note', input: { text: 'paid' }, wait_for: { approval: true } },
          ...{ retry: { attempts: 3 }, on_error: { call: 'crm:refund', input: { amount: 5 } } },
        },
      ],
    })
    const { body: started } = await platform.post('/workflow-runs', { tool_id: tool.id })
    const [pending] = (await until(platform, started.id, 'waiting')).pending_approvals

    await platform.post(`/approvals/${pending.approval_id}/reject`, { reason: 'Too much.' }, { key: reviewer })
    const run = await until(platform, started.id, 'failed')
    const [call] = run.steps[1].calls
    const record = (await platform.get(`/calls/${call.call_id}`)).body

    expect(run.error).toMatchObject({
      code: 'WORKFLOW_FAILED',
      details: { step: 'note', code: 'APPROVAL_REJECTED', compensation: 'done' },
    })
    expect(run.error.message).toContain('Too much.')
    expect(record.status).toBe('rejected')
    expect(service.received.map(({ url }) => url)).toEqual(['/charge', '/refund'])
  })

  test('a step that needs a connection waits, and continues when there is one', async () => {
    await using database = await freshDatabase(engine)
    await using platform = await startListening(environmentOf(database))
    await using service = await startService(() => ({ body: '{"ok":true}' }))
    const execute = { url: `${service.url}/mail`, method: 'POST' }
    await platform.post('/tools', { name: 'send', app: 'mail', parameters: parameters({ to: text }), execute })
    await platform.post('/auth-configs', { app: 'mail', type: 'bearer' })
    const tool = await register(platform, 'greet', {
      steps: [{ id: 'send', call: 'mail:send', input: { to: 'ana@x.test' } }],
    })

    const { body: started } = await platform.post('/workflow-runs', { tool_id: tool.id })
    const waiting = await until(platform, started.id, 'waiting')
    const before = service.received.length
    const made = await platform.post('/connections', {
      ...{ app: 'mail', type: 'bearer', owner: { kind: 'project' }, token: 'token-of-the-project' },
    })
    const run = await until(platform, started.id, 'completed')

    expect(made.status, JSON.stringify(made.body)).toBe(201)
    expect(waiting.steps[0].calls[0].status).toBe('awaiting_connection')
    expect(before).toBe(0)
    expect(run.output).toEqual({ ok: true })
    expect(service.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-of-the-project'])
    expect(JSON.stringify([waiting, run])).not.toContain('token-of-the-project')
  })
})

test('events that no step waits for, and data of another shape, are refused with what to send instead', async () => {
  await using platform = await startPlatform()
  await using _service = await startCrm(platform)
  const tool = await register(platform, 'pay', payment)
  const { body: run } = await platform.post('/workflow-runs', { tool_id: tool.id })
  const send = async (event: object) =>
    (await platform.post(`/workflow-runs/${run.id}/events`, event)).body.error?.details.errors

  expect(await send({ name: 'paymnt' })).toEqual([
    { path: 'name', message: '"pay" does not wait for the event "paymnt"; did you mean "payment"?' },
  ])
  expect(await send({ name: 'payment', data: { amount: 'ten' } })).toEqual([
    { path: 'data.amount', message: expect.stringContaining('number') },
  ])
  expect(await send({ name: 'payment' })).toEqual([{ path: 'data', message: expect.any(String) }])
})

test('a run takes 100 unused events and no more', async () => {
  await using platform = await startPlatform()
  const tool = await register(platform, 'pay', {
    steps: [
      { id: 'never', wait_for: { event: 'never' } },
      { id: 'paid', wait_for: { event: 'payment' } },
    ],
  })
  const { body: run } = await platform.post('/workflow-runs', { tool_id: tool.id })
  const send = () => platform.post(`/workflow-runs/${run.id}/events`, { name: 'payment' })

  const answers = await Promise.all(Array.from({ length: 101 }, send))

  expect(answers.filter(({ status }) => status === 200)).toHaveLength(100)
  expect(answers.find(({ status }) => status !== 200)?.body.error.code).toBe('EVENT_LIMIT')
})

test('a dry run does not wait for events', async () => {
  await using platform = await startPlatform()
  await using _service = await startCrm(platform)
  const tool = await register(platform, 'pay', { ...payment, output: '${{ steps.paid.output.amount }}' })

  const { body: run } = await platform.post('/workflow-runs', { tool_id: tool.id, dry_run: true })

  expect(run).toMatchObject({ status: 'completed', output: expect.any(Number) })
  expect(run.steps[0].status).toBe('simulated')
})

test.each([
  [
    { call: 'crm:charge', input: { amount: 1 }, wait_for: { event: 'paid' } },
    'workflow.steps[0].wait_for.event',
    'put the event in a step of its own',
  ],
  [{ wait_for: { event: 'paid', seconds: 5 } }, 'workflow.steps[0].wait_for.seconds', 'cannot be combined with event'],
  [{ wait_for: { seconds: 5, timeout_seconds: 5 } }, 'workflow.steps[0].wait_for.timeout_seconds', 'only together'],
  [{ wait_for: { event: 'paid', data: { type: 'nothing' } } }, 'workflow.steps[0].wait_for.data', ''],
  [{ wait_for: { event: 'a b' } }, 'workflow.steps[0].wait_for.event', 'must be 1 to 64 letters'],
  [{ wait_for: {} }, 'workflow.steps[0].wait_for', 'must have approval, seconds, until or event'],
])('a wait that makes no sense is refused with its place: %j', async (step, path, message) => {
  await using platform = await startPlatform()
  await using _service = await startCrm(platform)

  const { body } = await platform.post('/tools', {
    ...{ name: 'w', type: 'workflow', workflow: { steps: [{ id: 'one', ...step }] } },
  })

  const [error] = body.error.details.errors
  expect(error.path).toMatch(new RegExp(`^${path.replaceAll(/[[\].]/g, '\\$&')}`))
  expect(error.message).toContain(message)
})

test('expressions that use the data of an event are checked against its schema', async () => {
  await using platform = await startPlatform()
  await using _service = await startCrm(platform)

  const { body } = await platform.post('/workflows/check', {
    workflow: { ...payment, output: '${{ steps.paid.output.amont }}' },
  })

  expect(body.problems).toMatchObject([{ path: 'workflow.output', message: expect.stringContaining('amont') }])
})
