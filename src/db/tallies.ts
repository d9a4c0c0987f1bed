import { setImmediate as nextTurn } from 'node:timers/promises'

export interface Tally {
  /** The number of the ten-second slice since 1970. */
  readonly slice: number
  readonly status: string
  /** In tenths of a millisecond, without the wait for approval. Null for a call that has not ended. */
  readonly latency: number | null
  /** In tenths of a millisecond. Null for a call that did not wait for approval. */
  readonly waited: number | null
  readonly calls: number
}

/** Short enough that counting the newest slice is cheap even under load. */
export const sliceLength = 10_000
/** The time after which all calls that began in a slice have been written. */
const settles = 10_000
const maxCached = 20_000
/** The number of calls to count in one query. More would block other requests too long. */
const maxCallsPerQuery = 5000

type Count = (filter: object, from: number, to: number) => Promise<readonly Tally[]>

/**
 * Counts calls in slices of a few seconds. A slice in which every call has ended never changes, so it is counted once and
 * then cached. A dashboard that polls the last hour every few seconds only costs the counting of those seconds.
 */
export class Tallies {
  readonly #cache = new Map<string, readonly Tally[]>()
  readonly #count: Count

  constructor(count: Count) {
    this.#count = count
  }

  /** Newest first. After counting `most` calls, older slices are left out unless they are cached. */
  async between(filter: object, from: number, to: number, most: number, now = Date.now()) {
    const key = JSON.stringify(filter)
    const first = Math.floor(from / sliceLength)
    const isWhole = (slice: number) => slice * sliceLength >= from && (slice + 1) * sliceLength <= to
    const findCached = (slice: number) => (isWhole(slice) ? this.#cache.get(`${slice} ${key}`) : undefined)
    const found: Tally[] = []
    let isComplete = true
    let counted = 0
    let slicesPerQuery = 1
    for (let last = Math.floor((to - 1) / sliceLength); last >= first; ) {
      const cached = findCached(last)
      if (cached) found.push(...cached)
      else if (counted >= most) isComplete = false
      if (cached || counted >= most) {
        last--
        continue
      }
      let start = last
      while (start > first && last - start + 1 < slicesPerQuery && !findCached(start - 1)) start--
      const begin = Math.max(start * sliceLength, from)
      const tallies = await this.#count(filter, begin, Math.min((last + 1) * sliceLength, to))
      found.push(...tallies)
      // The time in an id can be slightly before the time of its row, so a tally can be just outside the range.
      const bySlice = Map.groupBy(tallies, ({ slice }) => Math.min(Math.max(slice, start), last))
      for (let slice = start; slice <= last; slice++) {
        const those = bySlice.get(slice) ?? []
        const isOver = (slice + 1) * sliceLength + settles < now && those.every(({ status }) => status !== 'pending')
        if (isOver && isWhole(slice)) this.#store(`${slice} ${key}`, those)
      }
      const calls = tallies.reduce((sum, tally) => sum + tally.calls, 0)
      counted += calls
      slicesPerQuery = calls > maxCallsPerQuery ? Math.max(1, Math.floor(slicesPerQuery / 2)) : slicesPerQuery * 2
      last = start - 1
      await nextTurn()
    }
    return { tallies: found, isComplete }
  }

  #store(key: string, tallies: readonly Tally[]): void {
    if (this.#cache.size >= maxCached) this.#cache.clear()
    this.#cache.set(key, tallies)
  }
}
