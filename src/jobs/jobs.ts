/**
 * Durable jobs. A job is a queue and an id, without data: the handler reads its work from the tables. Handlers are
 * idempotent, so after a crash or a lost connection a job simply runs again.
 */
export interface Jobs {
  /**
   * Runs the job now, or in `after` milliseconds. A job that is already pending stays one job, at the earlier of the two
   * times. A job that is running runs once more afterwards. Call this after committing the data that the job reads.
   */
  enqueue(queue: string, id: string, options?: { readonly after?: number }): Promise<void>
  /**
   * Runs the jobs of a queue in this process, up to `concurrency` at a time. A job never runs in two processes at once.
   * A handler that throws is retried after 1 to 2 s, then 2 to 4 s, up to 60 s, without limit.
   */
  work(queue: string, handler: JobHandler, options: { readonly concurrency: number }): Promise<void>
  /** Starts no more jobs, aborts running ones, and waits for them. Aborted jobs run again, in another process or later. */
  stop(): Promise<void>
}

/** `lease` aborts when this process stops, or when it can no longer prove that it alone runs the job. */
export type JobHandler = (id: string, lease: AbortSignal) => Promise<void>

export interface JobsOptions {
  /** Called when a handler throws, and with errors of the queue itself, which have no id. */
  onError(error: unknown, job: { readonly queue?: string; readonly id?: string }): void
  /** How long `stop` waits for running jobs. */
  readonly stopTimeoutMs?: number
}
