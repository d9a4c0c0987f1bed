import { createHmac, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { engines, type FreshDatabase, freshDatabase } from './engines.ts'
import { applied, asks, guided, type McpProcess, manifestOf, matching, startMcpProcess } from './guided-kit.ts'
import { adminKey, startPlatform, startService, type TestPlatform } from './kit.ts'
import { repliesIn, type TestSession, toolsIn } from './sessions-kit.ts'

type Step = { when?: object; answer?: object | string; error?: object; stall?: boolean }

describe.each(engines)('routines on %s', (engine) => {
  let database: FreshDatabase
  let platform: TestPlatform
  let bank: McpProcess

  beforeAll(async () => {
    database = await freshDatabase(engine)
    platform = await startPlatform({ DATABASE_URL: database.options.databaseUrl ?? '' })
    bank = await startMcpProcess('bank')
  })

  afterAll(async () => {
    await platform[Symbol.asyncDispose]()
    await bank[Symbol.asyncDispose]()
    await database.remove()
  })

  const parts = (script: Step[], context: object) => ({ script, mcps: [{ id: 'bank', port: bank.port }], context })
  const open = (script: Step[], context: object) => guided(platform, parts(script, context))
  const call = (name: string, args: object = {}) => ({ answer: { tool_calls: [{ name, args }] } })
  const json = (value: object) => ({ text: JSON.stringify(value) })
  /** The answer to the question which transition to take. */
  const go = (to: string, when: object = {}) => ({
    when: { last_user: { contains: asks.route, ...when } },
    answer: json({ command: 'go', to, reason: `to ${to}` }),
  })
  const positions = async (session: TestSession) =>
    (await session.get()).routines.map(
      ({ routine_id, node_id, status }: Record<string, string>) => `${routine_id}/${node_id} ${status}`,
    )

  const balance = {
    id: 'balance',
    title: 'Balance',
    conditions: ['wants to know the balance'],
    entry: 'which',
    nodes: [
      { id: 'which', chat_state: 'Ask which account', transitions: [{ to: 'look-up' }] },
      {
        id: 'look-up',
        tools: 'bank:get_balance',
        tool_instruction: 'Use the account that the customer named.',
        transitions: [{ to: 'low', when: "tools['bank:get_balance'].result.balance < 10" }, { to: 'tell' }],
      },
      { id: 'low', chat_state: 'Warn about the low balance' },
      { id: 'tell', chat_state: 'Say the balance' },
    ],
  }

  const tellsBalance: Step[] = [
    matching(['routine:balance']),
    go('look-up'),
    { when: { last_user: 'Ask which account' }, answer: 'Which account?' },
    {
      when: {
        last_user: { matches: 'savings[\\s\\S]*call bank:get_balance' },
        last_tool: null,
        tools: ['bank_get_balance'],
      },
      ...call('bank_get_balance', { account: 'savings' }),
    },
    { when: { last_user: 'call bank:get_balance', last_tool: null }, answer: 'Which account do you mean?' },
    { when: { last_user: 'Say the balance' }, answer: 'It is {{last_tool_output.balance}}' },
    { when: { last_user: 'Warn about' }, answer: 'It is low' },
  ]

  test('a routine starts when its condition holds, keeps its position between turns, and ends at its last node (S1.3, S1.20, S1.21)', async () => {
    const session = await open(tellsBalance, { routines: [balance] })

    const first = await session.say('What is my balance?')
    const between = await positions(session)
    const second = await session.say('savings')

    expect(repliesIn(first)).toEqual(['Which account?'])
    expect(between).toEqual(['balance/which active'])
    expect(toolsIn(second)).toMatchObject([{ tool_id: 'bank:get_balance', arguments: { account: 'savings' } }])
    expect(repliesIn(second)).toEqual(['It is 42'])
    expect(await positions(session)).toEqual(['balance/tell completed'])
  })

  test('a tool node completes only when its tool has run: a missing argument is asked for (S1.20, S1.21)', async () => {
    const session = await open(tellsBalance, { routines: [balance] })
    await session.say('What is my balance?')

    const vague = await session.say('the usual one')

    expect(toolsIn(vague)).toEqual([])
    expect(repliesIn(vague)).toEqual(['Which account do you mean?'])
    expect(await positions(session)).toEqual(['balance/look-up active'])
    expect(repliesIn(await session.say('savings'))).toEqual(['It is 42'])
  })

  test('an argument that the schema forbids never reaches the server (S1.18)', async () => {
    const before = bank.calls.length
    const session = await open(
      [
        matching(['routine:check']),
        { when: { last_tool: null }, ...call('bank_get_balance', { account: 'pocket' }) },
        { when: { last_tool: { is_error: true } }, answer: 'Savings or current?' },
      ],
      { routines: [{ ...balance, id: 'check', entry: 'look-up', nodes: balance.nodes.slice(1) }] },
    )

    expect(repliesIn(await session.say('Balance of my pocket'))).toEqual(['Savings or current?'])
    expect(bank.calls.length).toBe(before)
    expect(await positions(session)).toEqual(['check/look-up active'])
  })

  test('two tool nodes in a row run in one turn, and the second sees the result of the first (S1.21, S1.27)', async () => {
    const session = await open(
      [
        matching(['routine:both']),
        {
          when: { last_user: 'call bank:get_balance', last_tool: null },
          ...call('bank_get_balance', { account: 'savings' }),
        },
        {
          when: { last_user: 'call bank:echo', last_tool: { name: 'bank_get_balance', output: '42' } },
          ...call('bank_echo', { text: 'n {{last_tool_output.balance}}' }),
        },
        { when: { last_user: 'Finish' }, answer: 'Echoed {{last_tool_output.text}}' },
      ],
      {
        routines: [
          {
            id: 'both',
            title: 'Both',
            conditions: 'always',
            entry: 'one',
            nodes: [
              { id: 'one', tools: 'bank:get_balance', tool_instruction: 'x', transitions: [{ to: 'two' }] },
              { id: 'two', tools: ['bank:echo'], tool_instruction: 'x', transitions: [{ to: 'end' }] },
              { id: 'end', chat_state: 'Finish' },
            ],
          },
        ],
      },
    )

    const events = await session.say('Go')

    expect(toolsIn(events).map(({ tool_id }) => tool_id)).toEqual(['bank:get_balance', 'bank:echo'])
    expect(repliesIn(events)).toEqual(['Echoed n 42'])
  })

  const wizard = {
    id: 'order',
    title: 'Order',
    conditions: ['wants to order'],
    entry: 'what',
    nodes: [
      { id: 'what', chat_state: 'Ask what', transitions: [{ to: 'size' }] },
      { id: 'size', chat_state: 'Ask the size', transitions: [{ to: 'decide' }] },
      {
        id: 'decide',
        routing: true,
        transitions: [{ to: 'gift', condition: 'it is a gift' }, { to: 'pay' }],
      },
      { id: 'gift', chat_state: 'Offer wrapping', transitions: [{ to: 'pay' }] },
      { id: 'pay', chat_state: 'Ask for payment' },
    ],
  }
  const speaks = (...texts: string[]): Step[] =>
    texts.map((text) => ({ when: { last_user: text }, answer: `(${text})` }))
  const wizardTalk = speaks('Ask what', 'Ask the size', 'Offer wrapping', 'Ask for payment')

  test('answers that are already given are skipped, and a routing node chooses by a condition', async () => {
    const session = await open(
      [
        matching(['routine:order']),
        go('gift', { matches: 'node "decide"' }),
        go('decide', { matches: 'large tea as a gift' }),
        ...wizardTalk,
      ],
      { routines: [wizard] },
    )
    await session.say('I want to order')

    expect(repliesIn(await session.say('a large tea as a gift'))).toEqual(['(Offer wrapping)'])
    expect((await session.get()).routines[0].visited).toEqual(['what', 'decide', 'gift'])
  })

  test('the customer can correct an earlier answer, and can leave', async () => {
    const session = await open(
      [
        matching(['routine:order'], { matches: '^(?![\\s\\S]*forget)[\\s\\S]*$' }),
        matching([]),
        {
          when: { last_user: { contains: asks.route, matches: 'forget it' } },
          answer: json({ command: 'leave', reason: 'gives up' }),
        },
        go('what', { matches: 'not tea' }),
        go('size'),
        ...wizardTalk,
        { when: {}, answer: 'Bye' },
      ],
      { routines: [wizard] },
    )

    expect(repliesIn(await session.say('order'))).toEqual(['(Ask what)'])
    expect(repliesIn(await session.say('tea'))).toEqual(['(Ask the size)'])
    expect(repliesIn(await session.say('not tea, something else'))).toEqual(['(Ask what)'])
    expect((await session.get()).routines[0].visited).toEqual(['what'])
    expect(repliesIn(await session.say('forget it'))).toEqual(['Bye'])
    expect(await session.get()).toMatchObject({ routines: [{ status: 'left', reason: 'gives up' }] })
  })

  test('a person can take over: the customer is told once', async () => {
    const session = await open(
      [
        matching(['routine:order'], { matches: '^(?![\\s\\S]*person)[\\s\\S]*$' }),
        matching([]),
        { when: { last_user: asks.route }, answer: json({ command: 'hand_over', reason: 'asks for a person' }) },
        { when: { last_user: 'A person takes over' }, answer: 'A colleague takes over' },
        ...wizardTalk,
        { when: {}, answer: 'Hello' },
      ],
      { routines: [wizard] },
    )
    await session.say('order')

    expect(repliesIn(await session.say('I want a person'))).toEqual(['A colleague takes over'])
    expect(await positions(session)).toEqual(['order/what handed_over'])
    expect(repliesIn(await session.say('Are you there, person?'))).toEqual(['Hello'])
  })

  test('a transition that the model invents is refused, and after one repair the routine stays where it can', async () => {
    const session = await open(
      [
        matching(['routine:order']),
        { when: { last_user: asks.route }, answer: json({ to: 'nowhere' }) },
        ...wizardTalk,
      ],
      { routines: [wizard] },
    )
    await session.say('order')

    // The only transition has no condition.
    expect(repliesIn(await session.say('tea'))).toEqual(['(Ask the size)'])
  })

  test('two routines can be in progress, and a policy binds over both', async () => {
    const other = { ...wizard, id: 'other', nodes: [{ id: 'what', chat_state: 'Ask the name' }] }
    const session = await open(
      [
        matching(['routine:order', 'routine:other']),
        {
          when: { last_user: { matches: 'Be brief[\\s\\S]*Ask what[\\s\\S]*Ask the name' } },
          answer: 'What, and who?',
        },
      ],
      { routines: [wizard, other], policies: [{ id: 'brief', action: 'Be brief' }] },
    )

    expect(repliesIn(await session.say('order'))).toEqual(['What, and who?'])
    expect(await positions(session)).toEqual(['order/what active', 'other/what completed'])
  })

  test('policies of a routine are asked about only while it is active', async () => {
    const session = await open([matching([]), { when: {}, answer: 'Hello' }], {
      routines: [{ ...wizard, conditions: undefined, when: 'session.metadata.ordering == true' }],
      policies: [{ id: 'upsell', condition: 'may want more', action: 'Offer more', in_routine: 'order' }],
    })
    await session.say('Hi')
    const { generation_id } = (await session.events()).at(-1) ?? {}
    const { step_list } = (await platform.get(`/generations/${generation_id}`)).body

    expect(step_list[0].guide.questions).toBe(0)
    await session.patch({ metadata: { ordering: true } })
    await session.say('Hi')
    const second = (await session.events('?limit=1000')).at(-1)?.generation_id
    expect((await platform.get(`/generations/${second}`)).body.step_list[0].guide.questions).toBe(1)
  })

  const classify = {
    id: 'classify',
    think: 'How urgent is it?',
    output_schema: {
      type: 'object',
      properties: { urgency: { type: 'string', enum: ['low', 'high'] } },
      required: ['urgency'],
    },
  }
  const reasons = (value: unknown, when: object = {}) => ({
    when: { tools: ['built-in_reason'], ...when },
    ...call('built-in_reason', { output_json: typeof value === 'string' ? value : JSON.stringify(value) }),
  })

  test('a think node is a call to built-in:reason, and its output is validated and stored (S1.24, S1.30, S1.31, S1.34)', async () => {
    const session = await open(
      [
        matching(['routine:triage']),
        reasons({ urgency: 'medium' }, { last_tool: null }),
        reasons({ urgency: 'high' }, { last_tool: { output: 'output_validation_failed' } }),
        { when: { last_user: 'Call an ambulance' }, answer: 'It is on its way' },
      ],
      {
        routines: [
          {
            id: 'triage',
            title: 'Triage',
            conditions: 'describes a problem',
            entry: 'classify',
            nodes: [
              {
                ...classify,
                transitions: [{ to: 'rush', when: "steps.classify.urgency == 'high'" }, { to: 'wait' }],
              },
              { id: 'rush', chat_state: 'Call an ambulance' },
              { id: 'wait', chat_state: 'Make an appointment' },
            ],
          },
        ],
      },
    )

    const events = await session.say('It hurts')

    expect(toolsIn(events)).toMatchObject([
      { tool_id: 'built-in:reason', result: { ok: false, error: 'output_validation_failed' }, is_error: true },
      { tool_id: 'built-in:reason', result: { ok: true }, arguments: { output_json: '{"urgency":"high"}' } },
    ])
    expect(repliesIn(events)).toEqual(['It is on its way'])
    expect((await session.get()).metadata).toEqual({ step_outputs: { classify: { urgency: 'high' } } })
    const { generation_id } = toolsIn(events)[0] ?? {}
    const { body } = await platform.get('/calls?q=reason')
    const calls = body.data.filter((call: { generation_id: string }) => call.generation_id === generation_id)
    expect(calls).toMatchObject([
      { action: 'built-in:reason', app: 'built-in', tool_id: null, status: 'success' },
      { action: 'built-in:reason', status: 'execution_error' },
    ])
  })

  test('access policies can deny built-in tools, as all others', async () => {
    const session = await open(
      [
        matching(['routine:triage']),
        reasons({ urgency: 'high' }, { last_tool: null }),
        { when: { last_tool: { is_error: true } }, answer: 'I may not think' },
      ],
      {
        routines: [{ id: 'triage', title: 'Triage', conditions: 'x', entry: 'classify', nodes: [classify] }],
      },
    )
    const key = await platform.keyFor([
      { effect: 'Allow', action: ['*'], resource: ['*'] },
      { effect: 'Deny', action: ['tools:CallTool'], resource: [`qm:${platform.projectId}:tool:built-in`] },
    ])

    await platform.post(`/sessions/${session.id}/messages`, { message: 'It hurts' }, { key })
    const events = await session.ready()

    expect(toolsIn(events)[0]).toMatchObject({
      tool_id: 'built-in:reason',
      is_error: true,
      result: { error: { code: 'FORBIDDEN' } },
    })
    expect(repliesIn(events)).toEqual(['I may not think'])
    expect((await session.get()).metadata).toEqual({})
  })

  describe('autonomous routines', () => {
    const report = (fields: object = {}) => ({
      id: 'report',
      title: 'Report',
      entry: 'classify',
      autonomous: {
        input_schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
        output_schema: { type: 'object', properties: { urgency: { type: 'string' } }, required: ['urgency'] },
        callback_url_allowlist: ['http://127.0.0.1'],
        ...fields,
      },
      nodes: [
        { ...classify, transitions: [{ to: 'check' }] },
        { id: 'check', tools: 'bank:echo', tool_instruction: 'Echo it', transitions: [{ to: 'emit' }] },
        { id: 'emit', tools: 'built-in:emit_output' },
      ],
    })
    const emits = (value: object, when: object = {}) => ({
      when: { tools: ['built-in_emit_output'], ...when },
      ...call('built-in_emit_output', { output_json: JSON.stringify(value) }),
    })
    const steps: Step[] = [
      reasons({ urgency: 'high' }),
      { when: { tools: ['bank_echo'] }, ...call('bank_echo', { text: 'x' }) },
    ]
    const trigger = (agent_id: string, body: object = {}) =>
      platform.post('/routines/report/trigger', { agent_id, input: { text: 'It hurts' }, ...body })
    const result = async (run: string) => {
      const path = `/routines/report/runs/${run}`
      await expect.poll(async () => (await platform.get(path)).body.status, { timeout: 15_000 }).not.toBe('running')
      return (await platform.get(path)).body
    }

    test('run from a trigger to emit_output, and post the output to the callback URL (S1.25, S1.32, S1.33, S1.34)', async () => {
      await using service = await startService()
      const allowed = { callback_url_allowlist: [`${service.url}/done`] }
      const agent = await applied(
        platform,
        parts([...steps, emits({ urgency: 'high' })], { routines: [report(allowed)] }),
      )

      const started = await trigger(agent, { callback_url: `${service.url}/done/1` })
      const run = await result(started.body.run_id)

      expect(started.status).toBe(202)
      expect(started.body).toMatchObject({ status: 'running', routine_id: 'report' })
      expect(run).toMatchObject({ status: 'succeeded', output: { urgency: 'high' }, error: null })
      await expect.poll(() => service.received.length).toBe(1)
      expect(JSON.parse(service.received[0]?.body ?? '')).toMatchObject({
        run_id: run.run_id,
        output: { urgency: 'high' },
      })
      const { data } = (await platform.get(`/sessions/${run.session_id}/events`)).body
      expect(toolsIn(data).map(({ tool_id }) => tool_id)).toEqual([
        'trigger:report',
        'built-in:reason',
        'bank:echo',
        'built-in:emit_output',
      ])
      expect(repliesIn(data)).toEqual([])
    })

    test('sign their callbacks as webhooks are signed', async () => {
      await using service = await startService()
      const secret = `whsec_${randomBytes(32).toString('base64')}`
      const signing = { callback_url_allowlist: [service.url], callback_secret: '${CALLBACK_SECRET}' }
      const signed = parts([...steps, emits({ urgency: 'high' })], { routines: [report(signing)] })
      const declared = { ...signed, secrets: [{ secret_name: 'CALLBACK_SECRET' }] }

      const refused = await platform.post('/manifests', {
        manifest: manifestOf(declared).text,
        secrets: { CALLBACK_SECRET: 'not-a-signing-secret' },
      })
      const agent = await applied(platform, declared, { CALLBACK_SECRET: secret })
      const { body: run } = await trigger(agent, { callback_url: `${service.url}/done` })
      await expect.poll(() => service.received.length, { timeout: 15_000 }).toBe(1)

      expect([refused.status, refused.body.error.details.errors[0].path]).toEqual([
        400,
        'agent_config.context.routines[0].autonomous.callback_secret',
      ])
      const [{ headers = {}, body = '' } = {}] = service.received
      const content = `${run.run_id}.${headers['webhook-timestamp']}.${body}`
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
      expect(headers['webhook-id']).toBe(run.run_id)
      expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(content).digest('base64')}`)
      expect(JSON.stringify((await platform.get(`/routines/report/runs/${run.run_id}`)).body)).not.toContain('CALLBACK')
    })

    test('answer at /routines without the prefix', async () => {
      const agent = await applied(platform, parts([...steps, emits({ urgency: 'low' })], { routines: [report()] }))
      const response = await platform.fetch('/routines/report/trigger', {
        method: 'POST',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ agent_id: agent, input: { text: 'x' } }),
      })
      expect(response.status).toBe(202)
      const { run_id } = (await response.json()) as { run_id: string }
      expect((await result(run_id)).status).toBe('succeeded')
    })

    test('may correct an output that does not match the schema, and fail if they do not (S1.32)', async () => {
      const wrong = { urgency: 'high', extra: 1 }
      const corrected = await applied(
        platform,
        parts([...steps, emits({ urgency: 'high' }, { last_tool: { is_error: true } }), emits(wrong)], {
          routines: [report()],
        }),
      )
      const stubborn = await applied(
        platform,
        parts([...steps, emits(wrong), { when: {}, answer: 'Sorry' }], { routines: [report()] }),
      )

      const run = await result((await trigger(corrected)).body.run_id)
      expect(run, JSON.stringify(run)).toMatchObject({ status: 'succeeded' })
      expect(await result((await trigger(stubborn)).body.run_id)).toMatchObject({
        status: 'failed',
        output: null,
        error: { code: 'output_validation_failed', details: [{ path: expect.any(String) }] },
      })
    })

    test('fail when their time is over', async () => {
      const agent = await applied(
        platform,
        parts([{ when: {}, stall: true }], { routines: [report({ timeout_seconds: 0.3 })] }),
      )

      expect(await result((await trigger(agent)).body.run_id)).toMatchObject({
        status: 'failed',
        error: { code: 'timed_out' },
      })
    })

    test('refuse wrong input, and callback URLs that are not allowed', async () => {
      const agent = await applied(platform, parts(steps, { routines: [report()] }))

      const wrong = await trigger(agent, { input: {} })
      const outside = await trigger(agent, { callback_url: 'http://127.0.0.2/x' })
      const unknown = await platform.post('/routines/reprot/trigger', { agent_id: agent })

      expect([wrong.status, wrong.body.error.details.errors[0].path]).toEqual([400, expect.stringMatching(/^input/)])
      expect([outside.status, outside.body.error.details.errors[0].path]).toEqual([400, 'callback_url'])
      expect([unknown.status, unknown.body.error.message]).toEqual([
        404,
        expect.stringContaining('Did you mean "report"?'),
      ])
    })
  })
})
