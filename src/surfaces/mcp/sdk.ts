import {
  CLIENT_INFO_META_KEY,
  createMcpHandler,
  type McpHttpHandler,
  McpServer,
  type McpServerFactory,
} from '@modelcontextprotocol/server'
import type { Logger } from 'pino'
import { isObject, type JsonObject } from '../../lib/json.ts'
import type { Connection, Conversations, Incoming } from './conversations.ts'
import { attachPassThrough, type Subscriber } from './pass-through-handlers.ts'
import type { McpServerView } from './server-view.ts'
import { clientNameOf } from './sessions.ts'

/** Handles all methods except `tools/call` and `tools/list`, and those two inside a batch, with the MCP SDK. */
export class SdkHandlers {
  readonly #handlers = new Map<string, McpHttpHandler>()
  readonly #conversations: Conversations
  readonly #log: Logger

  readonly #subscriberOf: (session: string, principalId: string) => Subscriber

  constructor(
    conversations: Conversations,
    subscriberOf: (session: string, principalId: string) => Subscriber,
    log: Logger,
  ) {
    this.#conversations = conversations
    this.#subscriberOf = subscriberOf
    this.#log = log
  }

  fetch(request: Request, body: unknown, view: McpServerView, key = view.key): Promise<Response> {
    const authInfo = {
      token: '',
      clientId: view.principalId,
      scopes: [],
      extra: { view, isStart: isStart(body) },
    }
    return this.#handlerOf(key).fetch(request, { authInfo, ...(body !== undefined && { parsedBody: body }) })
  }

  toolsChanged(): void {
    for (const handler of this.#handlers.values()) handler.notify.toolsChanged()
  }

  /** Notifies the stream that was opened with this key. */
  resourceUpdated(key: string, uri: string): void {
    this.#handlers.get(key)?.notify.resourceUpdated(uri)
  }

  /** Forgets a handler that served a single stream. */
  async drop(key: string): Promise<void> {
    const handler = this.#handlers.get(key)
    this.#handlers.delete(key)
    await handler?.close()
  }

  promptsChanged(): void {
    for (const handler of this.#handlers.values()) handler.notify.promptsChanged()
  }

  resourcesChanged(): void {
    for (const handler of this.#handlers.values()) handler.notify.resourcesChanged()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#handlers.values()].map((handler) => handler.close()))
  }

  #handlerOf(key: string): McpHttpHandler {
    let handler = this.#handlers.get(key)
    if (!handler) {
      handler = createMcpHandler(this.#serve, { onerror: (err) => this.#log.debug({ err }, 'mcp') })
      this.#handlers.set(key, handler)
    }
    return handler
  }

  readonly #serve: McpServerFactory = async ({ era, authInfo, requestInfo }) => {
    const { extra = {} } = authInfo ?? {}
    const { view, isStart } = extra as unknown as { view: McpServerView; isStart: boolean }
    const session = requestInfo?.headers.get('mcp-session-id') ?? null
    const instructions = isStart ? await view.instructions() : ''
    const server = serverOf(view, instructions, { era, session }, this.#conversations)
    view.skills?.().attach(server)
    if (view.passed) {
      const subscriber = session === null ? undefined : this.#subscriberOf(session, view.principalId)
      attachPassThrough(server, view.passed, view.passed.through, era === 'legacy' ? subscriber : undefined)
    }
    return server
  }
}

/** Whether a client connects and gets the instructions. */
const isStart = (body: unknown): boolean =>
  (Array.isArray(body) ? body : [body]).some(
    (one) => isObject(one) && (one.method === 'initialize' || one.method === 'server/discover'),
  )

function serverOf(
  view: McpServerView,
  instructions: string,
  connection: Connection,
  conversations: Conversations,
): McpServer {
  const capabilities = { tools: { listChanged: true }, logging: {} }
  const protocol = new McpServer(view.info, { capabilities, ...(instructions && { instructions }) })
  const { server } = protocol
  server.setRequestHandler('tools/list', async ({ params }) => {
    const { tools, rest } = await view.list(params?.cursor)
    return { tools: tools.map(({ value }) => value), ...rest } as never
  })
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: input = {} } }, { mcpReq }) => {
    const { id, signal, _meta = {}, envelope = {}, notify } = mcpReq
    const cancelling = new AbortController()
    signal.addEventListener('abort', () => cancelling.abort())
    const incoming: Incoming = {
      id,
      signal: cancelling.signal,
      cancel: () => cancelling.abort(),
      meta: _meta as JsonObject,
      envelope,
      inputResponses: undefined,
      requestState: undefined,
      notify: (message) => notify(message as never),
      ask: async (message) => server.transport?.send(message as never, { relatedRequestId: id }),
    }
    const caller = { ...connection, principalId: view.principalId, endpoint: view.key, tool: name }
    const client = clientNameOf(incoming.envelope[CLIENT_INFO_META_KEY])
    return (await conversations.call(incoming, caller, (live) =>
      view.call(name, input as JsonObject, live, client),
    )) as never
  })
  server.setRequestHandler('logging/setLevel', ({ params: { level } }) => {
    if (connection.session !== null) conversations.sessions.setLevel(connection.session, level)
    return {}
  })
  return protocol
}
