import { Link } from '@tanstack/react-router'
import type { Approval } from '../api.ts'
import { Countdown } from '../pages/approvals/countdown.tsx'
import { statusTone, statusWord } from '../pages/approvals/labels.ts'
import { Badge } from './badge.tsx'
import { buttonClass } from './button.tsx'

/** A call that waits for approval: its status, and where to decide. */
export function ApprovalWait({ id, approval }: { id: string; approval: Approval | undefined }) {
  const status = approval?.status ?? 'pending'
  return (
    <section aria-label="Approval" className="space-y-2 rounded-md border border-line bg-panel p-3 text-left text-sm">
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone={statusTone(status)}>{status === 'pending' ? 'waiting for approval' : statusWord(status)}</Badge>
        {approval?.status === 'pending' && <Countdown until={approval.expires_at} long />}
      </p>
      <p className="break-words">{inWords(status, approval)}</p>
      <Link to="/approvals/{-$approvalId}" params={{ approvalId: id }} className={buttonClass()}>
        {status === 'pending' ? 'Open approval' : 'View approval'}
      </Link>
    </section>
  )
}

function inWords(status: Approval['status'], approval: Approval | undefined): string {
  const who = approval?.decided_by?.name ?? 'A reviewer'
  switch (status) {
    case 'pending':
      return 'Nothing has been sent yet. Someone else must approve the call. It then runs, and its output appears here.'
    case 'approved':
      return `${who} approved the call. It is running.`
    case 'used':
      return `${who} approved the call, and it ran elsewhere. Its output is in the call log.`
    case 'rejected':
      return `${who} rejected the call${approval?.reason ? `: ${approval.reason}` : ''}. Nothing was sent.`
    case 'cancelled':
      return 'The request was withdrawn. Nothing was sent.'
    default:
      return 'Nobody decided in time. Nothing was sent. Run the call again to ask again.'
  }
}
