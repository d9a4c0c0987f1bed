import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, Server, type ServerContext, type Tool } from '@modelcontextprotocol/server'

type CallResult = Record<string, unknown>

export interface UpstreamTool extends Tool {
  /** Returns the result. By default, the input as text. */
  readonly run?: (
    input: Record<string, unknown>,
    signal: AbortSignal,
    context: ServerContext['mcpReq'],
  ) => CallResult | Promise<CallResult>
}

/** An MCP server on loopback with the given tools. */
export interface TestUpstream extends AsyncDisposable {
  readonly url: string
  readonly calls: { name: string; input: Record<string, unknown> }[]
  /** The headers of every request. */
  readonly headers: Record<string, string | string[] | undefined>[]
  /** What every list of its tools waits for, from now on. */
  holdLists(until: Promise<void>): void
  /** How many lists are waiting. */
  readonly heldLists: number
  /** Replaces its tools and notifies clients. */
  change(tools: UpstreamTool[]): void
  /** Notifies clients that its prompts have changed. */
  promptsChanged(): void
  /** Closes the port, and opens the same one again. */
  stop(): Promise<void>
  restart(): Promise<void>
}

export const echo: UpstreamTool = {
  name: 'echo',
  description: 'Says what it is told, word for word',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
}

/** `modern` refuses 2025 clients, `legacy` does not know `server/discover`, and `both` accepts all clients. */
export async function startUpstream(
  tools: UpstreamTool[] = [echo],
  era: 'both' | 'legacy' | 'modern' = 'both',
  { declaresChanges = true, hasPrompts = false } = {},
): Promise<TestUpstream> {
  let offered = tools
  let listable = Promise.resolve()
  let heldLists = 0
  const calls: TestUpstream['calls'] = []
  const headers: TestUpstream['headers'] = []
  const handler = createMcpHandler(
    () => {
      const server = new Server(
        { name: 'upstream', version: '1' },
        {
          capabilities: {
            tools: declaresChanges ? { listChanged: true } : {},
            logging: {},
            ...(hasPrompts && { prompts: { listChanged: true } }),
          },
        },
      )
      if (hasPrompts)
        server.setRequestHandler('prompts/list', () => ({ prompts: [{ name: 'greet', description: 'Greets' }] }))
      server.setRequestHandler('tools/list', async () => {
        heldLists++
        await listable
        heldLists--
        return { tools: offered.map(({ run: _, ...tool }) => tool) }
      })
      server.setRequestHandler('tools/call', async ({ params }, context) => {
        const input = (params.arguments ?? {}) as Record<string, unknown>
        calls.push({ name: params.name, input })
        const tool = offered.find(({ name }) => name === params.name)
        const result = await tool?.run?.(input, context.mcpReq.signal, context.mcpReq)
        return (result ?? { content: [{ type: 'text', text: JSON.stringify(input) }] }) as never
      })
      return server
    },
    { legacy: era === 'modern' ? 'reject' : 'stateless' },
  )
  const listener = getRequestListener(
    async (request) => {
      if (era === 'legacy' && request.method === 'POST') {
        const body = (await request.clone().json()) as { id?: number; method?: string }
        if (body.method === 'server/discover') {
          const error = { code: -32601, message: 'Method not found' }
          return Response.json({ jsonrpc: '2.0', id: body.id ?? null, error }, { status: 200 })
        }
      }
      return handler.fetch(request)
    },
    { overrideGlobalObjects: false },
  )
  const make = () =>
    createServer((request, response) => {
      headers.push(request.headers)
      void listener(request, response)
    })
  let server = make()
  const open = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  await open(0)
  const { port } = server.address() as AddressInfo
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    calls,
    headers,
    holdLists(until) {
      listable = until
    },
    get heldLists() {
      return heldLists
    },
    change(next) {
      offered = next
      handler.notify.toolsChanged()
    },
    promptsChanged: () => handler.notify.promptsChanged(),
    stop,
    async restart() {
      server = make()
      await open(port)
    },
    async [Symbol.asyncDispose]() {
      await handler.close()
      await stop()
    },
  }
}
