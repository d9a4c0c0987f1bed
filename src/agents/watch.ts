import type { GenerationResult, StepView } from '../model/generation.ts'
import { isResting } from '../model/generation.ts'
import { isObject } from '../model/json.ts'
import type { Run } from '../store/generations.ts'
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

type Listener = { changed(): void; said(step: number, delta: Delta): void }

/** How long words are gathered before they are told to other processes. */
const gatherMs = 40
const mostAtOnce = 3000
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
  readonly #gathered = new Map<string, { step: number; text: string; timer: NodeJS.Timeout }>()

  readonly #resultOf: (run: Run) => Promise<GenerationResult>

  constructor(store: Store, resultOf: (run: Run) => Promise<GenerationResult>) {
    this.#store = store
    this.#resultOf = resultOf
    store.notices.hear('generations', (ids, data) => {
      for (const id of ids) {
        if (isObject(data) && typeof data.text === 'string') {
          this.#pass(id, Number(data.step), { type: 'text', text: data.text })
        } else for (const listener of this.#listeners.get(id) ?? []) listener.changed()
      }
    })
  }

  changed(run: Run): void {
    for (const listener of this.#listeners.get(run.id) ?? []) listener.changed()
    if (run.settings.streamed) this.#flush(run.id)
  }

  said(run: Run, step: number, delta: Delta): void {
    if (delta.type === 'text') {
      const partial = this.#partial.get(run.id)
      this.#partial.set(run.id, { step, text: partial?.step === step ? partial.text + delta.text : delta.text })
    }
    if (delta.type === 'reset') this.#partial.delete(run.id)
    this.#pass(run.id, step, delta)
    if (run.settings.streamed && delta.type === 'text' && this.#store.engine.name === 'postgres') {
      this.#gather(run.id, step, delta.text)
    }
  }

  /** The run is left alone: nobody adds to what was said. */
  left(id: string): void {
    this.#partial.delete(id)
    this.#flush(id)
  }

  #pass(id: string, step: number, delta: Delta): void {
    for (const listener of this.#listeners.get(id) ?? []) listener.said(step, delta)
  }

  #gather(id: string, step: number, text: string): void {
    const known = this.#gathered.get(id)
    if (known?.step === step) known.text += text
    else {
      this.#flush(id)
      this.#gathered.set(id, { step, text, timer: setTimeout(() => this.#flush(id), gatherMs) })
    }
    if ((this.#gathered.get(id)?.text.length ?? 0) > mostAtOnce) this.#flush(id)
  }

  #flush(id: string): void {
    const known = this.#gathered.get(id)
    if (!known) return
    this.#gathered.delete(id)
    clearTimeout(known.timer)
    for (let start = 0; start < known.text.length; start += mostAtOnce / 2) {
      const text = known.text.slice(start, start + mostAtOnce / 2)
      void this.#store.notices.tellOthers('generations', [id], { step: known.step, text }).catch(() => {})
    }
  }

  /** Tells all that has happened, then all that happens, until the run rests. Returns the function that stops it. */
  watch(id: string, send: (event: GenerationEvent) => void, end: () => void): () => void {
    const told = new Told(send)
    let stopped = false
    let isReading = false
    let again = false
    const read = async () => {
      const run = await this.#store.generations.find(id)
      const journal = await this.#store.generations.journal(id)
      if (stopped || !run) return
      const partial = this.#partial.get(id)
      told.journal(run, journal)
      if (partial) told.whole(partial.step, partial.text)
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
    const listener: Listener = { changed: () => void changed(), said: (step, delta) => told.said(step, delta) }
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
  #text = ''
  readonly #calls = new Map<string, string>()

  constructor(send: (event: GenerationEvent) => void) {
    this.#send = send
  }

  said(step: number, delta: Delta): void {
    // The journal comes first: nothing is said of a run before it has started, nor of a step that was answered.
    if (!this.#started || step <= this.#answered) return
    this.#begin(step)
    if (delta.type === 'text') {
      this.#text += delta.text
      this.#send({ type: 'text.delta', step, text: delta.text })
    } else if (delta.type === 'reasoning') this.#send({ type: 'reasoning.delta', step, text: delta.text })
    else if (delta.type === 'tool_call') {
      this.#send({ type: 'tool_call.started', step, tool_call_id: delta.id, tool_name: delta.name })
    } else if (delta.type === 'reset') {
      this.#text = ''
      this.#send({ type: 'step.reset', step })
    }
  }

  /** All that was said of a step so far, of which the beginning may be known. */
  whole(step: number, text: string): void {
    if (step <= this.#answered || (step === this.#step && text.length <= this.#text.length)) return
    this.#begin(step)
    if (text.startsWith(this.#text)) this.said(step, { type: 'text', text: text.slice(this.#text.length) })
  }

  #begin(step: number): void {
    if (step <= this.#step) return
    this.#step = step
    this.#text = ''
    this.#send({ type: 'step.started', step })
  }

  journal(run: Run, { steps, calls }: Awaited<ReturnType<Store['generations']['journal']>>): void {
    if (!this.#started) {
      this.#started = true
      this.#send({ type: 'generation.started', generation_id: run.id, agent_id: run.agent_id })
    }
    for (const step of steps) {
      this.#begin(step.number)
      if (step.answered_at !== null && step.number > this.#answered) {
        this.whole(step.number, step.text ?? '')
        this.#answered = step.number
        const { number: _, started_at: _started, ...view } = stepView(step, calls)
        this.#send({ type: 'step.answered', step: step.number, ...view })
      }
      for (const call of calls.filter((one) => one.step === step.number)) this.#call(step.number, callView(call))
    }
  }

  #call(step: number, view: StepView['calls'][number]): void {
    if (view.status === 'running' || this.#calls.get(view.call_id) === view.status) return
    this.#calls.set(view.call_id, view.status)
    this.#send({
      type: view.status === 'done' || view.status === 'failed' ? 'call.ended' : 'call.waiting',
      step,
      ...view,
    })
  }
}
