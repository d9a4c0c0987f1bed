import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { type Approval, ask, Failure, qm } from '../../api.ts'
import { useSession } from '../../queries.ts'
import { Button, Row } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { useAction } from '../../use-action.ts'
import { useKeys } from '../../use-keys.ts'
import { Edit } from './edit.tsx'
import { approvedBy, decidedInWords } from './labels.ts'

/** A key pressed sooner than this was probably meant for the call that was open before. */
const armingMs = 400

interface Props {
  /** The arguments. The edit form replaces them. */
  readonly args: ReactNode
  /** Shown below the arguments. */
  readonly children: ReactNode
  readonly approval: Approval
  /** Whether a change must be acknowledged first. */
  readonly isHeld: boolean
  readonly hasKeys: boolean
  onDecided(approval: Approval, words: string): void
  /** Called with a message if the approval was already decided. */
  onLate(words: string): void
}

type Verdict =
  | { readonly approve: true; readonly input?: Record<string, unknown>; readonly reason?: string }
  | { readonly approve: false; readonly reason: string }

/** Approve, reject or edit the call. If the user cannot decide, the reason is shown. */
export function Decide({ args, children, approval, isHeld, hasKeys, onDecided, onLate }: Props) {
  const { id, action, args_hash, principal } = approval
  const queries = useQueryClient()
  const { data: session } = useSession()
  const isArmed = useArmed()
  const [step, setStep] = useState<'review' | 'edit' | 'reject'>('review')

  const decide = useAction(
    (verdict: Verdict) =>
      ask<Approval>(
        verdict.approve
          ? qm.approvals.approveCall({
              path: { approval_id: id },
              body: {
                args_hash,
                ...(verdict.input && { input: verdict.input }),
                ...(verdict.reason && { reason: verdict.reason }),
              },
            })
          : qm.approvals.rejectCall({
              path: { approval_id: id },
              body: { args_hash, ...(verdict.reason && { reason: verdict.reason }) },
            }),
      ),
    {
      changes: ['approvals-waiting', 'approvals-history'],
      onDone: (decided, verdict) => {
        queries.setQueryData(['approval', id], decided)
        setStep('review')
        onDecided(decided, wordsFor(decided, verdict))
      },
    },
  )
  const withdraw = useAction(() => ask(qm.approvals.cancelApproval({ path: { approval_id: id } })), {
    changes: ['approvals-waiting', 'approvals-history'],
    onDone: (decided) => {
      queries.setQueryData(['approval', id], decided)
      onDecided(decided, `Withdrawn: ${action}.`)
    },
  })

  // The approval is decided, so this component is about to unmount. The parent shows the message.
  const tooLate = [decide.error, withdraw.error].find(
    (error) => error instanceof Failure && error.code === 'APPROVAL_DECIDED',
  )
  useEffect(() => {
    if (!(tooLate instanceof Failure)) return
    const { status, decided_by } = tooLate.details as { status: string; decided_by: string | null }
    onLate(decidedInWords(status, decided_by))
    setStep('review')
    void queries.invalidateQueries({ queryKey: ['approval', id] })
  }, [tooLate, onLate, queries, id])

  const isOwn = session?.principal.id === principal.id
  const hasApproved = approvedBy(approval).some(({ by }) => by.id === session?.principal.id)
  const canReject = !isOwn && !isHeld && !decide.busy
  const canApprove = canReject && !hasApproved

  useKeys(
    {
      a: () => canApprove && isArmed && decide.run({ approve: true }),
      r: () => canReject && setStep('reject'),
      e: () => canReject && setStep('edit'),
    },
    hasKeys && step === 'review',
  )

  if (step === 'edit') {
    return (
      <>
        <Edit
          approval={approval}
          busy={decide.busy}
          error={decide.error && <Refusal error={decide.error} id={id} />}
          onChange={() => decide.error && decide.reset()}
          onCancel={() => {
            decide.reset()
            setStep('review')
          }}
          onApprove={(input, reason) => decide.run({ approve: true, input, reason })}
        />
        {children}
      </>
    )
  }
  return (
    <>
      {args}
      {children}
      <div className="sticky bottom-0 z-10 -mx-4 space-y-2 border-t border-line bg-page px-4 py-3 lg:mx-0 lg:px-0">
        {isOwn && (
          <Note>
            {session?.principal.kind === 'user'
              ? 'You made this call.'
              : `You are signed in with the key that made this call, “${principal.name}”.`}{' '}
            Someone else must decide on it. You can withdraw it.
          </Note>
        )}
        {hasApproved && <Note>You approved this call. It needs two people, so someone else must approve it too.</Note>}
        <Refusal error={decide.error ?? withdraw.error} id={id} />
        <Row>
          <Button
            variant="main"
            icon="check"
            busy={decide.busy}
            disabled={!canApprove}
            {...(hasKeys && isArmed && { 'aria-keyshortcuts': 'a' })}
            onClick={() => decide.run({ approve: true })}
          >
            Approve <Key on={hasKeys}>a</Key>
          </Button>
          <Button disabled={!canReject} aria-keyshortcuts="e" onClick={() => setStep('edit')}>
            Edit <Key on={hasKeys}>e</Key>
          </Button>
          <Button variant="danger" disabled={!canReject} aria-keyshortcuts="r" onClick={() => setStep('reject')}>
            Reject <Key on={hasKeys}>r</Key>
          </Button>
          {isOwn && (
            <Button busy={withdraw.busy} onClick={() => withdraw.run()}>
              Withdraw
            </Button>
          )}
        </Row>
        {step === 'reject' && (
          <Reject
            action={action}
            busy={decide.busy}
            error={decide.error}
            id={id}
            onClose={() => setStep('review')}
            onReject={(reason) => decide.run({ approve: false, reason })}
          />
        )}
      </div>
    </>
  )
}

/** Whether the call has been on the screen for long enough to be approved with a key. */
function useArmed(): boolean {
  const [isArmed, setArmed] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setArmed(true), armingMs)
    return () => clearTimeout(timer)
  }, [])
  return isArmed
}

const Note = ({ children }: { children: ReactNode }) => (
  <p className="rounded-md bg-warn-wash px-3 py-2 text-sm text-warn">{children}</p>
)

const Key = ({ on, children }: { on: boolean; children: string }) =>
  on && (
    <span aria-hidden="true" className="hidden rounded-sm border border-current/40 px-1 font-mono text-xs lg:inline">
      {children}
    </span>
  )

function wordsFor({ status, action, approvals_needed }: Approval, verdict: Verdict): string {
  if (status === 'pending')
    return `You approved ${action}. It needs ${approvals_needed} people, so one more must approve it.`
  if (!verdict.approve) return `Rejected: ${action}. The caller was told${verdict.reason ? ' why' : ''}.`
  return verdict.input ? `Approved with changes: ${action}.` : `Approved: ${action}.`
}

/** Why a decision was not saved. */
function Refusal({ error, id }: { error: unknown; id: string }) {
  const queries = useQueryClient()
  const failure = error instanceof Failure ? error : undefined
  const reload = () => void queries.invalidateQueries({ queryKey: ['approval', id] })
  if (failure?.code === 'APPROVAL_CHANGED') {
    return (
      <div role="alert" className="space-y-2 rounded-md border border-warn/40 bg-warn-wash px-3 py-2 text-sm">
        <p>Someone changed the arguments after you opened them, so your decision was not saved.</p>
        <Button onClick={reload}>Show the current arguments</Button>
      </div>
    )
  }
  if (failure?.code === 'APPROVAL_DECIDED') return null
  return <ErrorNotice error={error} />
}

function Reject({
  action,
  busy,
  error,
  id,
  onClose,
  onReject,
}: {
  action: string
  busy: boolean
  error: unknown
  id: string
  onClose: () => void
  onReject: (reason: string) => void
}) {
  const [reason, setReason] = useState('')
  return (
    <Dialog open onClose={onClose} title={`Reject ${action}?`} description="Nothing is sent to the tool.">
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault()
          onReject(reason.trim())
        }}
      >
        <TextField
          label="Reason"
          autoFocus
          maxLength={2000}
          spellCheck
          value={reason}
          onChange={(event) => setReason(event.target.value)}
          hint="Shown to the caller, so that an agent can try something else"
        />
        <Refusal error={error} id={id} />
        <Row className="justify-end">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="danger" type="submit" busy={busy}>
            Reject
          </Button>
        </Row>
      </form>
    </Dialog>
  )
}
