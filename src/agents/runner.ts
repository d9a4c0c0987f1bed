import type { Logger } from 'pino'
import type { Authenticator } from '../access/authenticator.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { CallRequest } from '../dispatch/call.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { isObject, type Json } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import { type GenerationResult, type GenerationStatus, isOver, isResting } from '../model/generation.ts'
import { asCaller } from '../model/mode.ts'
import type { Outcome } from '../model/outcome.ts'
import { outputIn } from '../model/picture.ts'
import type { Output } from '../model/tool.ts'
import type { NewGeneration, Run, SubmittedOutput } from '../store/generations.ts'
import type { Journal, JournalCall } from '../store/journal.ts'
import type { Store } from '../store/store.ts'
import { advance, Cancelled, type LoopDeps, type RunModel } from './loop.ts'
import { callRequestOf, concludeClientCall, outputDeadline } from './make-call.ts'
import { callsFor, type RunWithCalls } from './outputs.ts'
import { nothingPending, type OpenLink, type Pending, pendingOf, resultOf } from './result.ts'
import type { TurnHooks } from './turn.ts'
import { Watchers } from './watch.ts'

const queue = 'generation'
const concurrency = 200
const sweepEvery = 30_000
/** A run in progress without activity for this long is enqueued again. */
const silence = 60_000
/** After this many unexpected errors in a row, the run fails. */
const maxFaults = 5
/** Change events can be lost, so waiting callers also poll. */
const pollMs = 5000

export interface RunnerDeps {
  /** Decrypts the link to the page on which an account is connected. */
  readonly openLink: OpenLink
  readonly store: Store
  readonly jobs: Jobs
  readonly catalogue: Catalogue
  readonly authenticator: Authenticator
  readonly log: Logger
  /** How long a run waits for the outputs of client tools, in milliseconds. */
  readonly outputMs: number
  dispatch(request: CallRequest): Promise<Outcome>
  conclude(request: CallRequest, outcome: Output | PlatformError): Promise<void>
  mayHaveRun(callId: string): Promise<boolean>
  modelOf(run: Run): Promise<RunModel>
  readonly turns: TurnHooks
  /** Called once for each run that this process started (`onStart`) or finished (`onEnd`). */
  onStart?(): void
  onEnd?(run: Run): void
  /** Called when a run ends or starts to wait. Must be idempotent: it may be called twice for the same state. */
  onRest(run: Run, result: GenerationResult): Promise<void>
}

export interface Submission {
  readonly tool_outputs: readonly SubmittedOutput[]
  readonly settings: Parameters<Store['generations']['submit']>[2]
}

/** Starts runs, runs their jobs, and wakes callers that wait for them. The states of a run are in `loop.ts`. */
export class Runner {
  readonly #deps: RunnerDeps
  readonly #watchers: Watchers
  readonly #underWay = new Map<string, AbortController>()
  /** Unexpected errors in a row, per run, in this process. */
  readonly #faults = new Map<string, number>()
  readonly #sweeper: NodeJS.Timeout
  readonly #closing = new AbortController()
  readonly watch: Watchers['watch']

  constructor(deps: RunnerDeps) {
    this.#deps = deps
    this.#watchers = new Watchers(deps.store, (run) => this.result(run))
    this.watch = (id, ...rest) => this.#watchers.watch(id, ...rest)
    deps.store.changes.subscribe('generations', (ids, data) => {
      if (!isObject(data) || data.cancel !== true) return
      for (const id of ids) this.#underWay.get(id)?.abort(new Cancelled())
    })
    this.#sweeper = setInterval(() => void this.#sweep(), sweepEvery)
    this.#sweeper.unref()
  }

  /** How many runs this process is advancing. */
  get running(): number {
    return this.#underWay.size
  }

  /** Starts to process runs. */
  async work(): Promise<void> {
    await this.#deps.jobs.work(queue, (id, lease) => this.#advance(id, lease), { concurrency })
    await this.#sweep()
  }

  /** Rejects waiting callers. Their runs continue in another process, or after the next start. */
  close(): void {
    clearInterval(this.#sweeper)
    this.#closing.abort()
  }

  /** Writes the row, then enqueues its job. */
  async start(fresh: NewGeneration): Promise<Run> {
    const { run, isNew } = await this.#deps.store.generations.create(fresh)
    if (isNew) {
      this.#deps.onStart?.()
      await this.wake(run.id)
    }
    return run
  }

  wake(id: string, after?: number): Promise<void> {
    return this.#deps.jobs.enqueue(queue, id, { after })
  }

  /** Waits until the status of the run satisfies `stands`: by default, until it ends or waits for someone outside. */
  async settled(id: string, stands: (status: GenerationStatus) => boolean = isResting): Promise<Run> {
    const { store } = this.#deps
    let wake = Promise.withResolvers<void>()
    const check = () => wake.resolve()
    const stop = store.changes.subscribe('generations', (ids, data) => {
      const isDelta = isObject(data) && 'text' in data
      if (!isDelta && (ids.length === 0 || ids.includes(id))) check()
    })
    const timer = setInterval(check, pollMs)
    this.#closing.signal.addEventListener('abort', check)
    try {
      for (;;) {
        // Before the read, so that no change is missed while it runs.
        wake = Promise.withResolvers()
        const run = await store.generations.find(id)
        if (!run) throw new PlatformError('GENERATION_NOT_FOUND', { generation_id: id })
        if (stands(run.status)) return run
        if (this.#closing.signal.aborted) throw new PlatformError('SHUTTING_DOWN', {})
        await wake.promise
      }
    } finally {
      stop()
      clearInterval(timer)
      this.#closing.signal.removeEventListener('abort', check)
    }
  }

  async result(run: Run): Promise<GenerationResult> {
    return resultOf(run, run.status === 'requires_action' ? await this.pending(run.id) : nothingPending)
  }

  /** The pending actions of a run and of the runs that it waits for, so that its caller handles them all in one place. */
  async pending(id: string): Promise<Pending> {
    const { calls } = await this.#deps.store.journals.read(id)
    const own = pendingOf(calls, this.#deps.openLink)
    const children = calls.flatMap(({ output, awaits }) =>
      output === undefined && awaits?.kind === 'generation' ? [awaits.id] : [],
    )
    const theirs = await Promise.all(
      children.map(async (child) => {
        const { tool_calls, ...others } = await this.pending(child)
        return { tool_calls: tool_calls.map((call) => ({ generation_id: child, ...call })), ...others }
      }),
    )
    return {
      tool_calls: [...own.tool_calls, ...theirs.flatMap(({ tool_calls }) => tool_calls)],
      approvals: [...own.approvals, ...theirs.flatMap(({ approvals }) => approvals)],
      connections: [...own.connections, ...theirs.flatMap(({ connections }) => connections)],
    }
  }

  /** Stores outputs of client tools. The run resumes once it has all of them. */
  async submit(run: Run, { tool_outputs, settings }: Submission): Promise<void> {
    const { generations } = this.#deps.store
    const lines = await this.#linesUnder(run)
    const found = callsFor(tool_outputs, lines, run)
    // Innermost runs first, so that a run that resumes sees that the runs it waits for have resumed.
    for (const line of lines.toReversed()) {
      const outputs = found.filter(({ generation_id }) => generation_id === line.run.id)
      if (outputs.length === 0) continue
      // Step settings apply only to the run that was addressed, because they name its tools.
      const own = line.run.id === run.id ? settings : { step_rules: [], defaults: {} }
      const { kept, goesOn } = await generations.submit(line.run, outputs, own)
      const starter = await this.#deps.authenticator.principal(run.started_by.id)
      const principal = starter && asCaller(starter, line.run.settings.caller)
      for (const { step, position, output, is_error } of kept) {
        const call = line.calls.find((one) => one.step === step && one.position === position)
        const owner = principal && { run: line.run, principal: { ...principal, projectId: run.project_id } }
        if (call && owner) await concludeClientCall(call, output, is_error, owner, this.#deps)
      }
      if (goesOn) await this.resume(line.run)
    }
  }

  /** Marks a run and its ancestors as in progress, because something that the run waited for has arrived. */
  async resume({ id, initiator_generation_id }: Pick<Run, 'id' | 'initiator_generation_id'>): Promise<void> {
    const { generations } = this.#deps.store
    const ids = [id]
    for (let above = initiator_generation_id; above !== null; ) {
      ids.push(above)
      above = (await generations.find(above))?.initiator_generation_id ?? null
    }
    await generations.resume(ids)
    await this.wake(id)
  }

  /** Resumes the runs of a project that wait for an account. Those whose account is still missing wait again. */
  async connected(projectId: string): Promise<void> {
    const { generations, journals } = this.#deps.store
    for (const id of await journals.waitingForConnection(projectId)) {
      const run = await generations.find(id)
      if (run) await this.resume(run)
    }
  }

  /** A run and those that it waits for, each with its calls. */
  async #linesUnder(run: Run): Promise<RunWithCalls[]> {
    const { generations, journals } = this.#deps.store
    const { calls } = await journals.read(run.id)
    const lines: RunWithCalls[] = [{ run, calls }]
    for (const { awaits } of calls) {
      const child = awaits?.kind === 'generation' ? await generations.find(awaits.id) : undefined
      if (child) lines.push(...(await this.#linesUnder(child)))
    }
    return lines
  }

  /** False if it was already over or, with `unlessReplied`, if its reply has begun. */
  async cancel(id: string, options: { readonly unlessReplied?: boolean } = {}): Promise<boolean> {
    const asked = await this.#deps.store.generations.requestCancel(id, options)
    if (asked) await this.wake(id)
    return asked
  }

  async #advance(id: string, lease: AbortSignal): Promise<void> {
    const cancel = new AbortController()
    this.#underWay.set(id, cancel)
    try {
      const wasOpen = await advance(id, { stop: lease, cancel: cancel.signal }, this.#loopParts())
      this.#faults.delete(id)
      const run = await this.#deps.store.generations.find(id)
      if (run && wasOpen && isOver(run.status)) this.#deps.onEnd?.(run)
      if (run && isResting(run.status)) await this.#afterwards(run)
    } finally {
      this.#underWay.delete(id)
      this.#watchers.left(id)
    }
  }

  /**
   * Runs before the job completes, so that after a crash the next attempt does it. Each of these is idempotent: publish the
   * state, wake the run that waits for this one, and schedule a wake-up at the next deadline.
   */
  async #afterwards(run: Run): Promise<void> {
    const { store, onRest, outputMs } = this.#deps
    await onRest(run, await this.result(run))
    if (run.initiator_generation_id !== null) await this.wake(run.initiator_generation_id)
    if (isOver(run.status)) return
    const { calls } = await store.journals.read(run.id)
    const deadlines = calls.flatMap((call) => {
      const { output, awaits } = call
      if (output !== undefined || !awaits || awaits.kind === 'generation' || awaits.kind === 'workflow') return []
      return [awaits.kind === 'client' ? outputDeadline(call, outputMs) : awaits.expiresAt]
    })
    if (deadlines.length > 0) await this.wake(run.id, Math.min(...deadlines) + 1 - Date.now())
  }

  /** Completes the records of calls whose output is in the journal only, because a crash came in between. */
  async #repair(run: Run, { steps, calls }: Journal): Promise<void> {
    const { store, authenticator, conclude } = this.#deps
    const last = calls.filter(
      ({ step, output, tool_id }) => step === steps.at(-1)?.number && output !== undefined && tool_id,
    )
    if (last.length === 0) return
    const records = await store.calls.findMany(last.map(({ call_id }) => call_id))
    const pending = new Set(records.filter(({ status }) => status === 'pending').map((record) => record.id))
    if (pending.size === 0) return
    const principal = await authenticator.principal(run.started_by.id)
    if (!principal) return
    for (const call of last) {
      if (!pending.has(call.call_id) || isUnknown(call)) continue
      const asked = { ...callRequestOf(call, { run, principal: { ...principal, projectId: run.project_id } }, {}) }
      const value = outputIn(call.output as Json)
      const output: Output = { value, text: JSON.stringify(value), shape: 'json', failed: call.is_error }
      await conclude({ ...asked, begunAt: call.created_at }, output)
    }
  }

  #mayRetry({ id }: Run): boolean {
    const faults = (this.#faults.get(id) ?? 0) + 1
    this.#faults.set(id, faults)
    return faults < maxFaults
  }

  async #sweep(): Promise<void> {
    try {
      const { store, outputMs } = this.#deps
      const left = await store.generations.silentSince('in_progress', Date.now() - silence)
      // The job that should have woken these at their deadline may be lost.
      const late = await store.generations.silentSince('requires_action', Date.now() - outputMs - silence)
      for (const id of [...left, ...late]) if (!this.#underWay.has(id)) await this.wake(id)
    } catch (err) {
      this.#deps.log.warn({ err }, 'could not check for interrupted runs')
    }
  }

  #loopParts(): LoopDeps {
    const {
      store,
      catalogue,
      authenticator,
      outputMs,
      dispatch,
      conclude,
      mayHaveRun: passedGate,
      modelOf,
      turns,
    } = this.#deps
    return {
      ...{ store, catalogue, authenticator, outputMs, dispatch, conclude, mayHaveRun: passedGate, modelOf, turns },
      cancel: (id) => this.cancel(id),
      mayRetry: (run) => this.#mayRetry(run),
      repair: (run, journal) => this.#repair(run, journal),
      changed: (run) => this.#watchers.changed(run),
      streamed: (run, step, delta) => this.#watchers.onDelta(run, step, delta),
    }
  }
}

/** Whether the journal says that the outcome is unknown. The call record then stays open, which means the same. */
const isUnknown = ({ output, is_error }: JournalCall) =>
  is_error && isObject(output) && isObject(output.error) && output.error.code === 'OUTCOME_UNKNOWN'
