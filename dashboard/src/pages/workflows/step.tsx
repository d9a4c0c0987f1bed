import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { WorkflowCall, WorkflowStep } from '../../api.ts'
import { duration, plural } from '../../format.ts'
import { OutputView } from '../../ui/output.tsx'
import { JsonView } from '../../ui/text.tsx'
import { RunStatus } from './status.tsx'

const took = ({ started_at, completed_at }: { started_at: string | null; completed_at: string | null }): string =>
  started_at && completed_at ? duration(Date.parse(completed_at) - Date.parse(started_at)) : ''

/** A step of a run, with its calls. Steps that need attention are open. */
export function StepDetails({ step, actions }: { step: WorkflowStep; actions?: ReactNode }) {
  const { id, action, status, calls, error } = step
  const isOpen = status === 'failed' || status === 'waiting'
  return (
    <details className="border-b border-line px-4 py-2.5 last:border-0" open={isOpen}>
      <summary className="flex cursor-pointer flex-wrap items-center gap-x-3 gap-y-1">
        <span className="font-medium">{id}</span>
        <RunStatus status={status} />
        <code className="min-w-0 truncate font-mono text-xs text-soft">{action}</code>
        <span className="ml-auto text-xs text-soft tabular-nums">
          {calls.length > 1 && `${plural(calls.length, 'call')} · `}
          {took(step)}
        </span>
      </summary>
      <div className="mt-2 space-y-3">
        {error && (
          <p className="text-sm break-words">
            <span className="mr-2 font-mono text-xs font-semibold text-bad">{error.code}</span>
            {error.message}
          </p>
        )}
        {calls.map((call) => (
          <CallDetails key={call.call_id} call={call} hasItems={new Set(calls.map(({ item }) => item)).size > 1} />
        ))}
        {calls.length === 0 && step.output !== null && <OutputView value={step.output} />}
        {actions}
      </div>
    </details>
  )
}

/** One call of a step: what it got, what it returned, and its record. */
function CallDetails({ call, hasItems }: { call: WorkflowCall; hasItems: boolean }) {
  return (
    <section className="rounded-md border border-line p-3" aria-label={`Call of ${call.action}`}>
      <div className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-soft">
        {hasItems && <span className="tabular-nums">#{(call.item ?? 0) + 1}</span>}
        <RunStatus status={call.status} />
        <code className="font-mono">{call.action}</code>
        <span className="tabular-nums">{took(call)}</span>
        <span className="ml-auto flex gap-3">
          {call.approval_id && call.status === 'awaiting_approval' && (
            <a href={`/approvals/${call.approval_id}`} className="text-accent underline">
              Open approval
            </a>
          )}
          {call.run_id && (
            <Link to="/workflows/$runId" params={{ runId: call.run_id }} className="text-accent underline">
              Open run
            </Link>
          )}
          <Link to="/calls/$callId" params={{ callId: call.call_id }} className="text-accent underline">
            Call record
          </Link>
        </span>
      </div>
      <h3 className="mb-1 text-xs font-medium text-soft">Input</h3>
      <JsonView value={call.input} name="input.json" />
      {call.completed_at && (
        <>
          <h3 className="mt-3 mb-1 text-xs font-medium text-soft">{call.status === 'failed' ? 'Error' : 'Output'}</h3>
          <JsonView value={call.output} name="output.json" />
        </>
      )}
    </section>
  )
}
