import { type Config, describeExposure, describeUnknown, readConfig, SettingError } from '../../config.ts'
import { version } from '../../home.ts'
import { createPlatform, type Platform } from '../../main.ts'
import { StartError } from '../../model/start-error.ts'
import { sampleCompany } from '../../sample/crm.ts'
import { createSample, type Sample } from '../../sample/project.ts'
import { type Answering, listen } from '../../server/listen.ts'
import { sendResponse, toRequest } from '../../server/web.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { toldToStop } from '../toolkit/stop.ts'

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
  const answering = (await hasSample(config, platform)) ? withSample(platform) : platform
  const server = await listen(answering, config.host, config.port).catch(async (error: NodeJS.ErrnoException) => {
    await platform.close()
    throw error.code === 'EADDRINUSE'
      ? new StartError(`Port ${config.port} on ${config.host} is taken. Choose another with --port.`)
      : new StartError(`Cannot listen on ${config.host}, port ${config.port}: ${error.message}.`, { cause: error })
  })
  const sample = await fillWithSample(config, platform, server.url)
  console.log(welcome(server.url, config.databaseUrl ? 'PostgreSQL' : `SQLite in ${config.data}`, platform))
  if (sample) console.log(commandsToTry(server.url, sample))
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

/** The company that the sample's tools call lives on the same port. */
function withSample(platform: Platform): Answering {
  const company = sampleCompany()
  return {
    handle: async (exchange) =>
      exchange.path.startsWith('/sample/')
        ? sendResponse(exchange, await company.fetch(toRequest(exchange)))
        : platform.handle(exchange),
  }
}

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

/**
 * Three commands that show what the platform is for: a tool call, an MCP request, and a call that needs approval. They
 * use curl alone, and none of its newer flags, so that they work in any folder.
 */
function commandsToTry(url: string, { callerKey, rateTool, refundTool }: Sample): string {
  const curl = (path: string, body: object, accept = '') =>
    `  curl -sS ${url}${path} -H 'Authorization: Bearer ${callerKey}' -H 'Content-Type: application/json' ${accept}-d '${JSON.stringify(body)}'`
  const mcpCall = { name: 'crm_find_contacts_action', arguments: { query: 'Ada' } }
  return [
    'A sample project was created: a small company with a CRM. To try it, open another terminal and paste these',
    'commands, one at a time. They work in any folder.',
    '',
    '1. Call the tool exchange-rate:',
    '',
    curl(`/api/v1/tools/${rateTool}/call`, { input: { currency: 'BRL' } }),
    '',
    '2. Find a customer through the MCP server "sales", with the request that an MCP client sends:',
    '',
    curl(
      '/mcp/sales',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: mcpCall },
      "-H 'Accept: application/json, text/event-stream' ",
    ),
    '',
    `3. Call the tool refund-order. It waits until you approve it at ${url}/approvals`,
    '   (sign in with the admin key):',
    '',
    curl(`/api/v1/tools/${refundTool}/call`, { input: { order: '1042', amount: 20 } }),
    '',
  ].join('\n')
}

const welcome = (url: string, database: string, { adminKey, hasDashboard }: Platform) =>
  [
    `Quartermaster ${version} is ready at ${url}`,
    `  Dashboard  ${hasDashboard ? `${url}/` : 'is not built: run "npm run build"'}`,
    `  API        ${url}/api/v1`,
    `  Reference  ${url}/api/docs`,
    `  Data       ${database}`,
    ...(adminKey ? ['', `  Admin key  ${adminKey}`, '  Store it now: it is not shown again.'] : []),
    '',
  ].join('\n')
