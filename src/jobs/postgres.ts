import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { type Db, type JobWithMetadata, PgBoss } from 'pg-boss'
import type { ChangeEvents } from '../db/change-events.ts'
import { once } from '../db/postgres-pool.ts'
import { StartError } from '../model/start-error.ts'
import type { JobHandler, Jobs, JobsOptions } from './jobs.ts'
import { Leases } from './leases.ts'

const schema = 'quartermaster_queue'
const second = 1000
/** Change events wake workers immediately. Polling finds delayed jobs, retries, and jobs of crashed processes. */
const pollMs = 2 * second
/** A job without a heartbeat for this long goes to another process. The minimum of pg-boss. */
const heartbeatSeconds = 10
/**
 * A process that cannot reach the database gives up its leases before others take over. The margin of 4 s: the last answer
 * can be 2.5 s newer than the last heartbeat, and it is checked only at every poll.
 */
const silentAtMostMs = (heartbeatSeconds - 4) * second

const workerOptions = {
  includeMetadata: true,
  heartbeatRefreshSeconds: 2.5,
  // Workers are woken explicitly, so they do not need to poll.
  pollingIntervalSeconds: 24 * 3600,
} as const

const queueOptions = {
  heartbeatSeconds,
  // The maximum of pg-boss. Heartbeats detect jobs that are no longer running.
  expireInSeconds: 24 * 3600,
  retryLimit: 2 ** 31 - 1,
  retryDelay: 1,
  retryBackoff: true,
  retryDelayMax: 60,
  retentionSeconds: 10 * 365 * 24 * 3600,
  deleteAfterSeconds: 60,
}

/**
 * pg-boss stores the jobs in its own schema, fetches, delays and retries them, reassigns those of crashed processes and
 * deletes completed ones. Its policy `key_strict_fifo` never has two active jobs with the same key, which is the job's id.
 * This code adds two things: a lock prevents an id from being pending twice, and only one worker at a time is woken instead
 * of all (docs/decisions/2026-11-18-jobs.md).
 */
export async function openPostgresJobs(pool: pg.Pool, changes: ChangeEvents, options: JobsOptions): Promise<Jobs> {
  const { onError, stopTimeoutMs = 5 * second } = options
  let answeredAt = Date.now()
  const executeSql = async (text: string, values?: unknown[]) => {
    const result = await onConnection(pool, (client) => client.query(prepared(text, values)))
    answeredAt = Date.now()
    return result
  }
  const boss = await startBoss(pool, { executeSql }, onError)
  const leases = new Leases(onError)
  /** Functions that wake a worker, by queue. */
  const wakers = new Map<string, () => void>()
  const created = new Map<string, Promise<void>>()

  const create = (queue: string): Promise<void> => {
    const creation = created.get(queue) ?? createQueue(boss, queue)
    created.set(queue, creation)
    creation.catch(() => created.delete(queue))
    return creation
  }

  const enqueue: Jobs['enqueue'] = async (queue, id, { after = 0 } = {}) => {
    await create(queue)
    const startAfter = after > 0 ? new Date(Date.now() + after) : 0
    await locked(pool, `${queue} ${id}`, async (db) => {
      const pending = startAfter ? await boss.findJobs(queue, { key: id, queued: true, db }) : []
      if (pending.some((job) => job.startAfter <= startAfter)) return
      await boss.upsert(queue, undefined, { singletonKey: id, match: 'all', startAfter, db })
    })
    // Wakes a worker here and in every other process. If the event is lost, the next poll finds the job.
    if (!startAfter) changes.publish('jobs', [queue]).catch(() => {})
  }

  const timer = setInterval(() => {
    if (Date.now() - answeredAt > silentAtMostMs) leases.loseAll('The database is unreachable, so the lease is lost.')
    for (const wake of wakers.values()) wake()
  }, pollMs).unref()
  const unsubscribe = changes.subscribe('jobs', (queues) => {
    for (const [queue, wake] of wakers) if (queues.length === 0 || queues.includes(queue)) wake()
  })

  const stop = async (): Promise<void> => {
    leases.stop()
    clearInterval(timer)
    unsubscribe()
    const queues = [...wakers.keys()]
    await within(stopTimeoutMs, Promise.all(queues.map((queue) => boss.offWork(queue, { wait: true }))))
    // Jobs whose handlers have not ended by now become retries.
    await within(2 * second, boss.stop({ graceful: false, close: false }))
    await within(2 * second, changes.publish('jobs', queues))
  }
  let stopped: Promise<void> | undefined

  return {
    enqueue,

    async work(queue, handler, { concurrency }) {
      await create(queue)
      if (leases.stopping) return
      if (wakers.has(queue)) throw new Error(`This process already has a worker for the queue ${queue}.`)
      const process: JobHandler = async (id, lost) => {
        const outcome = await leases.run(queue, id, handler, lost)
        // pg-boss stores the message with the job. The error itself has already been reported.
        if (outcome === 'failed') throw new Error('The handler failed.')
        // Not a failure, so no retry delay: this job completes, and a new one replaces it.
        if (outcome === 'aborted') await enqueue(queue, id)
      }
      const wake = startWorkers(boss, queue, process, () => (leases.stopping ? 0 : concurrency))
      wakers.set(queue, wake)
      wake()
    },

    stop() {
      stopped ??= stop()
      return stopped
    },
  }
}

async function startBoss(pool: pg.Pool, db: Db, onError: JobsOptions['onError']): Promise<PgBoss> {
  const boss = new PgBoss({
    db,
    schema,
    schedule: false,
    superviseIntervalSeconds: 2,
    monitorIntervalSeconds: 2,
    maintenanceIntervalSeconds: 60,
    // See `createQueue`.
    queueCacheIntervalSeconds: 24 * 3600,
    monitorVacuum: false,
    reindex: false,
  })
  boss.on('error', (error) => onError(error, {}))
  try {
    // pg-boss fails if several replicas create its schema at the same time.
    await locked(pool, 'start', () => boss.start())
    return boss
  } catch (cause) {
    await within(second, boss.stop({ graceful: false, close: false }))
    throw new StartError(
      `The job queue in the schema ${schema} cannot be used: ${(cause as Error).message}. The user in DATABASE_URL must be allowed to create that schema.`,
      { cause },
    )
  }
}

async function createQueue(boss: PgBoss, queue: string): Promise<void> {
  await boss.createQueue(queue, { policy: 'key_strict_fifo', ...queueOptions })
  await boss.updateQueue(queue, queueOptions)
  // pg-boss reads the settings of a queue on first use, on another connection of the pool. Inside `locked`, this could
  // deadlock: callers that hold all connections would wait for one more.
  await boss.findJobs(queue, { key: '', queued: true })
}

/**
 * Runs the pg-boss workers of one queue. Each runs one job at a time, and is started when all others are busy. Returns a
 * function that wakes one of them. pg-boss itself would wake all, and each would query the database. Here a worker that has
 * found a job wakes the next one.
 */
function startWorkers(boss: PgBoss, queue: string, process: JobHandler, concurrency: () => number): () => void {
  const idle = new Set<string>()
  let count = 0

  const start = async (): Promise<void> => {
    count++
    const me: string = await boss.work(queue, workerOptions, async ([job]: JobWithMetadata[]) => {
      if (!job) return
      idle.delete(me)
      wake()
      try {
        await process(job.singletonKey as string, job.signal)
      } finally {
        idle.add(me)
        // Fetches again once pg-boss has completed this job, because it may have been enqueued again while it ran.
        boss.notifyWorker(me)
      }
    })
    idle.add(me)
  }

  const wake = (): void => {
    const [next] = idle
    if (next === undefined) {
      if (count < concurrency()) void start()
      return
    }
    // Moves it to the end, so that the next call wakes another one.
    idle.delete(next)
    idle.add(next)
    boss.notifyWorker(next)
  }
  return wake
}

/** Runs a transaction under an advisory lock for the key. */
function locked<T>(pool: pg.Pool, key: string, act: (db: Db) => Promise<T>): Promise<T> {
  const lock = createHash('sha256').update(`quartermaster queue ${key}`).digest().readBigInt64BE()
  const transaction = async (client: pg.PoolClient) => {
    await client.query(`begin; select pg_advisory_xact_lock(${lock})`)
    const result = await act({ executeSql: (text, values) => client.query(prepared(text, values)) })
    await client.query('commit')
    return result
  }
  return once('', () => onConnection(pool, transaction))
}

/** pg-boss repeats a few long statements, which take half the time when prepared. Multi-statement texts cannot be. */
const prepared = (text: string, values?: unknown[]): pg.QueryConfig =>
  /^\s*begin\b/i.test(text) ? { text, values } : { text, values, ...(values && { name: nameOf(text) }) }

const nameOf = (text: string): string => createHash('md5').update(text).digest('hex')

/** Closes the connection after an error, because it may still be in a transaction. */
async function onConnection<T>(pool: pg.Pool, act: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    const result = await act(client)
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}

const within = (ms: number, work: Promise<unknown>): Promise<unknown> =>
  Promise.race([work.catch(() => {}), sleep(ms, undefined, { ref: false })])
