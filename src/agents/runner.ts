import type { Logger } from 'pino'
import type { Keys } from '../access/keys.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Asked } from '../dispatch/call.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { isObject, type Json } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import { type GenerationResult, type GenerationStatus, isOver, isResting } from '../model/generation.ts'
import type { Outcome } from '../model/outcome.ts'
import { outputIn } from '../model/picture.ts'
import type { Output } from '../model/tool.ts'
import type { NewGeneration, Run, SubmittedOutput } from '../store/generations.ts'
import type { Journal, JournalCall } from '../store/journal.ts'
import type { Store } from '../store/store.ts'
import { type Asking, advance, Cancelled, type LoopParts } from './loop.ts'
import { askedOf, concludeClientCall, outputDeadline } from './make-call.ts'
import { callsFor, type Line } from './outputs.ts'
import { nothingPending, type Pending, pendingOf, resultOf } from './result.ts'
import { Watchers } from './watch.ts'

const queue = 'generation'
const concurrency = 200
const sweepEvery = 30_000
/** A run that is said to go on and of which nothing was heard for this long is looked at. */
const silence = 60_000
/** A fault that comes back as often as this does not pass. */
const mostFaults = 5
/** Notices can be lost, so whoever waits looks for itself now and then. */
const lookEvery = 5000

export interface RunnerParts {
  readonly store: Store
  readonly jobs: Jobs
  readonly catalogue: Catalogue
  readonly keys: Keys
  readonly log: Logger
  /** How long a run waits for what its caller's own tools give, in milliseconds. */
  readonly outputMs: number
  dispatch(asked: Asked): Promise<Outcome>
  conclude(asked: Asked, outcome: Output | PlatformError): Promise<void>
  passedGate(callId: string): Promise<boolean>
  modelOf(run: Run): Promise<Asking>
  /** Told once of each run that was started here, and of each that came to its end here. */
  onStart?(): void
  onEnd?(run: Run): void
  /** Told how a run stands when it rests. Telling the same twice is one telling. */
  onRest(run: Run, result: GenerationResult): Promise<void>
}

export interface Submission {
  readonly tool_outputs: readonly SubmittedOutput[]
  readonly settings: Parameters<Store['generations']['submit']>[2]
}

/** Starts runs, goes on with those that are due, and knows who waits for which. */
export class Runner {
  readonly #parts: RunnerParts
  readonly #watchers: Watchers
  readonly #underWay = new Map<string, AbortController>()
  /** How often in a row going on with a run has failed here, for no reason of its own. */
  readonly #faults = new Map<string, number>()
  readonly #sweeper: NodeJS.Timeout
  readonly #closing = new AbortController()
  readonly watch: Watchers['watch']

  constructor(parts: RunnerParts) {
    this.#parts = parts
    this.#watchers = new Watchers(parts.store, (run) => this.result(run))
    this.watch = (id, ...rest) => this.#watchers.watch(id, ...rest)
    parts.store.notices.hear('generations', (ids, data) => {
      if (!isObject(data) || data.cancel !== true) return
      for (const id of ids) this.#underWay.get(id)?.abort(new Cancelled())
    })
    this.#sweeper = setInterval(() => void this.#sweep(), sweepEvery)
    this.#sweeper.unref()
  }

  /** How many runs this process goes on with just now. */
  get running(): number {
    return this.#underWay.size
  }

  /** Begins to go on with runs in this process. */
  async work(): Promise<void> {
    await this.#parts.jobs.work(queue, (id, lease) => this.#advance(id, lease), { concurrency })
    await this.#sweep()
  }

  /** Those who wait are sent away; what they wait for goes on elsewhere, or after the next start. */
  close(): void {
    clearInterval(this.#sweeper)
    this.#closing.abort()
  }

  /** A row, and then whoever is free goes on with it. */
  async start(fresh: NewGeneration): Promise<Run> {
    const { run, isNew } = await this.#parts.store.generations.create(fresh)
    if (isNew) {
      this.#parts.onStart?.()
      await this.wake(run.id)
    }
    return run
  }

  wake(id: string, after?: number): Promise<void> {
    return this.#parts.jobs.enqueue(queue, id, { after })
  }

  /** The run once it stands as it should: by default, once nothing more comes by itself. */
  async settled(id: string, stands: (status: GenerationStatus) => boolean = isResting): Promise<Run> {
    const { store } = this.#parts
    let bell = Promise.withResolvers<void>()
    const ring = () => bell.resolve()
    const stop = store.notices.hear('generations', (ids, data) => {
      const isWords = isObject(data) && 'text' in data
      if (!isWords && (ids.length === 0 || ids.includes(id))) ring()
    })
    const timer = setInterval(ring, lookEvery)
    this.#closing.signal.addEventListener('abort', ring)
    try {
      for (;;) {
        bell = Promise.withResolvers()
        const run = await store.generations.find(id)
        if (!run) throw new PlatformError('GENERATION_NOT_FOUND', { generation_id: id })
        if (stands(run.status)) return run
        if (this.#closing.signal.aborted) throw new PlatformError('SHUTTING_DOWN', {})
        await bell.promise
      }
    } finally {
      stop()
      clearInterval(timer)
      this.#closing.signal.removeEventListener('abort', ring)
    }
  }

  async result(run: Run): Promise<GenerationResult> {
    return resultOf(run, run.status === 'requires_action' ? await this.pending(run.id) : nothingPending)
  }

  /** What has to be done for a run, and for those that it waits for: its caller need not know that there are several. */
  async pending(id: string): Promise<Pending> {
    const { calls } = await this.#parts.store.journals.read(id)
    const own = pendingOf(calls)
    const children = calls.flatMap(({ output, awaits }) =>
      output === undefined && awaits?.kind === 'generation' ? [awaits.id] : [],
    )
    const theirs = await Promise.all(
      children.map(async (child) => {
        const { tool_calls, approvals } = await this.pending(child)
        return { tool_calls: tool_calls.map((call) => ({ generation_id: child, ...call })), approvals }
      }),
    )
    return {
      tool_calls: [...own.tool_calls, ...theirs.flatMap(({ tool_calls }) => tool_calls)],
      approvals: [...own.approvals, ...theirs.flatMap(({ approvals }) => approvals)],
    }
  }

  /** Keeps what the caller's own tools gave; the run goes on once it has all of it. */
  async submit(run: Run, { tool_outputs, settings }: Submission): Promise<void> {
    const { generations } = this.#parts.store
    const lines = await this.#linesUnder(run)
    const found = callsFor(tool_outputs, lines, run)
    // Those that are waited for first: a run that goes on sees that they do, too.
    for (const line of lines.toReversed()) {
      const outputs = found.filter(({ generation_id }) => generation_id === line.run.id)
      if (outputs.length === 0) continue
      // What is said of steps is about the tools of the run that was asked for, and of no other.
      const own = line.run.id === run.id ? settings : { step_rules: [], defaults: {} }
      const { kept, goesOn } = await generations.submit(line.run, outputs, own)
      const principal = await this.#parts.keys.principal(run.started_by.id)
      for (const { step, position, output, is_error } of kept) {
        const call = line.calls.find((one) => one.step === step && one.position === position)
        const making = principal && { run: line.run, principal: { ...principal, projectId: run.project_id } }
        if (call && making) await concludeClientCall(call, output, is_error, making, this.#parts)
      }
      if (goesOn) await this.goOn(line.run)
    }
  }

  /** Something that the run has waited for has come: neither it nor those above it wait for anyone now. */
  async goOn({ id, initiator_generation_id }: Pick<Run, 'id' | 'initiator_generation_id'>): Promise<void> {
    const { generations } = this.#parts.store
    const ids = [id]
    for (let above = initiator_generation_id; above !== null; ) {
      ids.push(above)
      above = (await generations.find(above))?.initiator_generation_id ?? null
    }
    await generations.resume(ids)
    await this.wake(id)
  }

  /** A run and those that it waits for, each with its calls. */
  async #linesUnder(run: Run): Promise<Line[]> {
    const { generations, journals } = this.#parts.store
    const { calls } = await journals.read(run.id)
    const lines: Line[] = [{ run, calls }]
    for (const { awaits } of calls) {
      const child = awaits?.kind === 'generation' ? await generations.find(awaits.id) : undefined
      if (child) lines.push(...(await this.#linesUnder(child)))
    }
    return lines
  }

  /** False if it was over before. */
  async cancel(id: string): Promise<boolean> {
    const asked = await this.#parts.store.generations.requestCancel(id)
    if (asked) await this.wake(id)
    return asked
  }

  async #advance(id: string, lease: AbortSignal): Promise<void> {
    const cancel = new AbortController()
    this.#underWay.set(id, cancel)
    try {
      const wasOpen = await advance(id, { stop: lease, cancel: cancel.signal }, this.#loopParts())
      this.#faults.delete(id)
      const run = await this.#parts.store.generations.find(id)
      if (run && wasOpen && isOver(run.status)) this.#parts.onEnd?.(run)
      if (run && isResting(run.status)) await this.#afterwards(run)
    } finally {
      this.#underWay.delete(id)
      this.#watchers.left(id)
    }
  }

  /**
   * What follows from how a run stands. It is done before the job completes, so that after a crash in between the next
   * attempt does it; each of these can be done twice.
   */
  async #afterwards(run: Run): Promise<void> {
    const { store, onRest, outputMs } = this.#parts
    await onRest(run, await this.result(run))
    if (run.initiator_generation_id !== null) await this.wake(run.initiator_generation_id)
    if (isOver(run.status)) return
    const { calls } = await store.journals.read(run.id)
    const deadlines = calls.flatMap((call) => {
      const { output, awaits } = call
      if (output !== undefined || !awaits || awaits.kind === 'generation') return []
      return [awaits.kind === 'approval' ? awaits.expiresAt : outputDeadline(call, outputMs)]
    })
    if (deadlines.length > 0) await this.wake(run.id, Math.min(...deadlines) + 1 - Date.now())
  }

  /** Calls whose outcome the journal has and the record has not, because a crash came between. */
  async #heal(run: Run, { steps, calls }: Journal): Promise<void> {
    const { store, keys, conclude } = this.#parts
    const last = calls.filter(
      ({ step, output, tool_id }) => step === steps.at(-1)?.number && output !== undefined && tool_id,
    )
    if (last.length === 0) return
    const records = await store.calls.findMany(last.map(({ call_id }) => call_id))
    const pending = new Set(records.filter(({ status }) => status === 'pending').map((record) => record.id))
    if (pending.size === 0) return
    const principal = await keys.principal(run.started_by.id)
    if (!principal) return
    for (const call of last) {
      if (!pending.has(call.call_id) || isUnknown(call)) continue
      const asked = { ...askedOf(call, { run, principal: { ...principal, projectId: run.project_id } }, {}) }
      const value = outputIn(call.output as Json)
      const output: Output = { value, text: JSON.stringify(value), shape: 'json', failed: call.is_error }
      await conclude({ ...asked, begunAt: call.created_at }, output)
    }
  }

  #mayPass({ id }: Run): boolean {
    const faults = (this.#faults.get(id) ?? 0) + 1
    this.#faults.set(id, faults)
    return faults < mostFaults
  }

  async #sweep(): Promise<void> {
    try {
      const { store, outputMs } = this.#parts
      const left = await store.generations.silentSince('in_progress', Date.now() - silence)
      // What wakes them may have been lost.
      const late = await store.generations.silentSince('requires_action', Date.now() - outputMs - silence)
      for (const id of [...left, ...late]) if (!this.#underWay.has(id)) await this.wake(id)
    } catch (err) {
      this.#parts.log.warn({ err }, 'could not look for runs that were left')
    }
  }

  #loopParts(): LoopParts {
    const { store, catalogue, keys, outputMs, dispatch, conclude, passedGate, modelOf } = this.#parts
    return {
      ...{ store, catalogue, keys, outputMs, dispatch, conclude, passedGate, modelOf },
      cancel: (id) => this.cancel(id),
      mayPass: (run) => this.#mayPass(run),
      heal: (run, journal) => this.#heal(run, journal),
      changed: (run) => this.#watchers.changed(run),
      said: (run, step, delta) => this.#watchers.said(run, step, delta),
    }
  }
}

/** Whether the journal says no more than that nobody knows. The record says the same, by staying open. */
const isUnknown = ({ output, is_error }: JournalCall) =>
  is_error && isObject(output) && isObject(output.error) && output.error.code === 'OUTCOME_UNKNOWN'
