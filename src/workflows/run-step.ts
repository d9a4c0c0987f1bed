import { ExpressionFailed, type Template } from '../expressions/template.ts'
import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import type { RunError } from '../model/workflow-run.ts'
import type { JournalStep, RunCall } from '../store/workflow-runs.ts'
import { stepBudget } from '../tools/workflow/language.ts'
import type { ProgramEvent, ProgramStep } from '../tools/workflow/program.ts'
import { sampleOf } from '../tools/workflow/sample.ts'
import { type Advancing, Cancelled, type RunDeps, type RunWait } from './deps.ts'
import { errorOf, makeCall } from './make-call.ts'

/** The variables of expressions. */
export interface Variables {
  readonly input: JsonObject
  readonly steps: JsonObject
}

/** The step is over, or the run has to wait. */
export type StepProgress =
  | { readonly step: JournalStep; readonly waits?: undefined; readonly item?: number | undefined }
  | { readonly waits: readonly RunWait[] }

const maxItems = 1000

/** Advances one step of a workflow as far as possible. Whatever was done before is in the journal. */
export async function runStep(
  step: ProgramStep,
  variables: Variables,
  advancing: Advancing,
  deps: RunDeps,
): Promise<StepProgress> {
  const { journal, run } = advancing
  const before = journal.steps.find((one) => one.step === step.id)
  const startedAt = before?.started_at ?? Date.now()
  const over = (result: Pick<JournalStep, 'status'> & Partial<JournalStep>, item?: number): StepProgress => ({
    step: {
      step: step.id,
      wait_until: null,
      started_at: startedAt,
      completed_at: Date.now(),
      error: null,
      output: null,
      ...result,
    },
    item,
  })
  try {
    if (step.if && !isTrue(step.if, variables)) return over({ status: 'skipped' })
    const wait = async (until: number | null): Promise<StepProgress> => {
      const waiting = { step: step.id, status: 'waiting' as const, wait_until: until, started_at: startedAt }
      if (!before)
        await deps.store.workflowRuns.writeStep(run, { ...waiting, completed_at: null, error: null, output: null })
      return { waits: [{ until }] }
    }
    if (step.event) return await runEvent(step, step.event, variables, advancing, deps, { before, over, wait })
    const until = before?.wait_until ?? timeOf(step, variables)
    if (until !== undefined && until > Date.now() && !run.dry_run) return await wait(until)
    if (step.call === undefined) return over({ status: 'done' })
    return await runItems(step, step.call, variables, advancing, deps, over)
  } catch (error) {
    if (!(error instanceof ExpressionFailed)) throw error
    return over({ status: 'failed', error: failedExpression(error) })
  }
}

export const failedExpression = ({ path, expression, message }: ExpressionFailed): RunError =>
  errorOf(new PlatformError('EXPRESSION_FAILED', { path, expression, reason: message }))

const placeOf = ({ value, places: [place] }: Template) => ({
  path: place?.path ?? '',
  text: place?.text ?? JSON.stringify(value),
})

const invalid = (template: Template, reason: string) => new ExpressionFailed(placeOf(template), new Error(reason))

const evaluated = (template: Template, variables: Variables, more: object = {}): Json | undefined =>
  template.evaluate({ item: null, index: null, error: null, ...variables, ...more }, stepBudget())

function isTrue(condition: Template, variables: Variables): boolean {
  const result = evaluated(condition, variables)
  if (typeof result !== 'boolean') throw invalid(condition, 'it returned neither true nor false')
  return result
}

function timeAfter(seconds: Template, variables: Variables): number {
  const value = evaluated(seconds, variables)
  if (typeof value !== 'number' || value < 0) throw invalid(seconds, 'it must return a number of seconds')
  return Date.now() + value * 1000
}

/** The time until which the step waits. */
function timeOf({ seconds, until }: ProgramStep, variables: Variables): number | undefined {
  if (seconds) return timeAfter(seconds, variables)
  if (!until) return undefined
  const value = evaluated(until, variables)
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  if (Number.isNaN(time)) throw invalid(until, 'it must return a time such as 2026-12-31T09:00:00Z')
  return time
}

interface StepEnds {
  readonly before: JournalStep | undefined
  over(result: Pick<JournalStep, 'status'> & Partial<JournalStep>): StepProgress
  wait(until: number | null): Promise<StepProgress>
}

/** A step that waits for an event. The event may have arrived before the step is reached. */
async function runEvent(
  { id, onError }: ProgramStep,
  { name, data, timeout }: ProgramEvent,
  variables: Variables,
  { run }: Advancing,
  { store }: RunDeps,
  { before, over, wait }: StepEnds,
): Promise<StepProgress> {
  if (run.dry_run) return over({ status: 'simulated', output: sampleOf(data ?? {}) })
  const event = await store.workflowRuns.takeEvent(run, id, name)
  if (event) return over({ status: 'done', output: event.data })
  const until = before ? before.wait_until : timeout ? timeAfter(timeout, variables) : null
  if (until === null || until > Date.now()) return wait(until)
  const error = errorOf(new PlatformError('EVENT_TIMEOUT', { event: name }))
  if (onError === 'continue') return over({ status: 'done', error })
  if (typeof onError === 'string' || !('output' in onError)) return over({ status: 'failed', error })
  return over({ status: 'done', error, output: evaluated(onError.output, variables, { error }) ?? null })
}

type ItemResult = { readonly value: Json } | { readonly error: RunError } | { readonly wait: RunWait }

async function runItems(
  step: ProgramStep,
  call: string,
  variables: Variables,
  advancing: Advancing,
  deps: RunDeps,
  over: (result: Pick<JournalStep, 'status'> & Partial<JournalStep>, item?: number) => StepProgress,
): Promise<StepProgress> {
  const { forEach } = step
  const items = forEach ? await deps.turns.use(() => itemsOf(forEach, variables)) : [null]
  const results: (ItemResult | undefined)[] = items.map(() => undefined)
  const faults: unknown[] = []
  let next = 0
  let isStopped = false
  // A call that waits keeps its place, so that no more than `concurrency` are ever begun.
  const work = async (): Promise<void> => {
    while (next < items.length && !isStopped) {
      const index = next++
      const item = step.forEach ? { item: items[index] ?? null, index } : {}
      const result = await runItem(step, call, index, variables, item, advancing, deps)
      results[index] = result
      if ('wait' in result) return
      if ('error' in result && step.onError !== 'continue' && !hasFallback(step)) isStopped = true
    }
  }
  const workers = Array.from({ length: Math.min(step.concurrency, items.length) }, () =>
    work().catch((fault: unknown) => {
      isStopped = true
      faults.push(fault)
    }),
  )
  await Promise.all(workers)
  if (faults.length > 0) throw faults[0]
  const waits = results.flatMap((result) => (result && 'wait' in result ? [result.wait] : []))
  const failed = results.findIndex((result) => result && 'error' in result)
  if (waits.length > 0 && !isStopped) return { waits }
  const error = failed < 0 ? null : (results[failed] as { error: RunError }).error
  const item = step.forEach && failed >= 0 ? failed : undefined
  if (error && isStopped) return over({ status: 'failed', error }, item)
  const outputs = results.map((result, index) => outputOf(result, index, step, variables, items))
  const status = advancing.run.dry_run && (await isSimulated(call, advancing, deps)) ? 'simulated' : 'done'
  return over({ status, error, output: step.forEach ? outputs : (outputs[0] ?? null) })
}

const hasFallback = ({ onError }: ProgramStep): boolean => typeof onError === 'object' && 'output' in onError

function outputOf(
  result: ItemResult | undefined,
  index: number,
  { onError, forEach }: ProgramStep,
  variables: Variables,
  items: readonly Json[],
): Json {
  if (result && 'value' in result) return result.value
  if (!result || !('error' in result) || typeof onError === 'string' || !('output' in onError)) return null
  const error = result.error as unknown as Json
  const item = forEach ? { item: items[index] ?? null, index } : {}
  return evaluated(onError.output, variables, { error, ...item }) ?? null
}

function itemsOf(forEach: Template, variables: Variables): readonly Json[] {
  const list = evaluated(forEach, variables)
  if (!Array.isArray(list)) throw invalid(forEach, 'it did not return a list')
  if (list.length > maxItems) throw invalid(forEach, `it returned ${list.length} items; the limit is ${maxItems}`)
  return list
}

const isSimulated = async (call: string, { run }: Advancing, { actions }: RunDeps): Promise<boolean> =>
  (await actions.findAction(run.project_id, call))?.readOnly !== true

async function runItem(
  step: ProgramStep,
  action: string,
  item: number,
  variables: Variables,
  more: object,
  advancing: Advancing,
  deps: RunDeps,
): Promise<ItemResult> {
  const { run } = advancing
  if (run.dry_run) {
    const known = await deps.actions.findAction(run.project_id, action)
    if (known && !known.readOnly) {
      evaluated(step.input, variables, more)
      return { value: sampleOf(known.outputSchema ?? {}) }
    }
  }
  const rows = advancing.journal.calls.filter((one) => one.step === step.id && one.item === item)
  // Failures from before someone resumed the run do not count.
  const past = rows.filter((one) => one.is_error && one.created_at < run.reopenedAt)
  let last: RunCall | undefined = rows.findLast((one) => !past.includes(one))
  let tries = rows.length - past.length
  const approval = step.approval && {
    id: run.id,
    name: run.name,
    ...(step.approval.reason && { reason: step.approval.reason }),
  }
  let isFresh = false
  for (;;) {
    if (!last) {
      const input = await deps.turns.use(() => evaluated(step.input, variables, more))
      const attempt = past.length + tries
      last = await begin({ step: step.id, item, attempt, action, input: isObject(input) ? input : {} }, advancing, deps)
      isFresh = true
      tries++
    }
    if (last.output === undefined) {
      const made = await makeCall(last, advancing, { isFresh, requiresApproval: approval || undefined }, deps)
      if (made.wait) return { wait: made.wait }
      last = made.call
    }
    if (!last.is_error) return { value: last.output ?? null }
    const error = last.output as unknown as RunError
    if (tries > step.retry.attempts || !isRetryable(error)) return { error }
    const until = (last.completed_at ?? 0) + step.retry.delayMs * 2 ** (tries - 1)
    if (until > Date.now()) return { wait: { until } }
    last = undefined
  }
}

export async function begin(
  { step, item, attempt, action, input }: Pick<RunCall, 'step' | 'item' | 'attempt' | 'action' | 'input'>,
  { run, signals }: Advancing,
  deps: RunDeps,
): Promise<RunCall> {
  if (signals.cancel.aborted) throw new Cancelled()
  signals.stop.throwIfAborted()
  const owner = await deps.actions.findOwner(run.project_id, action)
  const { call, isWanted } = await deps.store.workflowRuns.beginCall(run, {
    ...{ step, item, attempt, action, input },
    call_id: newId('call'),
    tool_id: owner?.toolId ?? null,
    created_at: Date.now(),
  })
  if (!isWanted) throw new Cancelled()
  return call
}

/** Whether the same call could succeed later. A call whose outcome is unknown is never repeated. */
const isRetryable = ({ code }: RunError): boolean => !notRetryable.has(code)

const notRetryable = new Set([
  ...['OUTCOME_UNKNOWN', 'VALIDATION_FAILED', 'FORBIDDEN', 'ACTION_NOT_FOUND', 'TOOL_CALL_NOT_SUPPORTED'],
  ...['APPROVAL_REJECTED', 'APPROVAL_EXPIRED', 'APPROVAL_CANCELLED', 'APPROVAL_STALE', 'APPROVAL_USED'],
  ...['CALL_TOO_DEEP', 'CONNECTION_REQUIRED', 'WORKFLOW_CANCELLED', 'KEY_GONE', 'ACTION_WITHHELD'],
])
