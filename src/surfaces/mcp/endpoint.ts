import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Authenticator } from '../../access/authenticator.ts'
import { acceptsKind, mayUseServer } from '../../access/server-access.ts'
import { excessOf, isObject, type JsonObject } from '../../lib/json.ts'
import { PlatformError } from '../../model/errors.ts'
import type { Principal, TokenLimits } from '../../model/principal.ts'
import type { Server } from '../../model/server.ts'
import type { RequestContext as Caller, OperationDeps } from '../../operations/operation.ts'
import type { Admit } from '../../server/admit.ts'
import { textOf } from '../../server/body.ts'
import { errorReply } from '../../server/error-reply.ts'
import { type Exchange, sendJson } from '../../server/exchange.ts'
import { sendResponse, toRequest } from '../../server/web.ts'
import { whileAllowed } from './access-loss.ts'
import { givenUp } from './cancellation.ts'
import { isAnswer } from './client-requests.ts'
import { Conversations } from './conversations.ts'
import { Listeners } from './listeners.ts'
import type { Subscriber } from './pass-through-handlers.ts'
import { asMessage, findParamsFault, findProtocolFault, modern, type Refusal, sendRefusal } from './request-rules.ts'
import { SdkHandlers } from './sdk.ts'
import { ServerRequest } from './server-request.ts'
import { type McpServerView, managementView, ServerView } from './server-view.ts'
import { maxSubscriptions, Subscriptions } from './subscriptions.ts'
import { answerTools, isToolsMethod } from './tools-request.ts'

export interface McpDeps {
  readonly deps: OperationDeps
  readonly admit: Admit
  readonly authenticator: Authenticator
  readonly log: Logger
  readonly version: string
  readonly bodyLimit: number
  /** The `WWW-Authenticate` header that tells a client how to get a token for this endpoint. Absent without OAuth. */
  readonly challenge?: (server: string | undefined, host: string | undefined, scope?: string) => string
  /** The URL that tokens for a server must be issued for. Without a slug, for the platform's own endpoint. */
  readonly audienceOf: (slug: string | undefined) => string
}

/** The MCP endpoints at /mcp/{server}: stateless, for both protocol versions. */
export class McpEndpoints {
  readonly #deps: McpDeps
  readonly #subscriptions = new Subscriptions()
  readonly #listeners = new Listeners((session) => this.#subscriptions.left(session))
  readonly #conversations: Conversations
  readonly #sdk: SdkHandlers

  constructor(deps: McpDeps) {
    const { changes } = deps.deps.store
    this.#deps = deps
    this.#conversations = new Conversations(changes, deps.log, ({ id, principalId }, message) =>
      this.#listeners.notifySession(sessionKey(id, principalId), message),
    )
    this.#sdk = new SdkHandlers(
      this.#conversations,
      (session, principal) => this.#subscriber(session, principal),
      deps.log,
    )
    const toolsChanged = () => {
      this.#listeners.notify('notifications/tools/list_changed')
      this.#sdk.toolsChanged()
    }
    const promptsChanged = () => {
      this.#listeners.notify('notifications/prompts/list_changed')
      this.#sdk.promptsChanged()
    }
    const resourcesChanged = () => {
      this.#listeners.notify('notifications/resources/list_changed')
      this.#sdk.resourcesChanged()
    }
    deps.deps.catalogue.onChange(toolsChanged)
    changes.subscribe('servers', toolsChanged)
    deps.deps.toolDeps.upstreams.onOffersChange(() => {
      promptsChanged()
      resourcesChanged()
    })
    changes.subscribe('servers', promptsChanged)
    changes.subscribe('servers', resourcesChanged)
    changes.subscribe('tools', promptsChanged)
    changes.subscribe('tools', resourcesChanged)
    // The policies of a key or person determine which tools it can use, so changes of either matter.
    changes.subscribe('access_policies', toolsChanged)
    changes.subscribe('api_keys', toolsChanged)
    changes.subscribe('users', toolsChanged)
    for (const changed of [toolsChanged, promptsChanged, resourcesChanged]) changes.subscribe('modes', changed)
    changes.subscribe('skills', resourcesChanged)
  }

  /** Without a reference, the platform's own endpoint. */
  async handle(exchange: Exchange, reference: string | undefined): Promise<void> {
    const { admit } = this.#deps
    try {
      const { caller } = await admit(exchange, 'mcp')
      const client = this.#conversations.sessions.client(exchange.headers['mcp-session-id'])
      const view = await this.#viewFor(client ? { ...caller, client } : caller, reference)
      if (exchange.method === 'POST') await this.#post(exchange, view, reference, caller.principal)
      else if (listens(exchange)) this.#listen(exchange, view, reference)
      else await sendResponse(exchange, await this.#sdk.fetch(toRequest(exchange), undefined, view))
    } catch (error) {
      this.#sendFault(exchange, reference, error)
    }
  }

  /** Opens the stream on which a 2025 client is notified. */
  #listen(exchange: Exchange, view: McpServerView, reference: string | undefined): void {
    const id = exchange.headers['mcp-session-id']
    const session = id === undefined ? undefined : sessionKey(id, view.principalId)
    if (session !== undefined) this.#subscriptions.arrived(session)
    this.#listeners.open(exchange, this.#lossOfAccess(exchange, view, reference), session)
  }

  #subscriber(id: string, principalId: string): Subscriber {
    const session = sessionKey(id, principalId)
    return {
      updated: (uri) =>
        this.#listeners.notifySession(session, { method: 'notifications/resources/updated', params: { uri } }),
      add: (uri, start) => this.#subscriptions.add(session, uri, start),
      remove: (uri) => this.#subscriptions.remove(session, uri),
    }
  }

  /** A client without a valid credential is told where to get one, whether or not the server exists. */
  #sendFault(exchange: Exchange, reference: string | undefined, error: unknown): void {
    const { challenge, log } = this.#deps
    const { status, headers, text } = errorReply(error, log)
    const scope = error instanceof PlatformError && error.code === 'INSUFFICIENT_SCOPE' ? callScope : undefined
    const isTold = challenge && (status === 401 || scope !== undefined)
    const told = isTold && { 'www-authenticate': challenge(reference, exchange.headers.host, scope) }
    if (!exchange.isAnswered) sendJson(exchange, status, text, { ...headers, ...told })
  }

  async #post(
    exchange: Exchange,
    view: McpServerView,
    reference: string | undefined,
    { token }: Principal,
  ): Promise<void> {
    const text = await readText(exchange, this.#deps.bodyLimit)
    if (typeof text !== 'string') return sendRefusal(exchange, text)
    const body = parse(text)
    if (token) requireScope(token, body)
    const message = asMessage(body, exchange.headers)
    if (message && isToolsMethod(message.method)) {
      return answerTools(message, view, this.#conversations, exchange)
    }
    if (message && !findProtocolFault(message, exchange.headers)) {
      const fault = findParamsFault(message)
      if (fault) return sendRefusal(exchange, fault, message.id)
    }
    if (Array.isArray(body) && body.length > 0 && exchange.headers['mcp-protocol-version'] === modern) {
      const said = `Bad Request: ${modern} has no batches: send one request at a time`
      return sendRefusal(exchange, { status: 400, code: -32600, message: said })
    }
    await this.#sendBySdk(exchange, view, reference, text, body)
  }

  async #sendBySdk(
    exchange: Exchange,
    view: McpServerView,
    reference: string | undefined,
    text: string,
    body: unknown,
  ): Promise<void> {
    const { principalId } = view
    const session = exchange.headers['mcp-session-id'] ?? null
    const isOlder = session !== null || exchange.headers['mcp-protocol-version'] === undefined
    if (isOlder && isAnswer(body)) return this.#takeAnswer(exchange, principalId, body)
    const id = isOlder ? givenUp(body) : undefined
    if (id !== undefined) await this.#conversations.cancel({ principalId, session, id })
    const subscribes = exchange.headers['mcp-method'] === 'subscriptions/listen'
    const wanted = subscribes ? wantedResources(body) : []
    if (wanted.length > 0)
      return this.#sendUpdates(exchange, view, reference, { text, body: body as JsonObject, wanted })
    const response = await this.#sdk.fetch(toRequest(exchange, text), body, view)
    const until = subscribes ? this.#lossOfAccess(exchange, view, reference) : undefined
    await sendResponse(exchange, this.#withSession(response, body), until)
  }

  /**
   * Opens a stream on which a 2026 client is notified of changes of resources. It has a handler of its own, so that it gets
   * no updates of other callers. Resources that the caller cannot subscribe to are left out, and the client is told which
   * are left.
   */
  async #sendUpdates(
    exchange: Exchange,
    view: McpServerView,
    reference: string | undefined,
    { text, body, wanted }: { text: string; body: JsonObject; wanted: readonly string[] },
  ): Promise<void> {
    const key = `${view.key} ${randomUUID()}`
    const watched = await Promise.allSettled(
      wanted.map(async (uri) => ({
        uri,
        stop: await view.passed?.through.watch(uri, () => this.#sdk.resourceUpdated(key, uri)),
      })),
    )
    const kept = watched.flatMap((one) => (one.status === 'fulfilled' && one.value.stop ? [one.value] : []))
    const end = () => {
      for (const { stop } of kept) stop?.()
      void this.#sdk.drop(key)
    }
    try {
      const own = withResources(
        body,
        kept.map(({ uri }) => uri),
      )
      const response = await this.#sdk.fetch(toRequest(exchange, text), own, view, key)
      await sendResponse(exchange, response, this.#lossOfAccess(exchange, view, reference))
    } finally {
      end()
    }
  }

  /** Takes the response of a 2025 client to a request that one of its calls has sent. */
  #takeAnswer(exchange: Exchange, principalId: string, answer: JsonObject): void {
    if (!this.#conversations.answer(principalId, answer)) throw new PlatformError('ANSWER_NOT_AWAITED', {})
    exchange.send(202, {})
  }

  /** Adds a session id that encodes the client's capabilities, for the 2025 protocol. */
  #withSession(response: Response, body: unknown): Response {
    if (!isObject(body) || body.method !== 'initialize' || !response.ok) return response
    const headers = new Headers(response.headers)
    const { capabilities, clientInfo } = isObject(body.params) ? body.params : {}
    headers.set('mcp-session-id', this.#conversations.sessions.idFor(capabilities, clientInfo))
    return new Response(response.body, { status: response.status, headers })
  }

  /** Ends the open streams after the last call has been answered. Nothing else would end them. */
  async drain(): Promise<void> {
    this.#conversations.close()
    await this.#conversations.idle()
    // Give the last replies time to be sent.
    await new Promise((resolve) => setTimeout(resolve, 50))
    await this.close()
  }

  async close(): Promise<void> {
    this.#listeners.close()
    this.#subscriptions.close()
    this.#conversations.close()
    await this.#sdk.close()
  }

  /** 404 if the server is disabled or the key cannot use it. */
  async #viewFor(caller: Caller, reference: string | undefined): Promise<McpServerView> {
    const { deps, version } = this.#deps
    if (reference === undefined) {
      this.#requireAudience(caller.principal, undefined)
      return managementView({ ...deps, ...caller }, version)
    }
    const server = await deps.serverCatalogues.findServer(reference)
    this.#requireAudience(caller.principal, server)
    if (!server || !mayUseServer(caller.principal, server)) {
      throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'server', id: reference })
    }
    return new ServerView(new ServerRequest(server, caller, deps), version)
  }

  /** A token is good for one endpoint, and an endpoint may accept only keys or only tokens. */
  #requireAudience(principal: Principal, server: Server | undefined): void {
    const { token } = principal
    if (token && !this.#fits(token, server)) throw new PlatformError('UNAUTHENTICATED', { reason: 'token' })
    if (server && !acceptsKind(principal, server)) throw new PlatformError('UNAUTHENTICATED', { reason: 'method' })
  }

  #fits({ audience, serverId }: TokenLimits, server: Server | undefined): boolean {
    const isSameServer = serverId === undefined || serverId === (server?.id ?? null)
    const isForAll = audience === undefined && server !== undefined
    return isSameServer && (isForAll || audience === this.#deps.audienceOf(server?.slug))
  }

  /**
   * Aborts when the client loses access: its key or the server is deleted, or the key can no longer use the server. It
   * does not abort on other changes, because a 2026 client does not reopen a stream that has ended.
   */
  #lossOfAccess(exchange: Exchange, { principalId }: McpServerView, reference: string | undefined): AbortSignal {
    const { authenticator, deps } = this.#deps
    const lost = new AbortController()
    const stop = whileAllowed(
      principalId,
      { authenticator, changes: deps.store.changes },
      () => lost.abort(),
      async (principal) => {
        const server = reference === undefined ? undefined : await deps.serverCatalogues.findServer(reference)
        return reference === undefined || (server !== undefined && mayUseServer(principal, server))
      },
    )
    exchange.gone.addEventListener('abort', stop)
    lost.signal.addEventListener('abort', stop)
    return lost.signal
  }
}

/** Session ids are not secret, so another caller must not be able to use them. */
const sessionKey = (session: string, principalId: string): string => `${principalId} ${session}`

const filterOf = (body: unknown): JsonObject => {
  const params = isObject(body) && isObject(body.params) ? body.params : {}
  return isObject(params.notifications) ? params.notifications : {}
}

function wantedResources(body: unknown): readonly string[] {
  const { resourceSubscriptions: uris } = filterOf(body)
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === 'string')) return []
  return [...new Set(uris)].slice(0, maxSubscriptions)
}

function withResources(body: JsonObject, uris: readonly string[]): JsonObject {
  const notifications = { ...filterOf(body), resourceSubscriptions: [...uris] }
  return { ...body, params: { ...(isObject(body.params) && body.params), notifications } }
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

/** Undefined for invalid JSON: the SDK reports that. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const callScope = 'mcp'

/** `mcp:read` allows everything but calls. */
function requireScope({ scopes }: TokenLimits, body: unknown): void {
  const calls = [body].flat().some((message) => isObject(message) && message.method === 'tools/call')
  if (calls && !scopes.includes(callScope)) throw new PlatformError('INSUFFICIENT_SCOPE', { scope: callScope })
}

/** Whether a 2025 client opens a stream for change notifications. */
const listens = ({ method, headers }: Exchange): boolean =>
  method === 'GET' && (headers.accept ?? '').includes('text/event-stream')
