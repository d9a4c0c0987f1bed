import type { Transaction } from 'kysely'
import type { Engine } from '../db/engine.ts'
import type { GenerationRow, Tables, WorkflowRunRow } from '../db/tables.ts'

/** Another attempt has taken over the run. This one stops and writes nothing. */
export class AttemptSuperseded extends Error {
  override readonly name = 'AttemptSuperseded'
}

/** The statuses of unfinished runs, by table. */
export const open = {
  generations: ['in_progress', 'requires_action'],
  workflow_runs: ['running', 'waiting'],
} as const

/** A run, and the attempt that owns it. */
export interface Attempt {
  readonly id: string
  readonly attempt: number
}

/** The rows of runs, by table. */
interface RunRows {
  readonly generations: GenerationRow
  readonly workflow_runs: WorkflowRunRow
}

/** Writes in one transaction, if this attempt still owns the run and the run is not over. */
export async function asAttempt<Table extends keyof RunRows>(
  table: Table,
  { db: database }: Engine,
  run: Attempt,
  change: Partial<RunRows[Table]>,
  write?: (tx: Transaction<Tables>) => Promise<unknown>,
): Promise<Pick<GenerationRow, 'cancel_requested'>> {
  const guard = async (db: Pick<Transaction<Tables>, 'updateTable'>) => {
    const row = await db
      // Both tables have these columns, which Kysely cannot know of a table that it does not know.
      .updateTable(table as 'generations')
      .set({ last_activity_at: Date.now(), ...(change as Partial<GenerationRow>) })
      .where('id', '=', run.id)
      .where('turn', '=', run.attempt)
      .where('status', 'in', open[table])
      .returning('cancel_requested')
      .executeTakeFirst()
    if (!row) throw new AttemptSuperseded()
    return row
  }
  if (!write) return guard(database)
  return database.transaction().execute(async (tx) => {
    const row = await guard(tx)
    await write(tx)
    return row
  })
}
