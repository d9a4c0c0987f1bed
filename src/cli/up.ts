import { type Config, describeExposure, describeUnknown, readConfig, SettingError } from '../config.ts'
import { version } from '../home.ts'
import { createPlatform, type Platform } from '../main.ts'
import { StartError } from '../model/start-error.ts'
import { sampleCompany } from '../sample/crm.ts'
import { createSample, type Sample } from '../sample/project.ts'
import { listen } from '../surfaces/server.ts'
import { exit, type Runner, UsageError } from './command.ts'
import { toldToStop } from './stop.ts'

/** An operator's mistake is said in a line; anything else is a bug, and shown whole. */
export const run: Runner = async (args) => {
  try {
    return await up(args)
  } catch (error) {
    if (error instanceof SettingError) throw new UsageError(error.message)
    console.error(error instanceof StartError ? `quartermaster: ${error.message}` : error)
    return exit.refused
  }
}

/** Runs the platform until it is told to stop. Resolves with the exit code. */
async function up(flags: readonly string[]): Promise<number> {
  const config = readConfig(flags, process.env)
  for (const line of describeUnknown(process.env)) console.error(`quartermaster: ${line}`)
  const exposed = describeExposure(config)
  if (exposed) console.error(`quartermaster: ${exposed}`)
  // From the start, so that whoever is told to stop while starting stops as gently as later.
  const told = toldToStop()
  // People read a sentence, and programs lines of JSON.
  const platform = await createPlatform(
    config,
    process.stderr.isTTY ? { warn: (text) => console.error(`quartermaster: ${text}.`) } : {},
  )
  if (await hasSample(config, platform)) platform.app.route('/sample', sampleCompany())
  const server = await listen(platform, config.host, config.port).catch(async (error: NodeJS.ErrnoException) => {
    await platform.close()
    throw error.code === 'EADDRINUSE'
      ? new StartError(`Port ${config.port} on ${config.host} is taken. Choose another with --port.`)
      : new StartError(`Cannot listen on ${config.host}, port ${config.port}: ${error.message}.`, { cause: error })
  })
  const sample = await fillWithSample(config, platform, server.url)
  console.log(welcome(server.url, config.databaseUrl ? 'PostgreSQL' : `SQLite in ${config.data}`, platform))
  if (sample) console.log(linesToTry(server.url, sample))
  if (platform.adminKey) await platform.adminKeyShown()

  const signal = await told
  platform.log.info({ signal }, 'draining')
  platform.drain()
  await server.close(config.drainSeconds)
  await platform.close()
  platform.log.info('stopped')
  return 0
}

/** The sample's tools call the platform's own port, so they need their other end at every later start, too. */
const hasSample = async ({ sample, onLoopback }: Config, { store }: Platform) =>
  onLoopback && (sample || (await store.settings.find('sample')) !== undefined)

/** On an empty platform only, and once. */
async function fillWithSample(config: Config, platform: Platform, url: string): Promise<Sample | undefined> {
  const key = platform.adminKey ?? config.adminKey
  if (!config.sample || !config.onLoopback || !key) return undefined
  const { total } = await platform.store.tools.list({ limit: 1, offset: 0 }, undefined)
  if (total > 0 || !(await platform.store.settings.claim('sample', new Date().toISOString()))) return undefined
  return createSample(url, key).catch((err: unknown) => {
    platform.log.warn({ err }, 'the sample project is not complete')
    return undefined
  })
}

/** Three lines that show what it is for: a call, an MCP client, a call that a person decides on. */
const linesToTry = (url: string, { callerKey, rateTool, refundTool }: Sample) =>
  [
    'A sample project is there to look at: a small company with a CRM. Paste these, one after the other:',
    '',
    `  curl --json '{"input":{"currency":"BRL"}}' -H 'Authorization: Bearer ${callerKey}' ${url}/api/v1/tools/${rateTool}/call`,
    '',
    `  npx @modelcontextprotocol/inspector --cli ${url}/mcp/sales --transport http --header 'Authorization: Bearer ${callerKey}' --method tools/call --tool-name crm_find_contacts_action --tool-arg query=Ada`,
    '',
    `  curl --json '{"input":{"order":"1042","amount":20}}' -H 'Authorization: Bearer ${callerKey}' ${url}/api/v1/tools/${refundTool}/call`,
    '',
    `  The last one waits until somebody approves it at ${url}/approvals (sign in with the admin key).`,
    '',
  ].join('\n')

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
