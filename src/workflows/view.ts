import { redact } from '../dispatch/redact.ts'
import type { Json } from '../lib/json.ts'
import { iso } from '../model/page.ts'
import type { StepStatus, WorkflowRunDetail } from '../model/workflow-run.ts'
import type { JournalStep, RunCall, RunJournal, StoredRun } from '../store/workflow-runs.ts'

/** A run with its steps and calls, as the API shows it. */
export function detailOf(run: StoredRun, { steps, calls }: RunJournal): WorkflowRunDetail {
  const {
    attempt: _,
    depth: _d,
    agent_id: _a,
    cancelRequested: _c,
    reopenedAt: _r,
    settings,
    input,
    output,
    ...facts
  } = run
  const { steps: defined = [{ id: 'program' }] } = settings.definition as { steps?: DefinedStep[] }
  return {
    ...facts,
    definition: redacted(settings.definition),
    input: redacted(input),
    output: redacted(output),
    steps: defined.map(({ id, call }) => stepView(id, call, steps, calls)),
    pending_approvals: calls.flatMap(({ step, awaits, output: given }) =>
      given === undefined && awaits?.kind === 'approval'
        ? [{ approval_id: awaits.id, step, expires_at: iso(awaits.expiresAt) }]
        : [],
    ),
    awaited_events: steps.flatMap(({ step, status, wait_until }) => {
      const event = defined.find(({ id }) => id === step)?.wait_for?.event
      if (status !== 'waiting' || event === undefined) return []
      return [{ name: event, step, expires_at: wait_until === null ? null : iso(wait_until) }]
    }),
  }
}

interface DefinedStep {
  readonly id: string
  readonly call?: string
  readonly wait_for?: { readonly event?: string }
}

const redacted = (value: Json): Json => JSON.parse(redact(JSON.stringify(value ?? null)))

function stepView(
  id: string,
  action: string | undefined,
  steps: readonly JournalStep[],
  calls: readonly RunCall[],
): WorkflowRunDetail['steps'][number] {
  const step = steps.find((one) => one.step === id)
  const own = calls.filter((call) => call.step === id || call.step === `${id}.on_error`)
  const [first] = own
  return {
    id,
    action: action ?? null,
    status: step?.status ?? openStatus(own),
    output: redacted(step?.output ?? null),
    error: step?.error ?? null,
    started_at: step ? iso(step.started_at) : first ? iso(first.created_at) : null,
    completed_at: step?.completed_at ? iso(step.completed_at) : null,
    calls: own.map(callView),
  }
}

const openStatus = (calls: readonly RunCall[]): StepStatus => {
  if (calls.length === 0) return 'pending'
  return calls.some(({ output, awaits }) => output === undefined && awaits) ? 'waiting' : 'running'
}

const callView = (call: RunCall): WorkflowRunDetail['steps'][number]['calls'][number] => ({
  call_id: call.call_id,
  item: call.item,
  attempt: call.attempt,
  action: call.action,
  status: statusOf(call),
  approval_id: call.awaits?.kind === 'approval' ? call.awaits.id : null,
  run_id: call.awaits?.kind === 'workflow' ? call.awaits.id : null,
  input: redacted(call.input),
  output: redacted(call.output ?? null),
  started_at: iso(call.created_at),
  completed_at: call.completed_at === null ? null : iso(call.completed_at),
})

function statusOf({ output, is_error, awaits }: RunCall) {
  if (output !== undefined) return is_error ? ('failed' as const) : ('done' as const)
  if (!awaits || awaits.kind === 'client') return 'running' as const
  return `awaiting_${awaits.kind}` as const
}
