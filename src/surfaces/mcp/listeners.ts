import { PlatformError } from '../../model/errors.ts'
import { heartbeat, opening, streamHeaders } from '../../server/event-stream.ts'
import type { Exchange, ReplyStream } from '../../server/exchange.ts'

const most = 1024
const mostUnread = 1024 * 1024
const heartbeatMs = 15_000

/** The streams that callers of 2025 open to hear of changes. Those of 2026 subscribe through the SDK. */
export class Listeners {
  readonly #streams = new Set<ReplyStream>()
  #alive: NodeJS.Timeout | undefined

  /** Until the client leaves, or `until` is aborted. */
  open(exchange: Exchange, until: AbortSignal): void {
    if (this.#streams.size >= most) throw new PlatformError('TOO_MANY_LISTENERS', { most })
    this.#alive ??= setInterval(() => this.#send(heartbeat), heartbeatMs).unref()
    const stream = exchange.stream(200, streamHeaders)
    this.#streams.add(stream)
    stream.write(opening)
    exchange.gone.addEventListener('abort', () => this.#streams.delete(stream))
    until.addEventListener('abort', () => this.#end(stream))
    if (until.aborted) this.#end(stream)
  }

  notify(method: string): void {
    this.#send(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method })}\n\n`)
  }

  close(): void {
    clearInterval(this.#alive)
    for (const stream of this.#streams) this.#end(stream)
  }

  #send(text: string): void {
    for (const stream of this.#streams) {
      stream.write(text)
      // A client that does not read what it asked for is disconnected.
      if (stream.unread > mostUnread) this.#end(stream)
    }
  }

  #end(stream: ReplyStream): void {
    this.#streams.delete(stream)
    stream.end()
  }
}
