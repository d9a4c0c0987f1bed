import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'

/** The number of 4 KB frames after which the log is restarted. */
const longLog = 4096
/** The maximum number of remaining frames that the event loop moves itself. */
const fewFrames = 500

/**
 * Checkpoints SQLite's write-ahead log into the database file. By default, SQLite does this within a commit and blocks the
 * event loop while it waits for the disk. Here a worker thread does most of it. Only the thread that writes can restart the
 * log, and does so once few frames are left to move.
 */
export class Checkpoints {
  readonly #database: DatabaseSync
  readonly #file: string
  readonly #timer: NodeJS.Timeout
  #worker: Worker | undefined
  #written = false
  #running = false

  constructor(database: DatabaseSync, file: string) {
    this.#database = database
    this.#file = file
    // SQLite's automatic checkpoint remains as a fallback if the worker fails.
    database.exec(`PRAGMA wal_autocheckpoint = ${longLog * 16}`)
    this.#timer = setInterval(() => this.#start(), 500)
    this.#timer.unref()
  }

  /** Call this after a commit. */
  wrote(): void {
    this.#written = true
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#worker?.terminate()
  }

  #start(): void {
    if (!this.#written || this.#running) return
    this.#written = false
    this.#running = true
    this.#worker ??= this.#open()
    this.#worker.postMessage('checkpoint')
  }

  #open(): Worker {
    const worker = new Worker(new URL('./checkpoint-worker.ts', import.meta.url), { workerData: this.#file })
    worker.unref()
    worker.on('message', ({ log, left }: { log: number; left: number }) => {
      this.#running = false
      if (log <= longLog || left >= fewFrames) return
      try {
        this.#database.exec('PRAGMA wal_checkpoint(RESTART)')
      } catch {
        // The disk may be full, for example. The log keeps growing, and the next checkpoint retries.
      }
    })
    worker.on('error', () => {
      this.#running = false
      this.#worker = undefined
    })
    return worker
  }
}
