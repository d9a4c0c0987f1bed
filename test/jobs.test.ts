import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, test, vi } from 'vitest'
import { ChangeEvents } from '../src/db/change-events.ts'
import { openPostgres } from '../src/db/postgres.ts'
import type { Jobs } from '../src/jobs/jobs.ts'
import { openJobs } from '../src/jobs/open-jobs.ts'
import { openStore, type StoreOptions } from '../src/store/store.ts'
import { engines, freshDatabase } from './engines.ts'

const until = <T>(expected: () => T, timeout = 10_000) => vi.waitFor(expected, { timeout, interval: 5 })

interface Opened extends AsyncDisposable {
  readonly jobs: Jobs
  readonly store: Awaited<ReturnType<typeof openStore>>
  readonly errors: { message: string; id?: string }[]
}

/** Opens a store and its jobs, as a process does. */
async function open(options: StoreOptions): Promise<Opened> {
  const store = await openStore(options)
  const errors: Opened['errors'] = []
  const onError = (error: unknown, { id }: { id?: string }) => errors.push({ message: (error as Error).message, id })
  const jobs = await openJobs(store, { onError, stopTimeoutMs: 200 })
  return {
    jobs,
    store,
    errors,
    async [Symbol.asyncDispose]() {
      await jobs.stop()
      await store.close()
    },
  }
}

/** A handler whose runs are ended by the test. */
function gated() {
  const started: string[] = []
  const running: { id: string; end: () => void; fail: (error: Error) => void; lease: AbortSignal }[] = []
  return {
    started,
    running,
    handler: (id: string, lease: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        started.push(id)
        const settle = (how: () => void) => {
          running.splice(running.indexOf(run), 1)
          how()
        }
        const run = { id, lease, end: () => settle(resolve), fail: (error: Error) => settle(() => reject(error)) }
        running.push(run)
      }),
  }
}

const five = { concurrency: 5 }

// Concurrent, because they wait for delays, retries and heartbeats. Each has its own database.
describe.concurrent.each(engines)('on %s', (engine) => {
  test('an enqueued job runs, and only if its queue has a worker', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const seen: string[] = []
    await one.jobs.work('things', async (id) => void seen.push(id), five)

    await one.jobs.enqueue('things', 'a')
    await one.jobs.enqueue('others', 'b')

    await until(() => expect(seen).toEqual(['a']))
    await sleep(50)
    expect(seen).toEqual(['a'])
  })

  test('a job that is enqueued many times before it starts runs once', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const seen: string[] = []
    await Promise.all(Array.from({ length: 20 }, () => one.jobs.enqueue('things', 'a')))
    await one.jobs.enqueue('things', 'a', { after: 100 })

    await one.jobs.work('things', async (id) => void seen.push(id), five)

    await until(() => expect(seen).toEqual(['a']))
    await sleep(300)
    expect(seen).toEqual(['a'])
  })

  test('a job that is enqueued while it runs is run once more afterwards', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const { started, running, handler } = gated()
    await one.jobs.work('things', handler, five)
    await one.jobs.enqueue('things', 'a')
    await until(() => expect(started).toEqual(['a']))

    await Promise.all([1, 2, 3].map(() => one.jobs.enqueue('things', 'a')))
    await one.jobs.enqueue('things', 'b')
    await until(() => expect(started).toEqual(['a', 'b']))
    running.find(({ id }) => id === 'a')?.end()

    await until(() => expect(started).toEqual(['a', 'b', 'a']))
    for (const { end } of [...running]) end()
    await sleep(100)
    expect(started).toEqual(['a', 'b', 'a'])
  })

  test('a job that is enqueued with several delays runs after the shortest one', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const seen = new Map<string, number>()
    const begun = Date.now()
    await one.jobs.work('things', async (id) => void seen.set(id, Date.now() - begun), five)

    await one.jobs.enqueue('things', 'long, then short', { after: 60_000 })
    await one.jobs.enqueue('things', 'long, then short', { after: 600 })
    await one.jobs.enqueue('things', 'short, then long', { after: 600 })
    await one.jobs.enqueue('things', 'short, then long', { after: 60_000 })
    await one.jobs.enqueue('things', 'long, then none', { after: 60_000 })
    await one.jobs.enqueue('things', 'long, then none')
    await one.jobs.enqueue('things', 'long', { after: 60_000 })

    await until(() => expect(seen.size).toBe(3))
    expect([...seen.keys()]).not.toContain('long')
    expect(seen.get('long, then short')).toBeGreaterThanOrEqual(600)
    expect(seen.get('short, then long')).toBeGreaterThanOrEqual(600)
  })

  test('a job that is enqueued with a delay while it runs is run again after the delay', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const times: number[] = []
    const handler = async (id: string) => {
      times.push(Date.now())
      if (times.length === 1) await one.jobs.enqueue('things', id, { after: 700 })
    }
    await one.jobs.work('things', handler, five)

    await one.jobs.enqueue('things', 'a')

    await until(() => expect(times).toHaveLength(2))
    expect(Number(times[1]) - Number(times[0])).toBeGreaterThanOrEqual(700)
  })

  test('a job whose handler throws is retried, with growing delays, and the errors are reported', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const times: number[] = []
    const handler = async () => {
      times.push(Date.now())
      if (times.length < 3) throw new Error(`failed ${times.length}`)
    }
    await one.jobs.work('things', handler, five)

    await one.jobs.enqueue('things', 'a')

    await until(() => expect(times).toHaveLength(3), 20_000)
    const [first, second, third] = times as [number, number, number]
    expect(second - first).toBeGreaterThanOrEqual(1000)
    expect(third - second).toBeGreaterThanOrEqual(2000)
    expect(one.errors).toEqual([
      { message: 'failed 1', id: 'a' },
      { message: 'failed 2', id: 'a' },
    ])
  })

  test('a job that waits for its retry runs when it is enqueued', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const { started, running, handler } = gated()
    await one.jobs.work('things', handler, five)
    const failOnce = async (count: number) => {
      await until(() => expect(started).toHaveLength(count))
      running[0]?.fail(new Error('no'))
      await until(() => expect(one.errors).toHaveLength(count))
      await sleep(100)
    }
    // The next retry would come after 16 s.
    for (const count of [1, 2, 3, 4, 5]) {
      await one.jobs.enqueue('things', 'a')
      await failOnce(count)
    }

    await one.jobs.enqueue('things', 'a')

    await until(() => expect(started).toHaveLength(6))
    running[0]?.end()
  })

  test('a hundred jobs run at a time, and no more than the concurrency allows', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const { started, running, handler } = gated()
    await one.jobs.work('things', handler, { concurrency: 100 })

    await Promise.all(Array.from({ length: 130 }, (_, n) => one.jobs.enqueue('things', `thing-${n}`)))

    await until(() => expect(running).toHaveLength(100))
    await sleep(100)
    expect(started).toHaveLength(100)
    for (const { end } of [...running]) end()
    await until(() => expect(started).toHaveLength(130))
    for (const { end } of [...running]) end()
    expect(new Set(started).size).toBe(130)
  })

  test('many jobs can be enqueued at once by a process that has enqueued none before', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const seen = new Set<string>()

    await Promise.all(Array.from({ length: 50 }, (_, n) => one.jobs.enqueue('things', `thing-${n}`)))
    await one.jobs.work('things', async (id) => void seen.add(id), { concurrency: 50 })

    await until(() => expect(seen.size).toBe(50))
  })

  test('stop waits for running jobs, and aborted jobs run again after the next start', async () => {
    await using database = await freshDatabase(engine)
    const seen: string[] = []
    {
      await using one = await open(database.options)
      const leases: AbortSignal[] = []
      let wound = 0
      const handler = async (id: string, lease: AbortSignal) => {
        leases.push(lease)
        if (id === 'ignores its lease') await new Promise(() => {})
        await once(lease, 'abort')
        await sleep(50)
        wound++
        if (id === 'throws') throw lease.reason
      }
      await one.jobs.work('things', handler, five)
      for (const id of ['throws', 'returns', 'ignores its lease']) await one.jobs.enqueue('things', id)
      await one.jobs.enqueue('things', 'delayed', { after: 300 })
      await until(() => expect(leases).toHaveLength(3))

      await one.jobs.stop()

      expect(wound).toBe(2)
      expect(leases.every(({ aborted }) => aborted)).toBe(true)
      expect(one.errors).toEqual([])
      await one.jobs.enqueue('things', 'enqueued after stop')
    }

    await using next = await open(database.options)
    await next.jobs.work('things', async (id) => void seen.push(id), five)

    const all = ['throws', 'returns', 'ignores its lease', 'delayed', 'enqueued after stop']
    await until(() => expect(new Set(seen)).toEqual(new Set(all)))
    expect(seen).toHaveLength(all.length)
  })
})

/** Another process that runs the jobs of `endless`, which never end. */
async function startEndless(options: StoreOptions) {
  const program = new URL('jobs-process.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  return {
    says: (text: string) => until(() => expect(said).toContain(text), 20_000),
    kill,
    [Symbol.asyncDispose]: kill,
  }
}

/** A proxy in front of the database. `freeze` stops forwarding, `cut` closes all connections. */
async function startProxy(target: URL) {
  const sockets = new Set<Socket>()
  let frozen = false
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {}).on('close', () => to.destroy())
      if (!frozen) from.pipe(to)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return {
    url: Object.assign(new URL(target), { port: String((server.address() as AddressInfo).port) }).href,
    freeze() {
      frozen = true
      for (const socket of sockets) socket.unpipe()
    },
    cut,
    [Symbol.asyncDispose]: async () => cut(),
  }
}

test.concurrent('on sqlite, jobs that a killed process was running are run after the next start', async () => {
  await using database = await freshDatabase('sqlite')
  {
    await using one = await open(database.options)
    await one.jobs.enqueue('endless', 'a')
  }
  await using endless = await startEndless(database.options)
  await endless.says('running a')
  await endless.kill()

  await using one = await open(database.options)
  const seen: string[] = []
  await one.jobs.work('endless', async (id) => void seen.push(id), five)

  await until(() => expect(seen).toEqual(['a']))
})

describe.concurrent('on postgres, with several processes,', () => {
  test('a process keeps its job while it lives, and another one takes over when it is killed', {
    timeout: 60_000,
  }, async () => {
    await using database = await freshDatabase('postgres')
    await using endless = await startEndless(database.options)
    await endless.says('ready')
    await using other = await open(database.options)
    await other.jobs.enqueue('endless', 'a')
    await endless.says('running a')
    // The default is 10 seconds.
    await sql`update quartermaster_queue.job set heartbeat_seconds = 4`.execute(other.store.engine.db)
    /** The time from the start of the job to its last heartbeat. */
    const aliveForMs = async () => {
      const { rows } = await sql<{ ms: number }>`
        select extract(epoch from heartbeat_on - started_on) * 1000 ms
        from quartermaster_queue.job where state = 'active'`.execute(other.store.engine.db)
      return Number(rows[0]?.ms)
    }
    const seen: string[] = []
    await other.jobs.work('endless', async (id) => void seen.push(id), five)
    await other.jobs.enqueue('endless', 'a')
    await until(async () => expect(await aliveForMs()).toBeGreaterThan(5000), 20_000)
    expect(seen).toEqual([])

    await endless.kill()

    await until(() => expect(seen.length).toBeGreaterThan(0), 30_000)
    expect(other.errors).toEqual([])
  })

  test('processes share the jobs, and none runs twice at the same time', async () => {
    await using database = await freshDatabase('postgres')
    await using one = await open(database.options)
    await using two = await open(database.options)
    const runningNow = new Map<string, number>()
    const ran = new Map<Opened, number>()
    let most = 0
    const handlerOf = (process: Opened) => async (id: string) => {
      ran.set(process, (ran.get(process) ?? 0) + 1)
      runningNow.set(id, (runningNow.get(id) ?? 0) + 1)
      most = Math.max(most, runningNow.get(id) as number)
      await sleep(Math.random() * 10)
      runningNow.set(id, (runningNow.get(id) as number) - 1)
    }
    for (const process of [one, two]) await process.jobs.work('things', handlerOf(process), five)

    await Promise.all(
      Array.from({ length: 300 }, async (_, n) => {
        await sleep(Math.random() * 500)
        await (n % 2 ? one : two).jobs.enqueue('things', `thing-${n % 7}`)
      }),
    )

    await until(async () => {
      const { rows } = await sql<{ n: number }>`
        select count(*) n from quartermaster_queue.job where state < 'completed'`.execute(one.store.engine.db)
      expect(rows[0]?.n).toBe(0)
    })
    expect(most).toBe(1)
    expect(ran.get(one)).toBeGreaterThan(0)
    expect(ran.get(two)).toBeGreaterThan(0)
    expect(one.errors.concat(two.errors)).toEqual([])
  })

  test('a job that another process enqueues starts without waiting for a poll', async () => {
    await using database = await freshDatabase('postgres')
    await using producer = await open(database.options)
    await using worker = await open(database.options)
    const seen: string[] = []
    await worker.jobs.work('things', async (id) => void seen.push(id), five)
    await sleep(100)

    // Polls come every two seconds, so they alone would take 40 seconds.
    for (let n = 0; n < 20; n++) {
      await producer.jobs.enqueue('things', `thing-${n}`)
      await until(() => expect(seen).toHaveLength(n + 1))
    }
  })

  test('the signal of a handler is aborted when its lease is lost, and its result is ignored', async () => {
    await using database = await freshDatabase('postgres')
    await using one = await open(database.options)
    const { running, handler } = gated()
    await one.jobs.work('things', handler, five)
    await one.jobs.enqueue('things', 'a')
    await until(() => expect(running).toHaveLength(1))

    await sql`update quartermaster_queue.job set retry_count = retry_count + 1`.execute(one.store.engine.db)

    await until(() => expect(running[0]?.lease.aborted).toBe(true))
    running[0]?.end()
    await sleep(50)
    const { rows } = await sql<{ state: string }>`select state from quartermaster_queue.job`.execute(
      one.store.engine.db,
    )
    expect(rows).toEqual([{ state: 'active' }])
  })

  test('a process that cannot reach the database gives up its leases before another one takes over', async () => {
    await using database = await freshDatabase('postgres')
    await using proxy = await startProxy(new URL(database.options.databaseUrl as string))
    await using one = await open({ databaseUrl: proxy.url })
    await using other = await open(database.options)
    const { running, handler } = gated()
    await one.jobs.work('things', handler, five)
    await one.jobs.enqueue('things', 'a')
    await until(() => expect(running).toHaveLength(1))
    const lease = running[0]?.lease as AbortSignal
    const abortedWhenTakenOver = new Promise((resolve) => {
      void other.jobs.work('things', async () => resolve(lease.aborted), five)
    })

    proxy.freeze()

    const wasAborted = await abortedWhenTakenOver
    running[0]?.end()
    proxy.cut()
    expect(wasAborted).toBe(true)
  })

  test('a process that stops hands its jobs over', async () => {
    await using database = await freshDatabase('postgres')
    await using other = await open(database.options)
    for (let n = 0; n < 4; n++) {
      const one = await open(database.options)
      const { running, handler } = gated()
      await one.jobs.work(`things-${n}`, handler, five)
      await one.jobs.enqueue(`things-${n}`, 'a')
      await until(() => expect(running).toHaveLength(1))
      const seen: string[] = []
      await other.jobs.work(`things-${n}`, async (id) => void seen.push(id), five)
      running[0]?.lease.addEventListener('abort', () => running[0]?.end())

      await one[Symbol.asyncDispose]()

      await until(() => expect(seen).toEqual(['a']))
    }
  })

  test('replicas that start together create one queue', async () => {
    await using database = await freshDatabase('postgres')
    const all = await Promise.all(Array.from({ length: 6 }, () => open(database.options)))
    const seen: string[] = []
    const handler = async (id: string) => void seen.push(id)
    await Promise.all(all.map(({ jobs }) => jobs.work('things', handler, { concurrency: 2 })))

    await Promise.all(all.map(({ jobs }, n) => jobs.enqueue('things', `thing-${n}`)))

    await until(() => expect(seen).toHaveLength(6))
    expect(all.flatMap(({ errors }) => errors)).toEqual([])
    await Promise.all(all.map((each) => each[Symbol.asyncDispose]()))
  })

  test('a database user without permission to create the schema gets a clear error', async () => {
    await using database = await freshDatabase('postgres')
    const store = await openStore(database.options)
    const name = `quartermaster_${randomUUID().replaceAll('-', '')}`
    await sql.raw(`create role ${name} login password 'small'`).execute(store.engine.db)
    const url = Object.assign(new URL(database.options.databaseUrl as string), { username: name, password: 'small' })
    const engine = await openPostgres(url.href)

    const refused = openJobs({ engine, changes: new ChangeEvents(engine) }, { onError: () => {} })

    await expect(refused).rejects.toThrow(
      /^The job queue in the schema quartermaster_queue cannot be used: permission denied .*\. The user in DATABASE_URL must/,
    )
    await engine.close()
    await sql.raw(`drop role ${name}`).execute(store.engine.db)
    await store.close()
  })

  test('jobs continue after the database has dropped every connection', async () => {
    await using database = await freshDatabase('postgres')
    await using one = await open(database.options)
    await using other = await open(database.options)
    const { started, running, handler } = gated()
    await one.jobs.work('things', handler, five)
    await one.jobs.enqueue('things', 'a')
    await until(() => expect(running).toHaveLength(1))

    await sql`select pg_terminate_backend(pid) from pg_stat_activity
              where datname = current_database() and pid <> pg_backend_pid()`.execute(other.store.engine.db)
    await sleep(200)
    await vi.waitFor(() => one.jobs.enqueue('things', 'a'), { timeout: 5000 })
    await one.jobs.enqueue('things', 'b')
    await until(() => expect(started).toEqual(['a', 'b']))
    for (const { end } of [...running]) end()

    await until(() => expect(started).toEqual(['a', 'b', 'a']))
    running[0]?.end()
  })

  test('stop ends even if the database is gone', async () => {
    await using database = await freshDatabase('postgres')
    const one = await open(database.options)
    const { running, handler } = gated()
    await one.jobs.work('things', handler, five)
    await one.jobs.enqueue('things', 'a')
    await until(() => expect(running).toHaveLength(1))

    await database.remove()
    running[0]?.end()
    await one.jobs.stop()

    await one.store.close()
  })
})
