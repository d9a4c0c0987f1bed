/**
 * Measures the time from `enqueue` until the handler starts, for one job and for 100 concurrent jobs, and the time until
 * another process takes over the job of a process that was killed. Uses SQLite, or PostgreSQL with DATABASE_URL.
 *
 *     node bench/jobs.ts [count]
 *     node bench/on-postgres.ts bench/jobs.ts [count]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Jobs } from '../src/jobs/jobs.ts'
import { openJobs } from '../src/jobs/open-jobs.ts'
import { openStore } from '../src/store/store.ts'

const count = Number(process.argv[2] ?? 200)
const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
const databaseUrl = process.env.DATABASE_URL
const options = databaseUrl ? { databaseUrl } : { data: join(folder, 'data') }
const run = Date.now()

async function open() {
  const store = await openStore(options)
  const jobs = await openJobs(store, { onError: (error) => console.error(error) })
  return {
    jobs,
    async close() {
      await jobs.stop()
      await store.close()
    },
  }
}

const started = new Map<string, (at: number) => void>()
const handler = async (id: string) => started.get(id)?.(performance.now())

async function measure(jobs: Jobs, id: string): Promise<number> {
  const start = new Promise<number>((resolve) => started.set(id, resolve))
  const enqueued = performance.now()
  await jobs.enqueue('bench', id)
  return (await start) - enqueued
}

function print(name: string, times: number[]): void {
  times.sort((a, b) => a - b)
  const at = (part: number) => times[Math.min(Math.floor(times.length * part), times.length - 1)]?.toFixed(1)
  console.log(`${name}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms`)
}

const one = await open()
await one.jobs.work('bench', handler, { concurrency: 100 })
await measure(one.jobs, 'warm')

const alone: number[] = []
for (let n = 0; n < count; n++) alone.push(await measure(one.jobs, `alone ${run} ${n}`))
print('enqueued and run in one process, one at a time', alone)

const start = performance.now()
await Promise.all(Array.from({ length: 100 }, (_, n) => measure(one.jobs, `many ${run} ${n}`)))
console.log(`100 concurrent jobs: all started after ${(performance.now() - start).toFixed(0)} ms`)

if (databaseUrl) {
  const producer = await open()
  const across: number[] = []
  for (let n = 0; n < count; n++) {
    across.push(await measure(producer.jobs, `across ${run} ${n}`))
    await sleep(5)
  }
  print('enqueued in another process', across)
  await producer.close()
}

const takeovers: number[] = []
for (let round = 0; round < (databaseUrl ? 5 : 3); round++) {
  if (!databaseUrl && round === 0) await one.close()
  takeovers.push(await takeover(`left ${run} ${round}`))
}
print('run again after a kill', takeovers)
if (databaseUrl) await one.close()
await rm(folder, { recursive: true, force: true })

/** The time from killing a process in the middle of a job until the job starts elsewhere. */
async function takeover(id: string): Promise<number> {
  if (!databaseUrl) {
    const before = await open()
    await before.jobs.enqueue('endless', id)
    await before.close()
  } else await one.jobs.enqueue('endless', id)
  const program = new URL('../test/jobs-process.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  while (!output.includes(`running ${id}`)) await sleep(5)
  const other = databaseUrl ? await open() : undefined
  const again = new Promise<number>((resolve) => started.set(id, resolve))
  await other?.jobs.work('endless', handler, { concurrency: 1 })
  await sleep(Math.random() * 3000)
  child.kill('SIGKILL')
  await ended
  const killed = performance.now()
  const next = other ?? (await open())
  if (!other) await next.jobs.work('endless', handler, { concurrency: 1 })
  const took = (await again) - killed
  await next.close()
  return took
}
