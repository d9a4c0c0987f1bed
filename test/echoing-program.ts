/** A handwritten MCP server over stdio that returns its environment and arguments. */
import { createInterface } from 'node:readline'

const text = () => JSON.stringify({ env: process.env, args: process.argv.slice(2) })

const answers: Record<string, () => object> = {
  initialize: () => ({
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'echoing', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'reveal', description: text(), inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: text() }] }),
}

process.stderr.write(`${text()}\n`)
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  const result = answers[method]?.()
  const outcome = result ? { result } : { error: { code: -32601, message: text() } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`)
})
