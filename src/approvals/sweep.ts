import type { Logger } from 'pino'
import type { CallEnd } from '../db/tables.ts'
import { statusOf } from '../dispatch/record.ts'
import { every } from '../lib/every.ts'
import type { ApprovalSummary } from '../model/approval.ts'
import { errorBody } from '../model/errors.ts'
import type { Store } from '../store/store.ts'
import { refusalOf } from './approve.ts'

const batch = 200
/** Callers who wait know the time themselves; this is for those who do not. */
const everyMs = 2000

/** Ends what nobody waits for, every now and then. */
export const sweepApprovals = (store: Store, log: Logger) =>
  every(
    everyMs,
    () => sweep(store),
    (err) => log.warn({ err }, 'could not sweep approvals'),
  )

/**
 * Ends approvals whose time is up, and the record of calls whose approval has ended without them.
 * Where the call itself waits somewhere it does both, too, and the first to do it counts.
 */
async function sweep({ approvals, calls }: Store): Promise<void> {
  await approvals.expire()
  for (;;) {
    const ended = await approvals.unclosed(batch)
    await Promise.all(ended.map((one) => calls.end(endOf(one))))
    await approvals.close(ended.map(({ id }) => id))
    if (ended.length < batch) return
  }
}

function endOf(approval: ApprovalSummary): CallEnd {
  const now = Date.now()
  const error = refusalOf(approval)
  return {
    id: approval.call_id,
    status: statusOf(error, true),
    response: null,
    response_truncated: 0,
    error: JSON.stringify(errorBody(error).error),
    duration_ms: now - Date.parse(approval.created_at),
    waited_ms: now - Date.parse(approval.created_at),
    completed_at: now,
  }
}
