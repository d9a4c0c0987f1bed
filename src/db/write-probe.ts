import { DatabaseUnavailable } from '../model/database-unavailable.ts'
import type { Engine } from './engine.ts'

/** How long a result is cached, so that frequent health checks do not cause frequent writes. */
const lifetimeMs = { fine: 2000, failed: 500 }
/** A database that takes longer to write one row is considered unavailable. */
const timeLimitMs = 5000
/** Large enough to need new pages: a file that cannot grow can still overwrite a few bytes. */
const probe = 'x'.repeat(16_384)
const leastFreeBytes = 1024 * 1024

/** Checks whether the database accepts writes, by writing a row. */
export class WriteProbe {
  readonly #engine: Pick<Engine, 'db' | 'freeBytes'>
  #latest: { readonly fault: Promise<string | undefined>; until: number } | undefined

  constructor(engine: Pick<Engine, 'db' | 'freeBytes'>) {
    this.#engine = engine
  }

  /** Why the database does not accept writes; undefined if it does. */
  fault(): Promise<string | undefined> {
    if (!this.#latest || this.#latest.until <= Date.now()) {
      const latest = { fault: this.#check(), until: Number.POSITIVE_INFINITY }
      this.#latest = latest
      void latest.fault.then((fault) => {
        latest.until = Date.now() + (fault === undefined ? lifetimeMs.fine : lifetimeMs.failed)
      })
    }
    return this.#latest.fault
  }

  async #check(): Promise<string | undefined> {
    const { promise: late, resolve } = Promise.withResolvers<string>()
    const seconds = timeLimitMs / 1000
    const timer = setTimeout(() => resolve(`The database took longer than ${seconds} s to write a row.`), timeLimitMs)
    try {
      return await Promise.race([this.#write(), late])
    } catch (error) {
      const { reason = 'it refused to write' } = error instanceof DatabaseUnavailable ? error : {}
      return `The database is unavailable: ${reason}.`
    } finally {
      clearTimeout(timer)
    }
  }

  async #write(): Promise<string | undefined> {
    const free = await this.#engine.freeBytes?.()
    if (free !== undefined && free < leastFreeBytes) return 'The disk with the data folder is full.'
    const { db } = this.#engine
    const row = { name: 'write_probe', value: probe }
    await db
      .insertInto('settings')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: probe }))
      .execute()
    await db.deleteFrom('settings').where('name', '=', row.name).execute()
    return undefined
  }
}
