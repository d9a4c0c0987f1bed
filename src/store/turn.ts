import type { Transaction } from 'kysely'
import type { Engine } from '../db/engine.ts'
import type { GenerationRow, Tables } from '../db/tables.ts'

/** Someone else has taken the run up: whoever is told so stops, and writes nothing. */
export class TurnLost extends Error {
  override readonly name = 'TurnLost'
}

/** The states of a run that is not over. */
export const open = ['in_progress', 'requires_action'] as const

/** A run, as it was when someone took it up. */
export interface Turn {
  readonly id: string
  readonly turn: number
}

/** One commit, if it is still this turn's to make: what is over stays as it ended. */
export async function asTurn(
  { db: database }: Engine,
  run: Turn,
  change: Partial<GenerationRow>,
  write?: (tx: Transaction<Tables>) => Promise<unknown>,
): Promise<Pick<GenerationRow, 'cancel_requested'>> {
  const guard = async (db: Pick<Transaction<Tables>, 'updateTable'>) => {
    const row = await db
      .updateTable('generations')
      .set({ last_activity_at: Date.now(), ...change })
      .where('id', '=', run.id)
      .where('turn', '=', run.turn)
      .where('status', 'in', open)
      .returning('cancel_requested')
      .executeTakeFirst()
    if (!row) throw new TurnLost()
    return row
  }
  if (!write) return guard(database)
  return database.transaction().execute(async (tx) => {
    const row = await guard(tx)
    await write(tx)
    return row
  })
}
