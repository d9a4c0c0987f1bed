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
import type { Named, Shelved, Shelves } from '../../catalogue/shelf.ts'
import type { Live } from '../../model/call.ts'
import { PlatformError } from '../../model/errors.ts'
import { isObject, type JsonObject } from '../../model/json.ts'
import { nearest } from '../../model/nearest.ts'
import type { Request as Asking, Parts } from '../../operations/operation.ts'
import { answerError } from '../answer.ts'
import { asking, bearer } from '../asking.ts'
import { agentTools, executeAction, readPayload, resolveActions } from './agent-mode.ts'
import { Listed, type ListPage, listed, pageOf } from './listing.ts'
import { callOperation, listOperations } from './management.ts'
import { type ToolResult, toErrorResult, toResult } from './results.ts'
import { knowledgeIndex, loadSkill, skillTools } from './skills.ts'
import { type Visit, visit } from './visit.ts'

export interface McpParts {
  readonly parts: Parts
  readonly shelves: Shelves
  readonly keys: Keys
  readonly rateLimit: RateLimit
  readonly log: Logger
  readonly version: string
  readonly bodyLimit: number
  /** Whether only this machine can reach the platform, so that a foreign Host header means a tricked browser. */
  readonly onLoopback: boolean
  readonly closing: AbortSignal
}

/** Of a request, those that say who asks and from where. */
type Headers = Readonly<Partial<Record<'authorization' | 'host' | 'origin' | 'user-agent', string>>>

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
      const offer = await this.offer(Object.fromEntries(request.headers), reference)
      const authInfo = { token: '', clientId: offer.principalId, scopes: [], extra: { offer } }
      return await this.#handlerOf(offer.key).fetch(request, { authInfo })
    } catch (error) {
      return answerError(error, this.#host.log)
    }
  }

  /** What the sender of these headers finds here; throws for those who are not let in. */
  async offer(headers: Headers, reference: string | undefined): Promise<Offering> {
    if (this.#host.closing.aborted) throw new PlatformError('SHUTTING_DOWN', {})
    refuseForeign(headers, this.#host.onLoopback)
    const asker = await this.#admit(headers)
    return reference === undefined ? this.#management(asker) : this.#visit(asker, reference)
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

  async #counted<T>(work: Promise<T>): Promise<T> {
    this.#inFlight.add(work)
    try {
      return await work
    } catch (error) {
      throw toProtocolError(error, this.#host.log)
    } finally {
      this.#inFlight.delete(work)
    }
  }

  /** 401 without a key, 403 with one that is not valid. */
  async #admit(headers: Headers): Promise<Asking> {
    const { keys, rateLimit } = this.#host
    const token = bearer(headers.authorization)
    const principal = await keys.authenticate(token).catch((error: unknown) => {
      if (error instanceof PlatformError && token !== undefined) {
        throw new PlatformError('KEY_REFUSED', {}, { cause: error })
      }
      throw error
    })
    rateLimit.take(principal.id, principal.rateLimit)
    return asking(principal, 'mcp', headers['user-agent'])
  }

  /** 404 for a server that is off, or not for this key. */
  async #visit(asker: Asking, reference: string): Promise<Offering> {
    const { parts, shelves, version } = this.#host
    const server = await shelves.findServer(reference)
    const resource = server && { projectId: server.project_id, kind: 'server', id: server.id }
    if (!server?.enabled || !resource || !evaluate(asker.principal, 'servers:UseServer', resource).allowed) {
      throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'server', id: reference })
    }
    const one = visit(server, asker, { ...parts, shelves })
    return {
      key: server.id,
      principalId: asker.principal.id,
      info: { name: server.slug, title: server.name, version },
      instructions: server.description,
      list: (cursor) => listTools(one, cursor),
      call: (name, input, live) => this.#counted(callTool(one, name, input, live)),
    }
  }

  #management(asker: Asking): Offering {
    const context = { ...this.#host.parts, ...asker }
    return {
      key: 'the platform itself',
      principalId: asker.principal.id,
      info: { name: 'quartermaster', title: 'Quartermaster', version: this.#host.version },
      instructions:
        'Manages a Quartermaster: its tools, servers, skills, keys, documents and files, and the record of calls.',
      list: async (cursor) => pageOf(listOperations(context), (value) => new Listed(value), cursor),
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
export interface Offering {
  readonly key: string
  readonly principalId: string
  readonly info: { readonly name: string; readonly title: string; readonly version: string }
  readonly instructions: string | null
  list(cursor: string | undefined): Promise<ListPage>
  call(name: string, input: JsonObject, live: Live): Promise<ToolResult>
}

function toProtocol({ info, instructions, list, call }: Offering): Protocol {
  const capabilities = { tools: { listChanged: true } }
  const protocol = new Protocol(info, { capabilities, ...(instructions && { instructions }) })
  protocol.setRequestHandler('tools/list', async ({ params }) => {
    const { tools, rest } = await list(params?.cursor)
    return { tools: tools.map(({ value }) => value), ...rest } as never
  })
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
function refuseForeign({ host = '', origin }: Headers, onLoopback: boolean): void {
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i.test(host)
  if (onLoopback && host !== '' && !isLocal) throw new PlatformError('FOREIGN_ORIGIN', { header: 'Host' })
  if (origin !== undefined && origin !== 'null' && URL.parse(origin)?.host !== host) {
    throw new PlatformError('FOREIGN_ORIGIN', { header: 'Origin' })
  }
}

const fixed = {
  skills: skillTools.map((value) => new Listed(value)),
  agentMode: agentTools.map((value) => new Listed(value)),
}

async function listTools(one: Visit, cursor: string | undefined): Promise<ListPage> {
  const { agent_mode, retrieve_skill } = one.server
  const skills = retrieve_skill ? fixed.skills : []
  const rest = agent_mode ? fixed.agentMode : await one.named()
  const all: readonly (Listed | Named)[] = skills.length > 0 ? [...skills, ...rest] : rest
  return pageOf(all, (tool) => (tool instanceof Listed ? tool : listed(tool)), cursor)
}

async function callTool(one: Visit, name: string, input: JsonObject, live: Live): Promise<ToolResult> {
  if (one.server.retrieve_skill && name === 'GET_KNOWLEDGE_INDEX')
    return one.aside(name, input, () => knowledgeIndex(input, one))
  if (one.server.retrieve_skill && name === 'LOAD_SKILL') return one.aside(name, input, () => loadSkill(input, one))
  try {
    if (one.server.agent_mode && name === 'RESOLVE_ACTIONS')
      return await one.aside(name, input, () => resolveActions(input, one))
    if (one.server.agent_mode && name === 'EXECUTE_ACTION') return await executeAction(input, one, live)
    const shelved = one.server.agent_mode ? undefined : await one.find(name)
    if (!shelved) throw unknownTool(name, one.server.agent_mode ? [] : (await one.named()).map(([name]) => name))
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

/** What is not in the catalogue of errors is logged whole and told to nobody. */
function toProtocolError(error: unknown, log: Logger): ProtocolError {
  if (error instanceof ProtocolError) return error
  const known = error instanceof PlatformError
  if (!known) log.error({ err: error }, 'a fault of the platform')
  const message = known ? error.message : 'Something went wrong inside the platform. The log has it.'
  return new ProtocolError(ProtocolErrorCode.InternalError, message)
}

function unknownTool(name: string, known: readonly string[]): ProtocolError {
  const close = nearest(name, known)
  const hint = close.length > 0 ? ` Did you mean ${close.map((one) => `"${one}"`).join(' or ')}?` : ''
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${name}" on this server.${hint}`)
}
