import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { type Db, PgBoss } from 'pg-boss'
import { StartError } from '../model/start-error.ts'
import { Looks, type Turn, type Turns } from './looks.ts'
import type { Notices } from './notices.ts'
import { once } from './postgres-pool.ts'
import type { Queue, QueueOptions, Work } from './queue.ts'

/** A turn is a job of pg-boss that this process has fetched. `heardAt` is when the database last knew that we have it. */
interface Held extends Turn {
  readonly job: { readonly id: string; readonly retryCount: number }
  heardAt: number
}

const schema = 'quartermaster_queue'
const second = 1000

/** A process that has not been heard of for so long has lost its turns. pg-boss takes no less. */
const heartbeatSeconds = 10
const heartbeatEveryMs = 2.5 * second
/** A process that cannot make itself heard gives up before the others take over. */
const silentAtMostMs = (heartbeatSeconds - 2) * second
/** Notices wake us; this is for what they miss: delayed turns that others asked for, and those of the dead. */
const pollMs = 2 * second
/** Closer than this a delayed turn is waited for here, so that it does not depend on the poll. */
const waitedForMs = 600 * second

/**
 * pg-boss with one queue for each kind. Its policy `key_strict_fifo` holds that of one key (our id) only one job is active
 * and the others wait, in the database. Whatever decides by what is waiting does so under a lock on the id, so that there is
 * at most one. Its own workers are not used: each would ask for itself, and a hundred of them are a hundred queries.
 */
export async function openPostgresQueue(pool: pg.Pool, notices: Notices, options: QueueOptions): Promise<Queue> {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => execute(pool, text, values) },
    schema,
    schedule: false,
    superviseIntervalSeconds: 2,
    monitorIntervalSeconds: 2,
    maintenanceIntervalSeconds: 3600,
    flowIntervalSeconds: 3600,
    // Kinds are made known one by one; to read them all again could forget one for a moment.
    queueCacheIntervalSeconds: 24 * 3600,
    monitorVacuum: false,
    reindex: false,
  })
  boss.on('error', (error) => options.onError(error, {}))
  try {
    await alone(pool, numberOf('start'), () => boss.start())
  } catch (cause) {
    await within(second, boss.stop({ graceful: false, close: false }))
    throw new StartError(
      `The queue in the schema ${schema} cannot be used: ${(cause as Error).message}. The user in DATABASE_URL must be allowed to create that schema.`,
      { cause },
    )
  }
  return new PostgresQueue(pool, boss, notices, options)
}

class PostgresQueue implements Queue {
  readonly #pool: pg.Pool
  readonly #boss: PgBoss
  readonly #notices: Notices
  readonly #options: QueueOptions
  readonly #created = new Map<string, Promise<void>>()
  readonly #looks = new Map<string, Looks<Held>>()
  readonly #asking = new Map<string, Promise<void>>()
  readonly #telling = new Map<string, { again: boolean }>()
  readonly #heartbeats: NodeJS.Timeout
  readonly #deaf: () => void
  #touching = false
  #stopped: Promise<void> | undefined

  constructor(pool: pg.Pool, boss: PgBoss, notices: Notices, options: QueueOptions) {
    this.#pool = pool
    this.#boss = boss
    this.#notices = notices
    this.#options = options
    this.#heartbeats = setInterval(() => this.#heartbeat(), heartbeatEveryMs).unref()
    this.#deaf = notices.hear('queue', (kinds) => {
      for (const [kind, looks] of this.#looks) if (kinds.length === 0 || kinds.includes(kind)) looks.wake()
    })
  }

  async ask(kind: string, id: string, at = 0): Promise<void> {
    await this.#create(kind)
    // One after the other for one id, so that those who wait for its lock do not hold all connections.
    const key = `${kind} ${id}`
    const before = this.#asking.get(key)
    const asked = (before ?? Promise.resolve()).catch(() => {}).then(() => this.#write(kind, id, at))
    this.#asking.set(key, asked)
    try {
      await asked
    } finally {
      if (this.#asking.get(key) === asked) this.#asking.delete(key)
    }
    if (at <= Date.now()) return void this.#tell(kind)
    if (at - Date.now() < waitedForMs && this.#looks.has(kind)) {
      setTimeout(() => this.#looks.get(kind)?.wake(), at - Date.now() + 5).unref()
    }
  }

  async work(kind: string, work: Work): Promise<void> {
    if (this.#stopped) return
    if (this.#looks.has(kind)) throw new Error(`${kind} is being looked at here already`)
    await this.#create(kind)
    const looks = new Looks(kind, work, this.#turnsOf(kind), this.#options.onError)
    this.#looks.set(kind, looks)
    looks.wake()
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    await Promise.all(
      [...this.#looks].map(async ([kind, looks]) => {
        const left = await looks.stop(this.#options.patienceMs ?? 5 * second)
        const turns = this.#turnsOf(kind)
        await within(2 * second, Promise.allSettled(left.map((turn) => turns.giveBack(turn, 0))))
      }),
    )
    clearInterval(this.#heartbeats)
    this.#deaf()
    await within(2 * second, this.#boss.stop({ graceful: false, close: false }))
  }

  #create(kind: string): Promise<void> {
    const known = this.#created.get(kind)
    if (known) return known
    const created = this.#make(kind)
    this.#created.set(kind, created)
    created.catch(() => this.#created.delete(kind))
    return created
  }

  async #make(kind: string): Promise<void> {
    await this.#boss.createQueue(kind, {
      policy: 'key_strict_fifo',
      heartbeatSeconds,
      // As long as pg-boss allows: heartbeats tell whether someone still looks.
      expireInSeconds: 24 * 3600,
      // For ever, as pg-boss counts it; the delays are ours.
      retryLimit: 2 ** 31 - 1,
      retentionSeconds: 10 * 365 * 24 * 3600,
      deleteAfterSeconds: 3600,
    })
    // pg-boss reads about a queue when it is first used, on a connection more. Those who ask at once, each on a connection
    // already, could leave none for that.
    await this.#boss.findJobs(kind, { key: '', queued: true })
  }

  #write(kind: string, id: string, at: number): Promise<void> {
    return this.#locked(kind, id, async (db) => {
      const later = at > Date.now()
      if (later) {
        const waiting = await this.#boss.findJobs(kind, { key: id, queued: true, db })
        if (waiting.some(({ startAfter }) => startAfter.getTime() <= at)) return
      }
      const startAfter = later ? new Date(at) : 0
      await this.#boss.upsert(kind, undefined, { singletonKey: id, match: 'all', startAfter, db })
    })
  }

  #turnsOf(kind: string): Turns<Held> {
    return {
      take: async (limit) => {
        const heardAt = Date.now()
        const jobs = await this.#boss.fetch(kind, { batchSize: limit, includeMetadata: true })
        return jobs.map(({ id, retryCount, singletonKey }) => ({
          id: singletonKey as string,
          failures: retryCount,
          job: { id, retryCount },
          heardAt,
        }))
      },
      // The attempt is part of what is deleted: a turn that has gone to another process stays there.
      end: async ({ job }) => void (await this.#boss.deleteJob(kind, job)),
      giveBack: async (turn, at) => {
        await this.#locked(kind, turn.id, (db) => this.#returnJob(kind, turn, at, db))
        if (at === 0) this.#tell(kind)
        else setTimeout(() => this.#looks.get(kind)?.wake(), at - Date.now() + 5).unref()
      },
      nextAt: async () => Date.now() + pollMs,
    }
  }

  /** The job waits again, and stands for the one that was asked for meanwhile, if there is one. */
  async #returnJob(kind: string, { id, job }: Held, at: number, db: Db): Promise<void> {
    const waiting = await this.#boss.findJobs(kind, { key: id, queued: true, db })
    const { affected } = (await this.#boss.fail(kind, job, null, { db })) as { affected: number }
    if (affected === 0) return
    if (waiting.length > 0)
      await this.#boss.deleteJob(
        kind,
        waiting.map((other) => other.id),
        { db },
      )
    const first = Math.min(at, ...waiting.map(({ startAfter }) => startAfter.getTime()))
    await this.#boss.update(kind, undefined, {
      id: job.id,
      startAfter: first <= Date.now() ? 0 : new Date(first),
      db,
    })
  }

  /** Says that we are here; and hears which turns are no longer ours. */
  #heartbeat(): void {
    const now = Date.now()
    for (const looks of this.#looks.values()) {
      for (const turn of looks.held.keys()) if (now - turn.heardAt > silentAtMostMs) looks.lose(turn)
    }
    if (this.#touching) return
    this.#touching = true
    Promise.all([...this.#looks].map(([kind, looks]) => this.#touch(kind, looks, now)))
      .catch((error: unknown) => this.#options.onError(error, {}))
      .finally(() => {
        this.#touching = false
      })
  }

  async #touch(kind: string, looks: Looks<Held>, now: number): Promise<void> {
    const turns = [...looks.held.keys()]
    if (turns.length === 0) return
    const { settled } = (await this.#boss.touch(
      kind,
      turns.map(({ job }) => job),
    )) as { settled?: string[] }
    const ours = new Set(settled)
    for (const turn of turns) {
      if (ours.has(turn.job.id)) turn.heardAt = now
      else looks.lose(turn)
    }
  }

  /** Wakes those who look, here and in the other processes. Many at once are told once. */
  #tell(kind: string): void {
    const underWay = this.#telling.get(kind)
    if (underWay) {
      underWay.again = true
      return
    }
    const state = { again: false }
    this.#telling.set(kind, state)
    void (async () => {
      do {
        state.again = false
        // Without the notice the poll finds it.
        await this.#notices.tell('queue', [kind]).catch(() => {})
      } while (state.again)
      this.#telling.delete(kind)
    })()
  }

  #locked<T>(kind: string, id: string, act: (db: Db) => Promise<T>): Promise<T> {
    return once('', () =>
      alone(this.#pool, numberOf(`${kind} ${id}`), (client) =>
        act({ executeSql: (text, values) => client.query(text, values as unknown[]) }),
      ),
    )
  }
}

/** In a transaction that nobody else is in who names the same number. */
async function alone<T>(pool: pg.Pool, number: bigint, act: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query(`begin; select pg_advisory_xact_lock(${number})`)
    const result = await act(client)
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch((cause: Error) => {
      broken = cause
    })
    throw error
  } finally {
    client.release(broken)
  }
}

const numberOf = (text: string): bigint =>
  createHash('sha256').update(`quartermaster queue ${text}`).digest().readBigInt64BE()

/** pg-boss sends whole transactions as one text. One that fails must not leave its connection in the middle of it. */
async function execute(pool: pg.Pool, text: string, values?: unknown[]): Promise<{ rows: unknown[] }> {
  if (!/^\s*begin\b/i.test(text)) return pool.query(text, values)
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    return await client.query(text, values)
  } catch (error) {
    broken = error as Error
    throw error
  } finally {
    client.release(broken)
  }
}

const within = (ms: number, work: Promise<unknown>): Promise<unknown> =>
  Promise.race([work.catch(() => {}), sleep(ms, undefined, { ref: false })])
