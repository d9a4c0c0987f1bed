import { Worker } from 'node:worker_threads'
import { type Fault, PlatformError } from '../model/errors.ts'
import { InvalidSchema } from './schema-compiler.ts'

/** Schema and input are JSON text, which is copied between threads much faster than objects. */
export type SchemaJob =
  | { readonly task: 'check'; readonly schema: string; readonly input: string }
  | { readonly task: 'faults'; readonly schema: string }

/** `faults` is undefined if the check exceeded its limit. */
export type SchemaResult = { readonly faults: readonly Fault[] | undefined } | { readonly invalid: string }

interface Pending {
  readonly job: SchemaJob
  resolve(faults: readonly Fault[] | undefined): void
  reject(error: Error): void
}

const maxThreads = 2
const maxWaiting = 200
/** A safety net, because work is metered in the thread. Long, because a busy machine is slow. */
const deadlineMs = 10_000
const idleMs = 30_000
const resourceLimits = { maxOldGenerationSizeMb: 256 }

/** Worker threads for checks that would block the main thread. Started on demand. */
export class SchemaThreads {
  readonly #threads = new Set<Thread>()
  readonly #waiting: Pending[] = []
  #closed = false

  /** Returns the faults; undefined if the check takes too long or too much memory, or if the queue is full. */
  run(job: SchemaJob): Promise<readonly Fault[] | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new PlatformError('SHUTTING_DOWN', {}))
      if (this.#waiting.length >= maxWaiting) return resolve(undefined)
      this.#waiting.push({ job, resolve, reject })
      this.#next()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const { reject } of this.#waiting.splice(0)) reject(new PlatformError('SHUTTING_DOWN', {}))
    await Promise.all([...this.#threads].map((thread) => thread.end()))
  }

  #next(): void {
    const idle = [...this.#threads].find((thread) => !thread.isBusy)
    if (this.#waiting.length === 0 || (!idle && this.#threads.size >= maxThreads)) return
    const thread = idle ?? this.#start()
    thread.do(this.#waiting.shift() as Pending)
  }

  #start(): Thread {
    const thread = new Thread({
      onFree: () => this.#next(),
      onEnd: () => {
        this.#threads.delete(thread)
        this.#next()
      },
    })
    this.#threads.add(thread)
    return thread
  }
}

/** One worker thread, with one job at a time. A job that takes too long ends the thread, and a new one is started. */
class Thread {
  readonly #worker = new Worker(new URL('./schema-worker.ts', import.meta.url), { resourceLimits })
  readonly #onFree: () => void
  readonly #onEnd: () => void
  #pending: Pending | undefined
  #timer: NodeJS.Timeout | undefined
  #ended = false

  constructor({ onFree, onEnd }: { onFree(): void; onEnd(): void }) {
    this.#onFree = onFree
    this.#onEnd = onEnd
    this.#worker.on('message', (result: SchemaResult) => this.#answer(result))
    this.#worker.on('error', (error: Error & { code?: string }) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') this.#pending?.resolve(undefined)
      else this.#pending?.reject(error)
      void this.end()
    })
  }

  get isBusy(): boolean {
    return this.#pending !== undefined
  }

  do(pending: Pending): void {
    this.#pending = pending
    clearTimeout(this.#timer)
    this.#worker.ref()
    this.#timer = setTimeout(() => {
      pending.resolve(undefined)
      void this.end()
    }, deadlineMs)
    this.#worker.postMessage(pending.job)
  }

  async end(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timer)
    this.#pending?.reject(new PlatformError('SHUTTING_DOWN', {}))
    this.#onEnd()
    await this.#worker.terminate()
  }

  #answer(result: SchemaResult): void {
    const pending = this.#pending
    this.#pending = undefined
    clearTimeout(this.#timer)
    // The thread stays alive for a while, because it caches compiled schemas.
    this.#timer = setTimeout(() => void this.end(), idleMs).unref()
    this.#worker.unref()
    if ('invalid' in result) pending?.reject(new InvalidSchema(result.invalid))
    else pending?.resolve(result.faults)
    this.#onFree()
  }
}
