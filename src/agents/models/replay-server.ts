import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Json, JsonObject } from '../../lib/json.ts'
import { encodeEvent } from '../../lib/server-sent-event.ts'
import { PlatformError } from '../../model/errors.ts'
import { faultsOf } from '../../model/faults.ts'
import type { ReplayScript } from '../../model/replay-script.ts'
import { anthropic } from './protocols/anthropic.ts'
import { google } from './protocols/google.ts'
import { openai } from './protocols/openai.ts'
import type { Frame, ProviderProtocol, ProviderRequest } from './protocols/protocol.ts'
import { loadScript, Player, type ReplayAnswer } from './replay.ts'

export interface ReplayServerOptions {
  readonly port?: number
  readonly host?: string
  /** The API key that requests must send. If it is not set, requests are not authenticated. */
  readonly key?: string
}

export interface ReplayRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The JSON body; null if there was none. */
  readonly body: Json
}

export interface ReplayServer extends AsyncDisposable {
  /** Without a path: the base URL is `${url}/v1` for OpenAI and Anthropic clients, `${url}/v1beta` for Google clients. */
  readonly url: string
  /** The latest thousand requests. */
  readonly requests: ReplayRequest[]
  close(): Promise<void>
}

const wires: readonly ProviderProtocol[] = [openai, anthropic, google]
const maxRequests = 1000
const maxBytes = 64 * 1024 * 1024

/** Plays a script over HTTP with the APIs of three providers, so that their own clients can use it. */
export async function startReplayServer(
  script: ReplayScript | string | object,
  { port = 0, host = '127.0.0.1', key }: ReplayServerOptions = {},
): Promise<ReplayServer> {
  const loaded = loadScript(script)
  const player = new Player(loaded)
  const requests: ReplayRequest[] = []
  const server = createServer((request, response) => {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    serve(request, response, gone.signal).catch((error: unknown) => {
      if (gone.signal.aborted) return
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' })
      response.end(error instanceof Error ? error.message : String(error))
    })
  })

  const serve = async (request: IncomingMessage, response: ServerResponse, gone: AbortSignal) => {
    const { pathname: path } = new URL(request.url ?? '/', 'http://replay')
    const { method = 'GET', headers } = request
    const body = readJson(await readBody(request))
    requests.push({ method, path, headers, body: body ?? null })
    if (requests.length > maxRequests) requests.shift()
    if (method === 'GET' && path.endsWith('/models')) return answer(response, 200, listModels(loaded, headers))
    const wire = method === 'POST' ? wires.find((one) => one.takes(path)) : undefined
    if (!wire)
      return answer(response, 404, openai.error({ status: 404, message: `No route matches ${method} ${path}.` }))
    if (key !== undefined && wire.keyOf(headers) !== key) {
      return answer(response, 401, wire.error({ status: 401, message: 'The API key is not valid.' }))
    }
    let question: ProviderRequest
    try {
      question = wire.read({ path, headers, body })
    } catch (error) {
      if (!(error instanceof z.ZodError)) throw error
      const message = faultsOf(error)
        .map((fault) => `${fault.path}: ${fault.message}`)
        .join('; ')
      return answer(response, 400, wire.error({ status: 400, message }))
    }
    return play(wire, question, response, gone)
  }

  const play = async (
    wire: ProviderProtocol,
    question: ProviderRequest,
    response: ServerResponse,
    gone: AbortSignal,
  ) => {
    const played = findAnswer(player, question)
    if (played.kind === 'error') {
      const { failure } = played
      const later: Record<string, string> =
        failure.retry_after === undefined ? {} : { 'retry-after': String(failure.retry_after) }
      return answer(response, failure.status, wire.error(failure), later)
    }
    const { performance } = played
    if (question.stream) return stream(wire.frames(performance, question), performance, response, gone)
    const waits = performance.chunks.reduce((sum, chunk) => sum + chunk.delayMs, performance.delayMs)
    if (waits > 0) await sleep(waits, undefined, { signal: gone })
    if (performance.end === 'stall') return
    if (performance.end === 'hang up') return response.destroy()
    answer(response, 200, wire.whole(performance))
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    requests,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** If no step matches, the client gets the reason in its provider's error format. */
function findAnswer(player: Player, { conversation }: ProviderRequest): ReturnType<Player['play']> {
  try {
    return player.play(conversation)
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    return { kind: 'error', failure: { status: 400, code: 'replay_step_missing', message: error.message } }
  }
}

async function stream(
  { text, rest }: { text: readonly Frame[]; rest: readonly Frame[] },
  { end }: ReplayAnswer,
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  response.flushHeaders()
  await send(text, response, gone)
  if (end === 'stall') return
  if (end === 'hang up') {
    // Let the client receive what was written before the connection closes.
    await sleep(20)
    response.destroy()
    return
  }
  await send(rest, response, gone)
  response.end()
}

async function send(frames: readonly Frame[], response: ServerResponse, gone: AbortSignal): Promise<void> {
  for (const { event, data, delayMs = 0 } of frames) {
    if (delayMs > 0) await sleep(delayMs, undefined, { signal: gone })
    gone.throwIfAborted()
    const line = typeof data === 'string' ? data : JSON.stringify(data)
    response.write(encodeEvent(line, { name: event }))
  }
}

function answer(
  response: ServerResponse,
  status: number,
  body: JsonObject,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length
    if (size > maxBytes) throw new Error(`The request is larger than ${maxBytes} bytes.`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function readJson(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function listModels({ model = 'replay' }: ReplayScript, headers: ReplayRequest['headers']): JsonObject {
  const since = '2026-01-01T00:00:00Z'
  if (headers['anthropic-version'] !== undefined) {
    const data = [{ type: 'model', id: model, display_name: model, created_at: since }]
    return { data, has_more: false, first_id: model, last_id: model }
  }
  const created = Date.parse(since) / 1000
  return { object: 'list', data: [{ id: model, object: 'model', created, owned_by: 'replay' }] }
}
