import type { IndexedAction, NewIndexedAction } from './indexed-action.ts'

/** The resolution of a term's weight. The action number and the weight are packed into one small integer. */
const steps = 256

/**
 * Which actions contain a term, and with what weight. Actions are only added. A removed one is in nobody's scope, and
 * once most are removed the index is rebuilt.
 */
export class Index {
  readonly actions: IndexedAction[] = []
  readonly #postings = new Map<string, number[]>()

  get size(): number {
    return this.actions.length
  }

  /** Returns the number of the action. */
  add({ weights, ...profile }: NewIndexedAction): number {
    const id = this.actions.length
    this.actions.push(profile)
    for (const [term, weight] of weights) {
      const packed = id * steps + Math.min(steps - 1, Math.round(weight * steps))
      const postings = this.#postings.get(term)
      if (postings) postings.push(packed)
      else this.#postings.set(term, [packed])
    }
    return id
  }

  /** Calls `take` for each action in the mask that contains the term. */
  each(term: string, mask: Uint8Array, take: (id: number, weight: number) => void): void {
    for (const packed of this.#postings.get(term) ?? []) {
      const id = Math.floor(packed / steps)
      if (mask[id] === 1) take(id, (packed % steps) / steps)
    }
  }
}

/**
 * Smoothing: counts this many more actions without the term. Among a dozen contact actions, "contact" still means
 * something.
 */
export const others = 100

/** The inverse document frequency of a term. */
export const rarity = (holding: number, all: number): number =>
  Math.log(1 + (all + others - holding + 0.5) / (holding + 0.5))

/**
 * At least `count` of the ids with the highest values above zero, if there are that many, in no particular order. Runs
 * over all actions for every request, hence the plain loops.
 */
export function highest(ids: Uint32Array, values: Float32Array, count: number): Uint32Array {
  const buckets = 1024
  let most = 0
  let above = 0
  for (let at = 0; at < ids.length; at++) {
    const value = values[ids[at] as number] as number
    if (value > 0) above++
    if (value > most) most = value
  }
  const chosen = new Uint32Array(above)
  let found = 0
  for (let at = 0; at < ids.length; at++) {
    const id = ids[at] as number
    if ((values[id] as number) > 0) chosen[found++] = id
  }
  if (above <= count) return chosen

  const scale = (buckets - 1) / most
  const filled = new Uint32Array(buckets)
  for (let at = 0; at < above; at++) {
    const bucket = Math.floor((values[chosen[at] as number] as number) * scale)
    filled[bucket] = (filled[bucket] as number) + 1
  }
  let least = buckets - 1
  for (let sum = filled[least] as number; least > 0 && sum < count; ) sum += filled[--least] as number
  return chosen.filter((id) => Math.floor((values[id] as number) * scale) >= least)
}
