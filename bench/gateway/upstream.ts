/**
 * A minimal MCP server for protocol version 2025-06-18, which is behind all gateways in this benchmark. The argument is the
 * number of its tools; the default is two. Every second tool declares that it only reads.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const tools = Array.from({ length: Number(process.argv[2] ?? 2) }, (_, index) => ({
  name: index === 0 ? 'get_weather' : `get_weather_${index}`,
  description: 'The weather in a city, now or on a day to come, with temperature, wind and rain',
  inputSchema: {
    type: 'object',
    properties: {
      city: { type: 'string', description: 'The name of the city, with its country where there are several' },
      day: { type: 'string', format: 'date', description: 'The day; today unless given' },
      unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
    },
    required: ['city'],
  },
  ...(index % 2 === 1 && { annotations: { readOnlyHint: true } }),
}))
const answers: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'weather', version: '1' },
  },
  'tools/list': { tools },
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
