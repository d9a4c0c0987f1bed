import { Link } from '@tanstack/react-router'
import type { Approval } from '../api.ts'
import { Countdown } from '../pages/approvals/countdown.tsx'
import { statusTone, statusWord } from '../pages/approvals/words.ts'
import { Badge } from './badge.tsx'
import { buttonLook } from './button.tsx'

/** A call that was not made yet: who has to do what, how it stands, and where. */
export function ApprovalWait({ id, approval }: { id: string; approval: Approval | undefined }) {
  const status = approval?.status ?? 'pending'
  return (
    <section aria-label="Approval" className="space-y-2 rounded-md border border-line bg-panel p-3 text-left text-sm">
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone={statusTone(status)}>{status === 'pending' ? 'waits for approval' : statusWord(status)}</Badge>
        {approval?.status === 'pending' && <Countdown until={approval.expires_at} long />}
      </p>
      <p className="break-words">{inWords(status, approval)}</p>
      <Link to="/approvals/{-$approvalId}" params={{ approvalId: id }} className={buttonLook()}>
        {status === 'pending' ? 'See it in the inbox' : 'See the approval'}
      </Link>
    </section>
  )
}

function inWords(status: Approval['status'], approval: Approval | undefined): string {
  const who = approval?.decided_by?.name ?? 'A reviewer'
  switch (status) {
    case 'pending':
      return 'Nothing was sent yet. Someone else than you decides; once they approve, the call is made here and its answer appears.'
    case 'approved':
      return `${who} has approved it. The call is being made.`
    case 'used':
      return `${who} approved it, and the call was made elsewhere: its answer is in the record of calls.`
    case 'rejected':
      return `${who} said no${approval?.reason ? `: ${approval.reason}` : ''}. The call was not made.`
    case 'cancelled':
      return 'The request was withdrawn. The call was not made.'
    default:
      return 'Nobody decided in time. The call was not made; call again to ask anew.'
  }
}
