import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import type { JsonObject } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import type { Server } from '../model/server.ts'
import { XmlPrompt, type XmlResult, XmlResults } from '../model/xml-result.ts'
import { type Block, type BlockFault, parseXml, type XmlCall, type XmlEvent } from '../xml/index.ts'
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
import { eventsOf, streamOf } from './xml-stream.ts'

/** The maximum size of a message. */
const limit = 1024 * 1024

const Servers = z.array(z.string().min(1).max(200)).max(100)

export const executeXml = operation({
  name: 'execute-xml',
  permission: 'servers:UseServer',
  route: 'POST /xml/execute',
  summary: 'Run the use_mcp_tool and access_mcp_resource blocks in the text of an assistant, one after the other',
  acceptsText: true,
  example: {
    text: '<use_mcp_tool><server_name>support</server_name><tool_name>get_weather</tool_name><arguments>{"city": "Recife"}</arguments></use_mcp_tool>',
  },
  input: z.strictObject({
    text: z
      .string()
      .optional()
      .describe('The text of the assistant, at most 1 MiB. Or send it as the body, in pieces: text/plain, or JSON'),
    servers: Servers.optional().describe('The servers that blocks can name, by slug; by default, all you can use'),
    fenced: z
      .enum(['skip', 'run'])
      .default('skip')
      .describe('Whether to run blocks inside code fences, for models that wrap their calls in one'),
  }),
  output: XmlResults,
  async run({ text, servers, fenced }, context) {
    const blocks = new Blocks(context, servers)
    const { body, bodyType } = context
    if (body && text === undefined) {
      return streamOf(runBlocks(eventsOf({ body, bodyType }, { fenced }, limit), blocks))
    }
    if (text === undefined) throw missingText()
    if (Buffer.byteLength(text) > limit) throw new PlatformError('MESSAGE_TOO_LARGE', { limit })
    const results = await Array.fromAsync(runBlocks(parseXml(text, { fenced }), blocks))
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

const missingText = () => new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'text', message: 'is missing' }] })

/** Runs blocks in order, each after the result of the one before. The first failure ends the run. */
async function* runBlocks(
  events: Iterable<XmlEvent> | AsyncIterable<XmlEvent>,
  blocks: Blocks,
): AsyncGenerator<XmlResult> {
  let failed = false
  for await (const event of events) {
    const result = await resultOf(event, blocks, failed)
    if (!result) continue
    failed ||= result.status === 'error' || result.status === 'denied'
    yield result
  }
}

async function resultOf(event: XmlEvent, blocks: Blocks, failed: boolean): Promise<XmlResult | undefined> {
  if (event.kind === 'text') return undefined
  if (event.kind === 'skipped') return skippedResult(event.block, quotedText(event.inside))
  if (event.kind === 'incomplete') return skippedResult(event.block, cutOff(event.block))
  if (failed) return skippedResult(event.kind === 'call' ? event.call : event.block, afterFailure)
  return event.kind === 'call' ? blocks.run(event.call) : invalid(event.block, event.faults)
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
