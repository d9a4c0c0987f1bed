import type { Engine } from '../db/engine.ts'
import type { Notices } from '../db/notices.ts'
import type { Jobs, JobsOptions } from './jobs.ts'
import { openSqliteJobs } from './sqlite.ts'

/** On PostgreSQL jobs are kept by pg-boss and shared by all processes; on SQLite in a table of this process. */
export async function openJobs(
  { engine, notices }: { readonly engine: Engine; readonly notices: Notices },
  options: JobsOptions,
): Promise<Jobs> {
  const limited = { ...options, onError: oncePerMinute(options.onError) }
  if (!engine.pool) return openSqliteJobs(engine.db, limited)
  // Loading pg-boss takes 100 ms, so SQLite does without.
  const { openPostgresJobs } = await import('./postgres.ts')
  return openPostgresJobs(engine.pool, notices, limited)
}

/** While the database is unreachable the same error returns every two seconds. Errors of jobs are always reported. */
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
