import type { Engine, Notice } from './engine.ts'

type Topic = Notice['topic']

/** Tells whoever keeps something in memory that it has changed: here, and in every other process on the database. */
export class Notices {
  readonly #listeners = new Map<Topic, Set<(ids: readonly string[]) => void>>()
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
    engine.hear((notice) => this.#deliver(notice))
  }

  /** Resolves once it has been told; what happens in this process has happened by then. */
  async tell(topic: Topic, ids: readonly string[]): Promise<void> {
    this.#deliver({ topic, ids })
    await this.#engine.tell({ topic, ids })
  }

  /** Returns the function that stops listening. */
  hear(topic: Topic, listener: (ids: readonly string[]) => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  #deliver({ topic, ids }: Notice): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener(ids)
  }
}
