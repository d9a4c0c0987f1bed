import type { Dispatcher } from 'undici'

/** Longest time that a connection is kept for another request, whatever its server offers. */
export const keepAliveMaxMs = 60_000
/** Pools beyond this many are closed, the least recently used first. */
const mostPools = 1000
const sweepMs = 15_000

interface Entry {
  readonly dispatcher: Dispatcher
  usedAt: number
}

/**
 * Connection pools, one for each owner and origin: a connection is never used for two owners.
 *
 * A pool that has not been used for as long as its connections may be kept is removed, and so is the least recently used
 * one when there are too many. Removed pools finish what they have in flight and then close.
 */
export class Pools {
  readonly #create: (origin: string) => Dispatcher
  readonly #most: number
  /** In the order of use, the least recent first. */
  readonly #pools = new Map<string, Entry>()
  readonly #closing = new Set<Dispatcher>()
  #sweeper: NodeJS.Timeout | undefined
  #closed = false

  constructor(create: (origin: string) => Dispatcher, most = mostPools) {
    this.#create = create
    this.#most = most
  }

  get size(): number {
    return this.#pools.size
  }

  get(owner: string, origin: string): Dispatcher {
    const key = `${owner} ${origin}`
    let entry = this.#pools.get(key)
    if (entry) this.#pools.delete(key)
    else entry = this.#add(origin)
    this.#pools.set(key, entry)
    entry.usedAt = performance.now()
    return entry.dispatcher
  }

  /** Removes the pools that nobody has used since then. */
  sweep(before: number): void {
    for (const [key, { usedAt }] of this.#pools) {
      if (usedAt > before) break
      this.#remove(key)
    }
    if (this.#pools.size > 0) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  /** Ends what is in flight. */
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
    const [oldest] = this.#pools.keys()
    if (oldest !== undefined && this.#pools.size >= this.#most) this.#remove(oldest)
    return { dispatcher, usedAt: 0 }
  }

  #remove(key: string): void {
    const dispatcher = this.#pools.get(key)?.dispatcher
    if (!dispatcher) return
    this.#pools.delete(key)
    this.#closing.add(dispatcher)
    void dispatcher.close().finally(() => this.#closing.delete(dispatcher))
  }
}
