import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/sequence.ts'

export default defineConfig({
  // As in dashboard/vite.config.ts.
  resolve: { alias: { 'quartermaster/sdk': fileURLToPath(new URL('src/sdk/index.ts', import.meta.url)) } },
  test: {
    include: ['src/**/*.test.ts', 'dashboard/src/**/*.test.{ts,tsx}', 'test/**/*.test.ts'],
    globalSetup: ['test/postgres.ts', 'test/templates.ts', 'test/built.ts', 'test/not-tested.ts'],
    // Processes instead of threads, so that a test may change its environment or block without affecting other workers.
    pool: 'forks',
    // A worker loads the platform once, which takes a second, instead of once per file. Files therefore share modules and
    // globals, so tests must undo their changes.
    isolate: false,
    restoreMocks: true,
    sequence: { sequencer: LongestFirst },
    // Tests mostly wait for other processes, so two cores can run three files at a time.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 30_000,
  },
})
