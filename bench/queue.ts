/**
 * How long it takes from asking for a look until it begins, alone and a hundred at once, and how long until another process
 * takes over from one that was killed. On SQLite, or on PostgreSQL with DATABASE_URL.
 *
 *     node bench/queue.ts [asks]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openQueue } from '../src/store/open-queue.ts'
import { openStore } from '../src/store/store.ts'

const asks = Number(process.argv[2] ?? 200)
const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
const databaseUrl = process.env.DATABASE_URL
const options = databaseUrl ? { databaseUrl } : { data: join(folder, 'data') }
const run = Date.now()

async function open() {
  const store = await openStore(options)
  const queue = await openQueue(store, { onError: (error) => console.error(error) })
  return {
    queue,
    async close() {
      await queue.stop()
      await store.close()
    },
  }
}

const begun = new Map<string, (at: number) => void>()
const look = async (id: string) => begun.get(id)?.(performance.now())

async function measure(queue: { ask(kind: string, id: string): Promise<void> }, id: string): Promise<number> {
  const looked = new Promise<number>((resolve) => begun.set(id, resolve))
  const asked = performance.now()
  await queue.ask('bench', id)
  return (await looked) - asked
}

function print(name: string, times: number[]): void {
  times.sort((a, b) => a - b)
  const at = (part: number) => times[Math.min(Math.floor(times.length * part), times.length - 1)]?.toFixed(1)
  console.log(`${name}: median ${at(0.5)} ms, 99 in 100 below ${at(0.99)} ms, longest ${at(1)} ms`)
}

const one = await open()
await one.queue.work('bench', { atOnce: 100, look })
await measure(one.queue, 'warm')

const alone: number[] = []
for (let n = 0; n < asks; n++) alone.push(await measure(one.queue, `alone ${run} ${n}`))
print('asked and looked at in one process, one at a time', alone)

const start = performance.now()
await Promise.all(Array.from({ length: 100 }, (_, n) => measure(one.queue, `many ${run} ${n}`)))
console.log(`a hundred at once: all begun after ${(performance.now() - start).toFixed(0)} ms`)

if (databaseUrl) {
  const asker = await open()
  const across: number[] = []
  for (let n = 0; n < asks; n++) {
    across.push(await measure(asker.queue, `across ${run} ${n}`))
    await sleep(5)
  }
  print('asked in another process', across)
  await asker.close()
}

const takeovers: number[] = []
for (let round = 0; round < (databaseUrl ? 5 : 3); round++) {
  if (!databaseUrl && round === 0) await one.close()
  takeovers.push(await takeover(`left ${run} ${round}`))
}
print('looked at again after a kill', takeovers)
if (databaseUrl) await one.close()
await rm(folder, { recursive: true, force: true })

/** From the kill of a process in the middle of a look until the look begins again elsewhere. */
async function takeover(id: string): Promise<number> {
  if (!databaseUrl) {
    const before = await open()
    await before.queue.ask('sleepers', id)
    await before.close()
  } else await one.queue.ask('sleepers', id)
  const program = new URL('../test/queue-process.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  while (!said.includes(`looking at ${id}`)) await sleep(5)
  const other = databaseUrl ? await open() : undefined
  const again = new Promise<number>((resolve) => begun.set(id, resolve))
  await other?.queue.work('sleepers', { atOnce: 1, look })
  await sleep(Math.random() * 3000)
  child.kill('SIGKILL')
  await ended
  const killed = performance.now()
  const next = other ?? (await open())
  if (!other) await next.queue.work('sleepers', { atOnce: 1, look })
  const took = (await again) - killed
  await next.close()
  return took
}
