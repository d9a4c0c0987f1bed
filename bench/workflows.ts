/**
 * The overhead of workflow steps against a plain loop of the same calls over REST, and many runs at once, with the delay of
 * the platform's event loop. An idle process beside it shows which part of the delay is the machine's. Uses SQLite, or
 * PostgreSQL with DATABASE_URL.
 *
 *     npx node bench/workflows.ts [runs at once]
 *     npx node bench/on-postgres.ts bench/workflows.ts [runs at once]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { delaysOf, launchProbed, shown, startIdle } from './delays.ts'
import { cpuOf, end, launch, median, program } from './measure.ts'

const atOnce = Number(process.argv[2] ?? 1000)
const steps = 5
const rounds = 100
const key = 'sk_of_the_benchmark'
const file = (path: string) => new URL(path, import.meta.url).pathname

const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
const target = await launch([file('target.ts')])
// Such as a module that writes a CPU profile.
const profile = process.env.PROFILE ? ['--import', process.env.PROFILE] : []
const platform = await launchProbed([...profile, ...program, 'up', '--port', '0', '--data', folder], {
  ...{ QM_ADMIN_KEY: key, QM_LOG_LEVEL: 'warn', QM_RATE_LIMIT: '0', QM_EMBEDDINGS: 'off' },
  ...(process.env.DATABASE_URL && { DATABASE_URL: process.env.DATABASE_URL }),
})
const idle = startIdle()
const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }

async function post<T>(path: string, body: object): Promise<T> {
  const response = await fetch(`${platform.url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const answer = (await response.json()) as T
  if (!response.ok) throw new Error(JSON.stringify(answer))
  return answer
}

const tool = await post<{ id: string }>('/tools', {
  ...{ name: 'step', app: 'bench', execute: { url: target.url, method: 'POST' } },
  parameters: { type: 'object', properties: { n: { type: 'number' } } },
})
const flow = await post<{ id: string }>('/tools', {
  ...{ name: 'flow', app: 'bench', type: 'workflow', timeout_seconds: 300 },
  workflow: { steps: Array.from({ length: steps }, (_, n) => ({ id: `s${n}`, call: 'bench:step', input: { n } })) },
})

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
const loop = async () => {
  for (let n = 0; n < steps; n++) await post(`/tools/${tool.id}/call`, { input: { n } })
}
const run = () => post(`/tools/${flow.id}/call`, { input: {} })

const plain: number[] = []
const flows: number[] = []
for (let round = 0; round < rounds; round++) {
  plain.push(await timed(loop))
  flows.push(await timed(run))
}
const perStep = (median(flows) - median(plain)) / steps
console.log(
  `${steps} calls in a loop: ${median(plain).toFixed(2)} ms; as a workflow: ${median(flows).toFixed(2)} ms (×${(median(flows) / median(plain)).toFixed(2)})`,
)
console.log(`overhead per step: ${perStep.toFixed(2)} ms`)

async function measureBurst(name: string, work: () => Promise<unknown>): Promise<void> {
  await Promise.all([delaysOf(platform.child), delaysOf(idle)])
  const cpuBefore = cpuOf(platform.child.pid as number)
  const took = await timed(work)
  const cpu = cpuOf(platform.child.pid as number) - cpuBefore
  const [own, control] = await Promise.all([delaysOf(platform.child), delaysOf(idle)])
  const perSecond = Math.round((atOnce * steps) / (took / 1000))
  console.log(`${name}: ${(took / 1000).toFixed(1)} s, ${perSecond} steps/s, ${cpu.toFixed(1)} s of CPU`)
  console.log(`  event loop delay in ms: ${shown(own.wall)}; of its own CPU time: ${shown(own.cpu)}`)
  console.log(`  an idle process meanwhile: ${shown(control.wall)}`)
}

await measureBurst(`${atOnce} callers of a loop of ${steps} calls at once`, () =>
  Promise.all(Array.from({ length: atOnce }, loop)),
)
await measureBurst(`${atOnce} runs of ${steps} steps at once`, () => Promise.all(Array.from({ length: atOnce }, run)))

idle.kill()
await end(platform.child)
await end(target.child)
await rm(folder, { recursive: true, force: true })
