/**
 * Runs a benchmark on a new PostgreSQL, started in the same way as for the tests.
 *
 *     node bench/on-postgres.ts bench/generations.ts [its arguments]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { startPostgres } from '../test/postgres.ts'

const { url, stop } = await startPostgres()
const child = spawn(process.execPath, process.argv.slice(2), {
  env: { ...process.env, DATABASE_URL: url },
  stdio: 'inherit',
})
const [code] = await once(child, 'exit')
await stop()
process.exitCode = code ?? 1
