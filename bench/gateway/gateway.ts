/**
 * Measures the cost of a gateway between an MCP client and an MCP server. Makes the same `tools/call` to one loopback server:
 * directly, through a minimal Node proxy, through the platform with all its features (API key, permissions, validation,
 * durable call log) on SQLite and on a PostgreSQL on the same machine, and through two gateways from npm. The platform is
 * measured with a tool that declares nothing, whose calls are recorded before and after, and with one that declares that it only
 * reads, whose calls are recorded once.
 *
 *     npm ci --prefix bench/gateway/peers
 *     node bench/gateway/gateway.ts [rounds] [milliseconds] [callers,…]
 *
 * Without the first command, the two gateways are skipped.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventStream } from '../../src/http/event-stream.ts'
import { startPostgres } from '../../test/postgres.ts'
import { Callers } from '../caller.ts'
import { type Contestant, end, type Line, launch, posted, program, race } from '../measure.ts'

const rounds = Number(process.argv[2] ?? 5)
const milliseconds = Number(process.argv[3] ?? 2000)
const callers = (process.argv[4] ?? '1,16,64').split(',').map(Number)
const key = 'sk_of_the_benchmark'
const file = (path: string) => new URL(path, import.meta.url).pathname
const plain = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const keyed = { ...plain, authorization: `Bearer ${key}` }
const input = { city: 'Recife' }
const opening = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'bench', version: '1' } }
/** The first request on each connection. */
const initialize = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: opening })
const callOf = (name: string) => (id: number) =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: input } })
const call = callOf('get_weather')
const read = callOf('get_weather_1')

const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
const running: ChildProcess[] = []
const stops: (() => Promise<unknown>)[] = []
const start = async (args: string[], env?: Record<string, string>) => {
  const launched = await launch(args, env)
  running.push(launched.child)
  return { url: launched.url, pid: launched.child.pid as number }
}

try {
  const upstream = await start([file('upstream.ts')])
  const proxy = await start([file('../proxy.ts'), new URL(upstream.url).origin])
  const contestants: Contestant[] = [
    posted({ name: 'direct', ...at(upstream), headers: plain, body: call, opening: initialize }),
    posted({ name: 'proxy', ...at(proxy), headers: plain, body: call, opening: initialize }),
    ...(await platform('platform', upstream.url)),
  ]
  const database = await startPostgres().catch((error: Error) =>
    console.log(`PostgreSQL did not start: ${error.message}`),
  )
  if (database) {
    stops.push(database.stop)
    contestants.push(...(await platform('on PostgreSQL', upstream.url, database.url)))
  }
  if (existsSync(file('peers/node_modules'))) {
    contestants.push(...(await mcpHub(upstream.url)), await passthrough(upstream.url))
  } else console.log('The other gateways are not installed. Run: npm ci --prefix bench/gateway/peers')
  await race(contestants, { rounds, milliseconds, callers })
} finally {
  for (const child of running.reverse()) await end(child)
  for (const stop of stops) await stop()
  await rm(folder, { recursive: true, force: true })
}

function at({ url, pid }: { url: string; pid: number }) {
  const { origin, pathname } = new URL(url)
  return { url: origin, path: pathname, pid }
}

async function platform(name: string, upstream: string, databaseUrl?: string): Promise<Contestant[]> {
  const { url, pid } = await start([...program, 'up', '--port', '0', '--data', join(folder, name)], {
    QM_ADMIN_KEY: key,
    QM_LOG_LEVEL: 'warn',
    QM_RATE_LIMIT: '1000000000',
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
  })
  const post = async (path: string, body: object) => {
    const response = await fetch(`${url}/api/v1${path}`, { method: 'POST', headers: keyed, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(await response.text())
  }
  await post('/tools', { name: 'weather', type: 'mcp', mcp: { url: upstream } })
  await post('/servers', { name: 'Bench', slug: 'bench', tool_names: 'original' })
  const endpoint = { url, path: '/mcp/bench', headers: keyed, opening: initialize, pid }
  return [posted({ name, ...endpoint, body: call }), posted({ name: `${name}, read`, ...endpoint, body: read })]
}

/** Supports only the older HTTP+SSE transport of MCP, so its REST call is measured as well. */
async function mcpHub(upstream: string): Promise<Contestant[]> {
  const config = join(folder, 'hub.json')
  await writeFile(config, JSON.stringify({ mcpServers: { weather: { url: upstream } } }))
  const port = await freePort()
  const { pid } = peer('mcp-hub/dist/cli.js', ['--port', String(port), '--config', config], { HOME: folder })
  const body = JSON.stringify({ server_name: 'weather', tool: 'get_weather', arguments: input })
  const url = `http://127.0.0.1:${port}`
  await until(`${url}/api/servers/tools`, { method: 'POST', headers: plain, body })
  return [
    { name: 'mcp-hub', pid, open: (callers) => openSse(url, '/mcp', 'weather__get_weather', callers) },
    posted({ name: 'mcp-hub (REST)', url, path: '/api/servers/tools', headers: plain, body, pid }),
  ]
}

async function openSse(origin: string, path: string, tool: string, callers: number): Promise<Line> {
  const left = new AbortController()
  const waiting = new Map<number, (message: string) => void>()
  let onEndpoint: (path: string) => void = () => {}
  const endpoint = new Promise<string>((resolve) => (onEndpoint = resolve))
  const events = new EventStream((data) => {
    if (!data.startsWith('{')) return onEndpoint(data)
    const { id } = JSON.parse(data)
    waiting.get(id)?.(data)
    waiting.delete(id)
  })
  const stream = get(origin + path, { headers: { accept: 'text/event-stream' }, signal: left.signal })
  stream.on('response', (response) => response.on('data', (part) => events.feed(part)).on('error', () => {}))
  stream.on('error', () => {})
  const to = await endpoint
  const line = new Callers(callers, origin, to, plain)
  let count = 0
  const ask = async (method: string, params: object) => {
    const id = ++count
    const answered = new Promise<string>((resolve) => waiting.set(id, resolve))
    await line.post(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    const text = await answered
    if (!text.includes('"result"')) throw new Error(`unexpected response of ${origin}: ${text}`)
  }
  await ask('initialize', opening)
  return {
    call: () => ask('tools/call', { name: tool, arguments: input }),
    close() {
      left.abort()
      line.close()
    },
  }
}

async function passthrough(upstream: string): Promise<Contestant> {
  const port = await freePort()
  const { origin, pathname } = new URL(upstream)
  const { pid } = peer('@civic/passthrough-mcp-server/dist/cli.js', [], {
    PORT: String(port),
    TARGET_SERVER_URL: origin,
    TARGET_SERVER_MCP_PATH: pathname,
    TARGET_SERVER_TRANSPORT: 'httpStream',
    LOG_LEVEL: 'error',
  })
  const url = `http://127.0.0.1:${port}`
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: opening })
  const opened = await until(`${url}/mcp`, { method: 'POST', headers: plain, body })
  const session = opened.headers.get('mcp-session-id')
  const headers = { ...plain, 'mcp-protocol-version': '2025-06-18', ...(session && { 'mcp-session-id': session }) }
  const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
  await until(`${url}/mcp`, { method: 'POST', headers, body: initialized })
  return posted({ name: 'passthrough', url, path: '/mcp', headers, body: call, pid })
}

function peer(script: string, args: string[], env: Record<string, string>): { pid: number } {
  const child = spawn(process.execPath, [file(`peers/node_modules/${script}`), ...args], {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  running.push(child)
  return { pid: child.pid as number }
}

/** Retries until the request succeeds, because the gateways do not report when they are ready. */
async function until(url: string, init: RequestInit): Promise<Response> {
  for (let tries = 0; ; tries++) {
    try {
      const response = await fetch(url, { ...init, signal: AbortSignal.timeout(5000) })
      const text = await response.text()
      if (response.ok) return response
      throw new Error(`${response.status} ${text}`)
    } catch (error) {
      if (tries === 30) throw error
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
