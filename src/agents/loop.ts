import type { Keys } from '../access/keys.ts'
import type { ToolChoice } from '../model/agent.ts'
import { errorBody, PlatformError } from '../model/errors.ts'
import { isOver } from '../model/generation.ts'
import { newId } from '../model/ids.ts'
import { keepable } from '../model/page.ts'
import type { Principal } from '../model/principal.ts'
import type { Run } from '../store/generations.ts'
import type { Journal, JournalCall, NewCall } from '../store/journal.ts'
import { TurnLost } from '../store/turn.ts'
import { askedOf, type CallMaker, type Made, makeCall, requireInTime } from './make-call.ts'
import type { ModelAnswer, ModelDelta, ModelRequest } from './models/model.ts'
import { settingsFor, stopAfter } from './rules.ts'
import { type AgentTool, type Toolbox, toolboxOf } from './toolbox.ts'
import { transcript } from './transcript.ts'

/** Who is asked for the next step, and what an answer costs. */
export interface Asking {
  ask(request: Omit<ModelRequest, 'model'>): Promise<ModelAnswer>
  costOf(answer: ModelAnswer): number | null
}

export interface LoopParts extends CallMaker {
  readonly keys: Keys
  /** The model that the run's agent speaks with. */
  modelOf(run: Run): Promise<Asking>
  /** Mends what a crash may have left, before anything else is done. */
  heal(run: Run, journal: Journal): Promise<void>
  /** Stops a run that this one has started. */
  cancel(id: string): Promise<unknown>
  /** Whether a fault that nobody has made, such as a database that was away, may be gone when the run is taken up again. */
  mayPass(run: Run): boolean
  /** Something of the run was written down. */
  changed(run: Run): void
  said(run: Run, step: number, delta: ModelDelta): void
}

/** How many calls of one step are made at once. */
const callsAtOnce = 16

/**
 * `stop`: this process is to leave the run alone, so what can be repeated is broken off, and a call that is under way is
 * finished. `cancel`: nobody wants it any more, so calls are broken off, too.
 */
export interface Signals {
  readonly stop: AbortSignal
  readonly cancel: AbortSignal
}

/** Why a run stops in the middle. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled'
}

/**
 * Goes on with a run until it is over or has to wait for someone: ask the model, make the calls that it asks for, and
 * again. All that it knows is in the journal, so it does not matter who went on with it before, or how that ended. False
 * if it was over already, or is another's by now.
 */
export async function advance(id: string, signals: Signals, parts: LoopParts): Promise<boolean> {
  const run = await parts.store.generations.take(id)
  if (!run) return false
  try {
    await goOnOrEnd(run, signals, parts)
  } catch (error) {
    if (error instanceof TurnLost) return false
    throw error
  }
  parts.changed(run)
  return true
}

async function goOnOrEnd(run: Run, signals: Signals, parts: LoopParts): Promise<void> {
  try {
    if (run.cancelRequested || (await isOrphan(run, parts))) throw new Cancelled()
    await goOn(run, signals, parts)
  } catch (error) {
    if (error instanceof TurnLost) throw error
    const cancelled = error instanceof Cancelled || signals.cancel.aborted
    // Whoever takes the run up finds all that was done.
    if (signals.stop.aborted && !cancelled) throw error
    if (!cancelled && !(error instanceof PlatformError) && parts.mayPass(run)) throw error
    await endBadly(run, cancelled ? undefined : error, parts)
  }
}

/** Whether the run that has started it is over, so that nobody waits for it: it was started while that was cancelled. */
async function isOrphan({ initiator_generation_id: above }: Run, { store }: LoopParts): Promise<boolean> {
  const status = above === null ? undefined : await store.generations.statusOf(above)
  return status !== undefined && isOver(status)
}

async function goOn(run: Run, { stop, cancel }: Signals, parts: LoopParts): Promise<void> {
  const { generations, journals } = parts.store
  if (run.settings.max_call_depth <= 0) {
    const ending = { status: 'completed' as const, stop_reason: 'depth_limit' as const, error: null }
    return generations.end(run, { ...ending, content: 'Maximum call depth reached', finish_reason: null })
  }
  let journal = await journals.read(run.id)
  if (journal.steps.length === 0) await parts.catalogue.renew(run.settings.tool_ids)
  const toolbox = await toolboxOf(run.settings.tool_ids, run.project_id, parts.catalogue)
  const fresh = new Set<string>()
  const either = AbortSignal.any([stop, cancel])

  if (run.turn > 1) await parts.heal(run, journal)
  for (;;) {
    either.throwIfAborted()
    // For each step anew: a key that is revoked in the middle of a run does nothing more.
    const principal = await principalOf(run, parts.keys)
    const last = journal.steps.at(-1)
    if (last && last.answered_at !== null) {
      const isLast = (call: JournalCall) => call.step === last.number
      const making = { run, principal, toolbox, signal: cancel, fresh }
      const open = journal.calls.filter((call) => isLast(call) && call.output === undefined)
      await requireInTime(open, parts)
      const made = await makeCalls(open, (call) => makeCall(call, making, parts).finally(() => parts.changed(run)))
      const waiting = made.flatMap(({ waits = [] }) => waits)
      if (waiting.length > 0) {
        if (await generations.rest(run, waiting)) return
        // What has come meanwhile may have changed the settings, too.
        const changed = (await generations.find(run.id)) ?? run
        return goOn({ ...changed, turn: run.turn }, { stop, cancel }, parts)
      }
      const now = new Map(made.map(({ call }) => [call.call_id, call]))
      journal = { ...journal, calls: journal.calls.map((call) => now.get(call.call_id) ?? call) }
      const reason = stopAfter(last, journal.calls.filter(isLast), run.settings)
      if (reason) {
        const ending = { status: 'completed' as const, stop_reason: reason, error: null }
        return generations.end(run, { ...ending, content: last.text, finish_reason: last.finish_reason })
      }
    }
    const number = last?.answered_at === null ? last.number : (last?.number ?? 0) + 1
    journal = await askModel(run, number, journal, { toolbox, signal: either, fresh }, parts)
  }
}

/** Some at once, each when there is room. Whatever goes wrong with one, the others are waited for. */
async function makeCalls(calls: readonly JournalCall[], make: (call: JournalCall) => Promise<Made>): Promise<Made[]> {
  const made: Made[] = []
  const faults: unknown[] = []
  const queue = [...calls]
  const worker = async () => {
    for (let call = queue.shift(); call; call = queue.shift()) {
      await make(call).then(
        (one) => made.push(one),
        (fault: unknown) => faults.push(fault),
      )
    }
  }
  await Promise.all(Array.from({ length: Math.min(callsAtOnce, calls.length) }, worker))
  if (faults.length > 0) throw faults[0]
  return made
}

/** The journal with the step that the model has answered. */
async function askModel(
  run: Run,
  number: number,
  journal: Journal,
  { toolbox, signal, fresh }: { toolbox: Toolbox; signal: AbortSignal; fresh: Set<string> },
  parts: LoopParts,
): Promise<Journal> {
  const { journals } = parts.store
  const model = await parts.modelOf(run)
  const { step, isWanted } = await journals.startStep(run, number)
  if (!isWanted) throw new Cancelled()
  parts.changed(run)
  const { toolChoice, activeToolIds } = settingsFor(number, run.settings)
  const tools = toolbox.active(activeToolIds)
  const answer = await model.ask({
    messages: transcript(run, journal),
    tools: tools.map(({ name, offer }) => ({ name, description: offer.action.description, schema: offer.shown })),
    toolChoice: choiceAmong(tools, toolChoice),
    temperature: run.settings.temperature,
    signal,
    onDelta: (delta) => parts.said(run, number, delta),
  })
  const calls = callsOf(answer, toolbox, journal)
  fresh.clear()
  for (const { call_id } of calls) fresh.add(call_id)
  const { input_tokens, output_tokens } = answer.usage
  const answered = {
    model: keepable(answer.model),
    text: keepable(answer.text),
    reasoning: answer.reasoning === null ? null : keepable(answer.reasoning),
    metadata: answer.metadata,
    finish_reason: answer.finish_reason,
    input_tokens,
    output_tokens,
    cost: model.costOf(answer),
  }
  const written = await journals.answerStep(run, number, answered, calls)
  parts.changed(run)
  const before = journal.steps.filter((one) => one.number !== number)
  return {
    steps: [...before, { ...step, ...answered, answered_at: Date.now() }],
    calls: [...journal.calls, ...written],
  }
}

/** What is not there cannot be chosen: its server may be away. */
function choiceAmong(tools: readonly AgentTool[], choice: ToolChoice): ModelRequest['toolChoice'] {
  if (tools.length === 0) return 'auto'
  if (typeof choice === 'string') return choice
  return tools.some(({ name }) => name === choice.tool_name) ? { tool_name: choice.tool_name } : 'auto'
}

/** Outputs are submitted by a call's id, so that is not longer than what can be submitted. */
const longestId = 500

/** The calls that a model asks for, each with an id that no other call of the run has. */
function callsOf({ tool_calls }: ModelAnswer, toolbox: Toolbox, journal: Journal): NewCall[] {
  const taken = new Set(journal.calls.map(({ tool_call_id }) => tool_call_id))
  return tool_calls.map((call): NewCall => {
    const tool = toolbox.find(call.name)
    const given = keepable(call.id)
    // Some models count their calls anew in each step.
    const isUsable = given !== '' && given.length <= longestId && !taken.has(given)
    const id = isUsable ? given : newId('call')
    taken.add(id)
    return {
      call_id: newId('call'),
      tool_call_id: id,
      tool_name: tool?.name ?? keepable(call.name),
      tool_id: tool?.entry.tool.id ?? null,
      action: tool?.offer.action.name ?? null,
      args: keepable(call.args),
    }
  })
}

/** Whoever started it, with what it may do now; and no more than the agents in between may. */
async function principalOf({ started_by, project_id, settings }: Run, keys: Keys): Promise<Principal> {
  const principal = await keys.principal(started_by.id)
  if (!principal) throw new PlatformError('KEY_GONE', { name: started_by.name })
  return { ...principal, projectId: project_id, boundaries: settings.boundaries }
}

/** Without an error, because it was cancelled. It ends last of all, so that a crash in between leaves nothing undone. */
async function endBadly(run: Run, error: unknown, parts: LoopParts): Promise<void> {
  const { generations, journals } = parts.store
  await generations.requireTurn(run)
  const journal = await journals.read(run.id)
  const known = error === undefined || error instanceof PlatformError ? error : new PlatformError('INTERNAL', {})
  await letGo(run, journal.calls, known, parts)
  await generations.end(run, {
    ...(known ? { status: 'failed', stop_reason: 'error' } : { status: 'cancelled', stop_reason: 'cancelled' }),
    error: known ? errorBody(known).error : null,
    content: journal.steps.at(-1)?.text ?? null,
    finish_reason: null,
  })
}

/** What nobody waits for any more is not left looking as if it went on, and nobody is asked to decide on it. */
async function letGo(
  run: Run,
  calls: readonly JournalCall[],
  error: PlatformError | undefined,
  parts: LoopParts,
): Promise<void> {
  const { store, keys, conclude } = parts
  const open = calls.filter(({ output, awaits }) => output === undefined && awaits)
  for (const { awaits } of open) if (awaits?.kind === 'approval') await store.approvals.cancel({ id: awaits.id })
  // Not by what the calls wait for: one may have been started and the call broken off before it said so.
  for (const id of await store.generations.openUnder(run)) await parts.cancel(id)
  const own = open.filter(({ awaits }) => awaits?.kind !== 'approval')
  const principal = own.length > 0 ? await principalOf(run, keys).catch(() => undefined) : undefined
  if (!principal) return
  const records = await store.calls.findMany(own.map(({ call_id }) => call_id))
  const pending = new Set(records.filter(({ status }) => status === 'pending').map(({ id }) => id))
  for (const call of own.filter(({ call_id }) => pending.has(call_id))) {
    const asked = { ...askedOf(call, { run, principal }, {}), begunAt: call.created_at }
    await conclude(asked, isAbout(error, call) ? error : new PlatformError('CALL_CANCELLED', {}))
  }
}

/** Whether the run has ended because an output of this call has not come. */
const isAbout = (error: PlatformError | undefined, { tool_call_id }: JournalCall): error is PlatformError =>
  error?.code === 'OUTPUTS_EXPIRED' && (error as PlatformError<'OUTPUTS_EXPIRED'>).details.tool_call_id === tool_call_id
