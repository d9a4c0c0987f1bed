import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema, ResultSchema } from '@modelcontextprotocol/sdk/types.js'

type Answer = Record<string, unknown>

/** The context of a running tool. */
export interface Running {
  /** Sends a client request on the stream of the call. */
  ask(method: string, params: object): Promise<Answer>
  /** Sends a client request on the stream that all calls share. */
  askGenerally(method: string, params: object): Promise<Answer>
  log(level: 'debug' | 'info' | 'error', data: string): Promise<void>
  /** The capabilities of the client. */
  readonly capabilities: object
  /** The headers of the request of the call. */
  readonly headers: Record<string, string | string[] | undefined>
}

export interface LegacyTool {
  readonly name: string
  run(input: Record<string, unknown>, running: Running): Promise<string> | string
}

/** A 2025 MCP server with sessions, on the SDK of that time. */
export interface LegacyUpstream extends AsyncDisposable {
  readonly url: string
  /** Replaces its tools and notifies clients. */
  change(tools: LegacyTool[]): Promise<void>
}

export async function startLegacyUpstream(
  tools: LegacyTool[],
  kind: 'streamable' | 'sse' = 'streamable',
  { declaresChanges = true } = {},
): Promise<LegacyUpstream> {
  let offered = tools
  const servers = new Set<Server>()
  const transports = new Map<string, StreamableHTTPServerTransport | SSEServerTransport>()

  const makeServer = () => {
    const capabilities = { tools: declaresChanges ? { listChanged: true } : {}, logging: {} }
    const server = new Server({ name: 'legacy', version: '1' }, { capabilities })
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: offered.map(({ name }) => ({ name, inputSchema: { type: 'object' as const } })),
    }))
    server.setRequestHandler(
      CallToolRequestSchema,
      async ({ params }, { sendRequest, sendNotification, requestInfo }) => {
        const running: Running = {
          ask: (method, params) => sendRequest({ method, params } as never, ResultSchema),
          askGenerally: (method, params) => server.request({ method, params } as never, ResultSchema),
          log: (level, data) => sendNotification({ method: 'notifications/message', params: { level, data } }),
          capabilities: server.getClientCapabilities() ?? {},
          headers: requestInfo?.headers ?? {},
        }
        const tool = offered.find(({ name }) => name === params.name)
        const text = (await tool?.run(params.arguments ?? {}, running)) ?? 'there is no such tool'
        return { content: [{ type: 'text', text }] }
      },
    )
    servers.add(server)
    server.onclose = () => servers.delete(server)
    return server
  }

  const find = (id: unknown) => transports.get(String(id))
  const streamable = async (request: IncomingMessage, body: unknown) => {
    const known = find(request.headers['mcp-session-id'])
    if (known) return known as StreamableHTTPServerTransport
    if ((body as { method?: string } | undefined)?.method !== 'initialize') return undefined
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void transports.set(id, transport),
    })
    await makeServer().connect(transport as never)
    return transport
  }

  const http = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://upstream')
    const body = request.method === 'POST' ? await json(request) : undefined
    if (kind === 'streamable') {
      const transport = await streamable(request, body)
      if (transport) return transport.handleRequest(request, response, body)
    } else if (request.method === 'GET' && url.pathname === '/sse') {
      const transport = new SSEServerTransport('/messages', response)
      transports.set(transport.sessionId, transport)
      return makeServer().connect(transport)
    } else if (request.method === 'POST' && url.pathname === '/messages') {
      const transport = find(url.searchParams.get('sessionId')) as SSEServerTransport | undefined
      if (transport) return transport.handlePostMessage(request, response, body)
    }
    response.writeHead(request.method === 'POST' ? 400 : 405).end()
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  return {
    url: `${origin}/${kind === 'sse' ? 'sse' : 'mcp'}`,
    async change(next) {
      offered = next
      await Promise.all([...servers].map((server) => server.sendToolListChanged()))
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...servers].map((server) => server.close()))
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}
