import { beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { startReplayServer } from '../src/agents/models/replay-server.ts'
import type { SessionEvent } from '../src/model/session.ts'
import { engines, freshDatabase } from './engines.ts'
import { asks, matching } from './guided-kit.ts'
import { type Answer, startPlatform } from './kit.ts'
import { type Running, startProcess, temporaryFolder } from './process.ts'
import { repliesIn, statusesIn, TestSession, toolsIn } from './sessions-kit.ts'
import { inParallel, sample } from './soak.ts'
import { startTap } from './tap.ts'
import { startUpstream, type UpstreamTool } from './upstream.ts'

const key = 'sk_admin_of_the_session_kill_test'
const timeLimit = 90_000

const tool = (name: string, idempotent: boolean): UpstreamTool => ({
  name,
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: idempotent, destructiveHint: false },
  run: () => ({ content: [{ type: 'text', text: '{"done":true}' }] }),
})

const script = {
  steps: [
    matching(['start'], { matches: '^(?![\\s\\S]*"tool":"bank_unlock")[\\s\\S]*$' }),
    matching(['routine:finish']),
    { when: { last_user: asks.route }, answer: '{"command":"stay"}' },
    { when: { last_user: 'Unlock it', last_tool: 'bank_rates' }, answer: { tool_calls: [{ name: 'bank_unlock' }] } },
    {
      when: { tools: ['built-in_reason'] },
      answer: { tool_calls: [{ name: 'built-in_reason', args: { output_json: '{"amount":3}' } }] },
    },
    {
      when: { last_user: 'call bank:pay', last_tool: 'built-in_reason' },
      answer: { tool_calls: [{ name: 'bank_pay' }] },
    },
    { when: { last_user: 'Say goodbye' }, answer: { text: ['All ', { text: 'is ', delay_ms: 20 }, 'paid'] } },
    // After a call whose outcome is unknown, its node is not done.
    { when: { last_tool: 'bank_pay' }, answer: 'All is paid' },
  ],
}

/** A variable, policies, a tool for reevaluation, a routine that thinks and has a tool that must not run twice. */
const manifest = (model: string, port: number) =>
  stringify({
    id: 'payer',
    agent_config: {
      llms: {
        generation: { provider: 'openai-compatible', base_url: `${model}/v1`, model: 'scripted', max_retries: 0 },
      },
      mcps: [{ id: 'bank', hostname: 'http://127.0.0.1', port }],
      context: {
        variables: [{ id: 'rates', tool: 'bank:rates' }],
        reevaluation_tools: [{ id: 'bank:unlock' }],
        policies: [{ id: 'start', condition: 'is locked', action: 'Unlock it', tools: 'bank:unlock' }],
        routines: [
          {
            id: 'finish',
            title: 'Finish',
            conditions: 'is unlocked',
            entry: 'think',
            nodes: [
              {
                id: 'think',
                think: 'How much is it?',
                output_schema: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
                transitions: [{ to: 'pay' }],
              },
              { id: 'pay', tools: 'bank:pay', tool_instruction: 'Pay', transitions: [{ to: 'bye' }] },
              { id: 'bye', chat_state: 'Say goodbye' },
            ],
          },
        ],
      },
    },
  })

const callsInOrder = ['bank:rates', 'bank:unlock', 'built-in:reason', 'bank:pay']

interface Story {
  readonly moments: string[]
  readonly events: SessionEvent[]
  readonly paid: number
}

/** One turn, on a platform that is killed at the nth moment, or so many milliseconds later, and restarted. */
async function play(engine: (typeof engines)[number], killAt: number, later = 0): Promise<Story> {
  const moments: string[] = []
  let running: Promise<Running> | undefined
  const happens = (moment: string) => {
    moments.push(moment)
    if (moments.length !== killAt) return
    const victim = running
    running = (async () => {
      // What is written between two moments has no moment of its own.
      if (later > 0) await new Promise((resolve) => setTimeout(resolve, later))
      await (await victim)?.stop('SIGKILL')
      return start()
    })()
  }
  let isReady = false
  await using model = await startReplayServer(script)
  await using modelTap = await startTap(model.url, (moment) => happens(`model ${moment}`))
  await using upstream = await startUpstream([tool('rates', true), tool('unlock', true), tool('pay', false)])
  await using upstreamTap = await startTap(new URL(upstream.url).origin, (moment, body) => {
    const name = ['pay', 'unlock', 'rates'].find((one) => body.includes(`"${one}"`))
    if (isReady && body.includes('"tools/call"')) happens(`${name} ${moment}`)
  })
  await using database = await freshDatabase(engine)
  await using folder = await temporaryFolder()
  const start = () =>
    startProcess(folder.path, {
      QM_ADMIN_KEY: key,
      QM_EMBEDDINGS: 'off',
      QM_LOG_LEVEL: 'error',
      DATABASE_URL: database.options.databaseUrl ?? '',
    })
  running = start()

  /** Sends a request to the current process, and to the next one if that is killed meanwhile. */
  async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
    for (const deadline = Date.now() + timeLimit; ; ) {
      try {
        const response = await fetch(`${(await running)?.url}/api/v1${path}`, {
          method,
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        })
        const text = await response.text()
        return { status: response.status, headers: response.headers, body: text === '' ? '' : JSON.parse(text) }
      } catch (error) {
        if (Date.now() > deadline) throw error
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
  try {
    const text = manifest(modelTap.url, Number(new URL(upstreamTap.url).port))
    const applied = await ask('POST', '/manifests', { manifest: text })
    expect(applied.status, JSON.stringify(applied.body)).toBe(200)
    isReady = true
    const { body: session } = await ask('POST', '/sessions', { agent_id: 'payer' })
    const path = `/sessions/${session.id}`
    // Sent again after a kill, it must not become a second message.
    await ask('POST', `${path}/messages`, { message: 'Pay the bill', idempotency_key: 'first' })
    happens('message sent')
    const isOver = (events: readonly SessionEvent[]) => statusesIn(events).at(-1) === 'ready'
    for (const deadline = Date.now() + timeLimit; ; ) {
      const events: SessionEvent[] = (await ask('GET', `${path}/events`)).body.data
      if (isOver(events) && (await ask('GET', path)).body.status === 'ready') {
        return { moments, events, paid: upstream.calls.filter(({ name }) => name === 'pay').length }
      }
      if (Date.now() > deadline) throw new Error(`stuck after ${moments}: ${JSON.stringify(events)}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  } finally {
    await (await running)?.[Symbol.asyncDispose]()
  }
}

describe.each(engines)('on %s', (engine) => {
  let whole: Story

  beforeAll(async () => {
    whole = await play(engine, 0)
  }, timeLimit)

  test('a turn that is not interrupted matches, calls, matches again, and replies', () => {
    expect(repliesIn(whole.events)).toEqual(['All is paid'])
    expect(toolsIn(whole.events).map(({ tool_id }) => tool_id)).toEqual(callsInOrder)
    expect(whole.paid).toBe(1)
    expect(whole.moments.length).toBeGreaterThan(18)
  })

  test('a turn that is killed at any moment is resumed, never repeats an effect, and adds no event twice', {
    timeout: 900_000,
  }, async () => {
    const places = whole.moments.flatMap((_, index) => [0, 15].map((later) => ({ place: index + 1, later })))
    await inParallel(sample(places, 6), 4, async ({ place, later }) => {
      const { events, paid, moments } = await play(engine, place, later)
      const story = `killed ${later} ms after ${moments[place - 1]}: ${JSON.stringify(events)}`
      expect(paid, story).toBeLessThanOrEqual(1)
      expect(
        events.map(({ offset }) => offset),
        story,
      ).toEqual(events.map((_, n) => n))
      expect(
        events.filter(({ source }) => source === 'customer'),
        story,
      ).toHaveLength(1)
      expect(
        toolsIn(events).map(({ tool_id }) => tool_id),
        story,
      ).toEqual(callsInOrder)
      expect(repliesIn(events), story).toEqual(['All is paid'])
      expect(
        statusesIn(events).filter((status) => status === 'ready'),
        story,
      ).toHaveLength(1)
    })
  })
})

test('two processes on one database share sessions: one gets the message, the other sees the reply', async () => {
  await using database = await freshDatabase('postgres')
  const environment = { DATABASE_URL: database.options.databaseUrl ?? '' }
  await using one = await startPlatform(environment)
  await using two = await startPlatform(environment)
  const steps = [{ when: {}, answer: 'You said {{last_user}}' }]
  const text = stringify({
    id: 'shared',
    agent_config: { llms: { generation: { provider: 'replay', script: { steps } } } },
  })
  await one.post('/manifests', { manifest: text })
  const first = await TestSession.start(one, 'shared')
  const second = new TestSession(two, first.id)

  for (const message of ['a', 'b', 'c']) {
    const { body } = await first.send(message)
    expect(repliesIn(await second.ready(body.offset))).toEqual([`You said ${message}`])
  }
  await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? first : second).send(`m${n}`)))
  const events = await first.ready()

  expect(events.map(({ offset }) => offset)).toEqual(events.map((_, n) => n))
  const last = events.findLast(({ source }) => source === 'customer')
  expect(repliesIn(events).at(-1)).toBe(`You said ${last?.message}`)
})
