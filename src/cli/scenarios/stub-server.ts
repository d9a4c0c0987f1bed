import { createMcpHandler, Server, type Tool } from '@modelcontextprotocol/server'
import { isObject } from '../../lib/json.ts'
import { listen } from '../../server/listen.ts'
import { sendResponse, toRequest } from '../../server/web.ts'
import type { Meanwhile, StubTool } from './scenario.ts'

/** An MCP server whose tools return what a scenario says. */
export async function startStub(
  tools: Readonly<Record<string, StubTool | null>>,
  interrupt: (meanwhile: Meanwhile) => Promise<void>,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const counts = new Map<string, number>()
  const listed = Object.entries(tools).map(
    ([name, tool]): Tool => ({
      name,
      ...(tool?.description !== undefined && { description: tool.description }),
      inputSchema: (tool?.input_schema ?? { type: 'object' }) as Tool['inputSchema'],
    }),
  )
  const handler = createMcpHandler(
    () => {
      const server = new Server({ name: 'scenario', version: '1' }, { capabilities: { tools: {} } })
      server.setRequestHandler('tools/list', () => ({ tools: listed }))
      server.setRequestHandler('tools/call', async ({ params: { name } }) => {
        const { results = [], meanwhile } = tools[name] ?? {}
        const count = counts.get(name) ?? 0
        counts.set(name, count + 1)
        if (meanwhile && count === 0) await interrupt(meanwhile)
        return resultOf(results[Math.min(count, results.length - 1)] ?? { ok: true }) as never
      })
      return server
    },
    { legacy: 'stateless' },
  )
  const handle = async (exchange: Parameters<typeof toRequest>[0]) =>
    sendResponse(exchange, await handler.fetch(toRequest(exchange)))
  const server = await listen({ handle }, '127.0.0.1', 0)
  return {
    port: Number(new URL(server.url).port),
    async close() {
      await handler.close()
      await server.close(0)
    },
  }
}

function resultOf(value: unknown): object {
  const isError = isObject(value) && Object.keys(value).join() === 'error'
  const text = isError ? String(value.error) : typeof value === 'string' ? value : JSON.stringify(value)
  return { content: [{ type: 'text', text }], ...(isError && { isError }) }
}
