import {
  type DatabaseConnection,
  type DialectAdapter,
  type Driver,
  SqliteAdapter,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
} from 'kysely'
import { Turns } from '../lib/turns.ts'

/**
 * Kysely's dialect for SQLite with a fair lock for its one connection. Kysely's own lock wakes all who wait for it whenever it
 * is released, and never lets the event loop turn, because `node:sqlite` is synchronous.
 */
export class FairSqliteDialect extends SqliteDialect {
  readonly #config: SqliteDialectConfig

  constructor(config: SqliteDialectConfig) {
    super(config)
    this.#config = config
  }

  override createDriver(): Driver {
    return new FairDriver(this.#config)
  }

  override createAdapter(): DialectAdapter {
    return new AdapterWithoutLock()
  }
}

/** Turns Kysely's lock off. */
class AdapterWithoutLock extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

class FairDriver extends SqliteDriver {
  readonly #turns = new Turns()

  override async acquireConnection(): Promise<DatabaseConnection> {
    await this.#turns.take()
    return super.acquireConnection()
  }

  override async releaseConnection(): Promise<void> {
    this.#turns.release()
  }
}
