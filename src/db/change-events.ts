import type { Json } from '../lib/json.ts'
import type { ChangeEvent, Engine } from './engine.ts'

export type Topic = ChangeEvent['topic']
type Listener = (ids: readonly string[], data: Json | undefined) => void

const soonMs = 100

/** Publishes change events to subscribers, such as caches, in this process and all others on the same database. */
export class ChangeEvents {
  readonly #listeners = new Map<Topic, Set<Listener>>()
  readonly #engine: Pick<Engine, 'publish' | 'hasPeers'>
  readonly #soon = new Map<Topic, string[]>()

  constructor(engine: Pick<Engine, 'publish' | 'subscribe' | 'hasPeers'>) {
    this.#engine = engine
    engine.subscribe((event) => this.#deliver(event))
  }

  /** Resolves once the event is sent to the other processes. Subscribers in this process have been called by then. */
  async publish(topic: Topic, ids: readonly string[], data?: Json): Promise<void> {
    const event = { topic, ids, ...(data !== undefined && { data }) }
    this.#deliver(event)
    await this.#engine.publish(event)
  }

  /** Publishes to the other processes only. */
  publishToOthers(topic: Topic, ids: readonly string[], data: Json): Promise<void> {
    return this.#engine.publish({ topic, ids, data })
  }

  /**
   * For frequent changes: delivers in this process immediately, and in the others several times a second. On PostgreSQL,
   * every notification takes a lock that all commits wait for.
   */
  publishSoon(topic: Topic, ids: readonly string[]): void {
    this.#deliver({ topic, ids })
    if (!this.#engine.hasPeers) return
    const waiting = this.#soon.get(topic)
    if (waiting) return void waiting.push(...ids)
    this.#soon.set(topic, [...ids])
    setTimeout(() => {
      const all = this.#soon.get(topic) ?? []
      this.#soon.delete(topic)
      void this.#engine.publish({ topic, ids: all }).catch(() => {})
    }, soonMs).unref()
  }

  /** Returns a function that unsubscribes. */
  subscribe(topic: Topic, listener: Listener): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  #deliver({ topic, ids, data }: ChangeEvent): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener(ids, data)
  }
}
