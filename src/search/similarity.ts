import type { Scope } from './scope.ts'
import type { Vector, Vectors } from './vectors.ts'

/**
 * The similarity of a request and an action that have nothing to do with each other, with the built-in model: mean and
 * standard deviation over the public data sets (0.075 to 0.087, and 0.089 to 0.099).
 */
const fitted = { mean: 0.08, deviation: 0.095 }

/** How many actions are compared with a request to measure it for another model. */
const compared = 256
/** Below this, a deviation says nothing. */
const fewest = 20

/**
 * Brings the similarities of another model to the scale of the built-in one, which the weights of the ranking are fitted to.
 * With some models, the similarity of unrelated texts is 0.7. Uses only actions in the scope, as the scores must.
 */
export function scaleOf(vector: Vector, vectors: Vectors, { ids }: Scope): (similarity: number) => number {
  if (vectors.isFitted) return (similarity) => similarity
  const found: number[] = []
  // Spread evenly and without randomness, so that a request always has the same scores.
  for (let at = 0; at < ids.length; at += Math.max(1, ids.length / compared)) {
    const id = ids[Math.floor(at)] as number
    if (vectors.has(id)) found.push(vectors.compare(vector, id).whole)
  }
  if (found.length === 0) return (similarity) => similarity
  const mean = found.reduce((sum, one) => sum + one, 0) / found.length
  const variance = found.reduce((sum, one) => sum + (one - mean) ** 2, 0) / found.length
  const ratio = found.length < fewest ? 1 : fitted.deviation / Math.max(0.01, Math.sqrt(variance))
  return (similarity) => fitted.mean + (similarity - mean) * ratio
}
