import { expect, test } from 'vitest'
import { readAhead } from './read-ahead.ts'

test('reads on while the consumer is busy, and keeps the order', async () => {
  const given: number[] = []
  async function* source() {
    for (const one of [1, 2, 3]) {
      given.push(one)
      yield one
    }
  }
  const reader = readAhead(source())

  const { value: first } = await reader.next()
  await expect.poll(() => given).toEqual([1, 2, 3])
  const rest: number[] = []
  for await (const one of reader) rest.push(one)

  expect([first, ...rest]).toEqual([1, 2, 3])
})

test('gives everything that came before an error, then the error', async () => {
  async function* source() {
    yield 1
    throw new Error('broken')
  }
  const seen: number[] = []
  const read = async () => {
    for await (const one of readAhead(source())) seen.push(one)
  }

  await expect(read()).rejects.toThrow('broken')
  expect(seen).toEqual([1])
})
