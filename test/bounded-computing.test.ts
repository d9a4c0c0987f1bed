/** Whatever a user sends, one request does not keep the others waiting. bench/blocking.ts measures how long it can. */
import { expect, test } from 'vitest'
import { startPlatform, startService } from './kit.ts'
import { startUpstream } from './upstream.ts'

const many = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index))

/** Letters a and b in an order that an automaton cannot keep in few states. */
const letters = (length: number) => {
  let state = 1
  return many(length, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state & 65_536 ? 'a' : 'b'
  }).join('')
}

test('an approval rule that computes too much asks for approval and says why', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const tool = { name: 'a', parameters: { type: 'object' }, execute: { url: service.url } }
  const { id } = (await platform.post('/tools', tool)).body
  const expression = 'input.l.exists(i, input.s.matches("[ab]*a[ab]{60}[cd]"))'
  const input = { l: many(50, (i) => i), s: letters(50_000) }
  await platform.post('/approval-rules', { name: 'expensive', expression })

  const tested = await platform.post('/approval-rules/test', { expression, tool_id: id, input })
  const called = await platform.post(`/tools/${id}/call`, { input, wait: false })
  const approval = await platform.get(`/approvals/${called.body.approval_id}`)

  expect(tested.body).toEqual({ asks: true, fault: expect.stringContaining('more computing than a rule may use') })
  expect(called.status).toBe(202)
  expect(approval.body.why[0]).toMatchObject({ name: 'expensive', reason: expect.stringContaining('test action.id') })
  expect(service.received).toEqual([])
})

/** About as an OpenAPI document describes one large object. */
const large = (fields: number) => ({
  type: 'object',
  properties: Object.fromEntries(
    many(fields, (i) => [
      `field_${i}`,
      {
        anyOf: [
          { type: 'object', properties: { a: { type: 'string', format: 'date-time' }, b: { type: 'integer' } } },
          { type: 'array', items: { type: 'string', pattern: '^[a-z]+$' } },
          { type: 'null' },
        ],
      },
    ]),
  ),
})

/** Which of two requests, sent in this order, is answered first. */
const firstOf = async (slow: Promise<unknown>, quick: Promise<unknown>) =>
  Promise.race([slow.then(() => 'slow'), quick.then(() => 'quick')])

test('a schema of 120 KB is compiled and used, and others are answered meanwhile', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const tool = { name: 'large', parameters: large(520), execute: { url: service.url } }

  const creating = platform.post('/tools', tool)
  const first = await firstOf(creating, platform.get('/tools'))
  const created = await creating
  const call = (input: object) => platform.post(`/tools/${created.body.id}/call`, { input })
  const [right, wrong] = [await call({ field_519: ['abc'] }), await call({ field_519: ['ABC'] })]

  expect(JSON.stringify(tool.parameters).length).toBeGreaterThan(100_000)
  expect(first).toBe('quick')
  expect([created.status, right.status, wrong.status]).toEqual([201, 200, 400])
  expect(wrong.body.error.details.errors).toContainEqual({
    path: 'field_519[0]',
    message: 'must match pattern "^[a-z]+$"',
  })
})

test('a large schema that is wrong is refused with its reason', async () => {
  await using platform = await startPlatform()
  const parameters = { ...large(100), required: 'all' }
  const tool = { name: 'wrong', parameters, execute: { url: 'https://example.com' } }

  const { status, body } = await platform.post('/tools', tool)

  expect(status).toBe(400)
  expect(body.error.details.errors).toEqual([
    { path: 'parameters', message: expect.stringContaining('is not a JSON Schema') },
  ])
})

test('an MCP server with a large schema that is wrong says so in each call', async () => {
  const inputSchema = { ...large(100), minProperties: 'many' } as never
  await using upstream = await startUpstream([{ name: 'wrong', inputSchema }])
  await using platform = await startPlatform()
  const { body: tool } = await platform.post('/tools', { name: 'up', type: 'mcp', mcp: { url: upstream.url } })

  const { body } = await platform.post(`/tools/${tool.id}/call`, { action: 'wrong', input: {} })

  expect(body.error).toMatchObject({ code: 'TOOL_SCHEMA_INVALID' })
})

test('presets are checked against a large schema, too', async () => {
  await using platform = await startPlatform()
  const tool = { name: 'a', parameters: large(100), execute: { url: 'https://example.com' } }
  const preset_parameters = { field_3: null, field_5: ['ABC'], other: 1 }

  const { body } = await platform.post('/tools', { ...tool, preset_parameters })

  expect(body.error.details.errors.map(({ path }: { path: string }) => path)).toContain('preset_parameters.field_5[0]')
  expect(JSON.stringify(body.error.details.errors)).not.toContain('field_3')
})

test('an input that takes long to check is checked while others are answered', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const parameters = { type: 'object', properties: { s: { type: 'string', pattern: '^(?:[ab]+c?)*$' } } }
  const { body: tool } = await platform.post('/tools', { name: 'a', parameters, execute: { url: service.url } })
  const call = (input: object) => platform.post(`/tools/${tool.id}/call`, { input })
  await call({ s: 'ab' })

  const calling = call({ s: `${letters(200_000)}x` })
  const first = await firstOf(calling, platform.get('/tools'))
  const [wrong, right] = [await calling, await call({ s: letters(200_000) })]

  expect(first).toBe('quick')
  expect([wrong.status, right.status]).toEqual([400, 200])
  expect(wrong.body.error.details.errors).toEqual([
    { path: 's', message: expect.stringContaining('must match pattern') },
  ])
})

test('an input that would take for ever to check is refused, and says so', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const parameters = { type: 'object', properties: { s: { type: 'string', pattern: '[ab]*a[ab]{60}[cd]' } } }
  const { body: tool } = await platform.post('/tools', { name: 'a', parameters, execute: { url: service.url } })

  const { status, body } = await platform.post(`/tools/${tool.id}/call`, { input: { s: letters(1_000_000) } })

  expect(status).toBe(400)
  expect(body.error.details.errors).toEqual([{ path: '', message: expect.stringContaining('is too large') }])
  expect(service.received).toEqual([])
})
