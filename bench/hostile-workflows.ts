/**
 * The delay of the platform's event loop while it runs hostile workflows and programs, and that of an idle process beside it.
 *
 *     npx node bench/hostile-workflows.ts [regular expression for the names of attacks]
 *     npx node bench/on-postgres.ts bench/hostile-workflows.ts
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { delaysOf, launchProbed, startIdle } from './delays.ts'
import { end, launch, program } from './measure.ts'

const key = 'sk_of_the_benchmark'
const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
const target = await launch([new URL('target.ts', import.meta.url).pathname])
const platform = await launchProbed([...program, 'up', '--port', '0', '--data', folder], {
  ...{ QM_ADMIN_KEY: key, QM_LOG_LEVEL: 'silent', QM_RATE_LIMIT: '0', QM_EMBEDDINGS: 'off' },
  ...(process.env.DATABASE_URL && { DATABASE_URL: process.env.DATABASE_URL }),
})
const idle = startIdle()

async function send(path: string, body: object): Promise<string> {
  const response = await fetch(platform.url + path, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(body),
  })
  return response.text()
}

await send('/api/v1/tools', {
  ...{ name: 'step', app: 'bench', execute: { url: target.url, method: 'POST' } },
  parameters: { type: 'object', properties: { n: {} } },
})
await send('/api/v1/servers', { slug: 'code', name: 'Code', code_mode: true, apps: [{ slug: 'bench' }] })

let count = 0
const workflow = async (definition: object, input: object) => {
  const made = await send('/api/v1/tools', {
    ...{ name: `flow-${++count}`, type: 'workflow', timeout_seconds: 300, workflow: definition },
  })
  const { id } = JSON.parse(made)
  if (!id) throw new Error(made)
  return () => send(`/api/v1/tools/${id}/call`, { input })
}
const code = async (text: string) => () =>
  send('/mcp/code', {
    ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
    params: { name: 'EXECUTE_CODE', arguments: { code: text } },
  })

const list = { type: 'array', items: { type: 'number' } }
const input = { type: 'object', properties: { list } }
const numbers = (length: number) => ({ list: Array.from({ length }, (_, index) => index) })
const each = (for_each: string, n: string) => ({
  input,
  steps: [{ id: 'all', for_each, concurrency: 50, call: 'bench:step', input: { n }, on_error: 'continue' }],
})

const only = new RegExp(process.argv[2] ?? '')
const attacks: readonly (readonly [string, Promise<() => Promise<string>>])[] = [
  ['1,000 items, 50 at once', workflow(each('${{ input.list }}', '${{ item }}'), numbers(1000))],
  ['100,000 items, refused', workflow(each('${{ input.list }}', '${{ item }}'), numbers(100_000))],
  [
    '200 items with costly expressions',
    workflow(each('${{ input.list }}', '${{ input.list.map(a, input.list.exists(b, b > a)).size() }}'), numbers(200)),
  ],
  [
    'a million items in an expression',
    workflow(each('${{ input.list.map(a, input.list.map(b, a + b)) }}', '1'), numbers(1000)),
  ],
  ['a memory bomb', code('const list = []; for (;;) list.push([1, 2, 3])')],
  ['10,000 promises', code('await Promise.all(Array.from({ length: 10000 }, (_, n) => call("bench:step", { n })))')],
  ['200 calls', code('for (let n = 0; n < 200; n++) await call("bench:step", { n })')],
  ['calls without end', code('for (;;) call("bench:step", {}).catch(() => {})')],
  [
    '200 inputs of 1 MB',
    code('const n = "x".repeat(990000); for (let i = 0; i < 200; i++) await call("bench:step", { n })'),
  ],
  ['an input of 60 MB', code('await call("bench:step", { n: "x".repeat(30000000) })')],
  ['a result of 1 MB', code('return Array.from({ length: 90000 }, (_, n) => [n])')],
  ['an endless loop', code('while (true);')],
]

console.log(
  `${'attack'.padEnd(36)}${['p99', 'max', 'cpu p99', 'cpu max', 'idle p99', 'ms'].map((name) => name.padStart(9)).join('')}`,
)
for (const [name, prepared] of attacks.filter(([one]) => only.test(one))) {
  const run = await prepared
  await Promise.all([delaysOf(platform.child), delaysOf(idle)])
  const began = performance.now()
  const answer = await run()
  const took = performance.now() - began
  const [own, control] = await Promise.all([delaysOf(platform.child), delaysOf(idle)])
  const figures = [own.wall.p99, own.wall.max, own.cpu.p99, own.cpu.max, control.wall.p99, took]
  console.log(
    `${name.padEnd(36)}${figures.map((figure) => figure.toFixed(1).padStart(9)).join('')}  ${answer.replaceAll(/\s+/g, ' ').slice(0, 110)}`,
  )
}
idle.kill()
await end(platform.child)
await end(target.child)
await rm(folder, { recursive: true, force: true })
