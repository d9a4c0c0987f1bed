import type { Operations } from '../../sdk/index.ts'
import { paint } from './terminal.ts'

export type Approval = Operations['approvals']['listApprovals']['answer']['data'][number]

/** The state of an approval, in one line. */
export function verdict({ status, action, decisions, approvals_needed }: Approval): string {
  if (status === 'pending') return `${action}: ${decisions.length} of ${approvals_needed} approvals.`
  return status === 'rejected'
    ? `${paint('red', '✗')} Rejected ${action}.`
    : `${paint('green', '✓')} Approved ${action}.`
}
