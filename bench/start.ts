/**
 * Measures the time from start until `/health` responds, on SQLite with many tools, and the resident memory of the idle
 * process.
 *
 *     node bench/start.ts [tools] [starts]
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../src/model/ids.ts'
import { openStore } from '../src/store/store.ts'
import { end, launch, median, program } from './measure.ts'

const tools = Number(process.argv[2] ?? 1000)
const starts = Number(process.argv[3] ?? 5)
const data = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
const environment = { QM_ADMIN_KEY: 'sk_of_the_benchmark', QM_LOG_LEVEL: 'warn' }

/** A bare Node server, as the baseline. */
const bare = [
  '-e',
  "require('node:http').createServer((_, answer) => answer.end()).listen(0, function () { console.log('ready at http://127.0.0.1:' + this.address().port) })",
]

const start = async (
  more: Record<string, string> = {},
  command = [...program, 'up', '--port', '0', '--data', data],
) => {
  const began = performance.now()
  const platform = await launch(command, { ...environment, ...more })
  await fetch(`${platform.url}/health`)
  return { ...platform, took: performance.now() - began }
}

try {
  await end((await start()).child)
  const store = await openStore({ data })
  const { data: projects } = await store.projects.list({ limit: 1, offset: 0 }, undefined)
  for (let n = 0; n < tools; n++) {
    await store.tools.create(projects[0]?.id ?? '', newId('tool'), {
      name: `tool-${n}`,
      type: 'http',
      description: `Does thing number ${n} for a customer`,
      config: {
        parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
        execute: { url: `https://api.example.com/things/${n}/{id}`, method: 'GET' },
      },
      secrets: '',
      many_actions: false,
      preset_parameters: null,
      app: null,
      pin_definitions: false,
      level: 'open',
      auto_approve: null,
      ask_destructive: false,
      approval_timeout_seconds: null,
      timeout_seconds: null,
    })
  }
  await store.close()

  const times: Record<'platform' | 'bare', number[]> = { platform: [], bare: [] }
  for (let n = 0; n < starts; n++) {
    for (const [name, command] of [['platform'], ['bare', bare]] as const) {
      const { child, took } = await start({}, command)
      times[name].push(took)
      await end(child)
    }
  }
  const [took, baseline] = [median(times.platform).toFixed(0), median(times.bare).toFixed(0)]
  console.log(
    `${tools} tools: /health responds after ${took} ms (median of ${starts} starts; bare server: ${baseline} ms)`,
  )

  const resident = async (pid: number) =>
    Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
  for (const [name, more] of [
    ['with embeddings', {}],
    ['keyword search only', { QM_EMBEDDINGS: 'off' }],
  ] as const) {
    const { child } = await start(more)
    await sleep(10_000)
    console.log(`idle for 10 s, ${name}: ${(await resident(child.pid as number)).toFixed(0)} MB resident`)
    await end(child)
  }
} finally {
  await rm(data, { recursive: true, force: true })
}
