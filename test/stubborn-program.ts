/**
 * A handwritten MCP server over stdio that keeps running when its input ends. It writes its process id to the
 * given file.
 */
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

appendFileSync(process.argv[2] as string, `${process.pid}\n`)
setInterval(() => {}, 1000)

const answers: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'stubborn', version: '1' },
  },
  'tools/list': { tools: [{ name: 'hello', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'hello' }] },
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  const result = answers[method]
  const outcome = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`)
})
