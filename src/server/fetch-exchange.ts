import { PlatformError } from '../model/errors.ts'
import type { Exchange, ReplyHeaders, ReplyStream, RequestHeaders } from './exchange.ts'

/** Handles a `Request` without a port, for programs that embed the platform and for tests. */
export async function fetchFrom(
  handle: (exchange: Exchange) => void | Promise<void>,
  request: Request,
): Promise<Response> {
  const exchange = new FetchExchange(request)
  // Not awaited: a stream starts long before its handler ends.
  Promise.resolve(handle(exchange)).catch(exchange.fail)
  return exchange.response
}

class FetchExchange implements Exchange {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: RequestHeaders
  readonly peer = ''
  readonly response: Promise<Response>
  readonly #request: Request
  readonly #gone = new AbortController()
  readonly #cookies: string[] = []
  #answer!: (response: Response) => void
  fail!: (reason: unknown) => void
  isAnswered = false

  constructor(request: Request) {
    const url = new URL(request.url)
    this.#request = request
    this.method = request.method
    this.path = url.pathname
    this.query = url.search.slice(1)
    this.headers = Object.fromEntries(request.headers)
    this.response = new Promise((resolve, reject) => {
      this.#answer = resolve
      this.fail = reject
    })
    if (request.signal.aborted) this.#gone.abort()
    request.signal.addEventListener('abort', () => this.#gone.abort())
  }

  get gone(): AbortSignal {
    return this.#gone.signal
  }

  abandon(): void {
    this.#gone.abort()
  }

  async read(limit: number): Promise<Buffer> {
    const chunks: Uint8Array[] = []
    let size = Number(this.headers['content-length'] ?? 0)
    if (size > limit) throw new PlatformError('BODY_TOO_LARGE', { limit })
    size = 0
    for await (const chunk of this.chunks()) {
      size += chunk.byteLength
      if (size > limit) throw new PlatformError('BODY_TOO_LARGE', { limit })
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    if (!this.#request.body) return
    const reader = this.#request.body.getReader()
    try {
      for (;;) {
        const { done, value } = await reader.read().catch((cause: unknown) => {
          throw new PlatformError('BODY_INCOMPLETE', {}, { cause })
        })
        if (done) return
        yield value
      }
    } finally {
      await reader.cancel().catch(() => {})
    }
  }

  addCookie(cookie: string): void {
    this.#cookies.push(cookie)
  }

  send(status: number, headers: ReplyHeaders, body: string | Uint8Array = ''): void {
    if (this.isAnswered) return
    this.isAnswered = true
    const isEmpty = status === 204 || status === 304 || this.method === 'HEAD'
    const all = [...Object.entries(headers), ...this.#cookies.map((cookie): [string, string] => ['set-cookie', cookie])]
    this.#answer(new Response(isEmpty ? null : (body as Uint8Array<ArrayBuffer>), { status, headers: all }))
  }

  stream(status: number, headers: ReplyHeaders): ReplyStream {
    const stream = new FetchStream(() => this.#gone.abort())
    if (!this.isAnswered) this.#answer(new Response(stream.body, { status, headers }))
    this.isAnswered = true
    return stream
  }
}

class FetchStream implements ReplyStream {
  readonly body: ReadableStream<Uint8Array>
  readonly #encoder = new TextEncoder()
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #isOver = false
  #onDrained = () => {}

  constructor(onLeft: () => void) {
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => this.#onDrained(),
        cancel: () => {
          this.#isOver = true
          this.#onDrained()
          onLeft()
        },
      },
      { highWaterMark: 0, size: (chunk) => chunk?.byteLength ?? 0 },
    )
  }

  write(chunk: string | Uint8Array): void {
    if (!this.#isOver) this.#controller.enqueue(typeof chunk === 'string' ? this.#encoder.encode(chunk) : chunk)
  }

  get unread(): number {
    return -(this.#controller.desiredSize ?? 0)
  }

  drained(): Promise<void> {
    if (this.#isOver || this.unread <= 0) return Promise.resolve()
    return new Promise((resolve) => (this.#onDrained = resolve))
  }

  end(chunk?: string): void {
    if (this.#isOver) return
    if (chunk !== undefined) this.write(chunk)
    this.#isOver = true
    this.#controller.close()
  }
}
