/**
 * Measures how long one request can block all others. Sends the worst requests we know of, one at a time, to a platform in
 * a separate process, and prints the longest pause of its event loop during each.
 *
 *     node bench/blocking.ts [regular expression for the names of attacks]
 *
 * `PROGRAM=<checkout>/bin/quartermaster.js` measures another build, such as that of an earlier commit.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { attacks } from './blocking-attacks.ts'
import { end, program } from './measure.ts'

const maxPauseMs = 200
const adminKey = 'sk_of_the_benchmark'
const only = new RegExp(process.argv.slice(2).join(' '))

/** An HTTP service and MCP server that returns what the attack sets. */
export interface Upstream {
  readonly url: string
  answer: string
  tools: readonly object[]
}

export interface Target {
  readonly upstream: Upstream
  send(method: string, path: string, body?: unknown, key?: string): Promise<Answer>
}

export interface Answer {
  readonly status: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: attacks read individual fields of responses
  readonly body: any
}

async function startUpstream(): Promise<Upstream & { close(): void }> {
  const upstream = { url: '', answer: '{}', tools: [] as readonly object[], close: () => {} }
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const headers = { 'content-type': 'application/json' }
    if (request.url !== '/mcp') return response.writeHead(200, headers).end(upstream.answer)
    const message = parts.length > 0 ? JSON.parse(Buffer.concat(parts).toString()) : {}
    if (request.method !== 'POST') return response.writeHead(405).end()
    if (message.id === undefined) return response.writeHead(202).end()
    const results: Record<string, () => string> = {
      initialize: () =>
        JSON.stringify({
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'hostile', version: '1' },
        }),
      'tools/list': () => JSON.stringify({ tools: upstream.tools }),
      'tools/call': () => upstream.answer,
    }
    const result = results[message.method]?.()
    const id = JSON.stringify(message.id)
    response
      .writeHead(200, headers)
      .end(
        result === undefined
          ? `{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"no such method"}}`
          : `{"jsonrpc":"2.0","id":${id},"result":${result}}`,
      )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  upstream.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  upstream.close = () => {
    server.closeAllConnections()
    server.close()
  }
  return upstream
}

async function startPlatform(data: string): Promise<{ child: ChildProcess; url: string }> {
  const flags = program.slice(0, -1)
  const command = process.env.PROGRAM ?? (program.at(-1) as string)
  const probe = new URL('blocking-probe.ts', import.meta.url).href
  const child = spawn(process.execPath, [...flags, '--import', probe, command, 'up', '--port', '0', '--data', data], {
    env: {
      PATH: process.env.PATH,
      MALLOC_ARENA_MAX: '1',
      QM_ADMIN_KEY: adminKey,
      QM_LOG_LEVEL: 'silent',
      QM_RATE_LIMIT: '0',
      QM_EMBEDDINGS: 'off',
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stdout?.on('data', (chunk) => {
      output += chunk
      const ready = /ready at (http:\S+)/.exec(output)
      if (ready?.[1]) resolve(ready[1])
    })
    child.once('exit', (code) => reject(new Error(`the platform ended with ${code}: ${output}`)))
  })
  return { child, url }
}

async function longestPause(child: ChildProcess): Promise<{ wall: number; cpu: number }> {
  const answer = once(child, 'message')
  child.send('read')
  const gaveUp = sleep(30_000, [{ wall: Number.POSITIVE_INFINITY, cpu: Number.POSITIVE_INFINITY }], { ref: false })
  const [pause] = await Promise.race([answer, gaveUp])
  return pause as { wall: number; cpu: number }
}

const upstream = await startUpstream()
const shown = attacks.filter(({ name }) => only.test(name))
let slow = 0
console.log(`${'attack'.padEnd(58)}${'pause ms'.padStart(9)}${'cpu ms'.padStart(9)}${'took ms'.padStart(9)}  answer`)
for (const attack of shown) {
  // A new platform for each attack, so that they do not affect each other.
  const data = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
  const { child, url } = await startPlatform(data)
  const send: Target['send'] = async (method, path, body, key = adminKey) => {
    const response = await fetch(path.startsWith('/mcp') ? `${url}${path}` : `${url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      signal: AbortSignal.timeout(120_000),
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, text, body: isJson && text !== '' ? JSON.parse(text) : undefined }
  }
  try {
    await send('GET', '/tools')
    const run = await attack.prepare({ upstream, send })
    await sleep(100)
    await longestPause(child)
    const began = performance.now()
    const answer = await run().catch((error: Error) => ({
      status: 0,
      text: String(error.cause ?? error),
      body: undefined,
    }))
    const took = performance.now() - began
    await sleep(300)
    const { wall, cpu } = await longestPause(child)
    if (cpu > maxPauseMs) slow++
    const figures = [wall, cpu, took].map((figure) => figure.toFixed(0).padStart(9)).join('')
    const summary = `${answer.status} ${answer.text.slice(0, 90).replaceAll(/\s+/g, ' ')}`
    console.log(`${attack.name.padEnd(58)}${figures}  ${summary}`)
  } catch (error) {
    console.log(`${attack.name.padEnd(58)}  not measured: ${String(error).slice(0, 300)}`)
  } finally {
    await end(child)
    await rm(data, { recursive: true, force: true })
  }
}
upstream.close()
console.log(`${shown.length} attacks, ${slow} block the event loop for more than ${maxPauseMs} ms of CPU time`)
