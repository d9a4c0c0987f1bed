import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Grouped } from './group.ts'

test('items handed in during one round share a write', async () => {
  const writes: number[][] = []
  const grouped = new Grouped<number>(async (items) => void writes.push(items))

  await Promise.all([grouped.add(1), grouped.add(2), grouped.add(3)])

  expect(writes).toEqual([[1, 2, 3]])
})

test('items that arrive during a write wait for it and share the next', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const writes: number[][] = []
  const grouped = new Grouped<number>(async (items) => {
    writes.push(items)
    begin()
    await released
  })

  const first = grouped.add(1)
  await begun
  const later = [grouped.add(2), grouped.add(3)]
  await sleep(20)
  const meanwhile = [...writes]
  release()
  await Promise.all([first, ...later])

  expect(meanwhile).toEqual([[1]])
  expect(writes).toEqual([[1], [2, 3]])
})

test('an item is reported as written only after its own write', async () => {
  const done: string[] = []
  const grouped = new Grouped<number>(async () => {
    await sleep(10)
    done.push('written')
  })

  await grouped.add(1).then(() => done.push('reported'))

  expect(done).toEqual(['written', 'reported'])
})

test('however many items come at once, they are written in the order in which they came', async () => {
  const writes: number[][] = []
  const grouped = new Grouped<number>(async (items) => void writes.push(items))
  const items = Array.from({ length: 1200 }, (_, item) => item)

  await Promise.all(items.map((item) => grouped.add(item)))

  expect(writes.map((group) => group.length)).toEqual([500, 500, 200])
  expect(writes.flat()).toEqual(items)
})

test('a write that fails is reported to those whose items it held, and to nobody else', async () => {
  const failure = new Error('the disk is full')
  const grouped = new Grouped<number>(async (items) => {
    if (items.includes(0)) throw failure
  })
  const items = Array.from({ length: 600 }, (_, item) => item)

  const outcomes = await Promise.allSettled(items.map((item) => grouped.add(item)))

  expect(outcomes.slice(0, 500)).toEqual(Array(500).fill({ status: 'rejected', reason: failure }))
  expect(outcomes.slice(500)).toEqual(Array(100).fill({ status: 'fulfilled', value: undefined }))
})

test('writing goes on after a failure', async () => {
  let attempts = 0
  const grouped = new Grouped<number>(async () => {
    attempts++
    if (attempts === 1) throw new Error('the disk is full')
  })

  const first = grouped.add(1)
  await expect(first).rejects.toThrow('the disk is full')
  await grouped.add(2)

  expect(attempts).toBe(2)
})

test('idle waits for everything that was handed in, also while it waits', async () => {
  const written: number[] = []
  const grouped = new Grouped<number>(async (items) => {
    await sleep(5)
    written.push(...items)
    if (written.length < 3) void grouped.add(written.length + 1)
  })

  void grouped.add(1)
  await grouped.idle()

  expect(written).toEqual([1, 2, 3])
})

test('idle returns at once when nothing was handed in', async () => {
  const grouped = new Grouped<number>(async () => {})

  await expect(grouped.idle()).resolves.toBeUndefined()
})
