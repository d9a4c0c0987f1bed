import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Exchange, ReplyHeaders } from './exchange.ts'

/** Where a request was sent, as the handler shall see it. */
export interface NodeTarget {
  /** The public origin. The handler builds URLs from it. */
  readonly origin: string
  /** The part of the public path that a proxy has removed. */
  readonly mountPath: string
  readonly path: string
  readonly query: string
  readonly body: Buffer
}

export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => unknown

export interface NodeReply {
  readonly status: number
  readonly headers: ReplyHeaders
  readonly cookies: readonly string[]
  readonly body: Buffer
}

/**
 * Runs a handler that is written for `node:http`, such as a Koa app, on a request that has already been read. The handler
 * sees the host and scheme of the target, and no header with which a client or a proxy claims others.
 */
export function runNodeHandler(exchange: Exchange, target: NodeTarget, handler: NodeHandler): Promise<NodeReply> {
  const request = toMessage(exchange, target)
  return new Promise((resolve, reject) => {
    const response = new CollectedResponse(request, resolve)
    Promise.resolve(handler(request, response)).catch(reject)
  })
}

function toMessage({ method, headers, peer }: Exchange, target: NodeTarget): IncomingMessage {
  const { host, protocol } = new URL(target.origin)
  const socket = new Socket()
  Object.defineProperty(socket, 'remoteAddress', { value: peer })
  if (protocol === 'https:') Object.defineProperty(socket, 'encrypted', { value: true })
  const request = new IncomingMessage(socket)
  const url = target.path + (target.query && `?${target.query}`)
  const kept = Object.entries(headers).filter(([name]) => !claimed.test(name))
  Object.assign(request, {
    method,
    url,
    originalUrl: target.mountPath + url,
    headers: { ...Object.fromEntries(kept), host, 'content-length': String(target.body.length) },
    httpVersion: '1.1',
    complete: true,
  })
  request.push(target.body)
  request.push(null)
  return request
}

const claimed = /^(x-forwarded-.*|forwarded|x-real-ip|x-original-.*|transfer-encoding)$/

/** Keeps the reply in memory instead of writing it to a connection. */
class CollectedResponse extends ServerResponse {
  readonly #chunks: Buffer[] = []
  readonly #done: (reply: NodeReply) => void

  constructor(request: IncomingMessage, done: (reply: NodeReply) => void) {
    super(request)
    this.#done = done
  }

  override write(chunk: string | Uint8Array): boolean {
    this.#chunks.push(Buffer.from(chunk as string))
    return true
  }

  override end(chunk?: unknown): this {
    if (this.finished) return this
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) this.write(chunk)
    this.finished = true
    const { 'set-cookie': cookies = [], 'content-length': _, ...rest } = this.getHeaders()
    const headers = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, String(value)]))
    this.#done({
      ...{ status: this.statusCode, headers, body: Buffer.concat(this.#chunks) },
      cookies: [cookies].flat().map(String),
    })
    this.emit('finish')
    return this
  }
}
