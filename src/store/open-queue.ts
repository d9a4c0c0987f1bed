import type { Engine } from './engine.ts'
import type { Notices } from './notices.ts'
import type { Queue, QueueOptions } from './queue.ts'
import { openSqliteQueue } from './queue-sqlite.ts'

/** On PostgreSQL the queue is pg-boss, which all processes on the database share; on SQLite a table of this process. */
export async function openQueue(
  { engine, notices }: { readonly engine: Engine; readonly notices: Notices },
  options: QueueOptions,
): Promise<Queue> {
  const heard = { ...options, onError: seldom(options.onError) }
  if (!engine.pool) return openSqliteQueue(engine.db, heard)
  // Loading pg-boss takes a tenth of a second, which those on SQLite need not wait for.
  const { openPostgresQueue } = await import('./queue-postgres.ts')
  return openPostgresQueue(engine.pool, notices, heard)
}

/** While the database is away the same trouble comes back every other second: once a minute is enough to hear of it. */
function seldom(onError: QueueOptions['onError']): QueueOptions['onError'] {
  const told = new Map<string, number>()
  return (error, about) => {
    if (about.id === undefined) {
      const text = String((error as Error | null)?.message ?? error)
      if (Date.now() - (told.get(text) ?? 0) < 60_000) return
      if (told.size > 100) told.clear()
      told.set(text, Date.now())
    }
    onError(error, about)
  }
}
