import type { IncomingMessage, ServerResponse } from 'node:http'
import { PlatformError } from '../model/errors.ts'
import type { Exchange, ReplyHeaders, ReplyStream, RequestHeaders } from './exchange.ts'

export class NodeExchange implements Exchange {
  readonly path: string
  readonly query: string
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  #gone: AbortController | undefined

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request
    this.#response = response
    const url = targetOf(request.url ?? '')
    const mark = url.indexOf('?')
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.query = mark < 0 ? '' : url.slice(mark + 1)
  }

  get method(): string {
    return this.#request.method ?? 'GET'
  }

  /** Node returns only `set-cookie` as a list, and no request has that header. */
  get headers(): RequestHeaders {
    return this.#request.headers as RequestHeaders
  }

  get peer(): string {
    return this.#request.socket.remoteAddress ?? ''
  }

  get isAnswered(): boolean {
    return this.#response.headersSent
  }

  get gone(): AbortSignal {
    if (!this.#gone) {
      const gone = new AbortController()
      const response = this.#response
      if (response.destroyed && !response.writableFinished) gone.abort()
      else response.on('close', () => response.writableFinished || gone.abort())
      this.#gone = gone
    }
    return this.#gone.signal
  }

  abandon(): void {
    if (!this.gone.aborted) this.#gone?.abort()
  }

  read(limit: number): Promise<Buffer> {
    const request = this.#request
    return new Promise((resolve, reject) => {
      if (Number(request.headers['content-length']) > limit) return reject(tooLarge(limit))
      const chunks: Buffer[] = []
      let size = 0
      const take = (chunk: Buffer) => {
        size += chunk.length
        chunks.push(chunk)
        if (size <= limit) return
        // The rest is read and discarded, so that the client gets to read the error.
        chunks.length = 0
        request.off('data', take).resume()
        reject(tooLarge(limit))
      }
      request.on('data', take)
      request.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
      request.on('error', (cause) => reject(new PlatformError('BODY_INCOMPLETE', {}, { cause })))
    })
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#request as AsyncIterable<Uint8Array>
    } catch (cause) {
      throw new PlatformError('BODY_INCOMPLETE', {}, { cause })
    }
  }

  addCookie(cookie: string): void {
    if (!this.#response.headersSent) this.#response.appendHeader('set-cookie', cookie)
  }

  send(status: number, headers: ReplyHeaders, body: string | Uint8Array = ''): void {
    const response = this.#response
    if (response.headersSent || response.destroyed) return
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
    const hasBody = status !== 204 && status !== 304
    const all: Record<string, string | number> = { ...headers }
    if (hasBody) all['content-length'] ??= length
    response.writeHead(status, all)
    response.end(hasBody ? body : undefined)
  }

  stream(status: number, headers: ReplyHeaders): ReplyStream {
    if (!this.#response.headersSent && !this.#response.destroyed) this.#response.writeHead(status, headers)
    return new NodeStream(this.#response)
  }
}

class NodeStream implements ReplyStream {
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
    response.flushHeaders()
  }

  write(chunk: string | Uint8Array): void {
    if (!this.#isOver) this.#response.write(chunk)
  }

  get unread(): number {
    return this.#response.writableLength
  }

  drained(): Promise<void> {
    const response = this.#response
    if (this.#isOver || !response.writableNeedDrain) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        response.off('drain', done).off('close', done)
        resolve()
      }
      response.on('drain', done).on('close', done)
    })
  }

  end(chunk?: string): void {
    if (!this.#isOver) this.#response.end(chunk)
  }

  get #isOver(): boolean {
    return this.#response.destroyed || this.#response.writableEnded
  }
}

const tooLarge = (limit: number) => new PlatformError('BODY_TOO_LARGE', { limit })

/** Clients of a proxy send an absolute URL, all others a path. */
function targetOf(url: string): string {
  if (url.startsWith('/')) return url
  const parsed = URL.parse(url)
  return parsed ? parsed.pathname + parsed.search : url
}
