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
import type { Offering } from './offering.ts'
import { clientNameOf } from './session.ts'

/** The methods that the SDK answers, for each endpoint: all but `tools/call` and `tools/list`, unless they are in a batch. */
export class SdkHandlers {
  readonly #handlers = new Map<string, McpHttpHandler>()
  readonly #conversations: Conversations
  readonly #log: Logger

  constructor(conversations: Conversations, log: Logger) {
    this.#conversations = conversations
    this.#log = log
  }

  fetch(request: Request, body: unknown, offering: Offering): Promise<Response> {
    const authInfo = {
      token: '',
      clientId: offering.principalId,
      scopes: [],
      extra: { offering, isStart: isStart(body) },
    }
    return this.#handlerOf(offering.key).fetch(request, { authInfo, ...(body !== undefined && { parsedBody: body }) })
  }

  toolsChanged(): void {
    for (const handler of this.#handlers.values()) handler.notify.toolsChanged()
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
    const { offering, isStart } = extra as unknown as { offering: Offering; isStart: boolean }
    const session = requestInfo?.headers.get('mcp-session-id') ?? null
    const instructions = isStart ? await offering.instructions() : ''
    const server = serverOf(offering, instructions, { era, session }, this.#conversations)
    offering.skills?.().attach(server)
    return server
  }
}

/** Whether a client asks who is there, and is to be told what an agent should know at the start. */
const isStart = (body: unknown): boolean =>
  (Array.isArray(body) ? body : [body]).some(
    (one) => isObject(one) && (one.method === 'initialize' || one.method === 'server/discover'),
  )

function serverOf(
  offering: Offering,
  instructions: string,
  connection: Connection,
  conversations: Conversations,
): McpServer {
  const capabilities = { tools: { listChanged: true }, logging: {} }
  const protocol = new McpServer(offering.info, { capabilities, ...(instructions && { instructions }) })
  const { server } = protocol
  server.setRequestHandler('tools/list', async ({ params }) => {
    const { tools, rest } = await offering.list(params?.cursor)
    return { tools: tools.map(({ value }) => value), ...rest } as never
  })
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: input = {} } }, { mcpReq }) => {
    const { id, signal, _meta = {}, envelope = {}, notify } = mcpReq
    const cancelling = new AbortController()
    signal.addEventListener('abort', () => cancelling.abort())
    const incoming: Incoming = {
      id,
      cancelling,
      meta: _meta as JsonObject,
      envelope: envelope as JsonObject,
      inputResponses: undefined,
      requestState: undefined,
      notify: (message) => notify(message as never),
      ask: async (message) => server.transport?.send(message as never, { relatedRequestId: id }),
    }
    const caller = { ...connection, principalId: offering.principalId, endpoint: offering.key, tool: name }
    const client = clientNameOf((envelope as JsonObject)[CLIENT_INFO_META_KEY])
    return (await conversations.call(incoming, caller, (live) =>
      offering.call(name, input as JsonObject, live, client),
    )) as never
  })
  server.setRequestHandler('logging/setLevel', ({ params: { level } }) => {
    if (connection.session !== null) conversations.sessions.setLevel(connection.session, level)
    return {}
  })
  return protocol
}
