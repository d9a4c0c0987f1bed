import { isObject } from '../lib/json.ts'
import { KeyedMutex } from '../lib/keyed-mutex.ts'
import type { GenerationResult, StepView } from '../model/generation.ts'
import { isResting } from '../model/generation.ts'
import type { Run } from '../store/generations.ts'
import type { Journal } from '../store/journal.ts'
import type { Store } from '../store/store.ts'
import type { ModelDelta as Delta } from './models/model.ts'
import { callView, stepView } from './result.ts'

/** The events of a run's stream. */
export type GenerationEvent =
  | { readonly type: 'generation.started'; readonly generation_id: string; readonly agent_id: string }
  | { readonly type: 'step.started'; readonly step: number }
  | { readonly type: 'text.delta' | 'reasoning.delta'; readonly step: number; readonly text: string }
  | {
      readonly type: 'tool_call.started'
      readonly step: number
      readonly tool_call_id: string
      readonly tool_name: string
    }
  | { readonly type: 'step.reset'; readonly step: number }
  | ({ readonly type: 'step.answered'; readonly step: number } & Omit<StepView, 'number' | 'started_at'>)
  | ({ readonly type: 'call.waiting' | 'call.ended'; readonly step: number } & StepView['calls'][number])
  | {
      readonly type: `generation.${'requires_action' | 'completed' | 'failed' | 'cancelled'}`
      readonly result: GenerationResult
    }

/** A piece of a model's text, with its offset in the text of the step. */
type Piece = { readonly step: number; readonly at: number; readonly text: string }

type Listener = { changed(): void; onDelta(step: number, delta: Delta): void; onText(piece: Piece): void }

/** How long text is batched before it is published to other processes. */
const gatherMs = 40
const maxAtOnce = 3000
/** How many deltas are buffered that arrive before the journal has been read up to their step. */
const maxEarly = 1000
/** Change events can be lost, so watchers also poll. */
const pollMs = 2000

/**
 * Streams runs to watchers, which may be in another process than the one that advances the run. Events are derived from the
 * journal; only the text of the model is forwarded as it arrives.
 */
export class Watchers {
  readonly #store: Store
  readonly #listeners = new Map<string, Set<Listener>>()
  /** The text of the current step so far, for watchers that join late. */
  readonly #partial = new Map<string, { step: number; text: string }>()
  readonly #gathered = new Map<string, Piece & { text: string; timer: NodeJS.Timeout }>()
  /** Serializes publishing per run, so that pieces stay in order. */
  readonly #publishing = new KeyedMutex()
  readonly #resultOf: (run: Run) => Promise<GenerationResult>

  constructor(store: Store, resultOf: (run: Run) => Promise<GenerationResult>) {
    this.#store = store
    this.#resultOf = resultOf
    store.changes.subscribe('generations', (ids, data) => {
      for (const id of ids) {
        if (isObject(data) && typeof data.text === 'string') {
          this.#pass(id, { step: Number(data.step), at: Number(data.at), text: data.text })
        } else for (const listener of this.#listeners.get(id) ?? []) listener.changed()
      }
    })
  }

  changed(run: Run): void {
    for (const listener of this.#listeners.get(run.id) ?? []) listener.changed()
    if (run.settings.streamed) this.#flush(run.id)
  }

  onDelta(run: Run, step: number, delta: Delta): void {
    if (delta.type === 'reset') this.#partial.delete(run.id)
    if (delta.type !== 'text') {
      for (const listener of this.#listeners.get(run.id) ?? []) listener.onDelta(step, delta)
      return
    }
    const known = this.#partial.get(run.id)
    const before = known?.step === step ? known.text : ''
    const piece = { step, at: before.length, text: delta.text.replaceAll('\0', '') }
    this.#partial.set(run.id, { step, text: before + piece.text })
    this.#pass(run.id, piece)
    if (run.settings.streamed && this.#store.engine.name === 'postgres') this.#gather(run.id, piece)
  }

  /** This process has stopped advancing the run, so no more text follows. */
  left(id: string): void {
    this.#partial.delete(id)
    this.#flush(id)
  }

  #pass(id: string, piece: Piece): void {
    for (const listener of this.#listeners.get(id) ?? []) listener.onText(piece)
  }

  #gather(id: string, piece: Piece): void {
    const known = this.#gathered.get(id)
    if (known?.step === piece.step && piece.at > 0) known.text += piece.text
    else {
      this.#flush(id)
      this.#gathered.set(id, { ...piece, timer: setTimeout(() => this.#flush(id), gatherMs) })
    }
    if ((this.#gathered.get(id)?.text.length ?? 0) > maxAtOnce) this.#flush(id)
  }

  #flush(id: string): void {
    const known = this.#gathered.get(id)
    if (!known) return
    this.#gathered.delete(id)
    clearTimeout(known.timer)
    const { step, at, text } = known
    void this.#publishing.run(id, async () => {
      for (let start = 0; start < text.length; start += maxAtOnce / 2) {
        const piece = { step, at: at + start, text: text.slice(start, start + maxAtOnce / 2) }
        await this.#store.changes.publishToOthers('generations', [id], piece).catch(() => {})
      }
    })
  }

  /**
   * Sends the events so far and then new ones, until the run ends or waits for someone outside. Events that follow from
   * `before`, a journal that the watcher has seen, are skipped. Returns a function that stops it.
   */
  watch(id: string, send: (event: GenerationEvent) => void, end: () => void, before?: Journal): () => void {
    const state = new WatcherState(send, before)
    let stopped = false
    let isReading = false
    let again = false
    const read = async () => {
      const run = await this.#store.generations.find(id)
      const journal = await this.#store.journals.read(id)
      if (stopped || !run) return
      const partial = this.#partial.get(id)
      state.journal(run, journal)
      if (partial) state.onText({ step: partial.step, at: 0, text: partial.text })
      if (!isResting(run.status)) return
      const result = await this.#resultOf(run)
      if (stopped) return
      send({ type: `generation.${run.status as 'completed'}`, result })
      stop()
      end()
    }
    const changed = async () => {
      again = true
      if (isReading) return
      isReading = true
      while (again && !stopped) {
        again = false
        // If the database does not answer, the next poll tries again.
        await read().catch(() => {})
      }
      isReading = false
    }
    const listener: Listener = {
      changed: () => void changed(),
      onDelta: (step, delta) => state.onDelta(step, delta),
      onText: (piece) => state.onText(piece),
    }
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners.add(listener))
    const timer = setInterval(() => void changed(), pollMs)
    const stop = () => {
      stopped = true
      clearInterval(timer)
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(id)
    }
    void changed()
    return stop
  }
}

/** Tracks what one watcher has received, so that it gets each event once and in order. */
class WatcherState {
  readonly #send: (event: GenerationEvent) => void
  #started = false
  #step = 0
  #answered = 0
  /** Whether the watcher has received the end of all calls of the last answered step. */
  #settled = true
  #text = ''
  readonly #calls = new Map<string, string>()
  readonly #early: (() => void)[] = []

  constructor(send: (event: GenerationEvent) => void, before: Journal = { steps: [], calls: [] }) {
    this.#send = send
    this.#answered = before.steps.findLast(({ answered_at }) => answered_at !== null)?.number ?? 0
    this.#step = this.#answered
    for (const call of before.calls) this.#calls.set(call.call_id, callView(call).status)
  }

  onDelta(step: number, delta: Delta): void {
    if (!this.#isNow(step, () => this.onDelta(step, delta))) return
    this.#begin(step)
    if (delta.type === 'reasoning') this.#send({ type: 'reasoning.delta', step, text: delta.text })
    else if (delta.type === 'tool_call') {
      this.#send({ type: 'tool_call.started', step, tool_call_id: delta.id, tool_name: delta.name })
    } else if (delta.type === 'reset') this.#reset(step)
  }

  /**
   * Takes a piece of text, which may overlap with the text so far. A piece after a gap is dropped: the journal has the whole
   * text in the end. A piece that contradicts the text so far comes from a retry of the model.
   */
  onText(piece: Piece): void {
    const { step, at, text } = piece
    if (!this.#isNow(step, () => this.onText(piece))) return
    this.#begin(step)
    if (at > this.#text.length) return
    const known = this.#text.slice(at)
    if (known.length >= text.length && known.startsWith(text)) return
    if (!text.startsWith(known)) {
      this.#reset(step)
      if (at > 0) return
    }
    const fresh = text.slice(this.#text.length - at)
    this.#text += fresh
    if (fresh !== '') this.#send({ type: 'text.delta', step, text: fresh })
  }

  /**
   * Whether a delta of this step can be sent now. The run must have started, and all earlier steps must be answered and
   * their calls ended. Deltas that arrive too early are buffered until then.
   */
  #isNow(step: number, again: () => void): boolean {
    if (step <= this.#answered) return false
    if (this.#started && this.#settled && step === this.#answered + 1) return true
    if (this.#early.length < maxEarly) this.#early.push(again)
    return false
  }

  #reset(step: number): void {
    this.#text = ''
    this.#send({ type: 'step.reset', step })
  }

  #begin(step: number): void {
    if (step <= this.#step) return
    this.#step = step
    this.#text = ''
    this.#send({ type: 'step.started', step })
  }

  journal(run: Run, { steps, calls }: Journal): void {
    if (!this.#started) {
      this.#started = true
      this.#send({ type: 'generation.started', generation_id: run.id, agent_id: run.agent_id })
    }
    for (const step of steps) {
      this.#begin(step.number)
      if (step.answered_at !== null && step.number > this.#answered) {
        const text = step.text ?? ''
        // More text was streamed than the final answer has.
        if (this.#step === step.number && this.#text.length > text.length) this.#reset(step.number)
        this.onText({ step: step.number, at: 0, text })
        this.#answered = step.number
        const { number: _, started_at: _started, ...view } = stepView(step, calls)
        this.#send({ type: 'step.answered', step: step.number, ...view })
      }
      for (const call of calls.filter((one) => one.step === step.number)) this.#call(step.number, callView(call))
    }
    this.#settled = calls.every((call) => call.step !== this.#answered || isEnded(callView(call).status))
    for (const again of this.#early.splice(0)) again()
  }

  #call(step: number, view: StepView['calls'][number]): void {
    if (view.status === 'running' || this.#calls.get(view.call_id) === view.status) return
    this.#calls.set(view.call_id, view.status)
    this.#send({
      type: isEnded(view.status) ? 'call.ended' : 'call.waiting',
      step,
      ...view,
    })
  }
}

const isEnded = (status: string): boolean => status === 'done' || status === 'failed'
