import type { Kysely } from 'kysely'
import { Looks, type Turn, type Turns } from './looks.ts'
import type { Queue, QueueOptions } from './queue.ts'
import type { Tables } from './tables.ts'

/**
 * One process owns the database, so who looks at what is known in memory, and the table is there for the next start. A row
 * is an id that was asked for: `at` is when to look, `taken` that someone does. What was taken and then asked for again
 * has both; what was only taken has no `at`. A row that is still taken at the start was being looked at when the process
 * before ended, and is due at once.
 */
export async function openSqliteQueue(db: Kysely<Tables>, options: QueueOptions): Promise<Queue> {
  await db.updateTable('queue').set({ at: 0, taken: 0 }).where('taken', '=', 1).execute()
  const looks = new Map<string, Looks<Turn>>()
  let stopped = false

  return {
    async ask(kind, id, at = 0) {
      await db
        .insertInto('queue')
        .values({ kind, id, at, taken: 0, failures: 0 })
        .onConflict((conflict) =>
          conflict.columns(['kind', 'id']).doUpdateSet((e) => ({
            at: e.fn<number>('min', [e.fn.coalesce('queue.at', 'excluded.at'), 'excluded.at']),
          })),
        )
        .execute()
      if (at > Date.now()) looks.get(kind)?.wakeAt(at)
      else looks.get(kind)?.wake()
    },

    async work(kind, work) {
      if (stopped) return
      if (looks.has(kind)) throw new Error(`${kind} is being looked at here already`)
      const kindOf = new Looks(kind, work, turnsOf(db, kind), options.onError)
      looks.set(kind, kindOf)
      kindOf.wake()
    },

    // What has not ended stays taken, and the next start begins with it.
    async stop() {
      stopped = true
      await Promise.all([...looks.values()].map((each) => each.stop(options.patienceMs ?? 5000)))
    },
  }
}

function turnsOf(db: Kysely<Tables>, kind: string): Turns<Turn> {
  const one = (id: string) => db.updateTable('queue').where('kind', '=', kind).where('id', '=', id)
  return {
    async take(limit) {
      const due = db
        .selectFrom('queue')
        .select('id')
        .where('kind', '=', kind)
        .where('taken', '=', 0)
        .where('at', '<=', Date.now())
        .orderBy('at')
        .limit(limit)
      return db
        .updateTable('queue')
        .set({ taken: 1, at: null })
        .where('kind', '=', kind)
        .where('id', 'in', due)
        .returning(['id', 'failures'])
        .execute()
    },

    async end({ id }) {
      const { numDeletedRows } = await db
        .deleteFrom('queue')
        .where('kind', '=', kind)
        .where('id', '=', id)
        .where('at', 'is', null)
        .executeTakeFirstOrThrow()
      if (numDeletedRows === 0n) await one(id).set({ taken: 0, failures: 0 }).execute()
    },

    async giveBack({ id, failures }, at) {
      await one(id)
        .set((e) => ({
          taken: 0,
          failures: at === 0 ? failures : failures + 1,
          at: e.fn<number>('min', [e.fn.coalesce('at', e.val(at)), e.val(at)]),
        }))
        .execute()
    },

    async nextAt() {
      const row = await db
        .selectFrom('queue')
        .select((e) => e.fn.min('at').as('at'))
        .where('kind', '=', kind)
        .where('taken', '=', 0)
        .executeTakeFirst()
      return row?.at ?? undefined
    },
  }
}
