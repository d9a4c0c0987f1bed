import { DatabaseUnavailable } from '../model/database-unavailable.ts'
import type { Engine } from './engine.ts'

/** How long an answer holds, so that those who ask often do not write often. */
const lifetimeMs = { fine: 2000, failed: 500 }
/** A database that takes longer to write one row does not serve anyone. */
const timeLimitMs = 5000
/** Enough to need pages of its own: a file that cannot grow can still overwrite a few bytes. */
const probe = 'x'.repeat(16_384)
const leastFreeBytes = 1024 * 1024

/** Tells whether the database takes writes now, by writing. */
export class WriteProbe {
  readonly #engine: Pick<Engine, 'db' | 'freeBytes'>
  #latest: { readonly fault: Promise<string | undefined>; until: number } | undefined

  constructor(engine: Pick<Engine, 'db' | 'freeBytes'>) {
    this.#engine = engine
  }

  /** Why it does not, in a sentence; undefined where it does. */
  fault(): Promise<string | undefined> {
    if (!this.#latest || this.#latest.until <= Date.now()) {
      const latest = { fault: this.#look(), until: Number.POSITIVE_INFINITY }
      this.#latest = latest
      void latest.fault.then((fault) => {
        latest.until = Date.now() + (fault === undefined ? lifetimeMs.fine : lifetimeMs.failed)
      })
    }
    return this.#latest.fault
  }

  async #look(): Promise<string | undefined> {
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
