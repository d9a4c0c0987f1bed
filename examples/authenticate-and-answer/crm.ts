import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, Server, type Tool } from '@modelcontextprotocol/server'

const text = (value: object) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] })

const tools: Tool[] = [
  {
    name: 'authenticate_customer',
    description: 'Checks the PIN of the customer',
    inputSchema: { type: 'object', properties: { pin: { type: 'string' } }, required: ['pin'] },
  },
  {
    name: 'get_balance',
    description: 'The balance of an account, in euros',
    inputSchema: { type: 'object', properties: { account: { type: 'string' } }, required: ['account'] },
    annotations: { readOnlyHint: true },
  },
]

/** The MCP server of a bank. */
const handler = createMcpHandler(
  () => {
    const server = new Server({ name: 'crm', version: '1.0.0' }, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/list', () => ({ tools }))
    server.setRequestHandler('tools/call', ({ params: { name, arguments: input } }) => {
      if (name === 'get_balance') return text({ account: input?.account, balance: 42 })
      const authenticated = input?.pin === '1234'
      return { ...text({ authenticated }), isError: !authenticated }
    })
    return server
  },
  { legacy: 'stateless' },
)

const server = createServer(getRequestListener((request) => handler.fetch(request)))
server.listen(Number(process.env.PORT ?? 8765), '127.0.0.1', () => {
  console.log(`crm listens on port ${(server.address() as AddressInfo).port}`)
})
