import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, test, vi } from 'vitest'
import { Notices } from '../src/store/notices.ts'
import { openQueue } from '../src/store/open-queue.ts'
import { openPostgres } from '../src/store/postgres.ts'
import type { Queue } from '../src/store/queue.ts'
import { openStore, type StoreOptions } from '../src/store/store.ts'
import { engines, freshDatabase } from './engines.ts'

const until = <T>(expected: () => T, timeout = 5000) => vi.waitFor(expected, { timeout, interval: 5 })

interface Opened extends AsyncDisposable {
  readonly queue: Queue
  readonly store: Awaited<ReturnType<typeof openStore>>
  readonly errors: { message: string; id?: string }[]
}

/** A queue as one process has it. */
async function open(options: StoreOptions, patienceMs = 200): Promise<Opened> {
  const store = await openStore(options)
  const errors: Opened['errors'] = []
  const onError = (error: unknown, { id }: { id?: string }) => errors.push({ message: (error as Error).message, id })
  const queue = await openQueue(store, { onError, patienceMs })
  return {
    queue,
    store,
    errors,
    async [Symbol.asyncDispose]() {
      await queue.stop()
      await store.close()
    },
  }
}

/** Looks that end when the test says so. */
function gated() {
  const begun: string[] = []
  const open: { id: string; end: () => void; fail: (error: Error) => void; signal: AbortSignal }[] = []
  return {
    begun,
    open,
    look: (id: string, signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        begun.push(id)
        const entry = { id, signal, end: () => settle(resolve), fail: (error: Error) => settle(() => reject(error)) }
        const settle = (how: () => void) => {
          open.splice(open.indexOf(entry), 1)
          how()
        }
        open.push(entry)
      }),
  }
}

describe.each(engines)('on %s', (engine) => {
  test('what is asked for is looked at', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const seen: string[] = []
    await one.queue.work('things', { atOnce: 5, look: async (id) => void seen.push(id) })

    await one.queue.ask('things', 'a')
    await one.queue.ask('others', 'b')

    await until(() => expect(seen).toEqual(['a']))
    await sleep(50)
    expect(seen).toEqual(['a'])
  })

  test('what is asked for many times before anyone looks is looked at once', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const seen: string[] = []
    await Promise.all(Array.from({ length: 20 }, () => one.queue.ask('things', 'a')))
    await one.queue.ask('things', 'a', Date.now() + 100)

    await one.queue.work('things', { atOnce: 5, look: async (id) => void seen.push(id) })

    await until(() => expect(seen).toEqual(['a']))
    await sleep(300)
    expect(seen).toEqual(['a'])
  })

  test('what is asked for while it is being looked at is looked at once more, after', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const looks = gated()
    await one.queue.work('things', { atOnce: 5, look: looks.look })
    await one.queue.ask('things', 'a')
    await until(() => expect(looks.begun).toEqual(['a']))

    await Promise.all([1, 2, 3].map(() => one.queue.ask('things', 'a')))
    await one.queue.ask('things', 'b')
    await until(() => expect(looks.begun).toEqual(['a', 'b']))
    looks.open.find(({ id }) => id === 'a')?.end()

    await until(() => expect(looks.begun).toEqual(['a', 'b', 'a']))
    for (const { end } of [...looks.open]) end()
    await sleep(100)
    expect(looks.begun).toEqual(['a', 'b', 'a'])
  })

  test('the earliest time asked for counts', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const seen = new Map<string, number>()
    const begun = Date.now()
    await one.queue.work('things', { atOnce: 5, look: async (id) => void seen.set(id, Date.now() - begun) })

    await one.queue.ask('things', 'later then sooner', begun + 60_000)
    await one.queue.ask('things', 'later then sooner', begun + 600)
    await one.queue.ask('things', 'sooner then later', begun + 600)
    await one.queue.ask('things', 'sooner then later', begun + 60_000)
    await one.queue.ask('things', 'later then now', begun + 60_000)
    await one.queue.ask('things', 'later then now')
    await one.queue.ask('things', 'later', begun + 60_000)

    await until(() => expect(seen.size).toBe(3))
    expect(seen.get('later then now')).toBeLessThan(600)
    expect(seen.get('later then sooner')).toBeGreaterThanOrEqual(600)
    expect(seen.get('sooner then later')).toBeGreaterThanOrEqual(600)
  })

  test('what is asked for at a time while it is being looked at is looked at again at that time', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const times: number[] = []
    const at = Date.now() + 700
    await one.queue.work('things', {
      atOnce: 5,
      async look(id) {
        times.push(Date.now())
        if (times.length === 1) await one.queue.ask('things', id, at)
      },
    })

    await one.queue.ask('things', 'a')

    await until(() => expect(times).toHaveLength(2))
    expect(times[1]).toBeGreaterThanOrEqual(at)
  })

  test('a look that throws is tried again, later each time, and told', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const times: number[] = []
    await one.queue.work('things', {
      atOnce: 5,
      async look() {
        times.push(Date.now())
        if (times.length < 3) throw new Error(`failed ${times.length}`)
      },
    })

    await one.queue.ask('things', 'a')

    await until(() => expect(times).toHaveLength(3), 10_000)
    const [first, second, third] = times as [number, number, number]
    expect(second - first).toBeGreaterThanOrEqual(1000)
    expect(third - second).toBeGreaterThanOrEqual(2000)
    expect(one.errors).toEqual([
      { message: 'failed 1', id: 'a' },
      { message: 'failed 2', id: 'a' },
    ])
  })

  test('what waits because looking at it failed is looked at when it is asked for', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const looks = gated()
    await one.queue.work('things', { atOnce: 5, look: looks.look })
    const failOnce = async (count: number) => {
      await until(() => expect(looks.begun).toHaveLength(count))
      looks.open[0]?.fail(new Error('no'))
      await until(() => expect(one.errors).toHaveLength(count))
      await sleep(30)
    }
    await one.queue.ask('things', 'a')
    await failOnce(1)
    await one.queue.ask('things', 'a')
    await failOnce(2)
    await one.queue.ask('things', 'a')
    await failOnce(3)
    const asked = Date.now()

    await one.queue.ask('things', 'a')

    await until(() => expect(looks.begun).toHaveLength(4))
    expect(Date.now() - asked).toBeLessThan(3000)
    looks.open[0]?.end()
  })

  test('a hundred are looked at at once, and no more than were allowed', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const looks = gated()
    await one.queue.work('things', { atOnce: 100, look: looks.look })

    await Promise.all(Array.from({ length: 130 }, (_, n) => one.queue.ask('things', `thing-${n}`)))

    await until(() => expect(looks.open).toHaveLength(100))
    await sleep(100)
    expect(looks.begun).toHaveLength(100)
    for (const { end } of [...looks.open]) end()
    await until(() => expect(looks.begun).toHaveLength(130))
    for (const { end } of [...looks.open]) end()
    expect(new Set(looks.begun).size).toBe(130)
  })

  test('many can be asked for at once by a process that has asked for nothing before', async () => {
    await using database = await freshDatabase(engine)
    await using one = await open(database.options)
    const seen = new Set<string>()

    await Promise.all(Array.from({ length: 50 }, (_, n) => one.queue.ask('things', `thing-${n}`)))
    await one.queue.work('things', { atOnce: 50, look: async (id) => void seen.add(id) })

    await until(() => expect(seen.size).toBe(50))
  })

  test('stopping aborts the looks, and whoever comes next goes on at once with what had not ended', async () => {
    await using database = await freshDatabase(engine)
    const seen: string[] = []
    {
      await using one = await open(database.options)
      const signals: AbortSignal[] = []
      await one.queue.work('things', {
        atOnce: 5,
        look: (id, signal) => {
          signals.push(signal)
          if (id === 'deaf') return new Promise(() => {})
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        },
      })
      await one.queue.ask('things', 'heeds')
      await one.queue.ask('things', 'deaf')
      await one.queue.ask('things', 'later', Date.now() + 300)
      await until(() => expect(signals).toHaveLength(2))

      await one.queue.stop()

      expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
      expect(one.errors).toEqual([])
      await one.queue.ask('things', 'asked after stop')
    }

    await using next = await open(database.options)
    const begun = Date.now()
    await next.queue.work('things', { atOnce: 5, look: async (id) => void seen.push(id) })

    await until(() => expect(new Set(seen)).toEqual(new Set(['heeds', 'deaf', 'later', 'asked after stop'])))
    expect(Date.now() - begun).toBeLessThan(4000)
  })
})

/** Another process, that looks at what `sleepers` are asked for and never comes to an end with it. */
async function startSleeper(options: StoreOptions) {
  const program = new URL('queue-process.ts', import.meta.url).pathname
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

test('on sqlite a start looks at once at what was being looked at when the process before it was killed', {
  timeout: 30_000,
}, async () => {
  await using database = await freshDatabase('sqlite')
  {
    await using one = await open(database.options)
    await one.queue.ask('sleepers', 'a')
  }
  await using sleeper = await startSleeper(database.options)
  await sleeper.says('looking at a')
  await sleeper.kill()

  await using one = await open(database.options)
  const seen: string[] = []
  await one.queue.work('sleepers', { atOnce: 5, look: async (id) => void seen.push(id) })

  await until(() => expect(seen).toEqual(['a']), 1000)
})

describe('on postgres, among processes', () => {
  test('a process keeps what it looks at while it lives, and is followed by another within 30 s when it is killed', {
    timeout: 90_000,
  }, async () => {
    await using database = await freshDatabase('postgres')
    await using sleeper = await startSleeper(database.options)
    await sleeper.says('ready')
    await using other = await open(database.options)
    await other.queue.ask('sleepers', 'a')
    await sleeper.says('looking at a')
    const seen: string[] = []
    await other.queue.work('sleepers', { atOnce: 5, look: async (id) => void seen.push(id) })
    await other.queue.ask('sleepers', 'a')
    await sleep(13_000)
    expect(seen).toEqual([])

    await sleeper.kill()

    await until(() => expect(seen.length).toBeGreaterThan(0), 30_000)
    expect(other.errors).toEqual([])
  })

  test('what one asks for another looks at, and never two at a time', async () => {
    await using database = await freshDatabase('postgres')
    await using one = await open(database.options)
    await using two = await open(database.options)
    const now = new Map<string, number>()
    let most = 0
    let count = 0
    const look = async (id: string) => {
      count++
      now.set(id, (now.get(id) ?? 0) + 1)
      most = Math.max(most, now.get(id) as number)
      await sleep(Math.random() * 10)
      now.set(id, (now.get(id) as number) - 1)
    }
    await one.queue.work('things', { atOnce: 5, look })
    await two.queue.work('things', { atOnce: 5, look })

    await Promise.all(
      Array.from({ length: 300 }, async (_, n) => {
        await sleep(Math.random() * 500)
        await (n % 2 ? one : two).queue.ask('things', `thing-${n % 7}`)
      }),
    )

    await until(async () => {
      const { rows } = await sql<{ n: number }>`select count(*) n from quartermaster_queue.job`.execute(
        one.store.engine.db,
      )
      expect(rows[0]?.n).toBe(0)
    })
    expect(most).toBe(1)
    expect(count).toBeGreaterThan(20)
    expect(one.errors.concat(two.errors)).toEqual([])
  })

  test('an ask in a process that does not look is heard at once in one that does', async () => {
    await using database = await freshDatabase('postgres')
    await using asker = await open(database.options)
    await using looker = await open(database.options)
    const seen: string[] = []
    await looker.queue.work('things', { atOnce: 5, look: async (id) => void seen.push(id) })
    await sleep(100)
    const begun = Date.now()

    for (let n = 0; n < 20; n++) {
      await asker.queue.ask('things', `thing-${n}`)
      await until(() => expect(seen).toHaveLength(n + 1))
    }

    // Without notices each would wait for the poll.
    expect(Date.now() - begun).toBeLessThan(5000)
  })

  test('a look whose turn has gone to another process is told so', async () => {
    await using database = await freshDatabase('postgres')
    await using one = await open(database.options)
    const looks = gated()
    await one.queue.work('things', { atOnce: 5, look: looks.look })
    await one.queue.ask('things', 'a')
    await until(() => expect(looks.open).toHaveLength(1))

    await sql`update quartermaster_queue.job set retry_count = retry_count + 1`.execute(one.store.engine.db)

    await until(() => expect(looks.open[0]?.signal.aborted).toBe(true))
    looks.open[0]?.end()
    await sleep(50)
    const { rows } = await sql<{ state: string }>`select state from quartermaster_queue.job`.execute(
      one.store.engine.db,
    )
    expect(rows).toEqual([{ state: 'active' }])
  })

  test('replicas that start together make one queue', async () => {
    await using database = await freshDatabase('postgres')
    const all = await Promise.all(Array.from({ length: 6 }, () => open(database.options)))
    const seen: string[] = []
    await Promise.all(
      all.map(({ queue }) => queue.work('things', { atOnce: 2, look: async (id) => void seen.push(id) })),
    )

    await Promise.all(all.map(({ queue }, n) => queue.ask('things', `thing-${n}`)))

    await until(() => expect(seen).toHaveLength(6))
    expect(all.flatMap(({ errors }) => errors)).toEqual([])
    await Promise.all(all.map((each) => each[Symbol.asyncDispose]()))
  })

  test('a user who may not make the schema of the queue is told so', async () => {
    await using database = await freshDatabase('postgres')
    const store = await openStore(database.options)
    const name = `quartermaster_${randomUUID().replaceAll('-', '')}`
    await sql.raw(`create role ${name} login password 'small'`).execute(store.engine.db)
    const url = Object.assign(new URL(database.options.databaseUrl as string), { username: name, password: 'small' })
    const engine = await openPostgres(url.href)

    const refused = openQueue({ engine, notices: new Notices(engine) }, { onError: () => {} })

    await expect(refused).rejects.toThrow(
      /^The queue in the schema quartermaster_queue cannot be used: permission denied .*\. The user in DATABASE_URL must/,
    )
    await engine.close()
    await sql.raw(`drop role ${name}`).execute(store.engine.db)
    await store.close()
  })

  test('goes on after the database has dropped every connection', async () => {
    await using database = await freshDatabase('postgres')
    await using one = await open(database.options)
    await using other = await open(database.options)
    const looks = gated()
    await one.queue.work('things', { atOnce: 5, look: looks.look })
    await one.queue.ask('things', 'a')
    await until(() => expect(looks.open).toHaveLength(1))

    await sql`select pg_terminate_backend(pid) from pg_stat_activity
              where datname = current_database() and pid <> pg_backend_pid()`.execute(other.store.engine.db)
    await sleep(200)
    await vi.waitFor(() => one.queue.ask('things', 'a'), { timeout: 5000 })
    await one.queue.ask('things', 'b')
    await until(() => expect(looks.begun).toEqual(['a', 'b']))
    for (const { end } of [...looks.open]) end()

    await until(() => expect(looks.begun).toEqual(['a', 'b', 'a']))
    looks.open[0]?.end()
  })

  test('stopping comes to an end when the database is gone', { timeout: 20_000 }, async () => {
    await using database = await freshDatabase('postgres')
    const one = await open(database.options)
    const looks = gated()
    await one.queue.work('things', { atOnce: 5, look: looks.look })
    await one.queue.ask('things', 'a')
    await until(() => expect(looks.open).toHaveLength(1))

    await database.remove()
    looks.open[0]?.end()
    const begun = Date.now()
    await one.queue.stop()

    expect(Date.now() - begun).toBeLessThan(8000)
    await one.store.close()
  })
})
