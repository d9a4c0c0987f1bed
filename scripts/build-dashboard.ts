/**
 * Builds the dashboard where it is missing or older than its sources; `--always` builds it in any case.
 *
 * It runs by itself after `npm ci`, before `npm start` and before the tests, so that nobody has to know of it.
 */
import { existsSync, globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const built = join(root, 'dashboard/dist/index.html')
const sources = [
  'dashboard/src/**/*',
  'dashboard/public/*',
  'dashboard/*.{html,ts,json}',
  'src/sdk/*.ts',
  'docs/guides/*.md',
]

const changedAt = () =>
  Math.max(
    ...sources.flatMap((pattern) => globSync(pattern, { cwd: root })).map((file) => statSync(join(root, file)).mtimeMs),
  )
const isFresh = () => existsSync(built) && statSync(built).mtimeMs >= changedAt()

if (process.argv.includes('--always') || !isFresh()) {
  // Tests set this to another value, and would leave a React for developers behind for everyone.
  const environment = process.env.NODE_ENV
  process.env.NODE_ENV = 'production'
  try {
    // Whoever runs this may be a test, and would get what is meant for developing.
    process.env.NODE_ENV = 'production'
    const { build } = await import('vite')
    await build({ configFile: join(root, 'dashboard/vite.config.ts'), logLevel: 'warn' })
    console.log('The dashboard is built.')
  } catch (error) {
    // Who installs without development dependencies brings a built dashboard, or does without.
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    console.warn('The dashboard is not built: that needs the development dependencies.')
  } finally {
    if (environment === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = environment
  }
}
