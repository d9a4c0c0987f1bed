import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { engines, type FreshDatabase, freshDatabase } from './engines.ts'
import { asks, guided, type ManifestParts, type McpProcess, matching, startMcpProcess } from './guided-kit.ts'
import { startPlatform, type TestPlatform } from './kit.ts'
import { repliesIn, type TestSession, toolsIn } from './sessions-kit.ts'

type Step = { when?: object; answer?: object | string; error?: object }

describe.each(engines)('guided agents on %s', (engine) => {
  let database: FreshDatabase
  let platform: TestPlatform
  let crm: McpProcess

  beforeAll(async () => {
    database = await freshDatabase(engine)
    platform = await startPlatform({ DATABASE_URL: database.options.databaseUrl ?? '' })
    crm = await startMcpProcess('crm')
  })

  afterAll(async () => {
    await platform[Symbol.asyncDispose]()
    await crm[Symbol.asyncDispose]()
    await database.remove()
  })

  const open = (script: Step[], context: object, more: Partial<ManifestParts> = {}, fields: object = {}) =>
    guided(platform, { script, mcps: [{ id: 'crm', port: crm.port }], context, ...more }, fields)
  const call = (name: string, args: object = {}) => ({ answer: { tool_calls: [{ name, args }] } })
  /** What the guide decided for the steps of the latest turn. */
  const decisions = async (session: TestSession) => {
    const events = await session.events('?limit=1000')
    const id = events.findLast(({ generation_id }) => generation_id)?.generation_id
    const { body } = await platform.get(`/generations/${id}`)
    return body.step_list.map((step: { guide: object }) => step.guide)
  }
  const questions = async (session: TestSession) =>
    (await decisions(session)).map(({ questions: count }: { questions: number }) => count)
  const match = (ids: string[], when: object = {}) => matching(ids, when)

  describe('policies', () => {
    test('a policy that matches gives the step its instruction and its tools (S1.3, S1.22)', async () => {
      const session = await open(
        [
          match(['balance']),
          {
            when: { last_user: '[guidance]', last_tool: null, tools: ['crm_get_balance'] },
            ...call('crm_get_balance', { account: 'savings' }),
          },
          { when: { last_user: 'Look up the balance' }, answer: 'You have {{last_tool_output.balance}}' },
        ],
        {
          policies: [
            {
              id: 'balance',
              condition: 'asks for a balance',
              action: 'Look up the balance',
              tools: ['crm:get_balance'],
            },
            { id: 'rude', condition: 'is rude', action: 'Stay calm', tools: 'crm:send_link' },
          ],
        },
      )

      const events = await session.say('What do I have?')

      expect(toolsIn(events)).toMatchObject([
        { tool_id: 'crm:get_balance', result: { account: 'savings', balance: 42 } },
      ])
      expect(repliesIn(events)).toEqual(['You have 42'])
      const [first] = await decisions(session)
      expect(first.actions).toEqual(['crm:get_balance'])
      expect(first.matches).toEqual([
        { id: 'policy:balance', applies: true, by: 'model', reason: 'because of balance' },
        { id: 'policy:rude', applies: false, by: 'model', reason: null },
      ])
    })

    test('without a match, no tool of a policy is offered, and none is called (S1.3)', async () => {
      const session = await open(
        [
          match([]),
          { when: { tools: ['crm_get_balance'] }, answer: 'wrong' },
          { when: { last_tool: null }, ...call('crm_get_balance', { account: 'savings' }) },
          { when: {}, answer: 'I cannot' },
        ],
        { policies: [{ id: 'balance', condition: 'asks for a balance', action: 'Look', tools: ['crm:get_balance'] }] },
      )
      const before = crm.calls.length

      const events = await session.say('Hello')

      expect(toolsIn(events)).toMatchObject([{ is_error: true, result: { error: { code: 'TOOL_NOT_ACTIVE' } } }])
      expect(crm.calls.length).toBe(before)
    })

    test('a policy can call a tool and talk in one action (S1.23)', async () => {
      const session = await open(
        [
          { when: { last_tool: null }, answer: { text: 'I am sending it.', tool_calls: [{ name: 'crm_send_link' }] } },
          { when: {}, answer: 'Done.' },
        ],
        { policies: [{ id: 'link', action: 'Say that you send a link, and send it', tools: 'crm:send_link' }] },
      )

      const events = await session.say('Link please')

      expect(events.filter(({ kind }) => kind !== 'status').map(({ message, tool_id }) => message ?? tool_id)).toEqual([
        'Link please',
        'I am sending it.',
        'crm:send_link',
        'Done.',
      ])
    })

    test('policies without a condition apply without a question, and `when` is evaluated without a model', async () => {
      const session = await open(
        [{ when: { last_user: { matches: 'Always polite[\\s\\S]*Treat as gold' } }, answer: 'Hello, dear customer' }],
        {
          policies: [
            { id: 'polite', action: 'Always polite' },
            { id: 'gold', when: "session.metadata.plan == 'gold'", action: 'Treat as gold' },
            { id: 'silver', when: "${{ session.metadata.plan == 'silver' }}", action: 'Treat as silver' },
            { id: 'broken', when: 'session.metadata.missing.field == 1', action: 'Never' },
          ],
        },
        {},
        { metadata: { plan: 'gold' } },
      )

      expect(repliesIn(await session.say('Hi'))).toEqual(['Hello, dear customer'])
      const [decided] = await decisions(session)
      expect(decided.questions).toBe(0)
      expect(decided.matches.map(({ id, applies, by }: Record<string, unknown>) => `${id} ${applies} ${by}`)).toEqual([
        'policy:polite true always',
        'policy:gold true when',
        'policy:silver false when',
        'policy:broken false when',
      ])
      expect(decided.faults).toEqual([expect.stringMatching(/^policy:broken: /)])
    })

    test('policies are asked in batches, low ones in large ones that name ids only', async () => {
      const policies = [
        ...Array.from({ length: 12 }, (_, n) => ({ id: `p${n}`, condition: `c${n}`, action: `Do p${n}` })),
        ...Array.from({ length: 21 }, (_, n) => ({
          id: `l${n}`,
          condition: `c${n}`,
          action: `Do l${n}`,
          criticality: 'LOW',
        })),
      ]
      const session = await open(
        [
          match(['p11', 'invented']),
          { when: { last_user: asks.matchLow }, answer: { text: '{"matches":["l20","invented"]}' } },
          { when: { last_user: { matches: 'Do p11[\\s\\S]*Do l20' } }, answer: 'Yes' },
        ],
        { policies },
      )

      expect(repliesIn(await session.say('Hi'))).toEqual(['Yes'])
      expect(await questions(session)).toEqual([5])
    })

    test('a batch that gets a useless answer is asked once more, then counts as no match, and the turn goes on', async () => {
      const policies = [{ id: 'a', condition: 'x', action: 'Do a' }]
      const repaired = await open(
        [
          {
            when: { last_user: '[repair]' },
            answer: { text: 'Sure: ```json\n{"checks":[{"id":"a","applies":true}]}\n```' },
          },
          { when: { last_user: asks.match }, answer: 'I think so' },
          { when: { last_user: 'Do a' }, answer: 'With a' },
        ],
        { policies },
      )
      const hopeless = await open(
        [
          { when: { last_user: asks.match }, answer: { text: '{"checks":{}}' } },
          { when: {}, answer: 'Without' },
        ],
        { policies },
      )
      const failing = await open(
        [
          { when: { last_user: asks.match }, error: { status: 400, message: 'no' } },
          { when: {}, answer: 'Without' },
        ],
        { policies },
      )

      expect(repliesIn(await repaired.say('Hi'))).toEqual(['With a'])
      for (const session of [hopeless, failing]) {
        expect(repliesIn(await session.say('Hi'))).toEqual(['Without'])
        const [decided] = await decisions(session)
        expect(decided.matches).toMatchObject([{ id: 'policy:a', applies: false, by: 'fault' }])
        expect(decided.faults).toHaveLength(1)
      }
    })

    test('a policy with repeat: once is not asked about again after it was applied', async () => {
      const session = await open(
        [
          match(['greet']),
          { when: { last_user: 'Introduce yourself' }, answer: 'I am Q. Hello' },
          { when: {}, answer: 'Hello' },
        ],
        { policies: [{ id: 'greet', condition: 'greets', action: 'Introduce yourself', repeat: 'once' }] },
      )

      expect(repliesIn(await session.say('Hi'))).toEqual(['I am Q. Hello'])
      expect(repliesIn(await session.say('Hi'))).toEqual(['Hello'])
      expect(await questions(session)).toEqual([0])
    })

    test('a policy with a higher priority silences a lower one only while it applies', async () => {
      const context = {
        policies: [
          { id: 'fraud', when: "message.contains('stolen')", action: 'Block the card' },
          { id: 'sell', action: 'Offer a card' },
        ],
        relationships: { priorities: [{ higher: 'policy:fraud', over: ['policy:sell'] }] },
      }
      const script = [
        { when: { last_user: 'Offer a card' }, answer: 'Buy a card' },
        { when: { last_user: 'Block the card' }, answer: 'Blocked' },
      ]
      const session = await open(script, context)

      expect(repliesIn(await session.say('My card was stolen'))).toEqual(['Blocked'])
      expect((await decisions(session))[0].matches).toContainEqual({
        id: 'policy:sell',
        applies: false,
        by: 'priority',
        reason: 'policy:fraud takes precedence',
      })
      expect(repliesIn(await session.say('Hi'))).toEqual(['Buy a card'])
    })

    test('a reply that goes against a policy for replies is rewritten once, then replaced', async () => {
      const context = {
        policies: [{ id: 'no-promises', action: 'Never promise a refund', applies_to: 'reply' }],
        safe_reply: 'Let me ask a colleague.',
      }
      const violation = { text: '{"violations":[{"id":"no-promises","reason":"it promises one"}]}' }
      const promise = {
        when: { last_user: { contains: asks.review, matches: '"agent":"You get a refund"' } },
        answer: violation,
      }
      const fine = { when: { last_user: asks.review }, answer: { text: '{"violations":[]}' } }
      const better = await open(
        [
          promise,
          fine,
          {
            when: { last_user: { matches: 'was not sent[\\s\\S]*Never promise a refund \\(it promises one\\)' } },
            answer: 'I will look into it',
          },
          { when: {}, answer: 'You get a refund' },
        ],
        context,
      )
      const stubborn = await open([promise, fine, { when: {}, answer: 'You get a refund' }], context)

      expect(repliesIn(await better.say('Refund!'))).toEqual(['I will look into it'])
      expect(repliesIn(await stubborn.say('Refund!'))).toEqual(['Let me ask a colleague.'])
    })
  })

  describe('reevaluation', () => {
    /** The story of the documentation: a question that needs authentication. */
    const story = (context: object) =>
      open(
        [
          match(['authenticate'], { matches: '^(?![\\s\\S]*authenticated)[\\s\\S]*$' }),
          match(['routine:balance'], { matches: '"authenticated\\\\*":true' }),
          match([]),
          {
            when: { last_user: 'Ask for the PIN', last_tool: null },
            ...call('crm_authenticate_customer', { pin: '1234' }),
          },
          {
            when: { last_user: 'call crm:get_balance', last_tool: 'crm_authenticate_customer' },
            ...call('crm_get_balance', { account: 'savings' }),
          },
          {
            when: { last_user: 'call crm:get_balance', last_tool: null },
            ...call('crm_get_balance', { account: 'savings' }),
          },
          { when: { last_user: 'Say the balance' }, answer: 'You have {{last_tool_output.balance}}' },
          { when: {}, answer: 'You are authenticated.' },
        ],
        {
          policies: [
            {
              id: 'authenticate',
              condition: 'asks about the account and is not authenticated',
              action: 'Ask for the PIN and check it',
              tools: ['crm:authenticate_customer'],
            },
          ],
          routines: [
            {
              id: 'balance',
              title: 'Balance',
              conditions: ['an authenticated customer asks for the balance'],
              entry: 'look-up',
              nodes: [
                {
                  id: 'look-up',
                  tools: 'crm:get_balance',
                  tool_instruction: 'Use the account the customer named.',
                  transitions: [{ to: 'tell' }],
                },
                { id: 'tell', chat_state: 'Say the balance' },
              ],
            },
          ],
          ...context,
        },
      )

    test('after a marked tool, the routine that answers the question starts in the same turn (S1.36, S1.37, S1.39)', async () => {
      const session = await story({ reevaluation_tools: [{ id: 'crm:authenticate_customer' }] })

      const events = await session.say('Balance of my savings? My PIN is 1234')

      expect(toolsIn(events).map(({ tool_id }) => tool_id)).toEqual(['crm:authenticate_customer', 'crm:get_balance'])
      expect(repliesIn(events)).toEqual(['You have 42'])
    })

    test('without the mark, matching happens once per turn, and the routine starts in the next one (S1.35, S1.38)', async () => {
      const session = await story({})

      const first = await session.say('Balance of my savings? My PIN is 1234')
      const asked = await questions(session)
      const second = await session.say('And now?')

      expect(toolsIn(first).map(({ tool_id }) => tool_id)).toEqual(['crm:authenticate_customer'])
      expect(repliesIn(first)).toEqual(['You are authenticated.'])
      expect(asked).toEqual([1, 0])
      expect(repliesIn(second)).toEqual(['You have 42'])
    })

    const flipping = (reevaluate: object, policies: object[] = []) => ({
      policies: [
        { id: 'try', action: 'Check the PIN', tools: 'crm:authenticate_customer' },
        { id: 'thank', condition: 'is authenticated', action: 'Say thanks', ...reevaluate },
        { id: 'other', condition: 'is something else', action: 'Something else' },
        ...policies,
      ],
    })
    const attempt = (pin: string) => ({ when: { last_tool: null }, ...call('crm_authenticate_customer', { pin }) })
    const afterwards = [match(['thank'], { matches: 'result' }), match([])]

    test('reevaluate_after asks again about that policy alone (S1.42)', async () => {
      const session = await open(
        [
          ...afterwards,
          attempt('1234'),
          { when: { last_user: 'Say thanks' }, answer: 'Thanks' },
          { when: {}, answer: 'Hm' },
        ],
        flipping({ reevaluate_after: ['crm:authenticate_customer'] }),
      )

      expect(repliesIn(await session.say('1234'))).toEqual(['Thanks'])
      const [first, second] = await decisions(session)
      expect([first.questions, second.questions]).toEqual([1, 1])
      expect(second.matches.find(({ id }: { id: string }) => id === 'policy:thank')).toMatchObject({ applies: true })
    })

    test('a call that fails re-triggers nothing (S1.40)', async () => {
      for (const context of [
        flipping({ reevaluate_after: 'crm:authenticate_customer' }),
        { ...flipping({}), reevaluation_tools: [{ id: 'crm:authenticate_customer' }] },
      ]) {
        const session = await open(
          [
            ...afterwards,
            attempt('0000'),
            { when: { last_user: 'Say thanks' }, answer: 'Thanks' },
            { when: {}, answer: 'Wrong PIN' },
          ],
          context,
        )

        expect(repliesIn(await session.say('0000'))).toEqual(['Wrong PIN'])
        expect(await questions(session)).toEqual([1, 0])
      }
    })

    test('does not go beyond max_engine_iterations', async () => {
      const session = await open(
        [
          ...afterwards,
          attempt('1234'),
          { when: { last_user: 'Say thanks' }, answer: 'Thanks' },
          { when: {}, answer: 'Hm' },
        ],
        { ...flipping({}), reevaluation_tools: [{ id: 'crm:authenticate_customer' }] },
        { runtime: { max_engine_iterations: 1 } },
      )

      expect(repliesIn(await session.say('1234'))).toEqual(['Hm'])
      expect(await questions(session)).toEqual([1, 0])
    })

    test('expressions over results of tools are evaluated again, both ways', async () => {
      const known = "'crm:authenticate_customer' in tools && tools['crm:authenticate_customer'].ok"
      const session = await open(
        [
          {
            when: { last_user: { matches: 'Ask for the PIN' }, last_tool: null },
            ...call('crm_authenticate_customer', { pin: '1234' }),
          },
          { when: { last_user: { matches: 'Ask for the PIN[\\s\\S]*Tell all' } }, answer: 'wrong' },
          { when: { last_user: 'Tell all' }, answer: 'Here it is' },
        ],
        {
          policies: [
            { id: 'ask', when: `!(${known})`, action: 'Ask for the PIN', tools: 'crm:authenticate_customer' },
            { id: 'tell', when: known, action: 'Tell all' },
          ],
          reevaluation_tools: [{ id: 'crm:authenticate_customer' }],
        },
      )

      expect(repliesIn(await session.say('1234'))).toEqual(['Here it is'])
      expect(repliesIn(await session.say('More'))).toEqual(['Here it is'])
      expect(await questions(session)).toEqual([0])
    })
  })

  test('a server that goes away in a turn fails the call, not the turn (S1.17)', async () => {
    await using flaky = await startMcpProcess('flaky')
    const session = await guided(platform, {
      mcps: [{ id: `flaky-${engine}`, port: flaky.port }],
      script: [
        { when: { last_tool: null }, ...call(`flaky-${engine}_echo`, { text: 'x' }) },
        { when: { last_tool: { is_error: true } }, answer: 'It is not available right now.' },
      ],
      context: { policies: [{ id: 'p', action: 'Echo', tools: `flaky-${engine}:echo` }] },
    })
    await flaky.goAway()

    expect(repliesIn(await session.say('Go'))).toEqual(['It is not available right now.'])
  })
})
