import type { JsonObject } from '../../lib/json.ts'
import { encodeEvent } from '../../lib/server-sent-event.ts'
import { PlatformError } from '../../model/errors.ts'
import { heartbeat, opening, streamHeaders } from '../../server/event-stream.ts'
import type { Exchange, ReplyStream } from '../../server/exchange.ts'

const most = 1024
const maxUnread = 1024 * 1024
const heartbeatMs = 15_000

/** Streams on which 2025 clients receive change notifications. 2026 clients subscribe through the SDK. */
export class Listeners {
  /** The streams, with the session of each. */
  readonly #streams = new Map<ReplyStream, string | undefined>()
  readonly #onLeft: (session: string) => void
  #alive: NodeJS.Timeout | undefined

  /** `onLeft` is called when the last stream of a session has closed. */
  constructor(onLeft: (session: string) => void) {
    this.#onLeft = onLeft
  }

  /** Lasts until the client disconnects or `until` aborts. */
  open(exchange: Exchange, until: AbortSignal, session?: string): void {
    if (this.#streams.size >= most) throw new PlatformError('TOO_MANY_LISTENERS', { most })
    this.#alive ??= setInterval(() => this.#send(heartbeat), heartbeatMs).unref()
    const stream = exchange.stream(200, streamHeaders)
    this.#streams.set(stream, session)
    stream.write(opening)
    exchange.gone.addEventListener('abort', () => this.#remove(stream))
    until.addEventListener('abort', () => this.#end(stream))
    if (until.aborted) this.#end(stream)
  }

  notify(method: string): void {
    this.#send(eventOf({ method }))
  }

  /** Notifies the client of one session. */
  notifySession(session: string, message: JsonObject): void {
    const text = eventOf(message)
    for (const [stream, own] of this.#streams) if (own === session) this.#sendTo(stream, text)
  }

  close(): void {
    clearInterval(this.#alive)
    for (const stream of this.#streams.keys()) this.#end(stream)
  }

  #send(text: string): void {
    for (const stream of this.#streams.keys()) this.#sendTo(stream, text)
  }

  #sendTo(stream: ReplyStream, text: string): void {
    stream.write(text)
    // Disconnect clients that do not read.
    if (stream.unread > maxUnread) this.#end(stream)
  }

  #end(stream: ReplyStream): void {
    this.#remove(stream)
    stream.end()
  }

  #remove(stream: ReplyStream): void {
    const session = this.#streams.get(stream)
    this.#streams.delete(stream)
    if (session !== undefined && ![...this.#streams.values()].includes(session)) this.#onLeft(session)
  }
}

const eventOf = (message: JsonObject): string =>
  encodeEvent(JSON.stringify({ jsonrpc: '2.0', ...message }), { name: 'message' })
