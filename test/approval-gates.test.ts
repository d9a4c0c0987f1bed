import { describe, expect, test } from 'vitest'
import { gated, people } from './approving.ts'
import { startPlatform, startService, type TestPlatform } from './kit.ts'
import { startUpstream } from './upstream.ts'

const anything = { type: 'object' }

/** Whether a call needs approval, and why. */
async function asks(platform: TestPlatform, id: string, input: object, key: string, action?: string) {
  const { status, body } = await platform.post(
    `/tools/${id}/call`,
    { input, wait: false, ...(action && { action }) },
    { key },
  )
  if (status !== 202) return status
  return (await platform.get(`/approvals/${body.approval_id}`)).body.why
}

describe('approval is required', () => {
  test('for every call of a tool without auto_approve (S4.21)', async () => {
    await using upstream = await startUpstream()
    await using platform = await startPlatform()
    const { caller } = await people(platform)
    const make = async (fields: object) =>
      (await platform.post('/tools', { type: 'mcp', mcp: { url: upstream.url }, ...fields })).body.id
    const gatedServer = await make({ name: 'gated', auto_approve: false })
    const restricted = await make({ name: 'restricted', level: 'restricted' })
    const open = await make({ name: 'open' })
    const trusted = await make({ name: 'trusted', level: 'administrative', auto_approve: true })

    const why = []
    for (const id of [gatedServer, restricted, open, trusted])
      why.push(await asks(platform, id, { text: 'x' }, caller, 'echo'))

    expect(why).toMatchObject([
      [{ gate: 'tool', id: gatedServer, name: 'gated' }],
      [{ gate: 'level', name: 'restricted' }],
      200,
      200,
    ])
    expect(upstream.calls).toHaveLength(2)
  })

  test('with ask_destructive, for every action that is not marked read-only or non-destructive', async () => {
    await using service = await startService()
    await using upstream = await startUpstream([
      { name: 'read', inputSchema: anything, annotations: { readOnlyHint: true, destructiveHint: true } },
      { name: 'add', inputSchema: anything, annotations: { destructiveHint: false } },
      { name: 'remove', inputSchema: anything, annotations: { destructiveHint: true } },
      { name: 'silent', inputSchema: anything },
    ] as never)
    await using platform = await startPlatform()
    const { caller } = await people(platform)
    const crm = { name: 'crm', type: 'mcp', mcp: { url: upstream.url }, ask_destructive: true }
    const { id } = (await platform.post('/tools', crm)).body
    const http = (name: string, method: string) =>
      platform.post('/tools', {
        name,
        parameters: anything,
        execute: { url: service.url, method },
        ask_destructive: true,
      })
    const [get, put] = [(await http('get', 'GET')).body.id, (await http('put', 'PUT')).body.id]

    const why = []
    for (const action of ['read', 'add', 'remove', 'silent']) why.push(await asks(platform, id, {}, caller, action))
    why.push(await asks(platform, get, {}, caller), await asks(platform, put, {}, caller))

    const gate = [{ gate: 'annotation', reason: 'destructive' }]
    expect(why).toMatchObject([200, 200, gate, gate, 200, gate])
  })

  test('if an approval rule matches the call, and not otherwise', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller } = await gated(platform, service.url, { auto_approve: true, parameters: anything })
    const make = (name: string, expression: string, more: object = {}) =>
      platform.post('/approval-rules', { name, expression, ...more })
    const large = await make('large', 'has(input.amount) && input.amount > 100', {
      reason: 'Over 100',
      timeout_seconds: 20,
    })
    await make('names', '"iban" in input && input.iban.matches("^(DE|FR)")')
    await make('here', 'surface == "agent" || action.id == "tools:other" || tool.name == "x" || principal.name == "y"')
    await make('agents', 'agent != null && agent.id == "agt_x" || server != null && server.slug == "x"')
    const off = await make('off', 'true', { enabled: false })

    const why = [
      await asks(platform, id, { amount: 50 }, caller),
      await asks(platform, id, { amount: 500 }, caller),
      await asks(platform, id, { iban: 'DE12' }, caller),
      await asks(platform, id, { iban: 'XX12', amount: 100 }, caller),
    ]
    const { data } = (await platform.get('/approvals')).body
    await platform.patch(`/approval-rules/${large.body.id}`, { expression: 'input.amount > 1000 || false' })
    const later = await asks(platform, id, { amount: 501 }, caller)
    await platform.delete(`/approval-rules/${large.body.id}`)
    const gone = await asks(platform, id, { amount: 5000 }, caller)
    await platform.patch(`/approval-rules/${off.body.id}`, { enabled: true })
    const on = await asks(platform, id, { amount: 1 }, caller)

    expect(why).toMatchObject([
      200,
      [{ gate: 'rule', id: large.body.id, name: 'large', reason: 'Over 100' }],
      [{ gate: 'rule', name: 'names' }],
      200,
    ])
    const seconds = data.map((one: { expires_at: string; created_at: string }) =>
      Math.round((Date.parse(one.expires_at) - Date.parse(one.created_at)) / 1000),
    )
    expect(seconds).toEqual([300, 20])
    expect([later, gone]).toEqual([200, 200])
    expect(on).toMatchObject([{ name: 'off' }])
  })

  test('according to the surface of the call, which the caller cannot change', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller } = await gated(platform, service.url, { auto_approve: true, parameters: anything })
    await platform.post('/approval-rules', { name: 'rest', expression: 'surface == "rest"' })
    const call = (named: string) =>
      platform.post(
        `/tools/${id}/call`,
        { input: { named }, wait: false },
        { key: caller, headers: { 'x-quartermaster-surface': named } },
      )

    const statuses = [(await call('cli')).status, (await call('sdk')).status, (await call('agent')).status]

    expect(statuses).toEqual([202, 202, 202])
    const { data } = (await platform.get('/approvals')).body
    expect(data.map(({ surface }: { surface: string }) => surface)).toEqual(['rest', 'rest', 'rest'])
  })

  test('by rules on real surfaces only: a rule on another surface is refused with the name to use', async () => {
    await using platform = await startPlatform()
    const make = (expression: string) => platform.post('/approval-rules', { name: 'x', expression })

    const refused = [await make('surface == "cli"'), await make("'sdk' != surface"), await make('surface in ["cli"]')]

    for (const { status, body } of refused) {
      expect(status).toBe(400)
      expect(body.error.details.errors).toMatchObject([
        { path: 'expression', message: expect.stringMatching(/"rest"/) },
      ])
    }
    expect((await make('surface == "rest" && input.text == "cli"')).status).toBe(201)
  })

  test('not by a rule about another action, however large the input is', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller } = await gated(platform, service.url, { auto_approve: true, parameters: anything })
    const expression = 'action.id == "tools:write-document" && input.path.startsWith("/handbook/")'
    await platform.post('/approval-rules', { name: 'Handbook', expression, two_people: true })
    const input = { message: 'x'.repeat(66_000) }

    const status = await asks(platform, id, input, caller)
    const tested = await platform.post('/approval-rules/test', { expression, tool_id: id, input })

    expect(status).toBe(200)
    expect(tested.body).toEqual({ asks: false, fault: null })
  })

  test('if a rule cannot be evaluated', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller } = await gated(platform, service.url, { auto_approve: true, parameters: anything })
    await platform.post('/approval-rules', { name: 'amount', expression: 'input.amount > 100' })
    await platform.post('/approval-rules', { name: 'rows', expression: 'input.amount < 0 && input.rows.all(x, x > 0)' })

    const missing = await asks(platform, id, { note: 'x' }, caller)
    const fits = await asks(platform, id, { amount: 5 }, caller)
    const many = await asks(platform, id, { amount: -5, rows: Array.from({ length: 200_000 }, () => 1) }, caller)

    expect(missing).toMatchObject([
      { name: 'amount', reason: expect.stringMatching(/could not be evaluated.*amount/) },
      { name: 'rows' },
    ])
    expect(fits).toBe(200)
    expect(JSON.stringify(many)).toContain('exceeds the computing limit for rules')
  })

  test('for every call through a server without auto_approve, with all reasons listed', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller } = await gated(platform, service.url, { auto_approve: true })
    await platform.post('/servers', { slug: 'careful', auto_approve: false, approval_timeout_seconds: 1 })
    await platform.post('/servers', { slug: 'free', auto_approve: true })
    await platform.post('/approval-rules', { name: 'all', expression: 'server != null && server.slug == "careful"' })
    const call = async (slug: string) => {
      const response = await platform.fetch(`/mcp/${slug}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${caller}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'tools_pay_action', arguments: { city: 'x' } },
        }),
      })
      return response.text()
    }

    const answers = [await call('free'), await call('careful')]

    expect(answers[0]).toContain('ok')
    expect(answers[1]).toContain('APPROVAL_EXPIRED')
    expect(service.received).toHaveLength(1)
    expect((await platform.get('/approvals')).body.data).toMatchObject([
      {
        tool_id: id,
        why: [
          { gate: 'server', name: 'careful' },
          { gate: 'rule', name: 'all' },
        ],
        surface: 'mcp',
      },
    ])
  })
})

test('an invalid approval rule is refused with the reason', async () => {
  await using platform = await startPlatform()
  const wrong: [expression: string, words: RegExp][] = [
    ['input.amount >', /Unexpected token/],
    ['amount > 100', /Unknown variable: amount/],
    ['action.colour == "red"', /No such key: colour/],
    ['input', /must return a bool/],
    ['1 + 1', /must return a bool/],
    ['tool.name.matches("(")', /regular expression/],
    ['input.a.all(x, input.b.all(y, input.c.all(z, x == y && y == z)))', /nested 3 levels deep/],
    [`input.a == "${'x'.repeat(4000)}"`, /too (big|long)/],
    [Array.from({ length: 300 }, (_, n) => `input.a == ${n}`).join(' || '), /./],
  ]

  for (const [expression, words] of wrong) {
    const { status, body } = await platform.post('/approval-rules', { name: 'r', expression })
    expect(status, expression.slice(0, 60)).toBe(400)
    expect(body.error.message).toMatch(words)
  }
  const made = await platform.post('/approval-rules', { name: 'r', expression: 'true' })
  const twice = await platform.post('/approval-rules', { name: 'r', expression: 'true' })
  const worse = await platform.patch(`/approval-rules/${made.body.id}`, { expression: '1' })
  expect([made.status, twice.status, worse.status]).toEqual([201, 409, 400])
})

test('an expression can be tested on a sample call if the tool is visible to the key, without making the call', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const { id, caller } = await gated(platform, service.url, { auto_approve: true, parameters: anything })
  const tried = (body: object, key?: string) =>
    platform.post('/approval-rules/test', { tool_id: id, input: { amount: 120 }, ...body }, key ? { key } : {})
  const blind = await platform.keyFor([{ effect: 'Allow', action: ['approval-rules:*'] }])

  const expression = 'action.id == "tools:pay" && input.amount > 100'
  expect((await tried({ expression })).body).toEqual({ asks: true, fault: null })
  expect((await tried({ expression, input: { amount: 5 } })).body).toEqual({ asks: false, fault: null })
  expect((await tried({ expression, input: {} })).body).toEqual({
    asks: true,
    fault: expect.stringMatching(/No such key: amount/),
  })
  expect((await tried({ expression: 'input.amount >' })).body.error).toMatchObject({
    code: 'VALIDATION_FAILED',
    details: { errors: [{ path: 'expression', message: expect.stringMatching(/Unexpected token/) }] },
  })
  expect((await tried({ expression, action: 'tools:other' })).body.error.message).toMatch(/has no such action/)
  expect((await tried({ expression }, caller)).status).toBe(403)
  expect((await tried({ expression }, blind)).status).toBe(404)
  expect(service.received).toEqual([])
})

test('a rule that exceeds its compute budget requires approval', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const { id, caller } = await gated(platform, service.url, { auto_approve: true, parameters: anything })
  await platform.post('/approval-rules', { name: 'slow', expression: 'input.text.matches("^(a+)+$")' })
  await platform.post('/approval-rules', {
    name: 'loops',
    expression: 'input.n.all(x, input.n.all(y, x <= y || true))',
  })
  const input = { text: `${'a'.repeat(40_000)}!`, n: Array.from({ length: 300 }, (_, n) => n) }

  await asks(platform, id, input, caller)

  expect(service.received).toEqual([])
})
