import type { Catalogue } from '../catalogue/catalogue.ts'
import { recordAttempt } from '../dispatch/attempt.ts'
import type { Asked } from '../dispatch/call.ts'
import { wholeSlice } from '../lib/characters.ts'
import { excessOf, isObject, type Json, type JsonObject } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import { isOver } from '../model/generation.ts'
import type { Outcome, Wait } from '../model/outcome.ts'
import type { Principal } from '../model/principal.ts'
import { done, type Output } from '../model/tool.ts'
import type { Run } from '../store/generations.ts'
import type { JournalCall } from '../store/journal.ts'
import type { Store } from '../store/store.ts'
import { toldOf, toldOfError } from './output.ts'
import { failureOf, nothingPending, resultOf } from './result.ts'
import { settingsFor } from './rules.ts'
import type { Toolbox } from './toolbox.ts'

export interface CallMaker {
  readonly store: Store
  readonly catalogue: Catalogue
  dispatch(asked: Asked): Promise<Outcome>
  conclude(asked: Asked, outcome: Output | PlatformError): Promise<void>
  /** How long a run waits for what its caller's own tools give, in milliseconds. */
  readonly outputMs: number
  /** Whether a call that was begun has got past the gate, so that its effect may have happened. Unknown calls have. */
  passedGate(callId: string): Promise<boolean>
}

interface Making {
  readonly run: Run
  readonly principal: Principal
  readonly toolbox: Toolbox
  readonly signal: AbortSignal
  /** Those that nobody can have begun, because they were written down just now. */
  readonly fresh: ReadonlySet<string>
}

/** The call as the door wants it. */
export function askedOf(
  call: JournalCall,
  { run, principal }: Pick<Making, 'run' | 'principal'>,
  input: JsonObject,
): Asked {
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
    lent: true,
    context: run.settings.tool_context,
    onWait: 'resume',
  }
}

/** Until when an output of a caller's own tool is waited for. */
export const outputDeadline = ({ awaits, created_at }: JournalCall, outputMs: number): number =>
  (awaits?.kind === 'client' ? awaits.expiresAt : undefined) ?? created_at + outputMs

const isLate = (call: JournalCall, { outputMs }: Pick<CallMaker, 'outputMs'>): boolean =>
  call.awaits?.kind === 'client' && outputDeadline(call, outputMs) <= Date.now()

/** Throws for an output that has not come in time: then none of the other calls is made any more. */
export async function requireInTime(calls: readonly JournalCall[], parts: CallMaker): Promise<void> {
  for (const call of calls.filter((one) => isLate(one, parts))) {
    // It may have come since the journal was read.
    const { output, tool_call_id, tool_name } = await parts.store.journals.findCall(call)
    if (output === undefined) throw new PlatformError('OUTPUTS_EXPIRED', { tool_call_id, tool_name })
  }
}

/** What came of a call: the output that the journal has now, or what it waits for. */
export type Made = { readonly call: JournalCall; readonly waits?: Wait }

/** Makes one call of the journal, or goes on with one that was begun, and writes down what came of it. */
export async function makeCall(call: JournalCall, making: Making, parts: CallMaker): Promise<Made> {
  const { run, signal } = making
  const { generations, journals } = parts.store
  let made: Made | undefined
  const give = async (output: Json, isError: boolean): Promise<Made> => {
    const given = { ...call, output, is_error: isError }
    // The first word counts: whoever took the run up before us may have had it.
    made = { call: (await journals.finishCall(call, output, isError)) ? given : await journals.findCall(call) }
    return made
  }

  if (call.awaits?.kind === 'client') {
    const now = isLate(call, parts) ? await journals.findCall(call) : call
    return now.output === undefined ? { call, waits: call.awaits } : { call: now }
  }
  if (call.awaits?.kind === 'generation') {
    const started = await generations.find(call.awaits.id)
    if (started && !isOver(started.status)) return { call, waits: call.awaits }
    if (started) return giveAnswer(call, started, give, making, parts)
  }
  const recorded = await recordedOutcome(call, making, parts)
  if (recorded === 'unknown') {
    return give(toldOfError(new PlatformError('OUTCOME_UNKNOWN', { action: call.tool_name })), true)
  }
  if (recorded && 'output' in recorded) return give(recorded.output, recorded.isError)
  // One that was begun was active then: what came since does not take it back.
  const input = (recorded ? undefined : refusalOf(call, making)) ?? inputOf(call)
  if (input instanceof PlatformError) {
    await recordRefused(call, making, input, parts)
    return give(toldOfError(input), true)
  }
  const outcome = await parts.dispatch({
    ...askedOf(call, making, input),
    live: { signal },
    ...(recorded && { begunAt: recorded.begunAt, awaited: call.awaits?.kind }),
    // Before it is recorded as ended: what the record has is cut and has its secrets taken out.
    onOutput: async (output) => void (await give(toldOf(output), output.failed)),
  })
  if (outcome.kind === 'done') return made as Made
  if (outcome.kind === 'waiting') {
    const { on } = outcome
    const until = on.kind === 'client' ? { ...on, expiresAt: Date.now() + parts.outputMs } : on
    await journals.suspendCall(run, call, until)
    return { call: { ...call, awaits: until }, waits: until }
  }
  if (signal.aborted) throw outcome.error
  return made ?? give(toldOfError(outcome.error), true)
}

/**
 * The run that the call has started is over, and what that came to is what the call gives. The call does not go to the door
 * again: its agent may be gone by now, and where it was made by another call, that one would make a second.
 */
async function giveAnswer(
  call: JournalCall,
  started: Run,
  give: (output: Json, isError: boolean) => Promise<Made>,
  making: Making,
  { conclude }: CallMaker,
): Promise<Made> {
  const result = resultOf(started, nothingPending)
  const failure = failureOf(result)
  const output = done(JSON.parse(JSON.stringify(result)) as Json)
  const made = await (failure ? give(toldOfError(failure), true) : give(output.value, false))
  const asked = { ...askedOf(call, making, {}), begunAt: call.created_at }
  // Its own record, and that of the call in between.
  for (const id of new Set([call.call_id, started.parent_call_id ?? call.call_id])) {
    await conclude({ ...asked, id }, failure ?? output)
  }
  return made
}

/** How many names of tools a model is told that called one it cannot call. */
const mostNames = 50

/** Why the model cannot call this now: the agent has no such tool, or it is not active in this step. */
function refusalOf(
  { tool_id, tool_name, step }: JournalCall,
  { toolbox, run }: Pick<Making, 'toolbox' | 'run'>,
): PlatformError | undefined {
  const { activeToolIds } = settingsFor(step, run.settings)
  const active = toolbox
    .active(activeToolIds)
    .slice(0, mostNames)
    .map(({ name }) => name)
  if (tool_id === null)
    return new PlatformError('UNKNOWN_TOOL', { tool_name: wholeSlice(tool_name, 200), known: active })
  if (activeToolIds === null || activeToolIds.includes(tool_id)) return undefined
  return new PlatformError('TOOL_NOT_ACTIVE', { tool_name, active })
}

/** Nothing was sent, and yet the attempt is in the record. */
async function recordRefused(
  call: JournalCall,
  { run, principal, toolbox }: Making,
  error: PlatformError,
  { store }: CallMaker,
): Promise<void> {
  const found = call.tool_id === null ? undefined : toolbox.find(call.tool_name)
  const target = found ? { tool: found.entry.tool, action: found.offer.action } : 'UNKNOWN_TOOL'
  const attempt = { ...askedOf(call, { run, principal }, {}), projectId: run.project_id, target, input: call.args }
  await recordAttempt(store.calls, attempt, error)
}

/** What the model sent, or what is wrong with it, in words that let it try again. */
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
  return isObject(input) ? (input as JsonObject) : wrong('the arguments must be an object')
}

/**
 * How far the call had come, if it was begun before: in the same process, when it was suspended, or in one that died.
 * One whose effect may have happened is made again only if a repeat does no harm.
 */
async function recordedOutcome(
  call: JournalCall,
  { toolbox, fresh }: Making,
  { store, passedGate }: CallMaker,
): Promise<undefined | 'unknown' | { begunAt: number } | { output: Json; isError: boolean }> {
  if (fresh.has(call.call_id)) return undefined
  const record = await store.calls.find(call.call_id)
  if (!record) return undefined
  if (record.error) return { output: { error: record.error } as unknown as Json, isError: true }
  if (record.status !== 'pending') return { output: record.response, isError: record.status !== 'success' }
  const begunAt = Date.parse(record.created_at)
  if (call.awaits) return { begunAt }
  const tool = toolbox.find(call.tool_name)
  const isSafe = tool?.offer.action.idempotent === true || (tool && !tool.entry.type.execute)
  return isSafe || !(await passedGate(call.call_id)) ? { begunAt } : 'unknown'
}

/** What a caller's own tool gave, in the record of calls, too. */
export const concludeClientCall = (
  call: JournalCall,
  output: Json,
  isError: boolean,
  making: Pick<Making, 'run' | 'principal'>,
  parts: Pick<CallMaker, 'conclude'>,
): Promise<void> => {
  const input = call.awaits?.kind === 'client' ? call.awaits.input : {}
  const asked = { ...askedOf(call, making, input), begunAt: call.created_at }
  return parts.conclude(asked, { ...done(output), failed: isError })
}
