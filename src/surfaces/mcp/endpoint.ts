import type { Logger } from 'pino'
import type { Authenticator } from '../../access/authenticator.ts'
import { evaluate } from '../../access/evaluate.ts'
import { excessOf, isObject, type JsonObject } from '../../lib/json.ts'
import { PlatformError } from '../../model/errors.ts'
import type { Principal } from '../../model/principal.ts'
import type { Server } from '../../model/server.ts'
import type { Request as Caller, Parts } from '../../operations/operation.ts'
import type { Admit } from '../../server/admit.ts'
import { textOf } from '../../server/body.ts'
import { sendError } from '../../server/error-reply.ts'
import type { Exchange } from '../../server/exchange.ts'
import { sendResponse, toRequest } from '../../server/web.ts'
import { givenUp } from './cancelling.ts'
import { Conversations } from './conversations.ts'
import { Listeners } from './listeners.ts'
import { managementOffering, type Offering, ServerOffering } from './offering.ts'
import { isAnswer } from './questions.ts'
import { asMessage, findParamsFault, findProtocolFault, modern, type Refusal, sendRefusal } from './request-rules.ts'
import { SdkHandlers } from './sdk.ts'
import { whileAllowed } from './shut-out.ts'
import { answerTools, isToolsMethod } from './tools-request.ts'
import { Visit } from './visit.ts'

export interface McpDeps {
  readonly parts: Parts
  readonly admit: Admit
  readonly authenticator: Authenticator
  readonly log: Logger
  readonly version: string
  readonly bodyLimit: number
}

/** The MCP endpoints at /mcp/{server}: stateless, in both protocol eras. */
export class McpEndpoints {
  readonly #deps: McpDeps
  readonly #listeners = new Listeners()
  readonly #conversations: Conversations
  readonly #sdk: SdkHandlers

  constructor(deps: McpDeps) {
    const { notices } = deps.parts.store
    this.#deps = deps
    this.#conversations = new Conversations(notices, deps.log)
    this.#sdk = new SdkHandlers(this.#conversations, deps.log)
    const toolsChanged = () => {
      this.#listeners.notify('notifications/tools/list_changed')
      this.#sdk.toolsChanged()
    }
    const skillsChanged = () => {
      this.#listeners.notify('notifications/resources/list_changed')
      this.#sdk.resourcesChanged()
    }
    deps.parts.catalogue.onChange(toolsChanged)
    notices.hear('servers', toolsChanged)
    notices.hear('servers', skillsChanged)
    // Which tools a key may use is in its policies, and which policies those are, in the key.
    notices.hear('access_policies', toolsChanged)
    notices.hear('api_keys', toolsChanged)
    notices.hear('skills', skillsChanged)
  }

  /** Without a server: the platform itself. */
  async handle(exchange: Exchange, reference: string | undefined): Promise<void> {
    const { admit, log } = this.#deps
    try {
      const { caller } = await admit(exchange, 'mcp')
      const client = this.#conversations.sessions.client(exchange.headers['mcp-session-id']) ?? caller.client
      const offering = await this.#offeringFor({ ...caller, client }, reference)
      if (exchange.method === 'POST') await this.#post(exchange, offering, reference)
      else if (listens(exchange)) this.#listeners.open(exchange, this.#lossOfAccess(exchange, offering, reference))
      else await sendResponse(exchange, await this.#sdk.fetch(toRequest(exchange), undefined, offering))
    } catch (error) {
      sendError(exchange, error, log)
    }
  }

  async #post(exchange: Exchange, offering: Offering, reference: string | undefined): Promise<void> {
    const text = await readText(exchange, this.#deps.bodyLimit)
    if (typeof text !== 'string') return sendRefusal(exchange, text)
    const body = parse(text)
    const message = asMessage(body, exchange.headers)
    if (message && isToolsMethod(message.method)) {
      return answerTools(message, offering, this.#conversations, exchange)
    }
    if (message && !findProtocolFault(message, exchange.headers)) {
      const fault = findParamsFault(message)
      if (fault) return sendRefusal(exchange, fault, message.id)
    }
    if (Array.isArray(body) && body.length > 0 && exchange.headers['mcp-protocol-version'] === modern) {
      const said = `Bad Request: ${modern} has no batches: send one request at a time`
      return sendRefusal(exchange, { status: 400, code: -32600, message: said })
    }
    await this.#sendBySdk(exchange, offering, reference, text, body)
  }

  async #sendBySdk(
    exchange: Exchange,
    offering: Offering,
    reference: string | undefined,
    text: string,
    body: unknown,
  ): Promise<void> {
    const { principalId } = offering
    const session = exchange.headers['mcp-session-id'] ?? null
    const isOlder = session !== null || exchange.headers['mcp-protocol-version'] === undefined
    if (isOlder && isAnswer(body)) return this.#takeAnswer(exchange, principalId, body)
    const id = isOlder ? givenUp(body) : undefined
    if (id !== undefined) await this.#conversations.cancel({ principalId, session, id })
    const response = await this.#sdk.fetch(toRequest(exchange, text), body, offering)
    const subscribes = exchange.headers['mcp-method'] === 'subscriptions/listen'
    const until = subscribes ? this.#lossOfAccess(exchange, offering, reference) : undefined
    await sendResponse(exchange, this.#withSession(response, body), until)
  }

  /** What a caller of 2025 answers to a question that one of its calls has put. */
  #takeAnswer(exchange: Exchange, principalId: string, answer: JsonObject): void {
    if (!this.#conversations.answer(principalId, answer)) throw new PlatformError('ANSWER_NOT_AWAITED', {})
    exchange.send(202, {})
  }

  /** A caller of 2025 is given a session whose id says what it can be asked. */
  #withSession(response: Response, body: unknown): Response {
    if (!isObject(body) || body.method !== 'initialize' || !response.ok) return response
    const headers = new Headers(response.headers)
    const { capabilities, clientInfo } = isObject(body.params) ? body.params : {}
    headers.set('mcp-session-id', this.#conversations.sessions.idFor(capabilities, clientInfo))
    return new Response(response.body, { status: response.status, headers })
  }

  /** Ends the streams of those who listen, once the calls in flight are answered: nothing else would end them. */
  async drain(): Promise<void> {
    this.#conversations.close()
    await this.#conversations.idle()
    // The replies to the last calls are on their way out.
    await new Promise((resolve) => setTimeout(resolve, 50))
    await this.close()
  }

  async close(): Promise<void> {
    this.#listeners.close()
    this.#conversations.close()
    await this.#sdk.close()
  }

  /** 404 for a server that is off, or not for this key. */
  async #offeringFor(caller: Caller, reference: string | undefined): Promise<Offering> {
    const { parts, version } = this.#deps
    if (reference === undefined) return managementOffering({ ...parts, ...caller }, version)
    const server = await parts.shelves.findServer(reference)
    if (!server || !mayUse(caller.principal, server)) {
      throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'server', id: reference })
    }
    return new ServerOffering(new Visit(server, caller, parts), version)
  }

  /**
   * Aborted when a caller who listens would not be let in any more: its key is gone, or may not use the server, or the
   * server is gone. Not at every change, as a client of 2026 whose stream ends does not ask for another.
   */
  #lossOfAccess(exchange: Exchange, { principalId }: Offering, reference: string | undefined): AbortSignal {
    const { authenticator, parts } = this.#deps
    const lost = new AbortController()
    const stop = whileAllowed(
      principalId,
      { authenticator, notices: parts.store.notices },
      () => lost.abort(),
      async (principal) => {
        const server = reference === undefined ? undefined : await parts.shelves.findServer(reference)
        return reference === undefined || (server !== undefined && mayUse(principal, server))
      },
    )
    exchange.gone.addEventListener('abort', stop)
    lost.signal.addEventListener('abort', stop)
    return lost.signal
  }
}

async function readText(exchange: Exchange, limit: number): Promise<string | Refusal> {
  try {
    const text = textOf(await exchange.read(limit))
    const excess = excessOf(text)
    if (excess === undefined) return text
    return { status: 400, code: -32600, message: `Bad Request: the request body ${excess}` }
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'BODY_TOO_LARGE') throw error
    return { status: 413, code: -32000, message: `Payload Too Large: Request body must not exceed ${limit} bytes` }
  }
}

/** Undefined for what is not JSON: the SDK says so. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const mayUse = (principal: Principal, { id, project_id: projectId, enabled }: Server): boolean =>
  enabled && evaluate(principal, 'servers:UseServer', { projectId, kind: 'server', id }).allowed

/** A caller of 2025 opens a stream to hear of changes. */
const listens = ({ method, headers }: Exchange): boolean =>
  method === 'GET' && (headers.accept ?? '').includes('text/event-stream')
