import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { InFlight } from './in-flight.ts'

const open = () => {
  const inFlight = new InFlight({ perProject: 10, overall: 20 })
  const granted: string[] = []
  return { inFlight, granted, begin: (name: string) => inFlight.begin(name[0], () => granted.push(name)) }
}

test('a response over the limit of its project waits until another of the same project has ended', async () => {
  const { inFlight, granted, begin } = open()
  const [a1, a2, b1] = [begin('a1'), begin('a2'), begin('b1')]

  const atOnce = [inFlight.reserve(a1, 8), inFlight.reserve(a2, 8), inFlight.reserve(b1, 8)]
  inFlight.end(b1)
  await nextTurn()
  expect(granted).toEqual([])
  inFlight.end(a1)
  await nextTurn()

  expect(atOnce).toEqual([true, false, true])
  expect(granted).toEqual(['a2'])
})

test('a response larger than the limit is read alone', () => {
  const { inFlight, begin } = open()

  expect(inFlight.reserve(begin('a1'), 50)).toBe(true)
  expect(inFlight.reserve(begin('b1'), 1)).toBe(false)
})

test('responses that grow step by step never deadlock', async () => {
  const { inFlight } = open()
  const sizes = new Map(['a1', 'a2', 'b1', 'b2', 'c1', 'c2'].map((name) => [name, 0]))
  let most = 0
  const grow = async (name: string) => {
    let resume = () => {}
    const reservation = inFlight.begin(name[0], () => resume())
    for (let size = 0; size < 9; size += 3) {
      await new Promise<void>((resolve) => {
        resume = resolve
        if (inFlight.reserve(reservation, 3)) resolve()
      })
      most = Math.max(most, inFlight.bytes)
      sizes.set(name, size + 3)
      await nextTurn()
    }
    inFlight.end(reservation)
  }

  await Promise.all([...sizes.keys()].map(grow))

  expect([...sizes.values()]).toEqual(Array(6).fill(9))
  expect(most).toBeLessThanOrEqual(29)
  expect(inFlight.bytes).toBe(0)
})

test('a response that is cancelled while it waits releases its place in the queue', async () => {
  const { inFlight, granted, begin } = open()
  const [a1, a2, a3] = [begin('a1'), begin('a2'), begin('a3')]
  for (const each of [a1, a2, a3]) inFlight.reserve(each, 10)

  inFlight.end(a2)
  inFlight.end(a1)
  inFlight.end(a1)
  await nextTurn()

  expect(granted).toEqual(['a3'])
  expect(inFlight.bytes).toBe(10)
})
