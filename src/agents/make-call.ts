import type { Catalogue } from '../catalogue/catalogue.ts'
import type { CallRequest } from '../dispatch/call.ts'
import { recordAttempt } from '../dispatch/rejected-call.ts'
import { wholeSlice } from '../lib/characters.ts'
import { excessOf, isObject, type Json, type JsonObject } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import { isOver } from '../model/generation.ts'
import type { StepGuide } from '../model/guide.ts'
import type { ConnectionWait, Outcome, Wait } from '../model/outcome.ts'
import type { Principal } from '../model/principal.ts'
import { done, type Output } from '../model/tool.ts'
import type { Run } from '../store/generations.ts'
import type { JournalCall } from '../store/journal.ts'
import type { Store } from '../store/store.ts'
import { builtInTools, offeredTools } from './offered.ts'
import { errorForModel, outputForModel } from './output.ts'
import { failureOf, nothingPending, resultOf } from './result.ts'
import type { Toolbox } from './toolbox.ts'
import type { TurnHooks } from './turn.ts'

export interface CallDeps {
  readonly store: Store
  readonly catalogue: Catalogue
  dispatch(request: CallRequest): Promise<Outcome>
  conclude(request: CallRequest, outcome: Output | PlatformError): Promise<void>
  /** How long a run waits for the outputs of client tools, in milliseconds. */
  readonly outputMs: number
  /** Whether a call that was started may have had its effect: it needed no approval, or its approval was used. */
  mayHaveRun(callId: string): Promise<boolean>
  readonly turns: Pick<TurnHooks, 'builtIn'>
}

interface CallStep {
  readonly run: Run
  readonly principal: Principal
  readonly toolbox: Toolbox
  readonly signal: AbortSignal
  /** Ids of calls that this attempt has just written to the journal, so no other attempt can have started them. */
  readonly fresh: ReadonlySet<string>
  readonly guide: StepGuide | null
}

export function callRequestOf(
  call: JournalCall,
  { run, principal }: Pick<CallStep, 'run' | 'principal'>,
  input: JsonObject,
): CallRequest {
  return {
    id: call.call_id,
    principal,
    surface: 'agent',
    client: run.client,
    toolId: call.tool_id as string,
    action: call.action ?? undefined,
    input,
    parentCallId: run.parent_call_id,
    depth: run.depth,
    generation: { id: run.id, agentId: run.agent_id },
    viaAgent: true,
    context: run.settings.tool_context,
    onWait: 'resume',
  }
}

/** When the output of a client tool is due. */
export const outputDeadline = ({ awaits, created_at }: JournalCall, outputMs: number): number =>
  (awaits?.kind === 'client' ? awaits.expiresAt : undefined) ?? created_at + outputMs

const isLate = (call: JournalCall, { outputMs }: Pick<CallDeps, 'outputMs'>): boolean =>
  call.awaits?.kind === 'client' && outputDeadline(call, outputMs) <= Date.now()

/** Throws if the output of a client tool is overdue. Checked first, so that none of the other calls is made. */
export async function requireInTime(calls: readonly JournalCall[], deps: CallDeps): Promise<void> {
  for (const call of calls.filter((one) => isLate(one, deps))) {
    // It may have arrived since the journal was read.
    const { output, tool_call_id, tool_name } = await deps.store.journals.findCall(call)
    if (output === undefined) throw new PlatformError('OUTPUTS_EXPIRED', { tool_call_id, tool_name })
  }
}

/** A call with its output from the journal, or with what it waits for. */
export type CallProgress = { readonly call: JournalCall; readonly waits?: Wait }

/** Makes one call of the journal, or resumes it if it was started before, and writes the result to the journal. */
export async function makeCall(call: JournalCall, step: CallStep, deps: CallDeps): Promise<CallProgress> {
  const { run, signal } = step
  const { generations, journals } = deps.store
  let made: CallProgress | undefined
  const give = async (output: Json, isError: boolean): Promise<CallProgress> => {
    const given = { ...call, output, is_error: isError }
    // The first output wins: an earlier attempt at this run may have written one.
    made = { call: (await journals.finishCall(call, output, isError)) ? given : await journals.findCall(call) }
    return made
  }

  if (call.awaits?.kind === 'client') {
    const now = isLate(call, deps) ? await journals.findCall(call) : call
    return now.output === undefined ? { call, waits: call.awaits } : { call: now }
  }
  if (call.awaits?.kind === 'generation') {
    const started = await generations.find(call.awaits.id)
    if (started && !isOver(started.status)) return { call, waits: call.awaits }
    if (started) return finishFromRun(call, started, give, step, deps)
  }
  const builtIn = step.guide && isBuiltIn(call) ? deps.turns.builtIn(run, call, step.guide) : undefined
  const recorded = await recordedOutcome(call, step, deps)
  if (recorded === 'unknown') {
    return give(errorForModel(new PlatformError('OUTCOME_UNKNOWN', { action: call.tool_name })), true)
  }
  if (recorded && 'output' in recorded) return give(recorded.output, recorded.isError)
  // Skip the check for a call that was started: its tool was active then, and later settings do not apply to it.
  const input = builtIn?.input ?? (recorded ? undefined : refusalOf(call, step)) ?? inputOf(call)
  if (input instanceof PlatformError) {
    await recordRefused(call, step, input, deps)
    return give(errorForModel(input), true)
  }
  const outcome = await deps.dispatch({
    ...callRequestOf(call, step, input),
    ...(builtIn && { builtIn: builtIn.tool, toolId: builtIn.tool.tool.id, action: undefined }),
    live: { signal },
    ...(recorded && { begunAt: recorded.begunAt, awaited: call.awaits?.kind }),
    // Written before the call record, because the record is truncated and redacted.
    onOutput: async (output) => void (await give(outputForModel(output), output.failed)),
  })
  if (outcome.kind === 'done') return made as CallProgress
  if (outcome.kind === 'waiting') {
    const { on } = outcome
    if (on.kind === 'connection' && call.created_at + deps.outputMs <= Date.now()) {
      return giveUp(on, { call, step, give, isBegun: recorded !== undefined }, deps)
    }
    const until = on.kind === 'client' ? { ...on, expiresAt: Date.now() + deps.outputMs } : on
    await journals.suspendCall(run, call, until)
    return { call: { ...call, awaits: until }, waits: until }
  }
  if (signal.aborted) throw outcome.error
  return made ?? give(errorForModel(outcome.error), true)
}

/** Nobody has connected the account in all this time. The model is told, and can go on without it. */
async function giveUp(
  { app, reason }: ConnectionWait,
  { call, step, give, isBegun }: Pick<CallParts, 'give'> & { call: JournalCall; step: CallStep; isBegun: boolean },
  { conclude }: CallDeps,
): Promise<CallProgress> {
  const error = new PlatformError('CONNECTION_REQUIRED', { app, reason, connect_url: null, expires_at: null })
  const made = await give(errorForModel(error), true)
  await conclude({ ...callRequestOf(call, step, {}), ...(isBegun && { begunAt: call.created_at }) }, error)
  return made
}

interface CallParts {
  give(output: Json, isError: boolean): Promise<CallProgress>
}

/**
 * The run that this call started is over, and its result becomes the output of the call. The call is not dispatched again:
 * the agent may have been deleted, and if another call started the run, that one would start a second run.
 */
async function finishFromRun(
  call: JournalCall,
  started: Run,
  give: (output: Json, isError: boolean) => Promise<CallProgress>,
  step: CallStep,
  { conclude }: CallDeps,
): Promise<CallProgress> {
  const result = resultOf(started, nothingPending)
  const failure = failureOf(result)
  const output = done(JSON.parse(JSON.stringify(result)) as Json)
  const made = await (failure ? give(errorForModel(failure), true) : give(output.value, false))
  const request = { ...callRequestOf(call, step, {}), begunAt: call.created_at }
  // Close its own record, and that of the call in between.
  for (const id of new Set([call.call_id, started.parent_call_id ?? call.call_id])) {
    await conclude({ ...request, id }, failure ?? output)
  }
  return made
}

/** Built-in tools have no record, so they have no tool id. */
const isBuiltIn = ({ tool_id, action }: JournalCall): boolean => tool_id === null && action !== null

/** How many tool names the error lists when a model calls an unavailable tool. */
const maxNames = 50

/** Why the model cannot call this now: the agent has no such tool, or it is not active in this step. */
function refusalOf(
  { tool_id, tool_name, step }: JournalCall,
  { toolbox, run, guide }: Pick<CallStep, 'toolbox' | 'run' | 'guide'>,
): PlatformError | undefined {
  const offered = [
    ...(guide?.last ? [] : offeredTools(step, run, toolbox, guide)).map(({ name }) => name),
    ...builtInTools(guide).map(({ name }) => name),
  ]
  const active = offered.slice(0, maxNames)
  if (tool_id === null)
    return new PlatformError('UNKNOWN_TOOL', { tool_name: wholeSlice(tool_name, 200), known: active })
  // A tool that is missing from the toolbox is reported by dispatch.
  if (offered.includes(tool_name) || !toolbox.find(tool_name)) return undefined
  return new PlatformError('TOOL_NOT_ACTIVE', { tool_name, active })
}

/** Nothing was sent, but the attempt is recorded. */
async function recordRefused(
  call: JournalCall,
  { run, principal, toolbox }: CallStep,
  error: PlatformError,
  { store }: CallDeps,
): Promise<void> {
  const found = call.tool_id === null ? undefined : toolbox.find(call.tool_name)
  const target = found ? { ...found.entry, action: found.prepared.action } : 'UNKNOWN_TOOL'
  const attempt = {
    ...callRequestOf(call, { run, principal }, {}),
    projectId: run.project_id,
    target,
    input: call.args,
  }
  await recordAttempt(store.calls, attempt, error)
}

/** The parsed arguments, or an error that tells the model how to correct them. */
function inputOf({ args }: JournalCall): JsonObject | PlatformError {
  const wrong = (message: string) => new PlatformError('VALIDATION_FAILED', { errors: [{ path: '', message }] })
  const excess = excessOf(args)
  if (excess !== undefined) return wrong(`the JSON of the arguments ${excess}`)
  let input: unknown
  try {
    input = args.trim() === '' ? {} : JSON.parse(args)
  } catch (error) {
    return wrong(`the arguments are not valid JSON: ${(error as Error).message}`)
  }
  return isObject(input) ? input : wrong('the arguments must be an object')
}

/**
 * How far the call got, if it was started before: by this process, when it was suspended, or by one that died. A call that
 * may have had its effect is repeated only if it is idempotent, or a client tool.
 */
async function recordedOutcome(
  call: JournalCall,
  { toolbox, fresh }: CallStep,
  { store, mayHaveRun: passedGate }: CallDeps,
): Promise<undefined | 'unknown' | { begunAt: number } | { output: Json; isError: boolean }> {
  if (fresh.has(call.call_id)) return undefined
  const record = await store.calls.find(call.call_id)
  if (!record) return undefined
  if (record.error) return { output: { error: record.error } as unknown as Json, isError: true }
  if (record.status !== 'pending') return { output: record.response, isError: record.status !== 'success' }
  const begunAt = Date.parse(record.created_at)
  if (call.awaits) return { begunAt }
  const tool = toolbox.find(call.tool_name)
  const { idempotent, resumable } = tool?.prepared.action ?? {}
  const isSafe = isBuiltIn(call) || idempotent === true || resumable === true || (tool && !tool.entry.type.execute)
  return isSafe || !(await passedGate(call.call_id)) ? { begunAt } : 'unknown'
}

/** Writes the output of a client tool to the call record. */
export const concludeClientCall = (
  call: JournalCall,
  output: Json,
  isError: boolean,
  step: Pick<CallStep, 'run' | 'principal'>,
  deps: Pick<CallDeps, 'conclude'>,
): Promise<void> => {
  const input = call.awaits?.kind === 'client' ? call.awaits.input : {}
  const request = { ...callRequestOf(call, step, input), begunAt: call.created_at }
  return deps.conclude(request, { ...done(output), failed: isError })
}
