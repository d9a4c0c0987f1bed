import { PlatformError } from '../../model/errors.ts'

const most = 1024
const mostUnread = 1000
const keepAliveMs = 15_000

/** The streams that callers of 2025 open to be told of changes. Those of 2026 subscribe, which the SDK sees to. */
export class Listeners {
  readonly #streams = new Set<ReadableStreamDefaultController<Uint8Array>>()
  readonly #encoder = new TextEncoder()
  #alive: NodeJS.Timeout | undefined

  open(): Response {
    if (this.#streams.size >= most) throw new PlatformError('TOO_MANY_LISTENERS', { most })
    this.#alive ??= setInterval(() => this.#send(': still here\n\n'), keepAliveMs).unref()
    let own: ReadableStreamDefaultController<Uint8Array> | undefined
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => {
        own = stream
        this.#streams.add(stream)
        // The headers go out with the first bytes.
        stream.enqueue(this.#encoder.encode(': listening\n\n'))
      },
      cancel: () => {
        if (own) this.#streams.delete(own)
      },
    })
    const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' }
    return new Response(body, { headers })
  }

  tell(method: string): void {
    this.#send(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method })}\n\n`)
  }

  close(): void {
    clearInterval(this.#alive)
    for (const stream of this.#streams) stream.close()
    this.#streams.clear()
  }

  #send(text: string): void {
    const bytes = this.#encoder.encode(text)
    for (const stream of this.#streams) {
      // One that does not read what it asked for is let go.
      if ((stream.desiredSize ?? 0) > -mostUnread) stream.enqueue(bytes)
      else {
        this.#streams.delete(stream)
        stream.close()
      }
    }
  }
}
