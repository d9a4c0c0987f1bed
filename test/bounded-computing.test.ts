/** No request blocks others, whatever it contains. bench/blocking.ts measures the longest delay. */
import { expect, test } from 'vitest'
import { startPlatform, startService } from './kit.ts'
import { startUpstream } from './upstream.ts'

const many = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index))

/** Letters a and b in an order that makes an automaton need many states. */
const letters = (length: number) => {
  let state = 1
  return many(length, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state & 65_536 ? 'a' : 'b'
  }).join('')
}

test('an approval rule that exceeds its compute budget requires approval and says why', async () => {
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

  expect(tested.body).toEqual({ asks: true, fault: expect.stringContaining('exceeds the computing limit for rules') })
  expect(called.status).toBe(202)
  expect(approval.body.why[0]).toMatchObject({ name: 'expensive', reason: expect.stringContaining('test action.id') })
  expect(service.received).toEqual([])
})

/** Similar to a large object in an OpenAPI document. */
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

/** Sends two requests in this order, and returns which one is answered first. */
const firstOf = async (slow: Promise<unknown>, quick: Promise<unknown>) =>
  Promise.race([slow.then(() => 'slow'), quick.then(() => 'quick')])

test('a 120 KB schema is compiled and used without blocking other requests', async () => {
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

test('a large invalid schema is refused with the reason', async () => {
  await using platform = await startPlatform()
  const parameters = { ...large(100), required: 'all' }
  const tool = { name: 'wrong', parameters, execute: { url: 'https://example.com' } }

  const { status, body } = await platform.post('/tools', tool)

  expect(status).toBe(400)
  expect(body.error.details.errors).toEqual([
    { path: 'parameters', message: expect.stringContaining('is not a JSON Schema') },
  ])
})

test('calls to an MCP server with a large invalid schema fail with the reason', async () => {
  const inputSchema = { ...large(100), minProperties: 'many' } as never
  await using upstream = await startUpstream([{ name: 'wrong', inputSchema }])
  await using platform = await startPlatform()
  const { body: tool } = await platform.post('/tools', { name: 'up', type: 'mcp', mcp: { url: upstream.url } })

  const { body } = await platform.post(`/tools/${tool.id}/call`, { action: 'wrong', input: {} })

  expect(body.error).toMatchObject({ code: 'TOOL_SCHEMA_INVALID' })
})

test('presets are checked against large schemas', async () => {
  await using platform = await startPlatform()
  const tool = { name: 'a', parameters: large(100), execute: { url: 'https://example.com' } }
  const preset_parameters = { field_3: null, field_5: ['ABC'], other: 1 }

  const { body } = await platform.post('/tools', { ...tool, preset_parameters })

  expect(body.error.details.errors.map(({ path }: { path: string }) => path)).toContain('preset_parameters.field_5[0]')
  expect(JSON.stringify(body.error.details.errors)).not.toContain('field_3')
})

test('checking a large input does not block other requests', async () => {
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

test('an input that would take too long to check is refused with the reason', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const parameters = { type: 'object', properties: { s: { type: 'string', pattern: '[ab]*a[ab]{60}[cd]' } } }
  const { body: tool } = await platform.post('/tools', { name: 'a', parameters, execute: { url: service.url } })

  const { status, body } = await platform.post(`/tools/${tool.id}/call`, { input: { s: letters(1_000_000) } })

  expect(status).toBe(400)
  expect(body.error.details.errors).toEqual([{ path: '', message: expect.stringContaining('is too large') }])
  expect(service.received).toEqual([])
})

test.each<[string, () => string, string]>([
  ['values', () => `{"input":{"a":[${'1,'.repeat(260_000)}1]}}`, 'it has more than 250000 values'],
  ['nested lists', () => `{"input":{"a":[${many(3000, () => '['.repeat(90) + ']'.repeat(90)).join(',')}]}}`, 'values'],
  [
    'fields of large objects',
    () => JSON.stringify({ input: { a: many(30, () => Object.fromEntries(many(500, (i) => [`k${i}`, 1]))) } }),
    'it has more than 10000 fields in large objects',
  ],
  [
    'names',
    () => JSON.stringify({ input: Object.fromEntries(many(10_100, (i) => [`k${i}`, 1])) }),
    'it has more than 10000 different field names',
  ],
])('a body with too many values is refused before it is parsed: %s', async (_, body, reason) => {
  await using platform = await startPlatform()

  const answer = await platform.post('/tools/tool_1/call', body())

  expect(answer.status).toBe(400)
  expect(answer.body.error).toMatchObject({ code: 'INVALID_JSON', message: expect.stringContaining(reason) })
})

test('long text does not count towards the value limit and is passed on', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const tool = { name: 'a', parameters: { type: 'object' }, execute: { url: service.url } }
  const { id } = (await platform.post('/tools', tool)).body
  const input = { text: '[{,:'.repeat(200_000), numbers: many(50_000, (i) => i) }

  const { status } = await platform.post(`/tools/${id}/call`, { input })

  expect(status).toBe(200)
  expect(JSON.parse(service.received[0]?.body ?? '')).toEqual(input)
})

test('a response with too many values is an error that says so', async () => {
  await using service = await startService(() => ({ body: `[${'1,'.repeat(260_000)}1]` }))
  await using platform = await startPlatform()
  const tool = { name: 'a', parameters: { type: 'object' }, execute: { url: service.url } }
  const { id } = (await platform.post('/tools', tool)).body

  const { status, body } = await platform.post(`/tools/${id}/call`, { input: {} })

  expect(status).toBe(502)
  expect(body.error).toMatchObject({ code: 'RESPONSE_TOO_COMPLEX', message: expect.stringContaining('250000 values') })
})

test('a validation error lists at most a hundred errors', async () => {
  await using platform = await startPlatform()
  const wrong = Object.fromEntries(many(5000, (i) => [`k${i}`, 1]))

  const { body } = await platform.post('/tools', { name: 'a', ...wrong })

  expect(body.error.details.errors).toHaveLength(101)
  expect(body.error.details.errors[100]).toEqual({ path: '', message: 'and many more' })
})

test('a list or map with too many entries is refused as a whole', async () => {
  await using platform = await startPlatform()
  const files = many(49, (i) => Object.fromEntries(many(200, (j) => [`/${i}/${j}`, 'x'])))

  const { body } = await platform.post('/skills/import', { files: Object.assign({}, ...files) })
  const refused = await platform.post('/servers', {
    slug: 'a',
    apps: many(10, (i) => ({ slug: `a${i}`, actions: many(2500, () => 'x') })),
  })

  expect(body.skipped).toHaveLength(9800)
  expect(refused.body.error.details.errors).toEqual([{ path: 'apps', message: 'has more than 20000 values' }])
})

test('importing thousands of entries does not block other requests', async () => {
  await using platform = await startPlatform()
  const mcpServers = Object.fromEntries(many(300, (i) => [`s${i}`, { url: `https://example.com/${i}` }]))

  const importing = platform.post('/tools/import', { mcpServers })
  const first = await firstOf(importing, platform.get('/projects'))

  expect(first).toBe('quick')
  expect((await importing).body.created).toHaveLength(300)
})

test('a policy with thousands of misspelled actions gets only a few suggestions', async () => {
  const tools = many(200, (i) => ({ name: `tool_number_${i}`, inputSchema: { type: 'object' as const } }))
  await using upstream = await startUpstream(tools)
  await using platform = await startPlatform()
  const { body: tool } = await platform.post('/tools', { name: 'up', type: 'mcp', mcp: { url: upstream.url } })
  await platform.get(`/tools/${tool.id}/actions`)

  const actions = many(3000, (i) => `toll_number_${i}`)
  const { status, body } = await platform.post('/servers', { slug: 'a', apps: [{ slug: 'up', actions }] })

  const { errors } = body.error.details
  expect(status).toBe(400)
  expect(errors).toHaveLength(101)
  expect(errors[0].message).toContain('did you mean')
  expect(errors[50].message).not.toContain('did you mean')
})

test('a replay script whose patterns cost too much fails with the reason', async () => {
  await using platform = await startPlatform()
  const steps = many(50, (i) => ({ when: { last_user: { matches: `[ab]*a[ab]{60}${i}[cd]` } }, answer: 'x' }))
  const provider = await platform.post('/ai-providers', { name: 'r', type: 'replay', script: { steps } })
  const agent = await platform.post('/agents', { name: 'a', ai_provider_id: provider.body.id, model: 'm' })

  const { body } = await platform.post(`/agents/${agent.body.id}/generate`, { prompt: letters(200_000) })

  expect(JSON.stringify(body)).toContain('takes too long to match against this conversation')
})

test('a replay script cannot produce a response of gigabytes', async () => {
  await using platform = await startPlatform()
  const steps = [{ answer: { text: '{{last_user}}'.repeat(50_000) } }]
  const provider = await platform.post('/ai-providers', { name: 'r', type: 'replay', script: { steps } })
  const agent = await platform.post('/agents', { name: 'a', ai_provider_id: provider.body.id, model: 'm' })

  const { body } = await platform.post(`/agents/${agent.body.id}/generate`, { prompt: 'x'.repeat(9000) })

  expect(JSON.stringify(body)).toContain('takes too long to match against this conversation')
})

test('the length of access policies is limited', async () => {
  await using platform = await startPlatform()
  const make = (condition: object, resource = ['*']) =>
    platform.post('/access-policies', {
      name: 'p',
      document: { statement: [{ effect: 'Allow', action: ['*'], resource, condition }] },
    })
  const like = (count: number) => ({ StringLike: { 'qm:ResourceTag/a': many(count, (i) => `*${'a'.repeat(60)}${i}`) } })

  expect((await make(like(50))).status).toBe(201)
  expect((await make(like(500))).body.error.message).toContain('4096 characters of StringLike patterns')
  expect(
    (await make({ StringEquals: { 'qm:ResourceTag/a': many(9000, (i) => `value${i}`) } })).body.error.message,
  ).toContain('longer than 65536')
})

test('a skill with an oversized front matter is skipped with the reason', async () => {
  await using platform = await startPlatform()
  const front = many(5000, (i) => `key${i}: 1`).join('\n')

  const { body } = await platform.post('/skills/import', { files: { 'a/SKILL.md': `---\nname: a\n${front}\n---\nx` } })

  expect(body.skipped).toEqual([{ path: 'a/SKILL.md', reason: expect.stringContaining('front matter of more than') }])
})
