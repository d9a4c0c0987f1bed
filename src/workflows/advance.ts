import type { Authenticator } from '../access/authenticator.ts'
import { ExpressionFailed } from '../expressions/template.ts'
import type { Json } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import { asCaller } from '../model/mode.ts'
import type { Principal } from '../model/principal.ts'
import type { RunError } from '../model/workflow-run.ts'
import { AttemptSuperseded } from '../store/attempt.ts'
import type { JournalStep, RunEnd, StoredRun } from '../store/workflow-runs.ts'
import { Workflow } from '../tools/workflow/definition.ts'
import { stepBudget } from '../tools/workflow/language.ts'
import { checkedProgram, type Program, type ProgramStep } from '../tools/workflow/program.ts'
import { type Advancing, Cancelled, type RunDeps, type RunWait, type Signals } from './deps.ts'
import { callRequestOf, errorOf, makeCall } from './make-call.ts'
import { begin, failedExpression, runStep, type Variables } from './run-step.ts'

/*
 * A run is a row (`workflow_runs`) and a journal of steps and calls. Its states:
 *
 *     running ◀──rest / take──▶ waiting
 *        │                         │
 *        └──▶ completed, failed, cancelled ◀┘
 *
 * - `running`: its job is queued or running.
 * - `waiting`: every call that can be made has been made, and at least one waits for an approval, another run or a time.
 *   No process holds anything for it. A decision, the end of the other run or a deadline enqueues its job.
 * - `completed`, `failed`, `cancelled`: it is over. A failed or cancelled run can be opened again.
 *
 * Each attempt to advance a run increments its attempt number. Writes of an older attempt fail with `AttemptSuperseded`.
 */

/** What an attempt has led to: the end of the run, or what it waits for. */
export type Progress = { readonly end: RunEnd } | { readonly waits: readonly RunWait[] }

export type Advance = (advancing: Advancing, deps: RunDeps) => Promise<Progress>

/**
 * Advances a run until it ends or has to wait. All state is in the journal, so it does not matter which process worked on
 * the run before, or how that ended. Undefined if the run was over already or another attempt took over.
 */
export async function advance(
  id: string,
  signals: Signals,
  kinds: Readonly<Record<string, Advance>>,
  deps: RunDeps,
): Promise<{ readonly run: StoredRun; readonly wakeAt?: number | null } | undefined> {
  const run = await deps.store.workflowRuns.take(id)
  if (!run) return undefined
  try {
    const progress = await progressOf(run, signals, kinds[run.kind] as Advance, deps)
    if ('waits' in progress) {
      const times = progress.waits.flatMap(({ until }) => until ?? [])
      const wakeAt = times.length > 0 ? Math.min(...times) : null
      await deps.store.workflowRuns.rest(run, wakeAt)
      return { run, wakeAt }
    }
    if (progress.end.status !== 'completed') await cancelOpenCalls(run, deps)
    await deps.store.workflowRuns.end(run, progress.end)
    return { run }
  } catch (error) {
    if (error instanceof AttemptSuperseded) return undefined
    throw error
  }
}

async function progressOf(run: StoredRun, signals: Signals, kind: Advance, deps: RunDeps): Promise<Progress> {
  try {
    if (run.cancelRequested) throw new Cancelled()
    const journal = await deps.store.workflowRuns.journal(run.id)
    const advancing: Advancing = { run, signals, journal, principal: () => principalOf(run, deps.authenticator) }
    if (run.attempt > 1) await repair(advancing, deps)
    return await kind(advancing, deps)
  } catch (error) {
    if (error instanceof AttemptSuperseded) throw error
    const isCancelled = error instanceof Cancelled || signals.cancel.aborted
    if (isCancelled) return { end: { status: 'cancelled', error: cancelledError(run), output: null } }
    // Not an end of the run: the next attempt finds everything in the journal.
    if (signals.stop.aborted) throw error
    if (!(error instanceof PlatformError) && deps.mayRetry(run)) throw error
    return { end: { status: 'failed', error: errorOf(error), output: null } }
  }
}

const cancelledError = ({ name, id }: StoredRun): RunError =>
  errorOf(new PlatformError('WORKFLOW_CANCELLED', { workflow: name, run_id: id }))

/** The steps of a workflow, in their order. */
export const advanceWorkflow: Advance = async (advancing, deps) => {
  const { run, journal } = advancing
  const program = programFor(run)
  const steps: Record<string, Json> = {}
  const variables: Variables = { input: run.input, steps }
  for (const step of program.steps) {
    const before = journal.steps.find((one) => one.step === step.id && one.completed_at !== null)
    const progress = before ? { step: before } : await runStep(step, variables, advancing, deps)
    if (!('step' in progress)) return { waits: progress.waits }
    const done = progress.step
    if (!before && done.status !== 'failed') await deps.store.workflowRuns.writeStep(run, done)
    if (done.status === 'failed')
      return fail(step, done, variables, 'item' in progress ? progress.item : undefined, advancing, deps)
    steps[step.id] = stepValue(done)
  }
  return { end: endOf(program, variables, run) }
}

const stepValue = ({ output, error, status }: JournalStep): Json => ({ output, error: error as Json, status })

function endOf({ steps, output }: Program, variables: Variables, run: StoredRun): RunEnd {
  const last = variables.steps[steps.at(-1)?.id ?? ''] as { output?: Json } | undefined
  if (!output) return { status: 'completed', error: null, output: last?.output ?? null }
  try {
    const value = output.evaluate({ ...variables, item: null, index: null, error: null }, stepBudget())
    return { status: 'completed', error: null, output: value ?? null }
  } catch (error) {
    if (!(error instanceof ExpressionFailed)) throw error
    return { status: 'failed', error: failure(run, 'output', failedExpression(error)), output: null }
  }
}

/** Ends the run because of a step, after the call that undoes earlier steps, if there is one. */
async function fail(
  step: ProgramStep,
  failed: JournalStep,
  variables: Variables,
  item: number | undefined,
  advancing: Advancing,
  deps: RunDeps,
): Promise<Progress> {
  const { run } = advancing
  const error = failed.error as RunError
  const undone = await compensate(step, error, variables, advancing, deps)
  if (undone && 'wait' in undone) return { waits: [undone.wait] }
  await deps.store.workflowRuns.writeStep(run, failed)
  const end = failure(run, step.id, error, item)
  const details = undone
    ? { ...end.details, compensation: undone.error ? (undone.error as unknown as Json) : 'done' }
    : end.details
  return { end: { status: 'failed', error: { ...end, details }, output: null } }
}

async function compensate(
  { id, onError }: ProgramStep,
  error: RunError,
  variables: Variables,
  advancing: Advancing,
  deps: RunDeps,
): Promise<{ wait: RunWait } | { error: RunError | null } | undefined> {
  if (typeof onError === 'string' || !('call' in onError)) return undefined
  const step = `${id}.on_error`
  const known = advancing.journal.calls.find(
    (call) => call.step === step && call.created_at >= advancing.run.reopenedAt,
  )
  const attempt = advancing.journal.calls.filter((call) => call.step === step).length
  try {
    const all = { ...variables, item: null, index: null, error }
    const input = onError.input.evaluate(all, stepBudget()) as StoredRun['input']
    const call = known ?? (await begin({ step, item: 0, attempt, action: onError.call, input }, advancing, deps))
    const made =
      known?.output !== undefined ? { call: known } : await makeCall(call, advancing, { isFresh: !known }, deps)
    if ('wait' in made && made.wait) return { wait: made.wait }
    return { error: made.call.is_error ? (made.call.output as unknown as RunError) : null }
  } catch (fault) {
    if (!(fault instanceof ExpressionFailed)) throw fault
    return { error: failedExpression(fault) }
  }
}

const failure = (run: StoredRun, step: string, { code, message }: RunError, item?: number): RunError =>
  errorOf(
    new PlatformError('WORKFLOW_FAILED', {
      ...{ workflow: run.name, step, run_id: run.id, code, reason: message },
      ...(item !== undefined && { item }),
    }),
  )

/** Keyed by the text, because each attempt reads its own copy of the definition. */
const programs = new Map<string, Program>()

function programFor({ settings }: StoredRun): Program {
  const text = JSON.stringify(settings.definition)
  let program = programs.get(text)
  if (!program) {
    if (programs.size >= 200) programs.clear()
    program = checkedProgram(Workflow.parse(settings.definition))
    programs.set(text, program)
  }
  return program
}

/** The principal that started the run, with its current permissions and the limits it had then. */
export async function principalOf(
  { started_by, project_id, settings }: StoredRun,
  authenticator: Authenticator,
): Promise<Principal> {
  const principal = await authenticator.principal(started_by.id)
  if (!principal) {
    const kind = started_by.id.startsWith('usr_') ? { kind: 'user' as const } : {}
    throw new PlatformError('KEY_GONE', { name: started_by.name, ...kind })
  }
  const { boundaries, caller, end_user_id, scopes } = settings
  const { token } = principal
  return {
    ...asCaller(principal, caller),
    projectId: project_id,
    boundaries,
    endUserId: end_user_id,
    ...(token && scopes && { token: { ...token, scopes: token.scopes.filter((scope) => scopes.includes(scope)) } }),
  }
}

/** Completes the records of calls whose output is in the journal only, because a crash came in between. */
async function repair({ run, journal, principal }: Advancing, { store, conclude }: RunDeps): Promise<void> {
  const last = journal.calls.at(-1)
  const recent = journal.calls.filter((call) => call.step === last?.step && call.output !== undefined)
  const known = recent.filter(
    ({ output, is_error }) => !(is_error && (output as unknown as RunError).code === 'OUTCOME_UNKNOWN'),
  )
  const records = await store.calls.findMany(known.map(({ call_id }) => call_id))
  const pending = new Set(records.filter(({ status }) => status === 'pending').map(({ id }) => id))
  for (const call of known.filter(({ call_id }) => pending.has(call_id))) {
    const request = { ...callRequestOf(call, run, await principal()), begunAt: call.created_at }
    const value = call.output as Json
    await conclude(request, { value, text: JSON.stringify(value), shape: 'json', failed: call.is_error })
  }
}

/** Closes what a run that ends early leaves open: approvals, the runs it started, and their records. */
async function cancelOpenCalls(run: StoredRun, deps: RunDeps): Promise<void> {
  const { store, authenticator, conclude } = deps
  const { calls } = await store.workflowRuns.journal(run.id)
  const open = calls.filter(({ output }) => output === undefined)
  if (open.length === 0) return
  const principal = await principalOf(run, authenticator).catch(() => undefined)
  for (const call of open) {
    if (call.awaits?.kind === 'approval') await store.approvals.cancel({ id: call.awaits.id })
    const started = await store.workflowRuns.findByCall(call.call_id)
    if (started) await deps.cancel(started.id)
    if (call.awaits === null || call.awaits.kind === 'approval' || !principal) continue
    const [record] = await store.calls.findMany([call.call_id])
    if (record?.status !== 'pending') continue
    const request = { ...callRequestOf(call, run, principal), begunAt: call.created_at }
    await conclude(request, new PlatformError('CALL_CANCELLED', {}))
  }
}
