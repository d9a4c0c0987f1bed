import { describe, expect, test } from 'vitest'
import { engines, freshDatabase } from './engines.ts'
import { startService } from './kit.ts'
import { type Running, startProcess, temporaryFolder } from './process.ts'
import { inParallel, sample } from './soak.ts'
import { startTap } from './tap.ts'

const key = 'sk_admin_of_the_kill_test'
const timeLimit = 90_000

const code = `
  const skus = []
  for (const sku of ['a', 'b']) {
    try { skus.push((await call('shop:order', { sku })).sku) } catch (error) { skus.push(error.message) }
  }
  const both = await Promise.all(['c', 'd'].map((sku) => call('shop:order', { sku }).then((one) => one.sku, (error) => error.message)))
  return [...skus, ...both]
`

/** Sends a program to a platform that is killed at the nth moment and restarted. */
async function play(engine: (typeof engines)[number], killAt: number) {
  const moments: string[] = []
  let running: Promise<Running> | undefined
  await using service = await startService(({ body }) => ({ body }))
  await using tap = await startTap(service.url, (moment) => {
    moments.push(moment)
    if (moments.length !== killAt) return
    const victim = running
    running = (async () => {
      await (await victim)?.stop('SIGKILL')
      return start()
    })()
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
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const send = async (method: string, path: string, body?: object) =>
    fetch(`${(await running)?.url}${path}`, {
      method,
      headers: { ...headers, accept: 'application/json, text/event-stream' },
      ...(body && { body: JSON.stringify(body) }),
    })
  try {
    await send('POST', '/api/v1/tools', {
      ...{ name: 'order', app: 'shop', execute: { url: tap.url, method: 'POST' } },
      parameters: { type: 'object', properties: { sku: { type: 'string' } } },
    })
    await send('POST', '/api/v1/servers', { slug: 'shop', code_mode: true })
    const params = { name: 'EXECUTE_CODE', arguments: { code } }
    // The caller is gone with the process that it waited for.
    const answered = send('POST', '/mcp/shop', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }).catch(() => {})
    for (const deadline = Date.now() + timeLimit; ; ) {
      const page = await send('GET', '/api/v1/workflow-runs?kind=code')
        .then((response) => response.json())
        .catch(() => ({ data: [] }))
      const [run] = (page as { data: { id: string; completed_at: string | null }[] }).data
      if (run?.completed_at) {
        await answered
        const detail = await (await send('GET', `/api/v1/workflow-runs/${run.id}`)).json()
        return {
          moments,
          run: detail as { status: string; output: string[] },
          effects: service.received.map(({ body }) => body),
        }
      }
      if (Date.now() > deadline) throw new Error(`stuck: ${JSON.stringify(page)}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  } finally {
    await (await running)?.[Symbol.asyncDispose]()
  }
}

describe.each(engines)('on %s', (engine) => {
  test('a program that is killed at any call is continued, and repeats none', { timeout: 600_000 }, async () => {
    const whole = await play(engine, 0)
    const places = whole.moments.map((_, index) => index + 1)
    const stories: Awaited<ReturnType<typeof play>>[] = []
    await inParallel(sample(places, 3), 3, async (place) => void stories.push(await play(engine, place)))

    expect(whole.run).toMatchObject({ status: 'completed', output: ['a', 'b', 'c', 'd'] })
    for (const { run, effects, moments } of stories) {
      const told = JSON.stringify({ run: run.output, effects, moments })
      expect(run.status, told).toBe('completed')
      expect(new Set(effects).size, told).toBe(effects.length)
      for (const [index, sku] of ['a', 'b', 'c', 'd'].entries()) {
        const output = run.output[index] as string
        expect(output === sku || /may have taken effect/.test(output), told).toBe(true)
      }
    }
    expect(JSON.stringify(stories.map(({ run }) => run.output))).toContain('may have taken effect')
  })
})
