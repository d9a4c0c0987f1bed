import { expect, test, vi } from 'vitest'
import { startPlatform } from './kit.ts'
import { soak } from './soak.ts'
import { startUpstream } from './upstream.ts'

const restarts = soak ? 50 : 12

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

interface Answered {
  /** How often the server had been restarted when the call was sent. */
  readonly restart: number
  readonly status: number
  readonly code: string | undefined
}

test(`calls to a server that stops and restarts ${restarts} times under load are refused while it is down and succeed once it is back, and other servers are unaffected (S1.16) (S1.17)`, async () => {
  await using restarted = await startUpstream()
  await using steady = await startUpstream()
  await using platform = await startPlatform()
  const register = async (name: string, url: string): Promise<string> =>
    (await platform.post('/tools', { name, type: 'mcp', mcp: { url } })).body.id
  const unsteadyId = await register('unsteady', restarted.url)
  const steadyId = await register('steady', steady.url)
  let restart = 0
  const call = async (id: string): Promise<Answered> => {
    const sent = restart
    const { status, body } = await platform.post(`/tools/${id}/call`, { action: 'echo', input: { text: 'x' } })
    return { restart: sent, status, code: body.error?.code }
  }
  let isOver = false
  const unsteady: Answered[] = []
  const others: Answered[] = []
  const load = async (id: string, answers: Answered[]) => {
    while (!isOver) {
      answers.push(await call(id))
      await pause(10)
    }
  }
  expect((await call(unsteadyId)).status).toBe(200)

  const callers = [0, 1, 2, 3].flatMap(() => [load(unsteadyId, unsteady), load(steadyId, others)])
  try {
    while (restart < restarts) {
      await restarted.stop()
      // From shorter than most calls notice to longer than the longest pause between two attempts.
      await pause([20, 100, 200, 500][restart % 4] as number)
      await restarted.restart()
      restart++
      const isUsed = () => expect(unsteady).toContainEqual({ restart, status: 200, code: undefined })
      await vi.waitFor(isUsed, { timeout: 10_000, interval: 5 })
    }
  } finally {
    isOver = true
    await Promise.all(callers)
  }

  const failed = unsteady.filter(({ status }) => status !== 200)
  expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]))
  expect(failed.length).toBeGreaterThan(restarts)
  expect(failed.filter(({ code }) => code !== 'TOOL_UNREACHABLE' && code !== 'TOOL_PROTOCOL_ERROR')).toEqual([])
}, 120_000)
