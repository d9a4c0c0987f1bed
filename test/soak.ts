import { hash } from 'node:crypto'

/**
 * Some tests cover many moments or counts, and running them all takes long. `npm test` runs a sample, chosen by
 * a seed that is printed. `npm run test:soak` runs all of them. `QM_SEED` repeats a sample.
 */
export const soak = process.env.QM_SOAK === '1'

const seed = Number(process.env.QM_SEED ?? Math.floor(Math.random() * 1_000_000))

/** A sample of this size in the original order, or all items in a soak run. */
export function sample<T>(all: readonly T[], count: number): T[] {
  if (soak || all.length <= count) return [...all]
  console.log(`sampling ${count} of ${all.length} with QM_SEED=${seed}`)
  const places = all.map((_, place) => place).sort((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1))
  const chosen = new Set(places.slice(0, count))
  return all.filter((_, place) => chosen.has(place))
}

const rankOf = (place: number): string => hash('sha256', `${seed} ${place}`)

/** Runs a function on all items, with limited concurrency. */
export async function inParallel<T>(all: readonly T[], width: number, work: (one: T) => Promise<void>): Promise<void> {
  const left = [...all]
  const worker = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one)
  }
  await Promise.all(Array.from({ length: width }, worker))
}
