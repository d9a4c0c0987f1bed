import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'

/** Two existing systems of a shop: an HTTP API for orders, and an MCP server for its help centre. */
export async function startShop() {
  const orders = await listen((request, response) => {
    const [, number] = /^\/orders\/(\w+)$/.exec(request.url ?? '') ?? []
    response.writeHead(number ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(number ? { number, status: 'with the courier', days: 2 } : { error: 'no such order' }))
  })

  const handler = createMcpHandler(
    () => {
      const server = new Server({ name: 'help centre', version: '1.0.0' }, { capabilities: { tools: {} } })
      server.setRequestHandler('tools/list', () => ({
        tools: [
          {
            name: 'search_articles',
            description: 'Finds articles of the help centre',
            inputSchema: { type: 'object', properties: { words: { type: 'string' } }, required: ['words'] },
            annotations: { readOnlyHint: true },
          },
        ],
      }))
      server.setRequestHandler('tools/call', () => ({
        content: [{ type: 'text', text: 'A parcel that is late by a week is sent again, free of charge.' }],
      }))
      return server
    },
    { legacy: 'stateless' },
  )
  const help = await listen(getRequestListener((request) => handler.fetch(request)))
  return { ordersUrl: orders.url, helpUrl: `${help.url}/mcp`, close: () => Promise.all([orders.close(), help.close()]) }
}

async function listen(listener: RequestListener) {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
