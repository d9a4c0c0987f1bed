import type { CallRequest } from '../dispatch/call.ts'
import type { Json } from '../lib/json.ts'
import { didYouMean } from '../lib/nearest.ts'
import { knownError } from '../model/database-unavailable.ts'
import { errorBody, PlatformError } from '../model/errors.ts'
import type { Wait } from '../model/outcome.ts'
import { dataOf } from '../model/output-data.ts'
import type { Principal } from '../model/principal.ts'
import type { Output } from '../model/tool.ts'
import type { RunError } from '../model/workflow-run.ts'
import type { RunCall, StoredRun } from '../store/workflow-runs.ts'
import type { KnownAction } from '../tools/workflow/actions.ts'
import type { Advancing, CallProgress, RunDeps, RunWait } from './deps.ts'

export interface CallOptions {
  /** Whether this attempt has just written the row, so that no other can have started the call. */
  readonly isFresh: boolean
  readonly requiresApproval?: CallRequest['requiresApproval']
  /** The MCP endpoint of a program, whose approval settings apply to its calls. */
  readonly server?: CallRequest['server']
}

export const callRequestOf = (
  call: Pick<RunCall, 'call_id' | 'action' | 'tool_id' | 'input'>,
  { id: _, settings, call_id, depth, generation_id, agent_id }: StoredRun,
  principal: Principal,
): CallRequest => ({
  id: call.call_id,
  principal,
  surface: 'workflow',
  client: settings.client,
  toolId: call.tool_id ?? '',
  action: nameIn(call.action),
  input: call.input,
  parentCallId: call_id,
  depth: depth + 1,
  ...(generation_id !== null && agent_id !== null && { generation: { id: generation_id, agentId: agent_id } }),
  context: settings.context,
  home: settings.home ?? undefined,
  onWait: 'resume',
})

const nameIn = (action: string) => action.slice(action.indexOf(':') + 1)

/** Makes one call of the journal, or resumes it if it was started before, and writes the result to the journal. */
export async function makeCall(
  call: RunCall,
  { run, signals, principal }: Advancing,
  options: CallOptions,
  deps: RunDeps,
): Promise<CallProgress> {
  const { workflowRuns } = deps.store
  let made: CallProgress | undefined
  const finish = async (output: Json, isError: boolean): Promise<CallProgress> => {
    made = { call: withOutput(await workflowRuns.finishCall(call, output, isError)) }
    return made
  }
  const fail = (error: unknown) => finish(errorOf(error) as unknown as Json, true)

  const action = await deps.actions.findAction(run.project_id, call.action).catch((error: unknown) => error)
  if (action instanceof Error) return fail(action)
  const known = action as KnownAction | undefined
  const recorded = options.isFresh ? undefined : await recordedOutcome(call, known, deps)
  if (recorded === 'unknown') return fail(new PlatformError('OUTCOME_UNKNOWN', { action: call.action }))
  if (recorded && 'output' in recorded) return finish(recorded.output, recorded.isError)
  if (!known) return fail(await notFound(call.action, run.project_id, deps))
  if (!known.callable) return fail(new PlatformError('TOOL_CALL_NOT_SUPPORTED', { tool: call.action, type: 'client' }))
  const outcome = await deps.dispatch({
    ...callRequestOf({ ...call, tool_id: known.toolId }, run, await principal()),
    live: { signal: signals.cancel },
    server: options.server,
    ...(options.requiresApproval && { requiresApproval: options.requiresApproval }),
    ...(recorded && { begunAt: recorded.begunAt, awaited: call.awaits?.kind }),
    // Written before the call record, because the record is truncated and redacted.
    onOutput: async (output) =>
      void (await (output.failed ? fail(reported(call.action, output)) : finish(dataOf(output), false))),
  })
  if (outcome.kind === 'waiting') {
    await workflowRuns.suspendCall(run, call, outcome.on)
    return { call: { ...call, awaits: outcome.on }, wait: waitOf(outcome.on) }
  }
  if (made) return made
  if (outcome.kind === 'done') return finish(dataOf(outcome.output), false)
  if (signals.cancel.aborted) throw outcome.error
  return fail(outcome.error)
}

const withOutput = (call: RunCall): RunCall & { readonly output: Json } => ({ ...call, output: call.output ?? null })

/** A link to connect an account expires, too. The call is then made again, and gets another. */
const waitOf = (wait: Wait): RunWait => ({
  until: wait.kind === 'approval' || wait.kind === 'connection' ? wait.expiresAt + 1 : null,
})

const reported = (action: string, output: Output) =>
  new PlatformError('TOOL_REPORTED_ERROR', { action, output: dataOf(output) })

export async function notFound(action: string, projectId: string, { actions }: Pick<RunDeps, 'actions'>) {
  return new PlatformError('ACTION_NOT_FOUND', { action, hint: didYouMean(action, await actions.knownIds(projectId)) })
}

/** An error as the journal has it. What is not in the catalogue is a bug, and shown as `INTERNAL`. */
export const errorOf = (error: unknown): RunError =>
  errorBody(knownError(error) ?? new PlatformError('INTERNAL', {})).error as unknown as RunError

/**
 * How far the call got, if it was started before: by this process, when it was suspended, or by one that died. A call that
 * may have had its effect is repeated only if it is idempotent, or continues where it was.
 */
async function recordedOutcome(
  call: RunCall,
  action: KnownAction | undefined,
  { store, mayHaveRun }: RunDeps,
): Promise<undefined | 'unknown' | { begunAt: number } | { output: Json; isError: boolean }> {
  const record = await store.calls.find(call.call_id)
  if (!record) return undefined
  if (record.error) return { output: record.error as unknown as Json, isError: true }
  if (record.status !== 'pending') return { output: record.response, isError: record.status !== 'success' }
  const begunAt = Date.parse(record.created_at)
  if (call.awaits) return { begunAt }
  const isSafe = action?.idempotent === true || action?.resumable === true
  return isSafe || !(await mayHaveRun(call.call_id)) ? { begunAt } : 'unknown'
}
