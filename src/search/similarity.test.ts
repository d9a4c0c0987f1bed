import { expect, test } from 'vitest'
import { indexAction } from './indexed-action.ts'
import { Index } from './postings.ts'
import { scopeOf } from './scope.ts'
import { scaleOf } from './similarity.ts'
import { quantized, Vectors } from './vectors.ts'

/** A vector that depends on a number, with a component that all vectors share. */
const vectorOf = (seed: number, shared: number) =>
  quantized(Float32Array.from({ length: 256 }, (_, at) => shared + Math.sin(seed * 12.9898 + at * (seed + 78.233))))

async function indexed(shared: number, isFitted: boolean) {
  const index = new Index()
  const vectors = new Vectors(256, isFitted)
  for (let id = 0; id < 300; id++) {
    index.add(indexAction({ app: 'app', name: `action_${id}`, schema: {} }))
    const vector = vectorOf(id + 1, shared)
    vectors.set(id, vector, vector)
  }
  const scope = await scopeOf(
    index,
    Uint32Array.from({ length: 300 }, (_, id) => id),
  )
  const request = vectorOf(151, shared)
  const scaled = scaleOf(request, vectors, scope)
  const raw = (id: number) => vectors.compare(request, id).whole
  return { raw, scaled: (id: number) => scaled(raw(id)) }
}

test('similarities of a model for which all texts are similar are brought to the scale of the built-in one', async () => {
  const { raw, scaled } = await indexed(1.5, false)

  expect(raw(7)).toBeGreaterThan(0.7)
  expect(scaled(7)).toBeLessThan(0.4)
  expect(scaled(150)).toBeGreaterThan(scaled(7) + 0.3)
})

test('similarities of the built-in model stay as they are', async () => {
  const { raw, scaled } = await indexed(0, true)

  expect(scaled(7)).toBe(raw(7))
})
