import { expect, test } from 'vitest'
import { backoffMs } from './backoff.ts'

test('each failure doubles the delay up to the limit, with up to 50% jitter', () => {
  for (const [failures, whole] of [
    [1, 100],
    [2, 200],
    [4, 800],
    [5, 1000],
    [5000, 1000],
  ] as const) {
    for (let count = 0; count < 100; count++) {
      const wait = backoffMs(failures, { firstMs: 100, maxMs: 1000 })
      expect(wait).toBeGreaterThanOrEqual(whole / 2)
      expect(wait).toBeLessThanOrEqual(whole)
    }
  }
})
