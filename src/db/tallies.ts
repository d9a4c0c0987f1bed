import { setImmediate as othersFirst } from 'node:timers/promises'

export interface Tally {
  /** Which ten seconds since 1970. */
  readonly slice: number
  readonly status: string
  /** In tenths of a millisecond, without waiting for people; null for a call that has not ended. */
  readonly latency: number | null
  /** In tenths of a millisecond; null for a call that waited for nobody. */
  readonly waited: number | null
  readonly calls: number
}

/** Short enough that counting what is new takes little, however much is going on. */
export const sliceLength = 10_000
/** By then, whatever began in a slice is written. */
const settles = 10_000
const mostKept = 20_000
/** To count so many takes as long as others should have to wait. */
const aBite = 5000

type Count = (filter: object, from: number, to: number) => Promise<readonly Tally[]>

/**
 * The numbers of calls, counted a few seconds at a time. A slice in which every call has ended never changes again, so it
 * is counted once and then remembered: whoever looks every other second at the last hour costs no more than those seconds.
 */
export class Tallies {
  readonly #kept = new Map<string, readonly Tally[]>()
  readonly #count: Count

  constructor(count: Count) {
    this.#count = count
  }

  /** Newest first. Once it has counted `most` anew, what is older is left out, unless it is remembered. */
  async between(filter: object, from: number, to: number, most: number, now = Date.now()) {
    const key = JSON.stringify(filter)
    const first = Math.floor(from / sliceLength)
    const isWhole = (slice: number) => slice * sliceLength >= from && (slice + 1) * sliceLength <= to
    const recall = (slice: number) => (isWhole(slice) ? this.#kept.get(`${slice} ${key}`) : undefined)
    const found: Tally[] = []
    let isComplete = true
    let counted = 0
    let bite = 1
    for (let last = Math.floor((to - 1) / sliceLength); last >= first; ) {
      const known = recall(last)
      if (known) found.push(...known)
      else if (counted >= most) isComplete = false
      if (known || counted >= most) {
        last--
        continue
      }
      let start = last
      while (start > first && last - start + 1 < bite && !recall(start - 1)) start--
      const begin = Math.max(start * sliceLength, from)
      const tallies = await this.#count(filter, begin, Math.min((last + 1) * sliceLength, to))
      found.push(...tallies)
      // The time in an id may be a moment before that of its row, so a tally may lie just outside.
      const bySlice = Map.groupBy(tallies, ({ slice }) => Math.min(Math.max(slice, start), last))
      for (let slice = start; slice <= last; slice++) {
        const those = bySlice.get(slice) ?? []
        const isOver = (slice + 1) * sliceLength + settles < now && those.every(({ status }) => status !== 'pending')
        if (isOver && isWhole(slice)) this.#keep(`${slice} ${key}`, those)
      }
      const calls = tallies.reduce((sum, tally) => sum + tally.calls, 0)
      counted += calls
      bite = calls > aBite ? Math.max(1, Math.floor(bite / 2)) : bite * 2
      last = start - 1
      await othersFirst()
    }
    return { tallies: found, isComplete }
  }

  #keep(key: string, tallies: readonly Tally[]): void {
    if (this.#kept.size >= mostKept) this.#kept.clear()
    this.#kept.set(key, tallies)
  }
}
