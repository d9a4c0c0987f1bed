import type { Dispatcher } from 'undici'

/** The maximum time that an idle connection is kept open, even if its server allows more. */
export const keepAliveMaxMs = 60_000
/** The maximum number of pools. Beyond that, the least recently used one is closed. */
const maxPools = 1000
const sweepMs = 15_000

interface Entry {
  readonly dispatcher: Dispatcher
  usedAt: number
}

/**
 * Connection pools, one per owner and origin, so that a connection is never used for two owners.
 *
 * A pool is removed when it has been idle for as long as its connections may be kept, or when it is the least recently used
 * one and there are too many. Removed pools finish their requests in flight and then close.
 */
export class Pools {
  readonly #create: (origin: string) => Dispatcher
  readonly #most: number
  readonly #pools = new Map<string, Entry>()
  readonly #closing = new Set<Dispatcher>()
  #sweeper: NodeJS.Timeout | undefined
  #closed = false

  constructor(create: (origin: string) => Dispatcher, most = maxPools) {
    this.#create = create
    this.#most = most
  }

  get size(): number {
    return this.#pools.size
  }

  get(owner: string, origin: string): Dispatcher {
    const key = `${owner} ${origin}`
    let entry = this.#pools.get(key)
    if (!entry) {
      entry = this.#add(origin)
      this.#pools.set(key, entry)
    }
    entry.usedAt = performance.now()
    return entry.dispatcher
  }

  /** Removes pools that were last used at or before the given time. */
  sweep(before: number): void {
    for (const [key, { usedAt }] of this.#pools) {
      if (usedAt <= before) this.#remove(key)
    }
    if (this.#pools.size > 0) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  /** Aborts requests in flight. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#sweeper)
    const all = [...this.#closing, ...[...this.#pools.values()].map(({ dispatcher }) => dispatcher)]
    this.#pools.clear()
    await Promise.all(all.map((dispatcher) => dispatcher.destroy()))
  }

  #add(origin: string): Entry {
    const dispatcher = this.#create(origin)
    if (this.#closed) void dispatcher.destroy()
    else this.#sweeper ??= setInterval(() => this.sweep(performance.now() - keepAliveMaxMs), sweepMs).unref()
    if (this.#pools.size >= this.#most) this.#remove(this.#leastRecent())
    return { dispatcher, usedAt: 0 }
  }

  #leastRecent(): string {
    let [least = '', at] = ['', Number.POSITIVE_INFINITY]
    for (const [key, { usedAt }] of this.#pools) if (usedAt < at) [least, at] = [key, usedAt]
    return least
  }

  #remove(key: string): void {
    const dispatcher = this.#pools.get(key)?.dispatcher
    if (!dispatcher) return
    this.#pools.delete(key)
    this.#closing.add(dispatcher)
    void dispatcher.close().finally(() => this.#closing.delete(dispatcher))
  }
}
