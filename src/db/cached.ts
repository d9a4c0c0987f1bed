import type { ChangeEvents, Topic } from './change-events.ts'

export interface CachedOptions<V> {
  /** Topics whose events empty the cache. */
  readonly clearOn?: readonly Topic[]
  /** Topics whose ids are keys of this cache. An event removes those keys, or everything if it has no ids. */
  readonly removeOn?: readonly Topic[]
  /** How long a value stays fresh, in milliseconds. By default, until it is removed. */
  lifetime?(value: V): number
  /** How many values to keep. At the limit the cache starts over. By default, as many as there are. */
  readonly limit?: number
}

/**
 * Caches values from the database until a change event removes them. Concurrent callers of a missing value share one load.
 * If a value is removed while it loads, the waiting callers get it, but it is not cached.
 *
 * On hot paths, `cached.peek(key) ?? (await cached.find(key, load))` costs one lookup if the value is cached: no promise and
 * no turn of the event loop.
 */
export class Cached<V> {
  readonly #entries = new Map<string, { readonly value: V; expiresAt: number }>()
  readonly #loads = new Map<string, Promise<V | undefined>>()
  readonly #lifetime: CachedOptions<V>['lifetime']
  readonly #limit: number

  constructor(changes: ChangeEvents, { clearOn = [], removeOn = [], lifetime, limit }: CachedOptions<V>) {
    this.#lifetime = lifetime
    this.#limit = limit ?? Number.POSITIVE_INFINITY
    for (const topic of clearOn) changes.subscribe(topic, () => this.clear())
    for (const topic of removeOn) changes.subscribe(topic, (ids) => this.#remove(ids))
  }

  /** The value if it is cached and fresh. */
  peek(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    return entry.expiresAt === Number.POSITIVE_INFINITY || entry.expiresAt > Date.now() ? entry.value : undefined
  }

  /** The last loaded value, even if it is no longer fresh. */
  last(key: string): V | undefined {
    return this.#entries.get(key)?.value
  }

  /** Returns the value, and loads it if necessary. `undefined` and errors are not cached. */
  async find<L extends V | undefined>(key: string, load: () => Promise<L>): Promise<V | L> {
    const cached = this.peek(key)
    if (cached !== undefined) return cached
    const loading = (this.#loads.get(key) as Promise<V | L> | undefined) ?? load()
    this.#loads.set(key, loading)
    try {
      const value = await loading
      // If this load is no longer in the map, it began before a change, or its value is already cached.
      if (value !== undefined && this.#loads.get(key) === loading) this.#keep(key, value)
      return value
    } finally {
      if (this.#loads.get(key) === loading) this.#loads.delete(key)
    }
  }

  clear(): void {
    this.#entries.clear()
    this.#loads.clear()
  }

  /** Marks matching values as stale, so that they are loaded again. Until then, `last` still returns them. */
  expire(matches: (value: V) => boolean): void {
    for (const entry of this.#entries.values()) if (matches(entry.value)) entry.expiresAt = 0
    this.#loads.clear()
  }

  #remove(keys: readonly string[]): void {
    if (keys.length === 0) this.clear()
    for (const key of keys) {
      this.#entries.delete(key)
      this.#loads.delete(key)
    }
  }

  #keep(key: string, value: V): void {
    if (this.#entries.size >= this.#limit) this.#entries.clear()
    const lifetime = this.#lifetime?.(value) ?? Number.POSITIVE_INFINITY
    this.#entries.set(key, { value, expiresAt: Date.now() + lifetime })
  }
}
