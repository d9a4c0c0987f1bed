import { describe, expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey, startPlatform, type TestPlatform } from './kit.ts'
import { parameters, received, register, startCrm, text, until } from './workflow-kit.ts'

const number = { type: 'number' }
const list = { type: 'array', items: number }

/** Calls a workflow. Returns the error of its result. */
async function failureOf(platform: TestPlatform, workflow: object, input: object = {}) {
  const tool = await register(platform, `w${Math.random().toString(36).slice(2)}`, workflow, { auto_approve: true })
  const { body, status } = await platform.post(`/tools/${tool.id}/call`, { input })
  expect(status, JSON.stringify(body)).toBeGreaterThanOrEqual(400)
  expect(status).not.toBe(500)
  return body.error
}

test('a workflow that calls itself through the API of the platform ends at the limit of nested calls', {
  timeout: 60_000,
}, async () => {
  await using platform = await startListening()
  await using _service = await startCrm(platform)
  const steps = [{ id: 'note', call: 'crm:create_note', input: { text: 'x' } }]
  const flow = await register(platform, 'flow', { steps }, { auto_approve: true })
  const execute = {
    ...{ url: `${platform.url}/api/v1/tools/${flow.id}/call`, method: 'POST' },
    headers: { authorization: `Bearer ${adminKey}` },
  }
  await platform.post('/tools', { name: 'again', app: 'crm', parameters: parameters({}), execute })
  const again = { steps: [...steps, { id: 'again', call: 'crm:again', input: {} }] }
  const changed = await platform.patch(`/tools/${flow.id}`, { workflow: again })

  const { body } = await platform.post(`/tools/${flow.id}/call`, { input: {} })
  const { data } = (await platform.get('/calls?limit=500')).body
  const codes = data.map((call: { error?: { code: string } }) => call.error?.code)

  expect(changed.status, JSON.stringify(changed.body)).toBe(200)
  expect(body.error).toMatchObject({ code: 'WORKFLOW_FAILED', details: { step: 'again' } })
  expect(codes).toContain('CALL_TOO_DEEP')
  expect((await platform.get('/workflow-runs')).body.total).toBeLessThan(20)
})

describe('too many items are refused by their place', async () => {
  test.each([
    ['in the input', '${{ input.list }}', 20_000],
    ['in an expression that multiplies them', '${{ input.list.map(a, input.list.map(b, a + b)) }}', 1000],
    ['in lists that are joined', '${{ input.list + input.list + input.list + input.list }}', 500],
  ])('%s', async (_, for_each, length) => {
    await using platform = await startPlatform()
    await using service = await startCrm(platform)
    const input = { list: Array.from({ length }, (_one, index) => index) }

    const error = await failureOf(
      platform,
      {
        input: parameters({ list }),
        steps: [{ id: 'notes', for_each, concurrency: 50, call: 'crm:create_note', input: { text: 'x' } }],
      },
      input,
    )

    expect(error.details).toMatchObject({ step: 'notes', code: 'EXPRESSION_FAILED' })
    expect(error.message).toContain('workflow.steps[0].for_each')
    expect(error.message).toMatch(/the limit is 1000|exceeds the computing limit/)
    expect(service.received).toEqual([])
  })

  test('in a million', async () => {
    await using platform = await startPlatform()
    await using _service = await startCrm(platform)
    const tool = await register(platform, 'many', {
      input: parameters({ list }),
      steps: [{ id: 'notes', for_each: '${{ input.list }}', call: 'crm:create_note', input: { text: 'x' } }],
    })

    const { status, body } = await platform.post(
      `/tools/${tool.id}/call`,
      `{"input":{"list":[${'1,'.repeat(999_999)}1]}}`,
    )

    expect([status, typeof body.error.message]).toEqual([400, 'string'])
    expect((await platform.get('/workflow-runs')).body.total).toBe(0)
  })
})

test.each([
  ['a missing field', '${{ steps.contact.output.nothing.at.all }}', 'No such key'],
  ['an index that is too large', '${{ steps.contact.output.tags[7] }}', ''],
  ['a number from a text', '${{ int(steps.contact.output.name) }}', ''],
  ['a division by zero', '${{ 1 / (size(steps.contact.output.tags) - 3) }}', ''],
  ['types that do not fit', '${{ steps.contact.output.name + 1 }}', ''],
  ['a pattern that is no pattern', '${{ "x".matches(steps.contact.output.email + "(") ? 1 : 2 }}', ''],
])('an expression that fails names its place: %s', async (_, amount, reason) => {
  await using platform = await startPlatform()
  await using service = await startCrm(platform)

  const error = await failureOf(platform, {
    steps: [
      { id: 'contact', call: 'crm:find_contact', input: { email: 'a@x.test' } },
      { id: 'charge', call: 'crm:charge', input: { amount } },
    ],
  })

  expect(error.details).toMatchObject({ step: 'charge', code: 'EXPRESSION_FAILED' })
  expect(error.message).toContain('workflow.steps[1].input.amount')
  expect(error.message).toContain(reason)
  expect(received(service, '/charge')).toEqual([])
})

test('a condition that is neither true nor false names its place', async () => {
  await using platform = await startPlatform()
  await using _service = await startCrm(platform)

  const error = await failureOf(platform, {
    steps: [
      { id: 'contact', call: 'crm:find_contact', input: { email: 'a@x.test' } },
      { id: 'charge', if: '${{ steps.contact.output.name }}', call: 'crm:charge', input: { amount: 1 } },
    ],
  })

  expect(error.message).toContain('workflow.steps[1].if')
  expect(error.message).toContain('neither true nor false')
})

test('a result that the next step does not expect names the step and the argument', async () => {
  await using platform = await startPlatform()
  await using service = await startCrm(platform, ({ url }) =>
    url.startsWith('/contacts') ? { status: 200, body: '"a text"' } : undefined,
  )
  const contact = { id: 'contact', call: 'crm:find_contact', input: { email: 'a@x.test' } }

  const asObject = await failureOf(platform, {
    steps: [contact, { id: 'note', call: 'crm:create_note', input: { text: '${{ steps.contact.output.name }}' } }],
  })
  const asNumber = await failureOf(platform, {
    steps: [contact, { id: 'charge', call: 'crm:charge', input: { amount: '${{ steps.contact.output }}' } }],
  })

  expect(asObject.details).toMatchObject({ step: 'note', code: 'EXPRESSION_FAILED' })
  expect(asNumber.details).toMatchObject({ step: 'charge', code: 'VALIDATION_FAILED' })
  expect(asNumber.message).toContain('amount')
  expect(service.received.every(({ url }) => url.startsWith('/contacts'))).toBe(true)
})

describe('between two steps of a run', () => {
  const waiting = {
    steps: [
      { id: 'note', call: 'crm:create_note', input: { text: 'x' } },
      { id: 'go', wait_for: { event: 'go' } },
      { id: 'charge', call: 'crm:charge', input: { amount: 5 } },
    ],
  }
  const between = async (platform: TestPlatform, change: () => Promise<unknown>, key?: string) => {
    const tool = await register(platform, 'flow', waiting, { auto_approve: true })
    const { body: run } = await platform.post('/workflow-runs', { tool_id: tool.id }, key ? { key } : {})
    await until(platform, run.id, 'waiting')
    await change()
    await platform.post(`/workflow-runs/${run.id}/events`, { name: 'go' })
    return until(platform, run.id, 'failed')
  }
  const charge = async (platform: TestPlatform) => (await platform.get('/tools?name=charge')).body.data[0].id

  test('an action disappears', async () => {
    await using platform = await startPlatform()
    await using service = await startCrm(platform)

    const run = await between(platform, async () => platform.delete(`/tools/${await charge(platform)}?force=true`))

    expect(run.error.details).toMatchObject({ step: 'charge', code: 'ACTION_NOT_FOUND' })
    expect(run.error.message).toContain('There is no action "crm:charge"')
    expect(service.received.map(({ url }) => url)).toEqual(['/create_note'])
  })

  test('an action changes its schema', async () => {
    await using platform = await startPlatform()
    await using service = await startCrm(platform)
    const schema = parameters({ amount: number, currency: text }, ['amount', 'currency'])

    const run = await between(platform, async () =>
      platform.patch(`/tools/${await charge(platform)}`, { parameters: schema }),
    )

    expect(run.error.details).toMatchObject({ step: 'charge', code: 'VALIDATION_FAILED' })
    expect(run.error.message).toContain('currency')
    expect(service.received).toHaveLength(1)
  })

  test('the caller loses a permission, or the key', async () => {
    await using platform = await startPlatform()
    await using service = await startCrm(platform)
    const policy = await platform.post('/access-policies', {
      name: 'caller',
      document: { statement: [{ effect: 'Allow', action: ['tools:*', 'workflow-runs:*'] }] },
    })
    const key = await platform.post('/api-keys', { name: 'caller', access_policy_ids: [policy.body.id] })

    const run = await between(
      platform,
      async () => {
        const resource = [`qm:*:tool:${await charge(platform)}`]
        const statement = [...policy.body.document.statement, { effect: 'Deny', action: ['tools:*'], resource }]
        const changed = await platform.patch(`/access-policies/${policy.body.id}`, { document: { statement } })
        expect(changed.status, JSON.stringify(changed.body)).toBe(200)
      },
      key.body.key,
    )
    await platform.delete(`/api-keys/${key.body.id}`)
    await platform.post(`/workflow-runs/${run.id}/resume`)
    const gone = await until(platform, run.id, 'failed')

    expect(run.error.details).toMatchObject({ step: 'charge', code: 'FORBIDDEN' })
    expect(JSON.stringify(gone.error)).toMatch(/KEY_GONE/)
    expect(service.received).toHaveLength(1)
  })
})
