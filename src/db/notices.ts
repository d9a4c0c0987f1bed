import type { Json } from '../lib/json.ts'
import type { Engine, Notice } from './engine.ts'

type Topic = Notice['topic']
type Listener = (ids: readonly string[], data: Json | undefined) => void

/** Tells whoever keeps something in memory that it has changed: here, and in every other process on the database. */
export class Notices {
  readonly #listeners = new Map<Topic, Set<Listener>>()
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
    engine.hear((notice) => this.#deliver(notice))
  }

  /** Resolves once it has been told; what happens in this process has happened by then. */
  async tell(topic: Topic, ids: readonly string[], data?: Json): Promise<void> {
    const notice = { topic, ids, ...(data !== undefined && { data }) }
    this.#deliver(notice)
    await this.#engine.tell(notice)
  }

  /** Tells the other processes only. */
  tellOthers(topic: Topic, ids: readonly string[], data: Json): Promise<void> {
    return this.#engine.tell({ topic, ids, data })
  }

  /** Returns the function that stops listening. */
  hear(topic: Topic, listener: Listener): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  #deliver({ topic, ids, data }: Notice): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener(ids, data)
  }
}
