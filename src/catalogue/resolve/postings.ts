import type { NewProfile, Profile } from './profile.ts'

/** How finely the weight of a term in an action is kept; number of action and weight share one small integer. */
const steps = 256

/**
 * Which actions hold a term, and how much it says about them. Actions are only ever added: one that is gone is in
 * nobody's view, and when most are gone the index is made anew.
 */
export class Index {
  readonly profiles: Profile[] = []
  readonly #postings = new Map<string, number[]>()

  get size(): number {
    return this.profiles.length
  }

  /** The number of the action from now on. */
  add({ weights, ...profile }: NewProfile): number {
    const id = this.profiles.length
    this.profiles.push(profile)
    for (const [term, weight] of weights) {
      const packed = id * steps + Math.min(steps - 1, Math.round(weight * steps))
      const postings = this.#postings.get(term)
      if (postings) postings.push(packed)
      else this.#postings.set(term, [packed])
    }
    return id
  }

  /** Calls back for each action of those in the mask that holds the term. */
  each(term: string, mask: Uint8Array, take: (id: number, weight: number) => void): void {
    for (const packed of this.#postings.get(term) ?? []) {
      const id = Math.floor(packed / steps)
      if (mask[id] === 1) take(id, (packed % steps) / steps)
    }
  }
}

/** How much a term tells that so many of so many actions hold. */
export const rarity = (holding: number, all: number): number => Math.log(1 + (all - holding + 0.5) / (holding + 0.5))

/** Those with the highest values above zero, at least so many if there are as many, in no order. */
export function highest(ids: Uint32Array, values: Float32Array, count: number): Uint32Array {
  const buckets = 1024
  let most = 0
  for (const id of ids) if ((values[id] as number) > most) most = values[id] as number
  if (most <= 0) return new Uint32Array(0)
  const scale = (buckets - 1) / most
  const filled = new Uint32Array(buckets)
  for (const id of ids) {
    const value = values[id] as number
    if (value > 0) filled[Math.floor(value * scale)] = (filled[Math.floor(value * scale)] as number) + 1
  }
  let least = buckets - 1
  let found = filled[least] as number
  while (least > 0 && found < count) found += filled[--least] as number
  const chosen = new Uint32Array(found)
  let at = 0
  for (const id of ids) {
    const value = values[id] as number
    if (value > 0 && Math.floor(value * scale) >= least) chosen[at++] = id
  }
  return chosen
}
