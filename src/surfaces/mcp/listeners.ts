import { PlatformError } from '../../model/errors.ts'

const most = 1024
const keepAliveMs = 15_000
const changed = `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })}\n\n`

/** The streams that callers of 2025 open to be told of changes. Those of 2026 subscribe, which the SDK sees to. */
export class Listeners {
  readonly #streams = new Set<ReadableStreamDefaultController<Uint8Array>>()
  readonly #encoder = new TextEncoder()

  open(): Response {
    if (this.#streams.size >= most) throw new PlatformError('TOO_MANY_LISTENERS', { most })
    let stop = () => {}
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => {
        this.#streams.add(stream)
        const alive = setInterval(() => stream.enqueue(this.#encoder.encode(': still here\n\n')), keepAliveMs)
        alive.unref()
        stop = () => {
          clearInterval(alive)
          this.#streams.delete(stream)
        }
        // The headers go out with the first bytes.
        stream.enqueue(this.#encoder.encode(': listening\n\n'))
      },
      cancel: () => stop(),
    })
    const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' }
    return new Response(body, { headers })
  }

  tell(): void {
    for (const stream of this.#streams) stream.enqueue(this.#encoder.encode(changed))
  }

  close(): void {
    for (const stream of this.#streams) stream.close()
    this.#streams.clear()
  }
}
