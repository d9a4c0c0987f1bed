import type { Keys } from '../access/keys.ts'
import { errorBody, PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import type { Principal } from '../model/principal.ts'
import { type Journal, type JournalCall, type NewCall, type Run, TurnLost } from '../store/generations.ts'
import { askedOf, type CallMaker, type Made, makeCall } from './make-call.ts'
import type { ModelAnswer, ModelDelta, ModelRequest } from './models/model.ts'
import { settingsFor, stopAfter } from './rules.ts'
import { type Toolbox, toolboxOf } from './toolbox.ts'
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
 * again. All that it knows is in the journal, so it does not matter who went on with it before, or how that ended.
 */
export async function advance(id: string, signals: Signals, parts: LoopParts): Promise<void> {
  const run = await parts.store.generations.take(id)
  if (!run) return
  try {
    if (run.cancelRequested) throw new Cancelled()
    await goOn(run, signals, parts)
  } catch (error) {
    if (error instanceof TurnLost) return
    const cancelled = error instanceof Cancelled || signals.cancel.aborted
    // Whoever takes the run up finds all that was done.
    if (signals.stop.aborted && !cancelled) throw error
    await endBadly(run, cancelled ? undefined : error, parts)
  }
  parts.changed(run)
}

async function goOn(run: Run, { stop, cancel }: Signals, parts: LoopParts): Promise<void> {
  const { generations } = parts.store
  if (run.settings.max_call_depth <= 0) {
    const ending = { status: 'completed' as const, stop_reason: 'depth_limit' as const, error: null }
    return generations.end(run, { ...ending, content: 'Maximum call depth reached', finish_reason: null })
  }
  const principal = await principalOf(run, parts.keys)
  const toolbox = await toolboxOf(run.settings.tool_ids, run.project_id, parts.catalogue)
  const fresh = new Set<string>()
  const making = { run, principal, toolbox, signal: cancel, fresh }
  const either = AbortSignal.any([stop, cancel])

  let journal = await generations.journal(run.id)
  if (run.turn > 1) await parts.heal(run, journal)
  for (;;) {
    either.throwIfAborted()
    const last = journal.steps.at(-1)
    if (last && last.answered_at !== null) {
      const isLast = (call: JournalCall) => call.step === last.number
      const made = await makeCalls(
        journal.calls.filter((call) => isLast(call) && call.output === undefined),
        (call) => makeCall(call, making, parts).finally(() => parts.changed(run)),
      )
      const waiting = made.flatMap(({ waits = [] }) => waits)
      if (waiting.length > 0) {
        const isOurs = waiting.every(({ kind, status }) => kind === 'generation' && status !== 'requires_action')
        if (await generations.rest(run, waiting.length, isOurs ? 'in_progress' : 'requires_action')) return
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
  const { generations } = parts.store
  const model = await parts.modelOf(run)
  const step = await generations.startStep(run, number)
  parts.changed(run)
  const { toolChoice, activeToolIds } = settingsFor(number, run.settings)
  const tools = toolbox.active(activeToolIds)
  const named = typeof toolChoice === 'object' ? tools.find(({ name }) => name === toolChoice.tool_name) : undefined
  const answer = await model.ask({
    messages: transcript(run, journal),
    tools: tools.map(({ name, offer }) => ({ name, description: offer.action.description, schema: offer.shown })),
    // What is not there cannot be chosen: its server may be away.
    toolChoice:
      typeof toolChoice === 'string'
        ? tools.length > 0
          ? toolChoice
          : 'auto'
        : named
          ? { tool_name: named.name }
          : 'auto',
    temperature: run.settings.temperature,
    signal,
    onDelta: (delta) => parts.said(run, number, delta),
  })
  const taken = new Set(journal.calls.map(({ tool_call_id }) => tool_call_id))
  const calls = answer.tool_calls.map((call): NewCall => {
    const tool = toolbox.find(call.name)
    // Some models count their calls anew in each step, but outputs are submitted by these ids.
    const id = call.id === '' || taken.has(call.id) ? newId('call') : call.id
    taken.add(id)
    return {
      call_id: newId('call'),
      tool_call_id: id,
      tool_name: tool?.name ?? call.name,
      tool_id: tool?.entry.tool.id ?? null,
      action: tool?.offer.action.name ?? null,
      args: call.args,
    }
  })
  fresh.clear()
  for (const { call_id } of calls) fresh.add(call_id)
  const { usage, tool_calls: _, ...said } = answer
  const { input_tokens, output_tokens } = usage
  const answered = { ...said, input_tokens, output_tokens, cost: model.costOf(answer) }
  const written = await generations.answerStep(run, number, answered, calls)
  parts.changed(run)
  const before = journal.steps.filter((one) => one.number !== number)
  return {
    steps: [...before, { ...step, ...answered, answered_at: Date.now() }],
    calls: [...journal.calls, ...written],
  }
}

/** Whoever started it, with what it may do now; and no more than the agents in between may. */
async function principalOf({ started_by, project_id, settings }: Run, keys: Keys): Promise<Principal> {
  const principal = await keys.principal(started_by.id)
  if (!principal) throw new PlatformError('KEY_GONE', { name: started_by.name })
  return { ...principal, projectId: project_id, boundaries: settings.boundaries }
}

async function endBadly(run: Run, error: unknown, parts: LoopParts): Promise<void> {
  const { generations } = parts.store
  const journal = await generations.journal(run.id)
  const content = journal.steps.at(-1)?.text ?? null
  if (error === undefined) {
    const ending = { status: 'cancelled' as const, stop_reason: 'cancelled' as const, error: null }
    await generations.end(run, { ...ending, content, finish_reason: null })
  } else {
    const known = error instanceof PlatformError ? error : new PlatformError('INTERNAL', {})
    const ending = { status: 'failed' as const, stop_reason: 'error' as const, error: errorBody(known).error }
    await generations.end(run, { ...ending, content, finish_reason: null })
  }
  await letGo(run, journal.calls, parts)
}

/** What nobody waits for any more is not left looking as if it went on, and nobody is asked to decide on it. */
async function letGo(run: Run, calls: readonly JournalCall[], parts: LoopParts): Promise<void> {
  const { store, keys, conclude } = parts
  const open = calls.filter(({ output, awaits }) => output === undefined && awaits)
  for (const { awaits } of open) {
    if (awaits?.kind === 'approval') await store.approvals.cancel({ id: awaits.id })
    if (awaits?.kind === 'generation') await parts.cancel(awaits.id)
  }
  const own = open.filter(({ awaits }) => awaits?.kind !== 'approval')
  const principal = own.length > 0 ? await principalOf(run, keys).catch(() => undefined) : undefined
  if (!principal) return
  const records = await store.calls.findMany(own.map(({ call_id }) => call_id))
  const pending = new Set(records.filter(({ status }) => status === 'pending').map(({ id }) => id))
  for (const call of own.filter(({ call_id }) => pending.has(call_id))) {
    const asked = { ...askedOf(call, { run, principal }, {}), begunAt: call.created_at }
    await conclude(asked, new PlatformError('CALL_CANCELLED', {}))
  }
}
