/** Names in lower case; a header that was sent twice is joined as HTTP says. */
export type RequestHeaders = Readonly<Record<string, string | undefined>>

export type ReplyHeaders = Readonly<Record<string, string>>

/**
 * One HTTP request and the reply to it. Every surface is written against this contract. There are two implementations:
 * `NodeExchange` for connections to the port, and `FetchExchange` for programs that embed the platform.
 */
export interface Exchange {
  readonly method: string
  /** As sent, still percent-encoded, without the query. */
  readonly path: string
  /** Without the question mark; empty if there is none. */
  readonly query: string
  readonly headers: RequestHeaders
  /** The client's address; empty if there is no connection. */
  readonly peer: string
  /** Aborted if the client disconnects before the reply is complete. Made on first use. */
  readonly gone: AbortSignal
  /** Nothing of the body is read before this or `chunks` is called, so that callers can be identified first. */
  read(limit: number): Promise<Buffer>
  chunks(): AsyncIterable<Uint8Array>
  send(status: number, headers: ReplyHeaders, body?: string | Uint8Array): void
  stream(status: number, headers: ReplyHeaders): ReplyStream
  /** Whether the status has been sent, so that no other reply can follow. */
  readonly isAnswered: boolean
}

/** A reply that is sent in pieces. After the client has left, writing does nothing. */
export interface ReplyStream {
  write(chunk: string | Uint8Array): void
  /** Bytes that the client has not taken yet. */
  readonly unread: number
  /** Resolves once the client has taken what was written, or has left. */
  drained(): Promise<void>
  end(chunk?: string): void
}

export type Params = Readonly<Record<string, string>>

export type Handler = (exchange: Exchange, params: Params) => Promise<void> | void

/** Sends JSON that is already text. */
export function sendJson(exchange: Exchange, status: number, text: string, headers?: ReplyHeaders): void {
  exchange.send(status, { 'content-type': 'application/json', ...headers }, text)
}
