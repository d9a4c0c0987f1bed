import type { Operations } from '../../sdk/index.ts'
import { paint } from './terminal.ts'

export type Approval = Operations['approvals']['listApprovals']['answer']['data'][number]

/** What was decided, in a line. */
export function verdict({ status, action, decisions, approvals_needed }: Approval): string {
  if (status === 'pending') return `One approval of ${approvals_needed} for ${action}; ${decisions.length} so far.`
  return status === 'rejected'
    ? `${paint('red', '✗')} ${action} is rejected.`
    : `${paint('green', '✓')} ${action} is approved.`
}
