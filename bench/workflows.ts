/**
 * The overhead of workflow steps against a plain loop of the same calls over REST, and many runs at once.
 *
 *     npx node bench/workflows.ts
 */
import { startPlatform, startService } from '../test/kit.ts'

const steps = 5
const rounds = 100
const atOnce = 1000

const platform = await startPlatform()
const service = await startService()
const parameters = { type: 'object', properties: { n: { type: 'number' } } }
const { body: tool } = await platform.post('/tools', {
  name: 'step',
  app: 'bench',
  parameters,
  execute: { url: service.url, method: 'POST' },
})
const { body: flow } = await platform.post('/tools', {
  ...{ name: 'flow', app: 'bench', type: 'workflow', timeout_seconds: 300 },
  workflow: { steps: Array.from({ length: steps }, (_, n) => ({ id: `s${n}`, call: 'bench:step', input: { n } })) },
})

const median = (times: number[]) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)] as number
async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
const loop = async () => {
  for (let n = 0; n < steps; n++) await platform.post(`/tools/${tool.id}/call`, { input: { n } })
}
const run = () => platform.post(`/tools/${flow.id}/call`, { input: {} })

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

const delays: number[] = []
let last = performance.now()
const timer = setInterval(() => {
  delays.push(performance.now() - last - 5)
  last = performance.now()
}, 5)
const took = await timed(() => Promise.all(Array.from({ length: atOnce }, run)))
clearInterval(timer)
delays.sort((a, b) => a - b)
console.log(
  `${atOnce} runs of ${steps} steps at once: ${(took / 1000).toFixed(1)} s, ${Math.round((atOnce * steps) / (took / 1000))} steps/s`,
)
console.log(`event loop delay meanwhile: p99 ${delays[Math.floor(delays.length * 0.99)]?.toFixed(1)} ms`)

await platform[Symbol.asyncDispose]()
await service[Symbol.asyncDispose]()
