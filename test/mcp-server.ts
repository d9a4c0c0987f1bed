import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server'

export interface TestMcpServer extends AsyncDisposable {
  readonly url: string
  readonly notify: ReturnType<typeof createMcpHandler>['notify']
}

/** An MCP server on loopback, for clients of both eras. `build` makes the server of each request. */
export async function startMcpServer(build: () => McpServer): Promise<TestMcpServer> {
  const handler = createMcpHandler(build)
  const server = createServer(getRequestListener((request) => handler.fetch(request), { overrideGlobalObjects: false }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    notify: handler.notify,
    async [Symbol.asyncDispose]() {
      await handler.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
