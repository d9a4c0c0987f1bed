import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type pg from 'pg'
import { DatabaseUnavailable } from '../model/database-unavailable.ts'

/** Connection exceptions, shutdown, startup, insufficient resources, and a read-only standby. */
const sqlStates = /^(08...|57P0[1-5]|53[1-4]00|25006)$/
const systemCodes = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_)/
/** Errors of pg that have no code. */
const messages =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed)/

/** Whether the error concerns the connection or the server, not the statement. */
export function isUnavailable(error: unknown): boolean {
  const { code, message, severity } = Object(error) as { code?: unknown; message?: unknown; severity?: unknown }
  const text = String(code ?? '')
  // A fatal error ends the connection, or prevents it.
  if (severity === 'FATAL' || severity === 'PANIC') return true
  return sqlStates.test(text) || systemCodes.test(text) || messages.test(String(message ?? ''))
}

const reads = /^\s*(select|with)\b(?!.*\b(insert|update|delete)\b)/is

function explained(error: unknown, text: string): unknown {
  if (!isUnavailable(error)) return error
  const { code } = error as { code?: string }
  const reason =
    code === '53100' ? 'its disk is full' : code === '25006' ? 'it is read-only' : 'the connection was lost'
  return new DatabaseUnavailable(reason, reads.test(text), { cause: error })
}

/** Delays between attempts. Short, because a restarted server or a pooler that dropped connections is back quickly. */
const pausesMs = [0, 50, 250]

/** Runs idempotent work, and retries it if the connection is lost. */
export async function repeated<T>(text: string, work: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work(attempt)
    } catch (error) {
      const pause = pausesMs[attempt]
      if (!isUnavailable(error) || pause === undefined) throw explained(error, text)
      await sleep(pause)
    }
  }
}

/** Runs a statement once. Throws `DatabaseUnavailable` if the database cannot be used. */
export async function once<T>(text: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw explained(error, text)
  }
}

/**
 * Wraps the pool for Kysely. Acquires a connection only for the first statement, so that an error can be attributed to that
 * statement. Retries reads outside a transaction on another connection.
 */
export const guardedPool = (pool: pg.Pool): PostgresPool => ({
  options: pool.options,
  connect: async () => new GuardedClient(pool) as unknown as PostgresPoolClient,
  end: () => pool.end(),
})

class GuardedClient {
  readonly #pool: pg.Pool
  #client: pg.PoolClient | undefined
  #inTransaction = false

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  async query(text: string, parameters: readonly unknown[]): Promise<unknown> {
    const isRead = reads.test(text) && !this.#inTransaction
    const run = async () => {
      this.#client ??= await this.#pool.connect()
      try {
        return await this.#client.query(text, parameters as unknown[])
      } catch (error) {
        if (isUnavailable(error)) this.#drop(error as Error)
        throw error
      }
    }
    const result = await (isRead ? repeated(text, run) : once(text, run))
    if (/^\s*(begin|start transaction)\b/i.test(text)) this.#inTransaction = true
    if (/^\s*(commit|rollback)\b(?!\s+to)/i.test(text)) this.#inTransaction = false
    return result
  }

  #drop(error: Error): void {
    this.#client?.release(error)
    this.#client = undefined
  }

  release(): void {
    this.#client?.release()
    this.#client = undefined
  }
}
