/**
 * Measures the overhead of the platform on a step of an agent. Runs have five steps, each with two calls of a loopback http
 * tool, and the model responds immediately. Compares them with the same steps and calls in a plain loop without the
 * platform. Uses SQLite, or PostgreSQL with DATABASE_URL.
 *
 *     node bench/generations.ts [concurrent runs] [rounds]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startReplayServer } from '../src/agents/models/replay-server.ts'
import { end, launch, median, program } from './measure.ts'

const runs = Number(process.argv[2] ?? 100)
const rounds = Number(process.argv[3] ?? 5)
const steps = 5
const callsInStep = 2
const key = 'sk_of_the_benchmark'
const file = (path: string) => new URL(path, import.meta.url).pathname

const tool_calls = Array.from({ length: callsInStep }, () => ({ name: 'weather', args: { city: 'Recife' } }))
const script = { steps: [{ when: {}, answer: { tool_calls } }] }
const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
const target = await launch([file('target.ts')])
await using model = await startReplayServer(script)
const platform = await launch([...program, 'up', '--port', '0', '--data', folder], {
  QM_ADMIN_KEY: key,
  QM_LOG_LEVEL: 'warn',
  QM_RATE_LIMIT: '0',
  QM_EMBEDDINGS: 'off',
  ...(process.env.DATABASE_URL && { DATABASE_URL: process.env.DATABASE_URL }),
})
const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }

async function post<T>(path: string, body: object): Promise<T> {
  const response = await fetch(`${platform.url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const answer = (await response.json()) as T
  if (!response.ok) throw new Error(JSON.stringify(answer))
  return answer
}

/** The same run without the platform. Nothing is stored or checked. */
async function plainRun(): Promise<void> {
  const post = (url: string, body: object) =>
    fetch(url, { method: 'POST', headers, body: JSON.stringify(body) }).then((response) => response.json())
  const messages: object[] = [{ role: 'user', content: 'Hello' }]
  for (let step = 0; step < steps; step++) {
    const { choices } = (await post(`${model.url}/v1/chat/completions`, { model: 'scripted', messages })) as {
      choices: [{ message: { tool_calls: { id: string; function: { arguments: string } }[] } }]
    }
    const { message } = choices[0]
    const results = await Promise.all(
      message.tool_calls.map(async ({ id, function: { arguments: input } }) => ({
        role: 'tool',
        tool_call_id: id,
        content: JSON.stringify(await post(target.url, JSON.parse(input))),
      })),
    )
    messages.push(message, ...results)
  }
}

/** The time in milliseconds of a number of concurrent runs. */
async function timed(run: () => Promise<unknown>, atOnce: number): Promise<number> {
  const start = performance.now()
  await Promise.all(Array.from({ length: atOnce }, run))
  return performance.now() - start
}

try {
  const { id: tool } = await post<{ id: string }>('/tools', {
    name: 'weather',
    execute: { url: target.url },
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  })
  const agentOf = async (provider: object) => {
    const { id: ai_provider_id } = await post<{ id: string }>('/ai-providers', {
      default_model: 'scripted',
      ...provider,
    })
    const agent = { ai_provider_id, tool_ids: [tool], max_steps: steps }
    return (await post<{ id: string }>('/agents', { name: JSON.stringify(provider).slice(0, 60), ...agent })).id
  }
  const inside = await agentOf({ name: 'in the process', type: 'replay', script })
  const outside = await agentOf({
    name: 'over HTTP',
    type: 'openai-compatible',
    base_url: `${model.url}/v1`,
    api_key: 'sk-none',
  })
  const run = (agent: string) => async () => {
    const { status } = await post<{ status: string }>(`/agents/${agent}/generate`, { prompt: 'Hello' })
    if (status !== 'completed') throw new Error(status)
  }
  const contestants = {
    'a plain loop, model over HTTP': plainRun,
    'the platform, model over HTTP': run(outside),
    'the platform, model in the process': run(inside),
  }
  for (const one of Object.values(contestants)) await timed(one, 20)
  for (const atOnce of [1, runs]) {
    const times = new Map<string, number[]>()
    for (let round = 0; round < rounds; round++) {
      for (const [name, one] of Object.entries(contestants)) {
        times.set(name, [...(times.get(name) ?? []), await timed(one, atOnce)])
      }
    }
    console.log(`\n${atOnce} concurrent runs, ${steps} steps with ${callsInStep} calls each`)
    const plain = median(times.get('a plain loop, model over HTTP') ?? [])
    for (const [name, all] of times) {
      const time = median(all)
      const perStep = time / (atOnce * steps)
      // Start and end of each step, and of each of its calls.
      const events = (atOnce * steps * (2 + 2 * callsInStep)) / (time / 1000)
      console.log(
        `${name.padEnd(36)} ${time.toFixed(0).padStart(6)} ms  ${perStep.toFixed(2).padStart(6)} ms/step  ` +
          `${((time - plain) / (atOnce * steps)).toFixed(2).padStart(6)} ms more  ${events.toFixed(0).padStart(6)} events/s`,
      )
    }
  }
} finally {
  await end(platform.child)
  await end(target.child)
  await rm(folder, { recursive: true, force: true })
}
