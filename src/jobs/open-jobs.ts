import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import type { Jobs, JobsOptions } from './jobs.ts'
import { openSqliteJobs } from './sqlite.ts'

/** On PostgreSQL, pg-boss stores the jobs, and all processes share them. On SQLite, they are in a table. */
export async function openJobs(
  { engine, changes }: { readonly engine: Engine; readonly changes: ChangeEvents },
  options: JobsOptions,
): Promise<Jobs> {
  const limited = { ...options, onError: oncePerMinute(options.onError) }
  if (!engine.pool) return openSqliteJobs(engine.db, limited)
  // Loading pg-boss takes 100 ms, so it is not loaded for SQLite.
  const { openPostgresJobs } = await import('./postgres.ts')
  return openPostgresJobs(engine.pool, changes, limited)
}

/** Reports each queue error at most once a minute, because they repeat every two seconds while the database is down. */
function oncePerMinute(onError: JobsOptions['onError']): JobsOptions['onError'] {
  const reportedAt = new Map<string, number>()
  return (error, job) => {
    if (job.id === undefined) {
      const message = String((error as Error | null)?.message ?? error)
      if (Date.now() - (reportedAt.get(message) ?? 0) < 60_000) return
      if (reportedAt.size > 100) reportedAt.clear()
      reportedAt.set(message, Date.now())
    }
    onError(error, job)
  }
}
