import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../db/tables.ts'
import { backoffMs } from '../lib/backoff.ts'
import type { JobHandler, Jobs, JobsOptions } from './jobs.ts'
import { Leases } from './leases.ts'

/** Polling finds delayed jobs and retries. A job without a delay wakes its worker immediately. */
const pollMs = 500

/**
 * One process owns the database, so a table is enough. A row of `queue` is a job: pending until `at`, running (`taken`), or
 * both if it was enqueued again while running. A row that is marked as running at startup belongs to a process that ended,
 * and is due immediately.
 */
export async function openSqliteJobs(db: Kysely<Tables>, options: JobsOptions): Promise<Jobs> {
  await db.updateTable('queue').set({ at: 0, taken: 0 }).where('taken', '=', 1).execute()
  const leases = new Leases(options.onError)
  const workers = new Map<string, Worker>()
  const poll = () => {
    for (const worker of workers.values()) worker.wake()
  }
  const timer = setInterval(poll, pollMs).unref()

  return {
    async enqueue(queue, id, { after = 0 } = {}) {
      const at = Date.now() + Math.max(after, 0)
      await db
        .insertInto('queue')
        .values({ kind: queue, id, at, taken: 0, failures: 0 })
        .onConflict((conflict) => conflict.columns(['kind', 'id']).doUpdateSet({ at: earlier(at) }))
        .execute()
      if (after <= 0) workers.get(queue)?.wake()
    },

    async work(queue, handler, { concurrency }) {
      if (workers.has(queue)) throw new Error(`This process already has a worker for the queue ${queue}.`)
      const worker = new Worker(db, leases, { queue, handler, concurrency, onError: options.onError })
      workers.set(queue, worker)
      worker.wake()
    },

    // A job that has not ended stays marked as running, and runs again after the next start.
    async stop() {
      clearInterval(timer)
      leases.stop()
      const ended = Promise.all([...workers.values()].map((worker) => worker.ended()))
      await Promise.race([ended, sleep(options.stopTimeoutMs ?? 5000, undefined, { ref: false })])
    },
  }
}

interface Work extends JobsOptions {
  readonly queue: string
  readonly handler: JobHandler
  readonly concurrency: number
}

interface Claimed {
  readonly id: string
  readonly failures: number
}

/** Claims and runs the jobs of one queue. */
class Worker {
  readonly #db: Kysely<Tables>
  readonly #leases: Leases
  readonly #work: Work
  readonly #running = new Set<Promise<void>>()
  #claiming: Promise<void> = Promise.resolve()
  #willClaim = false

  constructor(db: Kysely<Tables>, leases: Leases, work: Work) {
    this.#db = db
    this.#leases = leases
    this.#work = work
  }

  /** Call this when there may be a job to claim. */
  wake(): void {
    if (this.#willClaim || this.#leases.stopping) return
    this.#willClaim = true
    this.#claiming = this.#claiming.then(() => this.#claim())
  }

  async ended(): Promise<void> {
    await this.#claiming
    await Promise.all(this.#running)
  }

  async #claim(): Promise<void> {
    this.#willClaim = false
    const { concurrency, queue, onError } = this.#work
    const jobs = this.#db.selectFrom('queue').where('kind', '=', queue).where('taken', '=', 0)
    const due = jobs
      .where('at', '<=', Date.now())
      .orderBy('at')
      .limit(concurrency - this.#running.size)
    try {
      const claimed = await this.#db
        .updateTable('queue')
        .set({ taken: 1, at: null })
        .where('kind', '=', queue)
        .where('id', 'in', due.select('id'))
        .returning(['id', 'failures'])
        .execute()
      for (const job of claimed) this.#start(job)
    } catch (error) {
      onError(error, { queue })
    }
  }

  #start(job: Claimed): void {
    const running = this.#run(job).finally(() => {
      this.#running.delete(running)
      this.wake()
    })
    this.#running.add(running)
  }

  async #run(job: Claimed): Promise<void> {
    const { queue, handler, onError } = this.#work
    const outcome = await this.#leases.run(queue, job.id, handler)
    for (;;) {
      try {
        if (outcome === 'completed') return await this.#complete(job)
        if (outcome === 'aborted') return await this.#release(job.id, job.failures, 0)
        return await this.#release(job.id, job.failures + 1, Date.now() + backoffMs(job.failures + 1, backoff))
      } catch (error) {
        onError(error, { queue })
        if (this.#leases.stopping) return
        await sleep(1000, undefined, { ref: false })
      }
    }
  }

  async #complete({ id }: Claimed): Promise<void> {
    const job = this.#db.deleteFrom('queue').where('kind', '=', this.#work.queue).where('id', '=', id)
    const { numDeletedRows } = await job.where('at', 'is', null).executeTakeFirstOrThrow()
    const wasEnqueuedMeanwhile = numDeletedRows === 0n
    if (wasEnqueuedMeanwhile) await this.#release(id, 0, Number.MAX_SAFE_INTEGER)
  }

  /** Makes the job pending again, until `at` or an earlier time that it was enqueued for while running. */
  async #release(id: string, failures: number, at: number): Promise<void> {
    const job = this.#db.updateTable('queue').where('kind', '=', this.#work.queue).where('id', '=', id)
    await job.set({ taken: 0, failures, at: earlier(at) }).execute()
  }
}

/** The earlier of `at` and the time that the job is pending for, if any. */
const earlier = (at: number) => sql<number>`min(coalesce(queue.at, ${at}), ${at})`

/** 1 to 2 s, 2 to 4 s … 30 to 60 s, similar to pg-boss. */
const backoff = { firstMs: 2000, maxMs: 60_000 }
