import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'

/** Frames of 4 KB after which the log is begun again from its start. */
const longLog = 4096
/** How many frames may be left for the event loop to move itself. */
const fewFrames = 500

/**
 * Moves what was written from SQLite's log into the database file. Left to itself SQLite does that within a commit, and
 * waits for the disk while nobody is served; here a thread does the bulk of it. Only the thread that writes can begin
 * the log again, and it does so when next to nothing is left to move.
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
    // Should the thread fail, SQLite's own way is still there, far behind it.
    database.exec(`PRAGMA wal_autocheckpoint = ${longLog * 16}`)
    this.#timer = setInterval(() => this.#start(), 500)
    this.#timer.unref()
  }

  /** Something was committed. */
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
        // A full disk, say. The log goes on growing, and the next checkpoint tries again.
      }
    })
    worker.on('error', () => {
      this.#running = false
      this.#worker = undefined
    })
    return worker
  }
}
