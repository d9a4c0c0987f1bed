import type { JobHandler, JobsOptions } from './jobs.ts'

/** `aborted` means that this process is stopping, and that the job must run again without delay. */
export type Outcome = 'completed' | 'failed' | 'aborted'

/** The jobs that run in this process. A lease begins with its handler, and ends with it or when it is aborted. */
export class Leases {
  readonly #running = new Map<string, AbortController>()
  readonly #onError: JobsOptions['onError']
  #stopping = false

  constructor(onError: JobsOptions['onError']) {
    this.#onError = onError
  }

  get stopping(): boolean {
    return this.#stopping
  }

  /** Runs the handler once. `lost` aborts when another process has the job. */
  async run(queue: string, id: string, handler: JobHandler, lost?: AbortSignal): Promise<Outcome> {
    if (this.#stopping) return 'aborted'
    const key = `${queue} ${id}`
    // The lease was lost and the job was assigned here again, while the first handler still ignores its signal.
    if (this.#running.has(key)) return 'failed'
    const controller = new AbortController()
    const lease = lost ? AbortSignal.any([controller.signal, lost]) : controller.signal
    this.#running.set(key, controller)
    let failed = false
    try {
      await handler(id, lease)
    } catch (error) {
      failed = true
      if (!lease.aborted) this.#onError(error, { queue, id })
    } finally {
      this.#running.delete(key)
    }
    if (this.#stopping) return 'aborted'
    return failed || lease.aborted ? 'failed' : 'completed'
  }

  /** Aborts all running jobs, because other processes may have taken them over. */
  loseAll(reason: string): void {
    for (const controller of this.#running.values()) controller.abort(new Error(reason))
  }

  stop(): void {
    this.#stopping = true
    this.loseAll('This process is stopping.')
  }
}
