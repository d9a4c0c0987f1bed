import { expect, test } from 'vitest'
import { Turns } from './turns.ts'

test('users come in the order in which they asked, one at a time', async () => {
  const turns = new Turns()
  const seen: string[] = []
  const use = async (name: string) => {
    await turns.take()
    seen.push(`${name} begins`)
    await Promise.resolve()
    seen.push(`${name} ends`)
    turns.release()
  }

  await Promise.all(['a', 'b', 'c'].map(use))
  await use('d')

  expect(seen).toEqual(['a', 'b', 'c', 'd'].flatMap((name) => [`${name} begins`, `${name} ends`]))
})

test('the event loop turns while many users work', async () => {
  const turns = new Turns()
  let ticks = 0
  const timer = setInterval(() => ticks++, 1)
  const use = async () => {
    await turns.take()
    const until = performance.now() + 1
    while (performance.now() < until);
    turns.release()
  }

  await Promise.all(Array.from({ length: 100 }, use))
  clearInterval(timer)

  expect(ticks).toBeGreaterThan(5)
})
