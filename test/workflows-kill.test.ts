import { beforeAll, describe, expect, test } from 'vitest'
import type { WorkflowRunDetail } from '../src/model/workflow-run.ts'
import { engines, freshDatabase } from './engines.ts'
import { type Answer, startService } from './kit.ts'
import { type Running, startProcess, temporaryFolder } from './process.ts'
import { inParallel, sample } from './soak.ts'
import { startTap } from './tap.ts'

const key = 'sk_admin_of_the_kill_test'
const atOnce = 8
/** The maximum duration of one run without a kill. */
const timeLimit = 90_000

const city = { type: 'string' }
const parameters = { type: 'object', properties: { city }, required: ['city'] }

const inner = {
  input: parameters,
  steps: [{ id: 'confirm', call: 'travel:confirm', input: { city: '${{ input.city }}' } }],
  output: '${{ steps.confirm.output.done }}',
}

const trip = {
  input: parameters,
  steps: [
    { id: 'look', call: 'travel:look', input: { city: '${{ input.city }}' } },
    { id: 'book', call: 'travel:book', input: { city: '${{ input.city }}' }, on_error: 'continue' },
    {
      ...{ id: 'notes', for_each: '${{ ["a", "b", "c"] }}', concurrency: 2, call: 'travel:note' },
      ...{ input: { city: '${{ item }}' }, on_error: 'continue' },
    },
    { id: 'inner', call: 'travel:inner', input: { city: 'Lima' }, on_error: 'continue' },
    { id: 'signed', wait_for: { event: 'signed' } },
    {
      ...{ id: 'pay', call: 'travel:pay', input: { city: '${{ input.city }}' } },
      ...{ wait_for: { approval: true }, on_error: 'continue' },
    },
  ],
  output: '${{ steps.look.output.done }}',
}

interface Story {
  /** The events of the run in order. The platform can be killed at each of them. */
  readonly moments: string[]
  readonly run: WorkflowRunDetail
  /** What the service received, without reads. */
  readonly effects: string[]
  readonly openRecords: number
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
  await using service = await startService(({ url }) => ({ body: JSON.stringify({ done: url }) }))
  await using tap = await startTap(service.url, (moment, body) =>
    happens(`${body === '' ? 'look' : 'effect'} ${moment}`),
  )
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
    const http = (name: string, method: string) =>
      make('/tools', { name, app: 'travel', parameters, execute: { url: `${tap.url}/${name}`, method } })
    await http('look', 'GET')
    for (const name of ['book', 'note', 'confirm', 'pay']) await http(name, 'POST')
    await make('/tools', { name: 'inner', app: 'travel', type: 'workflow', workflow: inner })
    const tool = await make('/tools', { name: 'trip', app: 'travel', type: 'workflow', workflow: trip })
    const policy = await make('/access-policies', {
      name: 'reviewer',
      document: { statement: [{ effect: 'Allow', action: ['approvals:*'] }] },
    })
    const reviewer = (await make('/api-keys', { name: 'reviewer', access_policy_ids: [policy.id] })).key

    const { id } = await make('/workflow-runs', { tool_id: tool.id, input: { city: 'Recife' } })
    const seen = new Set<string>()
    const once = (moment: string) => !seen.has(moment) && seen.add(moment) && happens(moment)
    for (const deadline = Date.now() + timeLimit; ; ) {
      const { body: run } = await ask('GET', `/workflow-runs/${id}`)
      if (run.completed_at) {
        const calls = (await ask('GET', '/calls?status=pending')).body
        return {
          ...{ moments, run, openRecords: calls.total },
          effects: service.received.filter(({ method }) => method === 'POST').map(({ url, body }) => `${url} ${body}`),
        }
      }
      if (Date.now() > deadline) throw new Error(`stuck: ${JSON.stringify(run)}`)
      for (const { name } of run.awaited_events) {
        once('event pause')
        if (seen.has('event sent')) continue
        await ask('POST', `/workflow-runs/${id}/events`, { name, data: 'Ana' })
        once('event sent')
      }
      for (const { approval_id } of run.pending_approvals) {
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

const codesIn = ({ steps }: WorkflowRunDetail): string[] =>
  steps.flatMap(({ calls }) =>
    calls.flatMap(({ status, output }) => (status === 'failed' ? [String((output as { code?: string }).code)] : [])),
  )

describe.each(engines)('on %s', (engine) => {
  let whole: Story

  beforeAll(async () => {
    whole = await play(engine, 0)
  }, timeLimit)

  test('an uninterrupted run makes each call once', () => {
    expect(whole.run).toMatchObject({ status: 'completed', output: '/look?city=Recife' })
    expect(whole.effects).toHaveLength(6)
    expect(whole.moments).toEqual(expect.arrayContaining(['event pause', 'event sent', 'approval pause', 'approved']))
    expect(whole.moments.length).toBeGreaterThan(16)
    expect(whole.openRecords).toBe(0)
  })

  test('a run that is killed at any moment goes on where it was, and repeats no effect', {
    timeout: 600_000,
  }, async () => {
    const all = whole.moments.map((moment, index) => ({ moment, place: index + 1 }))
    const duringEffect = all.filter(({ moment }) => moment.startsWith('effect'))
    const others = all.filter((one) => !duringEffect.includes(one))
    const stories: Story[] = []
    await inParallel([...sample(duringEffect, 3), ...sample(others, 3)], atOnce, async ({ place }) => {
      stories.push(await play(engine, place))
    })

    for (const { run, effects, moments } of stories) {
      const told = JSON.stringify({
        moments,
        effects,
        steps: run.steps.map(({ id, status, error }) => ({ id, status, error })),
      })
      expect(new Set(effects).size, told).toBe(effects.length)
      expect(run.status, told).toBe('completed')
      expect(run.output, told).toBe('/look?city=Recife')
      const codes = codesIn(run)
      // A call that was interrupted must not be repeated, so its outcome is unknown. Up to two are in flight at once.
      expect(
        codes.filter((code) => code !== 'OUTCOME_UNKNOWN' && code !== 'WORKFLOW_FAILED'),
        told,
      ).toEqual([])
      expect(codes.length, told).toBeLessThanOrEqual(2)
      if (codes.length === 0) expect(effects, told).toHaveLength(6)
    }
    // At least one call with an effect was interrupted. Otherwise this test proves nothing.
    expect(stories.flatMap(({ run }) => codesIn(run))).not.toEqual([])
  })
})
