/**
 * A server that violates HTTP/1.1: it sends unsolicited responses on connections that stay open. Each response names
 * the request that caused it. It runs in a worker thread, so that its bytes arrive while the platform is busy.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

export const ways = ['twice', 'same packet', 'while idle', 'before the request', 'after the caller left'] as const
export type Way = (typeof ways)[number]

/** Identifies a request. Each response has the identity of the request that caused it. */
export interface Marked {
  readonly who: string
  readonly n: number
}

export async function startHostileUpstream(way: Way): Promise<{ url: string } & AsyncDisposable> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { way } })
  const url = await new Promise<string>((resolve, reject) => worker.once('message', resolve).once('error', reject))
  return { url, [Symbol.asyncDispose]: async () => void (await worker.terminate()) }
}

const respond = (body: string) =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: keep-alive\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

const result = (id: unknown, cause: Marked) => ({
  jsonrpc: '2.0',
  id,
  result: { content: [{ type: 'text', text: JSON.stringify(cause) }] },
})

interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: { readonly arguments?: Marked }
}

/** The responses of an MCP server to everything but calls. */
function answerMcp({ id, method }: Message): string {
  if (id === undefined) return 'HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n'
  const about = { capabilities: { tools: {} }, serverInfo: { name: 'hostile', version: '1' } }
  const results: Record<string, object> = {
    initialize: { protocolVersion: '2025-06-18', ...about },
    'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
  }
  const found = results[method ?? '']
  const outcome = found ? { result: found } : { error: { code: -32601, message: 'Method not found' } }
  return respond(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }))
}

/** The response to a call, and a second one that matches the next call, because ids of calls can be guessed. */
function answersTo(body: string): { own: string; surplus: string; isCall: boolean; n: number } {
  const message = JSON.parse(body) as Message & Marked
  const { id, method, params } = message
  if (method === undefined) {
    const own = respond(JSON.stringify({ who: message.who, n: message.n }))
    return { own, surplus: own, isCall: true, n: message.n }
  }
  if (method !== 'tools/call' || !params?.arguments) {
    return { own: answerMcp(message), surplus: '', isCall: false, n: 0 }
  }
  const cause = params.arguments
  const count = Number(String(id).slice(1))
  const guesses = Array.from({ length: 40 }, (_, index) => result(`q${count + 1 + index}`, cause))
  return {
    own: respond(JSON.stringify(result(id, cause))),
    surplus: respond(JSON.stringify(guesses)),
    isCall: true,
    n: cause.n,
  }
}

function answer(socket: Socket, way: Way, body: string): void {
  const { own, surplus, isCall, n } = answersTo(body)
  const send = (text: string) => socket.writable && socket.write(text)
  if (!isCall) send(own)
  else if (way === 'same packet') send(own + surplus)
  else if (way === 'after the caller left' && n % 25 === 0) setTimeout(() => send(own), 400)
  else {
    send(own)
    if (way === 'twice') setImmediate(() => send(surplus))
    if (way === 'while idle') setTimeout(() => send(surplus), n % 4)
  }
}

function serve(way: Way): void {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {})
    if (way === 'before the request') socket.write(respond('{"who":"nobody","n":-1}'))
    let received = ''
    socket.on('data', (part) => {
      received += part.toString('latin1')
      for (let end = received.indexOf('\r\n\r\n'); end >= 0; end = received.indexOf('\r\n\r\n')) {
        const length = Number(/\r\ncontent-length: *(\d+)/i.exec(received.slice(0, end))?.[1] ?? 0)
        if (received.length < end + 4 + length) return
        const body = received.slice(end + 4, end + 4 + length)
        const isGet = received.startsWith('GET ')
        received = received.slice(end + 4 + length)
        if (isGet) socket.write('HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n')
        else answer(socket, way, body)
      }
    })
  })
  server.listen(0, '127.0.0.1', () =>
    parentPort?.postMessage(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  )
}

if (!isMainThread && workerData?.way) serve(workerData.way)
