import { isObject } from '../lib/json.ts'
import type { GenerationResult, StepView } from '../model/generation.ts'
import { isResting } from '../model/generation.ts'
import type { Run } from '../store/generations.ts'
import type { Journal } from '../store/journal.ts'
import type { Store } from '../store/store.ts'
import type { ModelDelta as Delta } from './models/model.ts'
import { callView, stepView } from './result.ts'

/** What can be heard of a run while it goes on. */
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

/** A piece of what a model says, and where in its answer to the step it stands. */
type Piece = { readonly step: number; readonly at: number; readonly text: string }

type Listener = { changed(): void; said(step: number, delta: Delta): void; heard(piece: Piece): void }

/** How long words are gathered before they are told to other processes. */
const gatherMs = 40
const mostAtOnce = 3000
/** How many pieces are kept that come before what they follow was read. */
const mostEarly = 1000
/** Notices can be lost, so whoever watches looks for itself now and then. */
const lookEvery = 2000

/**
 * Whoever watches a run, in this process or in another than the one that goes on with it. What is written down is read
 * from the journal; only what a model says word by word is passed on as it comes.
 */
export class Watchers {
  readonly #store: Store
  readonly #listeners = new Map<string, Set<Listener>>()
  /** What the model has said so far of the step it is at, for those who come late. */
  readonly #partial = new Map<string, { step: number; text: string }>()
  readonly #gathered = new Map<string, Piece & { text: string; timer: NodeJS.Timeout }>()
  /** What is being told to other processes of a run: one piece after the other, or they would change places. */
  readonly #telling = new Map<string, Promise<void>>()
  readonly #resultOf: (run: Run) => Promise<GenerationResult>

  constructor(store: Store, resultOf: (run: Run) => Promise<GenerationResult>) {
    this.#store = store
    this.#resultOf = resultOf
    store.notices.hear('generations', (ids, data) => {
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

  said(run: Run, step: number, delta: Delta): void {
    if (delta.type === 'reset') this.#partial.delete(run.id)
    if (delta.type !== 'text') {
      for (const listener of this.#listeners.get(run.id) ?? []) listener.said(step, delta)
      return
    }
    const known = this.#partial.get(run.id)
    const before = known?.step === step ? known.text : ''
    const piece = { step, at: before.length, text: delta.text.replaceAll('\0', '') }
    this.#partial.set(run.id, { step, text: before + piece.text })
    this.#pass(run.id, piece)
    if (run.settings.streamed && this.#store.engine.name === 'postgres') this.#gather(run.id, piece)
  }

  /** The run is left alone: nobody adds to what was said. */
  left(id: string): void {
    this.#partial.delete(id)
    this.#flush(id)
  }

  #pass(id: string, piece: Piece): void {
    for (const listener of this.#listeners.get(id) ?? []) listener.heard(piece)
  }

  #gather(id: string, piece: Piece): void {
    const known = this.#gathered.get(id)
    if (known?.step === piece.step && piece.at > 0) known.text += piece.text
    else {
      this.#flush(id)
      this.#gathered.set(id, { ...piece, timer: setTimeout(() => this.#flush(id), gatherMs) })
    }
    if ((this.#gathered.get(id)?.text.length ?? 0) > mostAtOnce) this.#flush(id)
  }

  #flush(id: string): void {
    const known = this.#gathered.get(id)
    if (!known) return
    this.#gathered.delete(id)
    clearTimeout(known.timer)
    const { step, at, text } = known
    const telling = (this.#telling.get(id) ?? Promise.resolve()).then(async () => {
      for (let start = 0; start < text.length; start += mostAtOnce / 2) {
        const piece = { step, at: at + start, text: text.slice(start, start + mostAtOnce / 2) }
        await this.#store.notices.tellOthers('generations', [id], piece).catch(() => {})
      }
      if (this.#telling.get(id) === telling) this.#telling.delete(id)
    })
    this.#telling.set(id, telling)
  }

  /**
   * Tells all that has happened, then all that happens, until the run rests; but for what a reader has been told before.
   * Returns the function that stops it.
   */
  watch(id: string, send: (event: GenerationEvent) => void, end: () => void, before?: Journal): () => void {
    const told = new Told(send, before)
    let stopped = false
    let isReading = false
    let again = false
    const read = async () => {
      const run = await this.#store.generations.find(id)
      const journal = await this.#store.journals.read(id)
      if (stopped || !run) return
      const partial = this.#partial.get(id)
      told.journal(run, journal)
      if (partial) told.heard({ step: partial.step, at: 0, text: partial.text })
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
        // A database that does not answer is asked again in a while.
        await read().catch(() => {})
      }
      isReading = false
    }
    const listener: Listener = {
      changed: () => void changed(),
      said: (step, delta) => told.said(step, delta),
      heard: (piece) => told.heard(piece),
    }
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners.add(listener))
    const timer = setInterval(() => void changed(), lookEvery)
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

/** What one watcher has been told, so that it hears everything once and in order. */
class Told {
  readonly #send: (event: GenerationEvent) => void
  #started = false
  #step = 0
  #answered = 0
  /** Whether all calls of the step that was answered last have ended, as far as the watcher was told. */
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

  said(step: number, delta: Delta): void {
    if (!this.#isNow(step, () => this.said(step, delta))) return
    this.#begin(step)
    if (delta.type === 'reasoning') this.#send({ type: 'reasoning.delta', step, text: delta.text })
    else if (delta.type === 'tool_call') {
      this.#send({ type: 'tool_call.started', step, tool_call_id: delta.id, tool_name: delta.name })
    } else if (delta.type === 'reset') this.#reset(step)
  }

  /**
   * A piece of the text, of which the beginning may be known. One whose beginning is missing is left: the journal has the
   * whole in the end. One that says something else than was said comes from a model that was asked again.
   */
  heard(piece: Piece): void {
    const { step, at, text } = piece
    if (!this.#isNow(step, () => this.heard(piece))) return
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
   * The journal comes first: nothing is said of a run before it has started, nor of a step before the ones before it were
   * answered and their calls have ended. What comes too early is kept until then.
   */
  #isNow(step: number, again: () => void): boolean {
    if (step <= this.#answered) return false
    if (this.#started && this.#settled && step === this.#answered + 1) return true
    if (this.#early.length < mostEarly) this.#early.push(again)
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
        // More was said than was answered in the end.
        if (this.#step === step.number && this.#text.length > text.length) this.#reset(step.number)
        this.heard({ step: step.number, at: 0, text })
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
