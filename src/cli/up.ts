import { readConfig } from '../config.ts'
import { createPlatform, type Platform, version } from '../main.ts'
import { StartError } from '../model/start-error.ts'
import { listen } from '../surfaces/server.ts'

/** Runs the platform until it is told to stop. Resolves with the exit code. */
export async function up(flags: readonly string[]): Promise<number> {
  const config = readConfig(flags, process.env)
  // From the start, so that whoever is told to stop while starting stops as gently as later.
  const told = new Promise<string>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => resolve(name))
    if (process.env.npm_lifecycle_event) watchParent(() => resolve('the end of npm'))
  })
  const platform = await createPlatform(config)
  const server = await listen(platform, config.host, config.port).catch(async (error: NodeJS.ErrnoException) => {
    await platform.close()
    throw error.code === 'EADDRINUSE'
      ? new StartError(`Port ${config.port} on ${config.host} is taken. Choose another with --port.`)
      : new StartError(`Cannot listen on ${config.host}, port ${config.port}: ${error.message}.`, { cause: error })
  })
  console.log(welcome(server.url, config.databaseUrl ? 'PostgreSQL' : `SQLite in ${config.data}`, platform))
  if (platform.adminKey) await platform.adminKeyShown()

  const signal = await told
  platform.log.info({ signal }, 'draining')
  platform.drain()
  await server.close(config.drainSeconds)
  await platform.close()
  platform.log.info('stopped')
  return 0
}

/** Npm starts programs through a shell, which dies of a signal without passing it on. Nobody else is left to tell us. */
function watchParent(onEnd: () => void): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    onEnd()
  }, 200)
  timer.unref()
}

export const isOperatorMistake = (error: unknown): error is Error => error instanceof StartError

const welcome = (url: string, database: string, { adminKey, hasDashboard }: Platform) =>
  [
    `Quartermaster ${version} is ready at ${url}`,
    `  Dashboard  ${hasDashboard ? `${url}/` : 'is not built: run "npm run build"'}`,
    `  API        ${url}/api/v1`,
    `  Reference  ${url}/api/docs`,
    `  Data       ${database}`,
    ...(adminKey ? ['', `  Admin key  ${adminKey}`, '  It is shown this once. Keep it; only its hash is stored.'] : []),
    '',
  ].join('\n')
