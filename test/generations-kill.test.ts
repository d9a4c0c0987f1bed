import { beforeAll, describe, expect, test } from 'vitest'
import { startReplayServer } from '../src/agents/models/replay-server.ts'
import type { GenerationDetail } from '../src/model/generation.ts'
import { engines, freshDatabase } from './engines.ts'
import { type Answer, startService } from './kit.ts'
import { type Running, startProcess, temporaryFolder } from './process.ts'
import { inParallel, sample } from './soak.ts'
import { startTap } from './tap.ts'
import { startUpstream, type UpstreamTool } from './upstream.ts'

const key = 'sk_admin_of_the_kill_test'
const atOnce = 8
/** The maximum duration of one run without a kill. */
const timeLimit = 90_000

const script = {
  steps: [
    {
      answer: {
        tool_calls: [
          { name: 'look', args: { city: 'Recife' } },
          { name: 'book', args: { city: 'Recife' } },
        ],
      },
    },
    { answer: { text: 'Booked.', tool_calls: [{ name: 'notes_write', args: { text: 'booked' } }] } },
    { answer: { tool_calls: [{ name: 'confirm', args: { city: 'Recife' } }] } },
    { answer: { tool_calls: [{ name: 'pay', args: { city: 'Recife' } }] } },
    { answer: 'All done' },
  ],
}

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const write: UpstreamTool = {
  name: 'write',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  run: () => ({ content: [{ type: 'text', text: 'noted' }] }),
}

interface Story {
  /** The events of the run in order. The platform can be killed at each of them. */
  readonly moments: string[]
  readonly generation: GenerationDetail
  /** How many requests each target with an effect received. */
  readonly effects: { book: number; write: number; pay: number }
}

/** One run from start to end, on a platform that is killed at the nth moment and restarted. */
async function play(engine: (typeof engines)[number], killAt: number): Promise<Story> {
  const moments: string[] = []
  let running: Promise<Running> | undefined
  const happens = (moment: string) => {
    moments.push(moment)
    if (moments.length !== killAt) return
    const victim = running
    running = (async () => {
      await (await victim)?.stop('SIGKILL')
      return start()
    })()
  }

  await using model = await startReplayServer(script)
  await using modelTap = await startTap(model.url, (moment) => happens(`model ${moment}`))
  await using service = await startService(({ url }) => ({ body: JSON.stringify({ done: url }) }))
  await using serviceTap = await startTap(service.url, (moment, body) =>
    happens(`${body === '' ? 'look' : 'effect'} ${moment}`),
  )
  await using upstream = await startUpstream([write])
  await using upstreamTap = await startTap(new URL(upstream.url).origin, (moment, body) => {
    if (body.includes('"tools/call"')) happens(`mcp ${moment}`)
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
  async function ask(method: string, path: string, body?: unknown, as = key): Promise<Pick<Answer, 'status' | 'body'>> {
    for (const deadline = Date.now() + timeLimit; ; ) {
      try {
        const response = await fetch(`${(await running)?.url}/api/v1${path}`, {
          method,
          headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        })
        return { status: response.status, body: await response.json() }
      } catch (error) {
        if (Date.now() > deadline) throw error
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
  try {
    const make = async (path: string, body: object) => {
      const made = await ask('POST', path, body)
      if (made.status !== 201) throw new Error(JSON.stringify(made.body))
      return made.body
    }
    const provider = await make('/ai-providers', {
      name: 'model',
      type: 'openai-compatible',
      base_url: `${modelTap.url}/v1`,
      api_key: 'sk-none',
      default_model: 'scripted',
    })
    const http = (name: string, method: string, more: object = {}) =>
      make('/tools', { name, parameters, execute: { url: `${serviceTap.url}/${name}`, method }, ...more })
    const tools = [
      await http('look', 'GET'),
      await http('book', 'POST'),
      await make('/tools', { name: 'notes', type: 'mcp', mcp: { url: `${upstreamTap.url}/mcp` } }),
      await make('/tools', { name: 'confirm', type: 'client', parameters }),
      await http('pay', 'POST', { auto_approve: false }),
    ]
    const agent = await make('/agents', {
      name: 'traveller',
      ai_provider_id: provider.id,
      tool_ids: tools.map(({ id }) => id),
    })
    const policy = await make('/access-policies', {
      name: 'reviewer',
      document: { statement: [{ effect: 'Allow', action: ['approvals:*'] }] },
    })
    const reviewer = (await make('/api-keys', { name: 'reviewer', access_policy_ids: [policy.id] })).key

    await ask('POST', `/agents/${agent.id}/generate`, { prompt: 'Travel', async: true })
    const { id } = (await ask('GET', `/generations?agent_id=${agent.id}`)).body.data[0]
    const seen = new Set<string>()
    const once = (moment: string) => !seen.has(moment) && seen.add(moment) && happens(moment)
    for (const deadline = Date.now() + timeLimit; ; ) {
      const { body: generation } = await ask('GET', `/generations/${id}`)
      const { tool_calls = [], approvals = [] } = generation.required_action ?? {}
      if (!['in_progress', 'requires_action'].includes(generation.status)) {
        return {
          moments,
          generation,
          effects: {
            book: service.received.filter(({ url }) => url.startsWith('/book')).length,
            write: upstream.calls.length,
            pay: service.received.filter(({ url }) => url.startsWith('/pay')).length,
          },
        }
      }
      if (Date.now() > deadline) throw new Error(`stuck: ${JSON.stringify(generation)}`)
      for (const { tool_call_id } of tool_calls) {
        once('client pause')
        const tool_outputs = [{ tool_call_id, output: 'yes' }]
        await ask('POST', `/agents/${agent.id}/generate/${id}/tool-outputs`, { tool_outputs, async: true })
        once('outputs submitted')
      }
      for (const { approval_id } of approvals) {
        once('approval pause')
        await ask('POST', `/approvals/${approval_id}/approve`, {}, reviewer)
        once('approved')
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  } finally {
    await (await running)?.[Symbol.asyncDispose]()
  }
}

/** Text and calls of a run, without timestamps. */
const transcript = ({ status, output, step_list }: GenerationDetail) => ({
  status,
  content: output?.content,
  steps: step_list.map(({ text, calls }) => ({
    text,
    calls: calls.map(({ tool_call_id, tool_name, args, output, status }) => ({
      ...{ tool_call_id, tool_name, args, status },
      output: output as unknown,
    })),
  })),
})

/** Names of tools whose call was interrupted, so that its outcome is unknown. */
const unknown = (generation: GenerationDetail) =>
  generation.step_list.flatMap(({ calls }) =>
    calls.filter(({ output }) => JSON.stringify(output).includes('OUTCOME_UNKNOWN')).map(({ tool_name }) => tool_name),
  )

describe.each(engines)('on %s', (engine) => {
  let whole: Story

  beforeAll(async () => {
    whole = await play(engine, 0)
  }, timeLimit)

  test('an uninterrupted run makes each call once', () => {
    expect(whole.generation.status).toBe('completed')
    expect(whole.effects).toEqual({ book: 1, write: 1, pay: 1 })
    expect(whole.moments.length).toBeGreaterThan(18)
  })

  test('a run that is killed at any moment resumes with the same text and calls, and repeats no effect', {
    timeout: 600_000,
  }, async () => {
    const expected = transcript(whole.generation)
    const all = whole.moments.map((moment, index) => ({ moment, place: index + 1 }))
    const duringEffect = all.filter(({ moment }) => moment.startsWith('effect'))
    const others = all.filter((one) => !duringEffect.includes(one))
    const stories: Story[] = []
    await inParallel([...sample(duringEffect, 2), ...sample(others, 4)], atOnce, async ({ place }) => {
      stories.push(await play(engine, place))
    })

    // At least one call with an effect was interrupted. Otherwise this test proves nothing.
    expect(stories.flatMap(({ generation }) => unknown(generation))).not.toEqual([])
    for (const { generation, effects, moments } of stories) {
      const told = JSON.stringify(moments)
      for (const [name, count] of Object.entries(effects)) expect(count, `${name} after ${told}`).toBeLessThanOrEqual(1)
      const lost = unknown(generation)
      const actual = transcript(generation)
      // For an interrupted call that must not be repeated, the model gets OUTCOME_UNKNOWN. Everything else is the same.
      for (const name of lost) {
        expect(['book', 'notes_write', 'pay'], told).toContain(name)
        for (const [at, step] of actual.steps.entries()) {
          for (const [index, call] of step.calls.entries()) {
            if (call.tool_name === name) Object.assign(call, expected.steps[at]?.calls[index])
          }
        }
      }
      expect(lost.length, told).toBeLessThanOrEqual(1)
      expect(actual, told).toEqual(expected)
    }
  })
})
