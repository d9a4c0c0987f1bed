import type { Operations } from '../../sdk/index.ts'
import { oneLine, paint } from './terminal.ts'

export type Approval = Operations['approvals']['listApprovals']['answer']['data'][number]

/** The state of an approval, in one line. */
export function verdict({ status, action, principal, decisions, approvals_needed }: Approval): string {
  const what = `${oneLine(action.replace(/^tools:/, ''))} for ${oneLine(principal.name)}`
  if (status === 'pending') return `${action}: ${decisions.length} of ${approvals_needed} approvals.`
  return status === 'rejected' ? `${paint('red', '✗')} Rejected ${what}.` : `${paint('green', '✓')} Approved ${what}.`
}
