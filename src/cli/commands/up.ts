import { inspect } from 'node:util'
import { type Config, describeExposure, describeUnknown, readConfig, SettingError, settingFlags } from '../../config.ts'
import { version } from '../../home.ts'
import { createPlatform, type Platform } from '../../main.ts'
import { StartError } from '../../model/start-error.ts'
import { sampleCompany } from '../../sample/crm.ts'
import { createSample, type Sample } from '../../sample/project.ts'
import { type HttpServer, listen } from '../../server/listen.ts'
import { sendResponse, toRequest } from '../../server/web.ts'
import { exit, type Invocation, type Runner, UsageError } from '../toolkit/command.ts'
import { helpFlag } from '../toolkit/flags.ts'
import { io, note, say } from '../toolkit/io.ts'
import { readArguments } from '../toolkit/parse.ts'
import { untilStopped } from '../toolkit/stop.ts'

/** Reports configuration and start errors in one line. Other errors are bugs and are printed with their stack. */
export const run: Runner = async (invocation) => {
  try {
    return await up(invocation)
  } catch (error) {
    if (error instanceof UsageError) throw error
    if (error instanceof SettingError) throw new UsageError(error.message)
    note(error instanceof StartError ? `quartermaster: ${error.message}` : inspect(error))
    return exit.refused
  }
}

/** Runs the platform until the process is stopped. Resolves with the exit code. */
async function up({ command, args, globals }: Invocation): Promise<number> {
  const { given } = readArguments({ command: { ...command, flags: [...settingFlags(), helpFlag] }, args, globals }, 0)
  const { env, stderr } = io()
  const config = readConfig(Object.fromEntries([...given].map(([name, values]) => [name, values.join(',')])), env)
  for (const line of describeUnknown(env)) note(`quartermaster: ${line}`)
  const exposed = describeExposure(config)
  if (exposed) note(`quartermaster: ${exposed}`)
  // Registered first, so that a signal during start-up also leads to a graceful stop.
  const stopped = untilStopped()
  // Warnings are sentences on a terminal, and JSON lines elsewhere.
  const platform = await createPlatform(config, stderr.isTTY ? { warn: (text) => note(`quartermaster: ${text}.`) } : {})
  const answering = (await hasSample(config, platform)) ? withSample(platform) : platform
  const server = await listen(answering, config.host, config.port).catch(async (error: NodeJS.ErrnoException) => {
    await platform.close()
    throw error.code === 'EADDRINUSE'
      ? new StartError(`Port ${config.port} on ${config.host} is in use. Choose another one with --port.`)
      : new StartError(`Cannot listen on ${config.host}, port ${config.port}: ${error.message}.`, { cause: error })
  })
  const sample = await fillWithSample(config, platform, server.url)
  say(welcome(server.url, config.databaseUrl ? 'PostgreSQL' : `SQLite in ${config.data}`, platform))
  if (sample) say(commandsToTry(server.url, sample))
  if (platform.adminKey) await platform.adminKeyShown()

  const reload = () => void reloadManifests(platform)
  process.on('SIGHUP', reload)
  const signal = await stopped
  process.off('SIGHUP', reload)
  platform.log.info({ signal }, 'draining')
  platform.drain()
  await server.close(config.drainSeconds)
  await platform.close()
  platform.log.info('stopped')
  return 0
}

/** Turns in progress finish with what they started with. A file with errors changes nothing. */
async function reloadManifests(platform: Platform): Promise<void> {
  try {
    const agents = await platform.applyManifests()
    platform.log.info({ agents }, 'manifests applied')
  } catch (error) {
    note(`quartermaster: ${error instanceof StartError ? error.message : inspect(error)}`)
  }
}

/** Whether to serve the sample service. Its tools call it on the platform's own port, so every later start serves it too. */
const hasSample = async ({ sample, onLoopback }: Config, { store }: Platform) =>
  onLoopback && (sample || (await store.settings.find('sample')) !== undefined)

/** Serves the sample company, which the sample's tools call, on the same port. */
function withSample(platform: Platform): HttpServer {
  const company = sampleCompany()
  return {
    handle: async (exchange) =>
      exchange.path.startsWith('/sample/')
        ? sendResponse(exchange, await company.fetch(toRequest(exchange)))
        : platform.handle(exchange),
    onListening: (url) => platform.onListening(url),
  }
}

/** Creates the sample once, on an empty platform only. */
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
 * use only curl, without its newer flags, so that they work in any folder.
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
