import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { KeyedMutex } from './keyed-mutex.ts'

test('tasks with the same key run one at a time and in order, even after failures; other keys do not wait', async () => {
  const mutex = new KeyedMutex()
  const seen: string[] = []
  const work = (name: string, fails = false) =>
    mutex.run(name.charAt(0), async () => {
      seen.push(`${name} begins`)
      await setImmediate()
      if (fails) throw new Error(name)
      seen.push(`${name} ends`)
      return name
    })

  const outcomes = await Promise.allSettled([work('a1', true), work('a2'), work('b1'), work('a3')])

  expect(outcomes.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message))).toEqual([
    'a1',
    'a2',
    'b1',
    'a3',
  ])
  expect(seen.filter((one) => one.startsWith('a'))).toEqual([
    'a1 begins',
    'a2 begins',
    'a2 ends',
    'a3 begins',
    'a3 ends',
  ])
  expect(seen.indexOf('b1 begins')).toBeLessThan(seen.indexOf('a2 begins'))
})
