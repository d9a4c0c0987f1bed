/** The MCP server that everything measured here calls in the end: the least that speaks the protocol of 2025. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const tool = {
  name: 'get_weather',
  description: 'The weather in a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const answers: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'weather', version: '1' },
  },
  'tools/list': { tools: [tool] },
  'tools/call': { content: [{ type: 'text', text: '{"temperature":21}' }] },
  ping: {},
}

const server = createServer((request, response) => {
  if (request.method !== 'POST') return response.writeHead(405).end()
  const parts: Buffer[] = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => {
    const { id, method } = JSON.parse(Buffer.concat(parts).toString())
    if (id === undefined) return response.writeHead(202).end()
    const result = answers[method]
    const answer = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
    const text = JSON.stringify({ jsonrpc: '2.0', id, ...answer })
    return response.writeHead(200, { 'content-type': 'application/json' }).end(text)
  })
})
server.listen(0, '127.0.0.1', () =>
  console.log(`ready at http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`),
)
