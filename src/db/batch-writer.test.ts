import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { BatchWriter } from './batch-writer.ts'

test('items added in the same turn share one write', async () => {
  const writes: number[][] = []
  const writer = new BatchWriter<number>(async (items) => void writes.push(items))

  await Promise.all([writer.add(1), writer.add(2), writer.add(3)])

  expect(writes).toEqual([[1, 2, 3]])
})

test('items added during a write wait for it and share the next one', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const writes: number[][] = []
  const writer = new BatchWriter<number>(async (items) => {
    writes.push(items)
    begin()
    await released
  })

  const first = writer.add(1)
  await begun
  const later = [writer.add(2), writer.add(3)]
  await sleep(20)
  const meanwhile = [...writes]
  release()
  await Promise.all([first, ...later])

  expect(meanwhile).toEqual([[1]])
  expect(writes).toEqual([[1], [2, 3]])
})

test('with a concurrency above one, the second batch does not wait for the first', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const writes: number[][] = []
  const writer = new BatchWriter<number>(
    async (items) => {
      writes.push(items)
      await released
    },
    { concurrency: 2 },
  )

  const first = writer.add(1)
  await expect.poll(() => writes).toEqual([[1]])
  const second = writer.add(2)
  await expect.poll(() => writes).toEqual([[1], [2]])
  const third = writer.add(3)
  await sleep(20)
  const meanwhile = [...writes]
  release()
  await Promise.all([first, second, third])

  expect(meanwhile).toEqual([[1], [2]])
  expect(writes).toEqual([[1], [2], [3]])
})

test('an item added just as the last write ends is written', async () => {
  const written: number[] = []
  const writer = new BatchWriter<number>(async (items) => void written.push(...items))

  for (let item = 0; item < 50; item++) await writer.add(item)
  await writer.idle()

  expect(written).toEqual(Array.from({ length: 50 }, (_, item) => item))
})

test('an item is reported as written only after its own write', async () => {
  const done: string[] = []
  const writer = new BatchWriter<number>(async () => {
    await sleep(10)
    done.push('written')
  })

  await writer.add(1).then(() => done.push('reported'))

  expect(done).toEqual(['written', 'reported'])
})

test('items are written in the order in which they were added', async () => {
  const writes: number[][] = []
  const writer = new BatchWriter<number>(async (items) => void writes.push(items))
  const items = Array.from({ length: 1200 }, (_, item) => item)

  await Promise.all(items.map((item) => writer.add(item)))

  expect(writes.length).toBeLessThan(items.length)
  expect(writes.flat()).toEqual(items)
})

test('a failed write is reported only to the callers whose items were in it', async () => {
  const failure = new Error('the disk is full')
  const written: number[] = []
  const writer = new BatchWriter<number>(async (items) => {
    if (items.includes(0)) throw failure
    written.push(...items)
  })
  const items = Array.from({ length: 1200 }, (_, item) => item)

  const outcomes = await Promise.allSettled(items.map((item) => writer.add(item)))

  expect(written.length).toBeGreaterThan(0)
  for (const item of items) {
    const expected = written.includes(item)
      ? { status: 'fulfilled', value: undefined }
      : { status: 'rejected', reason: failure }
    expect(outcomes[item]).toEqual(expected)
  }
})

test('later items are written after a failure', async () => {
  let attempts = 0
  const writer = new BatchWriter<number>(async () => {
    attempts++
    if (attempts === 1) throw new Error('the disk is full')
  })

  const first = writer.add(1)
  await expect(first).rejects.toThrow('the disk is full')
  await writer.add(2)

  expect(attempts).toBe(2)
})

test('idle waits for all items, including those added while it waits', async () => {
  const written: number[] = []
  const writer = new BatchWriter<number>(async (items) => {
    await sleep(5)
    written.push(...items)
    if (written.length < 3) void writer.add(written.length + 1)
  })

  void writer.add(1)
  await writer.idle()

  expect(written).toEqual([1, 2, 3])
})

test('idle returns immediately if nothing was added', async () => {
  const writer = new BatchWriter<number>(async () => {})

  await expect(writer.idle()).resolves.toBeUndefined()
})
