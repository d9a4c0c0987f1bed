import type { z } from 'zod'
import { isTooDeep, type Json, type JsonObject } from '../lib/json.ts'
import { type ErrorCode, PlatformError } from '../model/errors.ts'
import type {
  Generation,
  GenerationDetail,
  GenerationResult,
  RequiredAction,
  Step,
  StepView,
} from '../model/generation.ts'
import { iso } from '../model/page.ts'
import { outputIn } from '../model/picture.ts'
import type { Run } from '../store/generations.ts'
import type { Journal, JournalCall } from '../store/journal.ts'

/** The state of a run, as the API returns it. */
export function resultOf(run: Run, pending: Pending): GenerationResult {
  const required = run.status === 'requires_action' ? requiredAction(pending) : undefined
  return {
    id: run.id,
    generation_id: run.id,
    agent_id: run.agent_id,
    trace_id: run.trace_id,
    status: run.status,
    stop_reason: run.stop_reason,
    ...(run.status === 'completed' && { output: outputOf(run) }),
    ...(required && { required_action: required }),
    ...(run.error && { error: run.error }),
    usage: run.usage,
  }
}

/** The error that a run failed with, as an error to throw. */
export function failureOf({ id, status, error }: GenerationResult): PlatformError | undefined {
  if (status !== 'failed' || !error) return undefined
  return new PlatformError(error.code as ErrorCode, { ...error.details, generation_id: id } as never)
}

const outputOf = ({ model, content, finish_reason }: Run) => ({ model, content: content ?? '', finish_reason })

/** What a run waits for from outside: outputs of client tools, approvals, and accounts. */
export type Pending = Pick<z.infer<typeof RequiredAction>, 'tool_calls'> & {
  readonly approvals: NonNullable<z.infer<typeof RequiredAction>['approvals']>
  readonly connections: NonNullable<z.infer<typeof RequiredAction>['connections']>
}

export const nothingPending: Pending = { tool_calls: [], approvals: [], connections: [] }

/** Decrypts the link of a call. */
export type OpenLink = (link: string, callId: string) => string | null

/** Covers the calls of one run, without those of the runs that it waits for. */
export function pendingOf(calls: readonly JournalCall[], openLink: OpenLink = () => null): Pending {
  const open = calls.filter(({ output }) => output === undefined)
  return {
    tool_calls: open.flatMap(({ tool_call_id, tool_name, awaits }) =>
      awaits?.kind === 'client' ? [{ tool_call_id, tool_name, args: awaits.input }] : [],
    ),
    approvals: open.flatMap(({ tool_call_id, tool_name, awaits }) =>
      awaits?.kind === 'approval'
        ? [{ approval_id: awaits.id, tool_call_id, tool_name, expires_at: iso(awaits.expiresAt) }]
        : [],
    ),
    connections: open.flatMap(({ call_id, tool_call_id, tool_name, awaits }) => {
      if (awaits?.kind !== 'connection') return []
      const { app, reason, link, expiresAt } = awaits
      return [
        { tool_call_id, tool_name, app, reason, connect_url: openLink(link, call_id), expires_at: iso(expiresAt) },
      ]
    }),
  }
}

const requiredAction = ({ tool_calls, approvals, connections }: Pending): z.infer<typeof RequiredAction> => ({
  type: tool_calls.length > 0 ? 'submit_tool_outputs' : approvals.length > 0 ? 'decide_approvals' : 'connect_accounts',
  tool_calls,
  ...(approvals.length > 0 && { approvals }),
  ...(connections.length > 0 && { connections }),
})

/** A run with its steps and calls. */
export function detailOf(run: Run, journal: Journal, pending: Pending = pendingOf(journal.calls)): GenerationDetail {
  const {
    attempt: _turn,
    depth: _depth,
    surface: _surface,
    client: _client,
    cancelRequested: _cancel,
    settings: _settings,
    content: _content,
    input,
    ...facts
  } = run
  const { output, required_action } = resultOf(run, pending)
  return {
    ...(facts satisfies Generation),
    input: input as unknown as Json[],
    ...(output && { output }),
    ...(required_action && { required_action }),
    step_list: journal.steps.map((step) => stepView(step, journal.calls)),
  }
}

export const stepView = (step: Step, calls: readonly JournalCall[]): StepView => ({
  number: step.number,
  model: step.model,
  text: step.text,
  reasoning: step.reasoning,
  finish_reason: step.finish_reason,
  usage:
    step.input_tokens === null || step.output_tokens === null
      ? null
      : { input_tokens: step.input_tokens, output_tokens: step.output_tokens, cost: step.cost },
  started_at: iso(step.started_at),
  answered_at: step.answered_at === null ? null : iso(step.answered_at),
  guide: step.guide,
  calls: calls.filter((call) => call.step === step.number).map(callView),
})

export const callView = (call: JournalCall): StepView['calls'][number] => ({
  call_id: call.call_id,
  tool_call_id: call.tool_call_id,
  tool_name: call.tool_name,
  tool_id: call.tool_id,
  action: call.action,
  args: readArgs(call),
  status: statusOf(call),
  output: call.output === undefined ? null : outputIn(call.output),
  approval_id: call.awaits?.kind === 'approval' ? call.awaits.id : null,
  generation_id: call.awaits?.kind === 'generation' ? call.awaits.id : null,
  started_at: iso(call.created_at),
  completed_at: call.completed_at === null ? null : iso(call.completed_at),
})

function statusOf({ output, is_error, awaits }: JournalCall): StepView['calls'][number]['status'] {
  if (output !== undefined) return is_error ? 'failed' : 'done'
  return awaits ? (`awaiting_${awaits.kind}` as const) : 'running'
}

/** The arguments that the model wrote, parsed if they are JSON. Presets are not included: only the tool receives them. */
function readArgs({ args }: JournalCall): Json {
  try {
    if (isTooDeep(args)) return args
    return args.trim() === '' ? ({} as JsonObject) : JSON.parse(args)
  } catch {
    return args
  }
}
