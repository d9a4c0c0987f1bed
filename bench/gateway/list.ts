/**
 * Measures `tools/list` of servers with 1,000 and with 10,000 actions: the time and the size of all pages, in direct mode and
 * in agent mode.
 *
 *     node bench/gateway/list.ts [rounds]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { end, launch, median, program } from '../measure.ts'

const rounds = Number(process.argv[2] ?? 20)
const key = 'sk_of_the_benchmark'
const file = (path: string) => new URL(path, import.meta.url).pathname
const headers = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  authorization: `Bearer ${key}`,
}

async function post(url: string, body: object): Promise<string> {
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return text
}

async function listAll(url: string): Promise<{ tools: number; pages: number; bytes: number }> {
  let [tools, pages, bytes] = [0, 0, 0]
  let cursor: string | undefined
  do {
    const params = cursor === undefined ? {} : { cursor }
    const text = await post(url, { jsonrpc: '2.0', id: 1, method: 'tools/list', params })
    const { result } = JSON.parse(text)
    tools += result.tools.length
    pages++
    bytes += Buffer.byteLength(text)
    cursor = result.nextCursor
  } while (cursor !== undefined)
  return { tools, pages, bytes }
}

console.log('tools   server          first ms  later p50 ms   pages        bytes')
for (const count of [1000, 10_000]) {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
  const upstream = await launch([file('upstream.ts'), String(count)])
  const platform = await launch([...program, 'up', '--port', '0', '--data', folder], {
    QM_ADMIN_KEY: key,
    QM_LOG_LEVEL: 'warn',
    QM_RATE_LIMIT: '0',
  })
  try {
    const api = `${platform.url}/api/v1`
    await post(`${api}/tools`, { name: 'weather', type: 'mcp', mcp: { url: upstream.url } })
    await post(`${api}/servers`, { name: 'Direct', slug: 'direct' })
    await post(`${api}/servers`, { name: 'Agent', slug: 'agent', agent_mode: true })
    const urls = {
      upstream: upstream.url,
      'direct mode': `${platform.url}/mcp/direct`,
      'agent mode': `${platform.url}/mcp/agent`,
    }
    for (const [name, url] of Object.entries(urls)) {
      const times: number[] = []
      let figures = { tools: 0, pages: 0, bytes: 0 }
      for (let round = 0; round <= rounds; round++) {
        const start = performance.now()
        figures = await listAll(url)
        times.push(performance.now() - start)
      }
      const [first = 0, ...later] = times
      const columns = [
        first.toFixed(1).padStart(10),
        median(later).toFixed(1).padStart(14),
        String(figures.pages).padStart(8),
        figures.bytes.toLocaleString('en').padStart(13),
      ]
      console.log(`${String(count).padEnd(8)}${name.padEnd(14)}${columns.join('')}`)
    }
  } finally {
    await end(platform.child)
    await end(upstream.child)
    await rm(folder, { recursive: true, force: true })
  }
}
