import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import type { JsonObject } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import type { Server } from '../model/server.ts'
import { XmlPrompt, type XmlResult, XmlResults } from '../model/xml-result.ts'
import { type Block, type BlockFault, parseXml, type XmlCall } from '../xml/index.ts'
import { type Context, operation, type ServerTools } from './operation.ts'
import { promptFor } from './xml-prompt.ts'
import {
  afterFailure,
  errorResult,
  quotedText,
  replyText,
  resourceResult,
  skippedResult,
  toolResult,
} from './xml-results.ts'

/** The maximum size of a message. */
const limit = 1024 * 1024

const Servers = z.array(z.string().min(1).max(200)).max(100)

export const executeXml = operation({
  name: 'execute-xml',
  permission: 'servers:UseServer',
  route: 'POST /xml/execute',
  summary: 'Run the use_mcp_tool and access_mcp_resource blocks in the text of an assistant, one after the other',
  example: {
    text: '<use_mcp_tool><server_name>support</server_name><tool_name>get_weather</tool_name><arguments>{"city": "Recife"}</arguments></use_mcp_tool>',
  },
  input: z.strictObject({
    text: z.string().describe('The text of the assistant, at most 1 MiB'),
    servers: Servers.optional().describe('The servers that blocks can name, by slug; by default, all you can use'),
    fenced: z
      .enum(['skip', 'run'])
      .default('skip')
      .describe('Whether to run blocks inside code fences, for models that wrap their calls in one'),
  }),
  output: XmlResults,
  async run({ text, servers, fenced }, context) {
    if (Buffer.byteLength(text) > limit) throw new PlatformError('MESSAGE_TOO_LARGE', { limit })
    const results = await runBlocks(text, fenced, new Blocks(context, servers))
    return { text: replyText(results), results }
  },
})

export const getXmlPrompt = operation({
  name: 'get-xml-prompt',
  permission: 'servers:UseServer',
  route: 'GET /xml/prompt',
  summary:
    'Get the part of a system prompt that describes your servers, tools and resources to an agent that writes XML',
  input: z.strictObject({
    servers: z.string().max(10_000).optional().describe('Slugs, separated by commas; by default, all you can use'),
  }),
  output: XmlPrompt,
  async run({ servers }, context) {
    const asked = servers?.split(',').map((slug) => slug.trim())
    const usable = await usableServers(context, asked)
    const list = async (server: Server) => {
      const tools = context.serverTools(server, asXml(context))
      return { server, tools: await tools.list(), ...(await tools.resources()) }
    }
    return { prompt: promptFor(await Promise.all(usable.map(list))) }
  },
})

/** Runs blocks in order, each after the result of the one before. The first failure ends the run. */
async function runBlocks(text: string, fenced: 'skip' | 'run', blocks: Blocks): Promise<XmlResult[]> {
  const results: XmlResult[] = []
  let failed = false
  const add = async (block: Block, run: () => Promise<XmlResult>) => {
    const result = failed ? skippedResult(block, afterFailure) : await run()
    failed ||= result.status === 'error' || result.status === 'denied'
    results.push(result)
  }
  for (const event of parseXml(text, { fenced })) {
    if (event.kind === 'call') await add(event.call, () => blocks.run(event.call))
    else if (event.kind === 'invalid') await add(event.block, async () => invalid(event.block, event.faults))
    else if (event.kind === 'skipped') results.push(skippedResult(event.block, quotedText(event.inside)))
    else if (event.kind === 'incomplete') results.push(skippedResult(event.block, cutOff(event.block)))
  }
  return results
}

const cutOff = ({ tag }: Block) => `Not run: the message ends before </${tag}>. Send the whole block.`

function invalid(block: Block, faults: readonly BlockFault[]): XmlResult {
  const errors = faults.map(({ parameter, message }) => ({ path: parameter, message }))
  return errorResult(block, new PlatformError('VALIDATION_FAILED', { errors }))
}

/** The blocks of one request, and the servers they can use. */
class Blocks {
  readonly #context: Context
  readonly #asked: readonly string[] | undefined
  #servers: Promise<readonly Server[]> | undefined

  constructor(context: Context, asked: readonly string[] | undefined) {
    this.#context = context
    this.#asked = asked
  }

  async run(call: XmlCall): Promise<XmlResult> {
    try {
      const tools = await this.#toolsOf(call.serverName)
      if (call.tag === 'access_mcp_resource') return resourceResult(call, await tools.read(call.uri, this.#live()))
      const name = await nameOf(call.toolName, tools)
      return toolResult(call, await tools.call(name, call.arguments as JsonObject, this.#live()))
    } catch (error) {
      if (error instanceof PlatformError) return errorResult(call, error)
      throw error
    }
  }

  async #toolsOf(name: string): Promise<ServerTools> {
    this.#servers ??= usableServers(this.#context, this.#asked)
    const servers = await this.#servers
    const slugs = servers.map(({ slug }) => slug)
    const slug = spelledLike(name, slugs)
    const server = servers.find((one) => one.slug === slug) ?? servers.find((one) => one.name === name)
    if (!server) throw new PlatformError('UNKNOWN_SERVER', { server_name: name.slice(0, 200), known: slugs })
    return this.#context.serverTools(server, asXml(this.#context))
  }

  #live() {
    const signal = this.#context.gone?.()
    return signal ? { signal } : {}
  }
}

/** Calls are recorded with their own surface, so that a model that writes XML never counts as a person. */
const asXml = (context: Context): Context => ({ ...context, surface: 'xml' })

async function usableServers(context: Context, asked: readonly string[] | undefined): Promise<readonly Server[]> {
  const { principal, store } = context
  const visible = ({ id, project_id: projectId }: { id: string; project_id?: string | null }) =>
    evaluate(principal, 'servers:UseServer', { projectId: projectId ?? null, kind: 'server', id }).allowed
  const filter = { limit: 500, offset: 0, ...(principal.projectId && { project_id: principal.projectId }) }
  const { data } = await store.servers.list(filter, visible)
  return data.filter(({ enabled, slug }) => enabled && (!asked || asked.includes(slug)))
}

/** Models often write `_` for `-`. The exact name takes precedence. */
async function nameOf(name: string, tools: ServerTools): Promise<string> {
  const names = (await tools.list()).map((tool) => String(tool.name))
  return spelledLike(name, names) ?? name
}

const spelledLike = (name: string, known: readonly string[]): string | undefined =>
  known.includes(name) ? name : known.find((one) => one.replaceAll('-', '_') === name.replaceAll('-', '_'))
