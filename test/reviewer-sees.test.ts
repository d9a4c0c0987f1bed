import { expect, test } from 'vitest'
import { gated, people } from './approving.ts'
import { startPlatform, startService, type TestPlatform } from './kit.ts'

const ask = async (platform: TestPlatform, id: string, input: object, key: string): Promise<string> => {
  const { status, body } = await platform.post(`/tools/${id}/call`, { input, wait: false }, { key })
  expect(status, JSON.stringify(body)).toBe(202)
  return body.approval_id
}

test('reviewers see all arguments of a call, and those with a secret-like name are marked', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const { id, caller, reviewer } = await gated(platform, service.url, { parameters: {} })
  const input = { token: 'DELETE FROM users', nested: [{ 'api-key': 'k' }], authorization: 'Bearer abcdefghijkl' }

  const approval = (await platform.get(`/approvals/${await ask(platform, id, input, caller)}`, { key: reviewer })).body
  const [call] = (await platform.get('/calls')).body.data
  const record = (await platform.get(`/calls/${call.id}`)).body

  expect(approval.input).toEqual(input)
  expect(approval.sensitive).toEqual([
    { path: 'token', type: 'string', length: 17, reason: 'name', hidden: false },
    { path: 'nested[0].api-key', type: 'string', length: 1, reason: 'name', hidden: false },
    { path: 'authorization', type: 'string', length: 19, reason: 'name', hidden: false },
  ])
  expect(record.request.token).toBe('[redacted]')
})

test('arguments that the schema declares secret are hidden, and reviewers see their type and length', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const parameters = {
    type: 'object',
    properties: {
      pin: { type: 'number', writeOnly: true },
      people: { type: 'array', items: { $ref: '#/$defs/person' } },
      code: { anyOf: [{ type: 'string', format: 'password' }, { type: 'null' }] },
      settings: { type: 'object', additionalProperties: { type: 'object', 'x-secret': true } },
    },
    $defs: {
      person: {
        type: 'object',
        properties: { phrase: { type: 'string', format: 'password' }, boss: { $ref: '#/$defs/person' } },
      },
    },
  }
  const { id, caller, reviewer } = await gated(platform, service.url, { parameters })
  const input = {
    pin: 1234,
    people: [{ name: 'Ana', phrase: 'olá', boss: { phrase: 'x' } }],
    code: 'abc',
    settings: { a: { b: 1, c: 2 } },
  }

  const asked = await ask(platform, id, input, caller)
  const approval = (await platform.get(`/approvals/${asked}`, { key: reviewer })).body
  await platform.post(`/approvals/${asked}/approve`, { input: { ...approval.input, people: [] } }, { key: reviewer })
  const ran = await platform.post(`/tools/${id}/call`, { input, wait: false }, { key: caller })
  const [call] = (await platform.get('/calls')).body.data
  const record = (await platform.get(`/calls/${call.id}`)).body

  const hidden = { hidden: true, reason: 'schema' }
  expect(approval.input).toEqual({
    pin: '[redacted]',
    people: [{ name: 'Ana', phrase: '[redacted]', boss: { phrase: '[redacted]' } }],
    code: '[redacted]',
    settings: { a: '[redacted]' },
  })
  expect(approval.sensitive).toEqual([
    { path: 'pin', type: 'number', length: null, ...hidden },
    { path: 'people[0].phrase', type: 'string', length: 3, ...hidden },
    { path: 'people[0].boss.phrase', type: 'string', length: 1, ...hidden },
    { path: 'code', type: 'string', length: 3, ...hidden },
    { path: 'settings.a', type: 'object', length: 2, ...hidden },
  ])
  expect(ran.status).toBe(200)
  expect(JSON.parse(service.received[0]?.body ?? '')).toEqual({ ...input, people: [] })
  expect(record.request).toEqual(approval.input)
})

test('API keys of the platform are hidden from reviewers, and only the key itself', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const { id, reviewer, caller } = await gated(platform, service.url, { parameters: {} })
  const key = `sk_${'a1B2'.repeat(10)}`

  const asked = await ask(platform, id, { note: `drop it, ${key}, now` }, caller)
  const { input, sensitive } = (await platform.get(`/approvals/${asked}`, { key: reviewer })).body

  expect(input).toEqual({ note: 'drop it, [redacted], now' })
  expect(sensitive).toMatchObject([{ path: 'note', reason: 'api_key', hidden: true }])
})

test('webhooks redact arguments with a secret-like name, and list them', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const { id, caller } = await gated(platform, service.url, { parameters: {} })
  await platform.post('/webhooks', { name: 'w', url: `${service.url}/hook`, events: ['approval.requested'] })

  await ask(platform, id, { token: 'DELETE FROM users' }, caller)

  await expect.poll(() => service.received.length, { timeout: 10_000 }).toBe(1)
  const { data } = JSON.parse(service.received[0]?.body ?? '')
  expect(data.input).toEqual({ token: '[redacted]' })
  expect(data.sensitive).toMatchObject([{ path: 'token', length: 17, reason: 'name', hidden: true }])
})

test('the call log has the names of presets but not their values, for any outcome', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const { caller } = await people(platform)
  const parameters = { type: 'object', properties: { city: { type: 'string' }, account: { type: 'string' } } }
  const preset_parameters = { account: 'acct-under-the-counter' }
  const tool = { name: 'pay', parameters, preset_parameters, execute: { url: service.url } }
  const { id } = (await platform.post('/tools', tool)).body
  const reads = ['calls:GetCall', 'calls:ListCalls']
  const key = await platform.keyFor([{ effect: 'Allow', action: reads, resource: ['*'] }])

  await platform.post(`/tools/${id}/call`, { input: { city: 'Recife', account: 'mine' } }, { key: caller })
  await platform.post(`/tools/${id}/call`, { input: { city: 7 } }, { key: caller })
  const calls = (await platform.get('/calls', { key })).body.data
  const [wrong, right] = await Promise.all(
    calls.map(async (call: { id: string }) => (await platform.get(`/calls/${call.id}`, { key })).body),
  )

  expect(JSON.parse(service.received[0]?.body ?? '')).toEqual({ city: 'Recife', account: 'acct-under-the-counter' })
  expect(right).toMatchObject({ status: 'success', request: { city: 'Recife' }, preset_keys: ['account'] })
  expect(wrong).toMatchObject({ status: 'validation_error', request: { city: 7 }, preset_keys: ['account'] })
  expect(JSON.stringify([calls, right.request, wrong])).not.toContain('under-the-counter')
})

test('presets of a client tool are returned to its caller, and not to other readers of the run', async () => {
  await using platform = await startPlatform()
  const parameters = { type: 'object', properties: { path: { type: 'string' }, vault: { type: 'string' } } }
  const tool = { name: 'read', type: 'client', parameters, preset_parameters: { vault: 'under-the-counter' } }
  const { id } = (await platform.post('/tools', tool)).body
  const steps = [{ answer: { tool_calls: [{ name: 'read', args: { path: '/a' } }] } }, { answer: 'Done' }]
  const script = { name: 'p', type: 'replay', default_model: 'm', script: { steps } }
  const ai_provider_id = (await platform.post('/ai-providers', script)).body.id
  const agent = (await platform.post('/agents', { name: 'a', ai_provider_id, tool_ids: [id] })).body
  const reads = ['agents:GetGeneration', 'calls:ListCalls', 'calls:GetCall']
  const key = await platform.keyFor([{ effect: 'Allow', action: reads, resource: ['*'] }])

  const { body } = await platform.post(`/agents/${agent.id}/generate`, { prompt: 'x' })
  const read = (await platform.get(`/generations/${body.id}`, { key })).body
  const trace = (await platform.get(`/generations/${body.id}/trace`, { key })).body
  const [call] = (await platform.get('/calls', { key })).body.data

  expect(body.required_action.tool_calls[0].args).toEqual({ path: '/a', vault: 'under-the-counter' })
  expect(read.required_action.tool_calls[0].args).toEqual({ path: '/a' })
  expect(read.step_list[0].calls[0].args).toEqual({ path: '/a' })
  expect(JSON.stringify([read, trace, (await platform.get(`/calls/${call.id}`, { key })).body])).not.toContain(
    'under-the',
  )
})
