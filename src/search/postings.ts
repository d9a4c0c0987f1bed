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

/** As if there were so many more actions without the term: among a dozen of contacts, "contact" still says something. */
const others = 100

/** How much a term tells that so many of so many actions hold. */
export const rarity = (holding: number, all: number): number =>
  Math.log(1 + (all + others - holding + 0.5) / (holding + 0.5))

/**
 * Those with the highest values above zero, at least so many if there are as many, in no order. Run over all actions for
 * every request, hence the plain loops.
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
