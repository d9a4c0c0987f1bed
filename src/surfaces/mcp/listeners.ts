import { encodeEvent } from '../../lib/server-sent-event.ts'
import { PlatformError } from '../../model/errors.ts'
import { heartbeat, opening, streamHeaders } from '../../server/event-stream.ts'
import type { Exchange, ReplyStream } from '../../server/exchange.ts'

const most = 1024
const maxUnread = 1024 * 1024
const heartbeatMs = 15_000

/** Streams on which 2025 clients receive change notifications. 2026 clients subscribe through the SDK. */
export class Listeners {
  readonly #streams = new Set<ReplyStream>()
  #alive: NodeJS.Timeout | undefined

  /** Lasts until the client disconnects or `until` aborts. */
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
    this.#send(encodeEvent(JSON.stringify({ jsonrpc: '2.0', method }), { name: 'message' }))
  }

  close(): void {
    clearInterval(this.#alive)
    for (const stream of this.#streams) this.#end(stream)
  }

  #send(text: string): void {
    for (const stream of this.#streams) {
      stream.write(text)
      // Disconnect clients that do not read.
      if (stream.unread > maxUnread) this.#end(stream)
    }
  }

  #end(stream: ReplyStream): void {
    this.#streams.delete(stream)
    stream.end()
  }
}
