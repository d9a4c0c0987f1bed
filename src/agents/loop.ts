import type { Authenticator } from '../access/authenticator.ts'
import { errorBody, PlatformError } from '../model/errors.ts'
import { isOver } from '../model/generation.ts'
import type { StepGuide } from '../model/guide.ts'
import { newId } from '../model/ids.ts'
import { asCaller } from '../model/mode.ts'
import { keepable } from '../model/page.ts'
import type { Principal } from '../model/principal.ts'
import { AttemptSuperseded } from '../store/attempt.ts'
import type { Run } from '../store/generations.ts'
import type { Journal, JournalCall, NewCall } from '../store/journal.ts'
import { type CallDeps, type CallProgress, callRequestOf, makeCall, requireInTime } from './make-call.ts'
import type { ModelAnswer, ModelDelta, ModelRequest } from './models/model.ts'
import { builtInName } from './offered.ts'
import { ReplyGate } from './reply-gate.ts'
import { requestFor } from './step-request.ts'
import { stopAfter } from './step-settings.ts'
import { type Toolbox, toolboxOf } from './toolbox.ts'
import type { TurnHooks } from './turn.ts'

/*
 * A run is a row (`generations`) and a journal of steps and calls. Its states:
 *
 *     in_progress ◀──rest / resume──▶ requires_action
 *          │                                │
 *          └──▶ completed, failed, cancelled ◀┘
 *
 * - `in_progress`: its job is queued or running. Also while it waits only for runs that it started, as long as these are
 *   in progress themselves.
 * - `requires_action`: it waits for someone outside, for outputs of client tools, approvals or accounts, in this run or in one
 *   that it started. No process holds anything for it. A submission or a decision resumes it; a deadline wakes it.
 * - `completed`: the model ended its turn, a stop condition applied, or a limit was reached.
 * - `failed`: with an error. A deadline that passes without outputs is one.
 * - `cancelled`: on request, or because the run that started it is over.
 *
 * Each attempt to advance a run increments its attempt number. Writes of an older attempt fail with `AttemptSuperseded`.
 *
 * A run that is a turn of a session asks its guide before each step what the step sees (`TurnHooks`), and appends what
 * happens to the session. What was decided is part of the step in the journal.
 *
 * Within an attempt, the last step in the journal decides what is next: without an answer, the model is called (again);
 * with an answer, its open calls are made. Once all of them have outputs, the run ends or the next step starts.
 */

/** The model that generates the steps of a run. */
export interface RunModel {
  generate(request: Omit<ModelRequest, 'model'>): Promise<ModelAnswer>
  costOf(answer: ModelAnswer): number | null
}

export interface LoopDeps extends CallDeps {
  readonly authenticator: Authenticator
  modelOf(run: Run): Promise<RunModel>
  /** Repairs what a crash may have left inconsistent. Runs first if the run was attempted before. */
  repair(run: Run, journal: Journal): Promise<void>
  /** For runs that are turns of sessions. */
  readonly turns: TurnHooks
  /** Cancels a run that this one started. */
  cancel(id: string): Promise<unknown>
  /** Whether to retry the run later after an unexpected error, such as a database outage. */
  mayRetry(run: Run): boolean
  /** Called after each write to the run or its journal. */
  changed(run: Run): void
  streamed(run: Run, step: number, delta: ModelDelta): void
}

/** How many calls of one step are made concurrently. */
const callsAtOnce = 16

/**
 * `stop`: this process must let go of the run. Repeatable work, such as a model request, is aborted; calls in progress are
 * finished. `cancel`: the run was cancelled, so its calls are aborted as well.
 */
export interface Signals {
  readonly stop: AbortSignal
  readonly cancel: AbortSignal
}

export class Cancelled extends Error {
  override readonly name = 'Cancelled'
}

/**
 * Advances a run until it ends or has to wait: call the model, make the calls that it requests, repeat. All state is in the
 * journal, so it does not matter which process worked on the run before, or how that ended. Returns false if the run was
 * over already or another attempt took over.
 */
export async function advance(id: string, signals: Signals, deps: LoopDeps): Promise<boolean> {
  const run = await deps.store.generations.take(id)
  if (!run) return false
  try {
    await continueOrEnd(run, signals, deps)
  } catch (error) {
    if (error instanceof AttemptSuperseded) return false
    throw error
  }
  deps.changed(run)
  return true
}

async function continueOrEnd(run: Run, signals: Signals, deps: LoopDeps): Promise<void> {
  try {
    if (run.cancelRequested || (await isOrphan(run, deps))) throw new Cancelled()
    await continueRun(run, signals, deps)
  } catch (error) {
    if (error instanceof AttemptSuperseded) throw error
    const cancelled = error instanceof Cancelled || signals.cancel.aborted
    // Not an end of the run: the next attempt finds everything in the journal.
    if (signals.stop.aborted && !cancelled) throw error
    if (!cancelled && !(error instanceof PlatformError) && deps.mayRetry(run)) throw error
    await endWithError(run, cancelled ? undefined : error, deps)
  }
}

/** Whether the run that started it is over, so nobody waits for it. Happens if it was started during a cancellation. */
async function isOrphan({ initiator_generation_id: above }: Run, { store }: LoopDeps): Promise<boolean> {
  const status = above === null ? undefined : await store.generations.statusOf(above)
  return status !== undefined && isOver(status)
}

async function continueRun(taken: Run, { stop, cancel }: Signals, deps: LoopDeps): Promise<void> {
  const { generations, journals } = deps.store
  const turns = taken.settings.turn && deps.turns
  const run = turns ? { ...taken, input: await turns.history(taken) } : taken
  if (run.settings.max_call_depth <= 0) {
    const ending = { status: 'completed' as const, stop_reason: 'depth_limit' as const, error: null }
    return generations.end(run, { ...ending, content: 'Maximum call depth reached', finish_reason: null })
  }
  let journal = await journals.read(run.id)
  if (journal.steps.length === 0) await deps.catalogue.refreshStale(run.settings.tool_ids)
  const toolbox = await toolboxOf(run.settings.tool_ids, run.project_id, deps.catalogue)
  const fresh = new Set<string>()
  const either = AbortSignal.any([stop, cancel])

  if (run.attempt > 1) await deps.repair(run, journal)
  for (;;) {
    either.throwIfAborted()
    // Read for each step: a key that is revoked during a run must not do anything more.
    const principal = await principalOf(run, deps.authenticator)
    const last = journal.steps.at(-1)
    if (last && last.answered_at !== null) {
      const isLast = (call: JournalCall) => call.step === last.number
      const step = { run, principal, toolbox, signal: cancel, fresh, guide: last.guide }
      const open = journal.calls.filter((call) => isLast(call) && call.output === undefined)
      await requireInTime(open, deps)
      if (turns && journal.calls.some(isLast) && !(await turns.said(run, last))) throw new Cancelled()
      const made = await makeCalls(open, (call) => makeCall(call, step, deps).finally(() => deps.changed(run)))
      const done = new Map(made.map(({ call }) => [call.call_id, call]))
      journal = { ...journal, calls: journal.calls.map((call) => done.get(call.call_id) ?? call) }
      await turns?.called(run, journal.calls.filter(isLast), toolbox)
      const waiting = made.flatMap(({ waits = [] }) => waits)
      if (waiting.length > 0) {
        if (await generations.rest(run, waiting)) return
        // Outputs have arrived in the meantime. Read the run again: the submission may have changed its settings.
        const changed = (await generations.find(run.id)) ?? run
        return continueRun({ ...changed, attempt: run.attempt }, { stop, cancel }, deps)
      }
      const reason = turns?.isSettledBy(journal.calls.filter(isLast))
        ? 'stop_condition'
        : stopAfter(last, journal.calls.filter(isLast), run.settings)
      const context = { run, number: last.number, journal, toolbox, signal: either }
      const text = reason === 'end_turn' && turns ? await reviewed({ ...context, step: last }, turns) : last.text
      if (reason && text !== undefined) {
        const ending = { status: 'completed' as const, stop_reason: reason, error: null }
        return generations.end(run, { ...ending, content: text, finish_reason: last.finish_reason })
      }
      // The review has noted in the journal what is wrong with the draft.
      if (text === undefined) journal = await journals.read(run.id)
    }
    const number = last?.answered_at === null ? last.number : (last?.number ?? 0) + 1
    journal = await askModel(run, number, journal, { toolbox, signal: either, fresh }, deps)
  }
}

/** The text of a reply that can be sent; undefined if the model has to rewrite it. */
async function reviewed(context: Parameters<TurnHooks['review']>[0], turns: TurnHooks): Promise<string | undefined> {
  const verdict = await turns.review(context)
  if (verdict.kind === 'rewrite') return undefined
  // Not yet begun if the text was held back.
  if (verdict.text !== '' && !(await turns.beginReply(context.run, context.number))) throw new Cancelled()
  return verdict.text
}

/** Makes the calls with limited concurrency. If one throws, waits for the others before it rethrows. */
async function makeCalls(
  calls: readonly JournalCall[],
  make: (call: JournalCall) => Promise<CallProgress>,
): Promise<CallProgress[]> {
  const made: CallProgress[] = []
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

/** Returns the journal with the answered step. */
async function askModel(
  run: Run,
  number: number,
  journal: Journal,
  { toolbox, signal, fresh }: { toolbox: Toolbox; signal: AbortSignal; fresh: Set<string> },
  deps: LoopDeps,
): Promise<Journal> {
  const { journals } = deps.store
  const model = await deps.modelOf(run)
  const turns = run.settings.turn && deps.turns
  // The decision of an earlier attempt holds.
  const known = journal.steps.find((one) => one.number === number)?.guide
  const guide = known ?? (turns ? await turns.decide({ run, number, journal, toolbox, signal }) : null)
  const { step, isWanted } = await journals.startStep(run, number, guide)
  if (!isWanted) throw new Cancelled()
  deps.changed(run)
  const refused = new AbortController()
  const send = (delta: ModelDelta) => deps.streamed(run, number, delta)
  const begin = () => turns?.beginReply(run, number) ?? Promise.resolve(true)
  const gate = turns && new ReplyGate(begin, send, () => refused.abort(new Cancelled()))
  const generate = () =>
    model.generate({
      ...requestFor(run, number, journal, { toolbox, guide }),
      signal: AbortSignal.any([signal, refused.signal]),
      onDelta: (delta) => {
        if (!gate) send(delta)
        // A reply that is checked first is sent as a whole.
        else if (!guide?.reviewed) gate.onDelta(delta)
      },
    })
  const answer = guide?.fetch ? fetchingAnswer(guide.fetch) : await generate()
  await gate?.settled()
  refused.signal.throwIfAborted()
  const calls = callsOf(answer, toolbox, journal, guide)
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
  deps.changed(run)
  const before = journal.steps.filter((one) => one.number !== number)
  return {
    steps: [...before, { ...step, ...answered, answered_at: Date.now() }],
    calls: [...journal.calls, ...written],
  }
}

/** A step that fetches variables has calls as if a model had asked for them. */
const fetchingAnswer = (fetch: NonNullable<StepGuide['fetch']>): ModelAnswer => ({
  ...{ text: '', reasoning: null, finish_reason: 'tool_calls', model: '', metadata: null },
  tool_calls: fetch.map((one, index) => ({
    id: `variable_${index}`,
    name: one.tool_name,
    args: JSON.stringify(one.arguments),
  })),
  usage: { input_tokens: 0, output_tokens: 0, cached_input_tokens: 0 },
})

/** The limit of `tool_call_id` when outputs are submitted. */
const longestId = 500

/** The calls that the model requests, each with an id that is unique within the run. */
function callsOf({ tool_calls }: ModelAnswer, toolbox: Toolbox, journal: Journal, guide: StepGuide | null): NewCall[] {
  const taken = new Set(journal.calls.map(({ tool_call_id }) => tool_call_id))
  return tool_calls.map((call): NewCall => {
    const builtIn = guide?.built_ins.find(({ tool_id }) => builtInName(tool_id) === call.name)
    const tool = builtIn ? undefined : toolbox.find(call.name)
    const given = keepable(call.id)
    // Some models reuse the same call ids in every step.
    const isUsable = given !== '' && given.length <= longestId && !taken.has(given)
    const id = isUsable ? given : newId('call')
    taken.add(id)
    return {
      call_id: newId('call'),
      tool_call_id: id,
      tool_name: tool?.name ?? keepable(call.name),
      tool_id: tool?.entry.tool.id ?? null,
      action: builtIn?.tool_id ?? tool?.prepared.action.name ?? null,
      args: keepable(call.args),
    }
  })
}

/** The principal that started the run, with its current permissions, limited by the boundaries of its agents. */
async function principalOf(
  { started_by, project_id, settings }: Run,
  authenticator: Authenticator,
): Promise<Principal> {
  const principal = await authenticator.principal(started_by.id)
  if (!principal) {
    const kind = started_by.id.startsWith('usr_') ? { kind: 'user' as const } : {}
    throw new PlatformError('KEY_GONE', { name: started_by.name, ...kind })
  }
  const { boundaries, caller, end_user_id: endUserId = principal.endUserId } = settings
  return { ...asCaller(principal, caller), projectId: project_id, boundaries, endUserId }
}

/** Without an error, the run was cancelled. The status is written last, so that after a crash the next attempt does the rest. */
async function endWithError(run: Run, error: unknown, deps: LoopDeps): Promise<void> {
  const { generations, journals } = deps.store
  await generations.requireTurn(run)
  const journal = await journals.read(run.id)
  const known = error === undefined || error instanceof PlatformError ? error : new PlatformError('INTERNAL', {})
  await cancelOpenCalls(run, journal.calls, known, deps)
  await generations.end(run, {
    ...(known ? { status: 'failed', stop_reason: 'error' } : { status: 'cancelled', stop_reason: 'cancelled' }),
    error: known ? errorBody(known).error : null,
    content: journal.steps.at(-1)?.text ?? null,
    finish_reason: null,
  })
}

/** Closes the open calls of a run that ends: their approvals, the runs they started, and their records. */
async function cancelOpenCalls(
  run: Run,
  calls: readonly JournalCall[],
  error: PlatformError | undefined,
  deps: LoopDeps,
): Promise<void> {
  const { store, authenticator, conclude } = deps
  const open = calls.filter(({ output, awaits }) => output === undefined && awaits)
  for (const { awaits } of open) if (awaits?.kind === 'approval') await store.approvals.cancel({ id: awaits.id })
  // Not derived from `awaits`: a call may have been interrupted after it started a run and before that was written.
  for (const id of await store.generations.openUnder(run)) await deps.cancel(id)
  const own = open.filter(({ awaits }) => awaits?.kind !== 'approval')
  const principal = own.length > 0 ? await principalOf(run, authenticator).catch(() => undefined) : undefined
  if (!principal) return
  const records = await store.calls.findMany(own.map(({ call_id }) => call_id))
  const pending = new Set(records.filter(({ status }) => status === 'pending').map(({ id }) => id))
  for (const call of own.filter(({ call_id }) => pending.has(call_id))) {
    const request = { ...callRequestOf(call, { run, principal }, {}), begunAt: call.created_at }
    await conclude(request, isAbout(error, call) ? error : new PlatformError('CALL_CANCELLED', {}))
  }
}

/** Whether the run failed because the output of this call is overdue. */
const isAbout = (error: PlatformError | undefined, { tool_call_id }: JournalCall): error is PlatformError =>
  error?.code === 'OUTPUTS_EXPIRED' && (error as PlatformError<'OUTPUTS_EXPIRED'>).details.tool_call_id === tool_call_id
