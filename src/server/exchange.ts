/** Names in lower case. Repeated headers are joined as HTTP specifies. */
export type RequestHeaders = Readonly<Record<string, string | undefined>>

export type ReplyHeaders = Readonly<Record<string, string>>

/**
 * One HTTP request and its reply. All surfaces are written against this interface. There are two implementations:
 * `NodeExchange` for connections to the port, and `FetchExchange` for programs that embed the platform.
 */
export interface Exchange {
  readonly method: string
  /** As sent, still percent-encoded, without the query. */
  readonly path: string
  /** Without the question mark; empty if there is none. */
  readonly query: string
  readonly headers: RequestHeaders
  /** The client's address; empty without a connection. */
  readonly peer: string
  /** Aborts if the client disconnects before the reply is complete. Created on first use. */
  readonly gone: AbortSignal
  /** Aborts `gone`, for a client that cancels in another request. */
  abandon(): void
  /** The body is not read until this or `chunks` is called, so that callers can be authenticated first. */
  read(limit: number): Promise<Buffer>
  chunks(): AsyncIterable<Uint8Array>
  /** Adds a cookie to the reply, which has not been sent yet. Use this for several cookies. */
  addCookie(cookie: string): void
  send(status: number, headers: ReplyHeaders, body?: string | Uint8Array): void
  stream(status: number, headers: ReplyHeaders): ReplyStream
  /** Whether the status has been sent. No other reply can follow then. */
  readonly isAnswered: boolean
}

/** A streamed reply. After the client has disconnected, writes are ignored. */
export interface ReplyStream {
  write(chunk: string | Uint8Array): void
  /** Bytes that the client has not read yet. */
  readonly unread: number
  /** Resolves when the client has read everything written so far, or has disconnected. */
  drained(): Promise<void>
  end(chunk?: string): void
}

export type Params = Readonly<Record<string, string>>

export type Handler = (exchange: Exchange, params: Params) => Promise<void> | void

const json: ReplyHeaders = { 'content-type': 'application/json' }

/** Sends serialized JSON. */
export function sendJson(exchange: Exchange, status: number, text: string, headers?: ReplyHeaders): void {
  exchange.send(status, headers ? { ...json, ...headers } : json, text)
}
