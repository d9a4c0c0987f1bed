import type { Logger } from 'pino'
import type { CallEnd } from '../db/tables.ts'
import { statusOf } from '../dispatch/record.ts'
import { every } from '../lib/every.ts'
import type { ApprovalSummary } from '../model/approval.ts'
import { errorBody } from '../model/errors.ts'
import type { Store } from '../store/store.ts'
import { refusalOf } from './approve.ts'

const batch = 200
/** A blocking call has its own timer; this sweep is for the others. */
const everyMs = 2000

/** Expires approvals periodically. */
export const expireApprovals = (store: Store, log: Logger) =>
  every(
    everyMs,
    () => sweep(store),
    (err) => log.warn({ err }, 'could not clean up expired approvals'),
  )

/**
 * Expires approvals that timed out, and completes the records of calls whose approval ended without a grant.
 * A call that waits in a process does both itself; whichever comes first counts.
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
