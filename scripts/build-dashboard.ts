/**
 * Builds the dashboard if the build is missing or older than its sources. `--always` builds it unconditionally.
 *
 * Runs automatically after `npm ci`, before `npm start` and before the tests.
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
  // Tests set NODE_ENV to another value, which would build the development version of React.
  const environment = process.env.NODE_ENV
  process.env.NODE_ENV = 'production'
  try {
    const { build } = await import('vite')
    await build({ configFile: join(root, 'dashboard/vite.config.ts'), logLevel: 'warn' })
    console.log('The dashboard is built.')
  } catch (error) {
    // An installation without development dependencies uses an existing build, or has no dashboard.
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    console.warn('The dashboard was not built, because the development dependencies are not installed.')
  } finally {
    if (environment === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = environment
  }
}
