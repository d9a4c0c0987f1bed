import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'dashboard/src/**/*.test.{ts,tsx}', 'test/**/*.test.ts'],
    globalSetup: ['test/postgres.ts', 'test/built.ts', 'test/not-tested.ts'],
    // Processes, so that a test may be killed, change its environment or hold a lock without the others noticing.
    pool: 'forks',
    // Much of the time is spent waiting, so the default, which leaves a core free, would be half as fast on two.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 30_000,
  },
})
