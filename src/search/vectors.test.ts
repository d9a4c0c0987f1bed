import { expect, test } from 'vitest'
import { indexAction } from './indexed-action.ts'
import { Index } from './postings.ts'
import { scopeOf } from './scope.ts'
import { quantized, Vectors } from './vectors.ts'

/** Deterministic pseudo-random numbers, evenly distributed. */
function* numbers(seed: number): Generator<number> {
  for (let state = seed; ; ) {
    state = (state * 1664525 + 1013904223) >>> 0
    yield state / 2 ** 31 - 1
  }
}
const random = (seed: number) => {
  const from = numbers(seed)
  return Float32Array.from({ length: 384 }, () => from.next().value as number)
}
const mixed = (one: Float32Array, other: Float32Array, share: number) =>
  one.map((value, at) => value + share * (other[at] as number))

test('the dot product of two vectors is their cosine similarity', () => {
  const vectors = new Vectors(384)
  const one = random(1)
  vectors.set(0, quantized(one), quantized(random(2)))

  const { short, whole } = vectors.compare(quantized(one.map((value) => value * 7)), 0)

  expect(short).toBeCloseTo(1, 1)
  expect(Math.abs(whole)).toBeLessThan(0.2)
})

test('the nearest vectors within the scope are found, and no others', async () => {
  const index = new Index()
  const vectors = new Vectors(384)
  const wanted = random(7)
  for (let id = 0; id < 5000; id++) {
    index.add(indexAction({ app: 'app', name: `action_${id}`, schema: {} }))
    const whole = quantized(id % 1000 === 0 ? mixed(wanted, random(id + 100), 0.5) : random(id + 100))
    vectors.set(id, whole, whole)
  }
  const ids = Uint32Array.from({ length: 5000 }, (_, id) => id)
  const all = await scopeOf(index, ids)
  const most = await scopeOf(
    index,
    ids.filter((id) => id !== 2000),
  )
  const near = (scope: typeof all, count: number) => [...vectors.nearest(quantized(wanted), scope, count)].sort()

  expect(near(all, 5)).toEqual([0, 1000, 2000, 3000, 4000])
  expect(near(most, 4)).toEqual([0, 1000, 3000, 4000])
})
