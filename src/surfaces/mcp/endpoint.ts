import {
  createMcpHandler,
  type McpHttpHandler,
  Server as Protocol,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Logger } from 'pino'
import { evaluate } from '../../access/evaluate.ts'
import type { Keys } from '../../access/keys.ts'
import type { RateLimit } from '../../access/rate-limit.ts'
import type { Shelved } from '../../catalogue/shelf.ts'
import type { Live } from '../../model/call.ts'
import { PlatformError } from '../../model/errors.ts'
import { isObject, type JsonObject } from '../../model/json.ts'
import { nearest } from '../../model/nearest.ts'
import type { Request as Asking, Parts } from '../../operations/operation.ts'
import { answerError } from '../answer.ts'
import { asking, bearer } from '../asking.ts'
import { agentTools, executeAction, readPayload, resolveActions } from './agent-mode.ts'
import { callOperation, listOperations } from './management.ts'
import { type ToolResult, toErrorResult, toResult } from './results.ts'
import { knowledgeIndex, loadSkill, skillTools } from './skills.ts'
import { type Visit, visit } from './visit.ts'

export interface McpParts {
  readonly parts: Parts
  readonly keys: Keys
  readonly rateLimit: RateLimit
  readonly log: Logger
  readonly version: string
  readonly bodyLimit: number
  /** Whether only this machine can reach the platform, so that a foreign Host header means a tricked browser. */
  readonly onLoopback: boolean
  readonly closing: AbortSignal
}

const pageSize = 1000
/** How long a client of the new era may keep a list without asking; changes are told to those who listen. */
const listTtlMs = 60_000

/** The MCP endpoints at /mcp/{server}: stateless, in both protocol eras. */
export class McpEndpoints {
  readonly #host: McpParts
  readonly #handlers = new Map<string, McpHttpHandler>()
  readonly #inFlight = new Set<Promise<unknown>>()

  constructor(host: McpParts) {
    this.#host = host
    const tell = () => {
      for (const handler of this.#handlers.values()) handler.notify.toolsChanged()
    }
    host.parts.catalogue.onChange(tell)
    host.parts.store.notices.hear('servers', tell)
  }

  /** Without a server: the platform itself. */
  async fetch(request: Request, reference: string | undefined): Promise<Response> {
    try {
      if (this.#host.closing.aborted) throw new PlatformError('SHUTTING_DOWN', {})
      refuseForeign(request, this.#host.onLoopback)
      const asker = await this.#admit(request)
      const offer = reference === undefined ? this.#management(asker) : await this.#visit(asker, reference)
      const authInfo = { token: '', clientId: asker.principal.id, scopes: [], extra: { offer } }
      return await this.#handlerOf(offer.key).fetch(request, { authInfo })
    } catch (error) {
      return answerError(error, this.#host.log)
    }
  }

  /** Ends the streams of those who listen, once the calls in flight are answered: nothing else would end them. */
  async drain(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight)
    // The answers of the last calls are on their way out.
    await new Promise((resolve) => setTimeout(resolve, 50))
    await this.close()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#handlers.values()].map((handler) => handler.close()))
  }

  #counted<T>(work: Promise<T>): Promise<T> {
    this.#inFlight.add(work)
    work.finally(() => this.#inFlight.delete(work)).catch(() => {})
    return work
  }

  /** 401 without a key, 403 with one that is not valid. */
  async #admit(request: Request): Promise<Asking> {
    const { keys, rateLimit } = this.#host
    const token = bearer(request.headers.get('authorization') ?? undefined)
    const principal = await keys.authenticate(token).catch((error: unknown) => {
      if (error instanceof PlatformError && token !== undefined) {
        throw new PlatformError('KEY_REFUSED', {}, { cause: error })
      }
      throw error
    })
    rateLimit.take(principal.id, principal.rateLimit)
    return asking(principal, 'mcp', request.headers.get('user-agent') ?? undefined)
  }

  /** 404 for a server that is off, or not for this key. */
  async #visit(asker: Asking, reference: string): Promise<Offering> {
    const { parts, version } = this.#host
    const server = await parts.store.servers.find(reference)
    const resource = server && { projectId: server.project_id, kind: 'server', id: server.id }
    if (!server?.enabled || !resource || !evaluate(asker.principal, 'servers:UseServer', resource).allowed) {
      throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'server', id: reference })
    }
    const one = visit(server, asker, parts)
    return {
      key: server.id,
      info: { name: server.slug, title: server.name, version },
      instructions: server.description,
      tools: () => toolsOf(one),
      call: (name, input, live) => this.#counted(callTool(one, name, input, live)),
    }
  }

  #management(asker: Asking): Offering {
    const context = { ...this.#host.parts, ...asker }
    return {
      key: 'the platform itself',
      info: { name: 'quartermaster', title: 'Quartermaster', version: this.#host.version },
      instructions:
        'Manages a Quartermaster: its tools, servers, skills, keys, documents and files, and the record of calls.',
      tools: async () => listOperations(context),
      call: (name, input) => this.#counted(callOperation(name, input, context)),
    }
  }

  #handlerOf(key: string): McpHttpHandler {
    let handler = this.#handlers.get(key)
    if (!handler) {
      handler = createMcpHandler(({ authInfo }) => toProtocol(authInfo?.extra?.offer as Offering), {
        maxRequestBodySize: this.#host.bodyLimit,
        onerror: (err) => this.#host.log.debug({ err }, 'mcp'),
      })
      this.#handlers.set(key, handler)
    }
    return handler
  }
}

/** What one caller finds at one endpoint. */
interface Offering {
  readonly key: string
  readonly info: { readonly name: string; readonly title: string; readonly version: string }
  readonly instructions: string | null
  tools(): Promise<readonly JsonObject[]>
  call(name: string, input: JsonObject, live: Live): Promise<ToolResult>
}

function toProtocol({ info, instructions, tools, call }: Offering): Protocol {
  const capabilities = { tools: { listChanged: true } }
  const protocol = new Protocol(info, { capabilities, ...(instructions && { instructions }) })
  protocol.setRequestHandler('tools/list', async ({ params }) => pageOf(await tools(), params?.cursor) as never)
  protocol.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    return (await call(params.name, (params.arguments ?? {}) as JsonObject, liveOf(mcpReq))) as never
  })
  return protocol
}

/** Progress goes back to the caller under its own token, and what it sends along goes on to the one who is called. */
function liveOf({ signal, _meta = {}, notify }: ServerContext['mcpReq']): Live {
  const { progressToken, ...meta } = _meta
  const onProgress: Live['onProgress'] = (progress) => {
    const params = { progressToken: progressToken as string | number, ...progress }
    void notify({ method: 'notifications/progress', params }).catch(() => {})
  }
  return { signal, meta: meta as JsonObject, ...(progressToken !== undefined && { onProgress }) }
}

/** A page in a browser that was tricked into calling us says so in its Host or Origin header. */
function refuseForeign(request: Request, onLoopback: boolean): void {
  const host = request.headers.get('host') ?? ''
  const origin = request.headers.get('origin')
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i.test(host)
  if (onLoopback && host !== '' && !isLocal) throw new PlatformError('FOREIGN_ORIGIN', { header: 'Host' })
  if (origin !== null && origin !== 'null' && URL.parse(origin)?.host !== host) {
    throw new PlatformError('FOREIGN_ORIGIN', { header: 'Origin' })
  }
}

const toolsOf = async (one: Visit): Promise<readonly JsonObject[]> => [
  ...(one.server.retrieve_skill ? skillTools : []),
  ...(one.server.agent_mode ? agentTools : [...(await one.named())].map(([name, shelved]) => describe(name, shelved))),
]

function pageOf(tools: readonly JsonObject[], cursor: string | undefined): JsonObject {
  const start = cursor === undefined ? 0 : Number(cursor)
  if (!Number.isSafeInteger(start) || start < 0 || start > tools.length) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'This cursor is not one of ours: begin again without it.')
  }
  const end = start + pageSize
  return {
    tools: tools.slice(start, end),
    ...(end < tools.length && { nextCursor: String(end) }),
    ttlMs: listTtlMs,
    cacheScope: 'private',
  }
}

/** What an MCP server says of its tool stays; the name is ours, and preset fields are gone. */
export function describe(name: string, { action, offer }: Shelved): JsonObject {
  const { definition = {} } = action
  return {
    ...definition,
    name,
    description: action.description ?? `${action.name} of ${action.app}`,
    inputSchema: { type: 'object', ...offer.shown },
  }
}

async function callTool(one: Visit, name: string, input: JsonObject, live: Live): Promise<ToolResult> {
  if (one.server.retrieve_skill && name === 'GET_KNOWLEDGE_INDEX')
    return one.aside(name, input, () => knowledgeIndex(input, one))
  if (one.server.retrieve_skill && name === 'LOAD_SKILL') return one.aside(name, input, () => loadSkill(input, one))
  try {
    if (one.server.agent_mode && name === 'RESOLVE_ACTIONS')
      return await one.aside(name, input, () => resolveActions(input, one))
    if (one.server.agent_mode && name === 'EXECUTE_ACTION') return await executeAction(input, one, live)
    const named = one.server.agent_mode ? new Map<string, Shelved>() : await one.named()
    const shelved = named.get(name)
    if (!shelved) throw unknownTool(name, [...named.keys()])
    return toResult(await one.call(shelved, unwrapped(input, shelved), live))
  } catch (error) {
    if (error instanceof PlatformError) return toErrorResult(error)
    throw error
  }
}

/** Some agents send `{ input_payload: … }` where the fields themselves are asked for. */
function unwrapped(input: JsonObject, { offer }: Shelved): JsonObject {
  const isWrapped = Object.keys(input).length === 1 && Object.hasOwn(input, 'input_payload')
  const { properties } = offer.action.schema
  const isOwnField = isObject(properties) && Object.hasOwn(properties, 'input_payload')
  return isWrapped && !isOwnField ? readPayload(input.input_payload) : input
}

function unknownTool(name: string, known: readonly string[]): ProtocolError {
  const close = nearest(name, known)
  const hint = close.length > 0 ? ` Did you mean ${close.map((one) => `"${one}"`).join(' or ')}?` : ''
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${name}" on this server.${hint}`)
}
