import type { Transaction } from 'kysely'
import type { Engine } from '../db/engine.ts'
import type { GenerationRow, Tables } from '../db/tables.ts'

/** Another attempt has taken over the run. This one stops and writes nothing. */
export class AttemptSuperseded extends Error {
  override readonly name = 'AttemptSuperseded'
}

/** The statuses of an unfinished run. */
export const open = ['in_progress', 'requires_action'] as const

/** A run, and the attempt that owns it. */
export interface Attempt {
  readonly id: string
  readonly attempt: number
}

/** Writes in one transaction, if this attempt still owns the run and the run is not over. */
export async function asAttempt(
  { db: database }: Engine,
  run: Attempt,
  change: Partial<GenerationRow>,
  write?: (tx: Transaction<Tables>) => Promise<unknown>,
): Promise<Pick<GenerationRow, 'cancel_requested'>> {
  const guard = async (db: Pick<Transaction<Tables>, 'updateTable'>) => {
    const row = await db
      .updateTable('generations')
      .set({ last_activity_at: Date.now(), ...change })
      .where('id', '=', run.id)
      .where('turn', '=', run.attempt)
      .where('status', 'in', open)
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
