import { randomUUID } from 'node:crypto'
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type Client,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { EventStream } from '../../http/event-stream.ts'
import type { HttpClient, OutboundRequest, OutboundResponse } from '../../http/outbound.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import type { Live } from '../../model/call.ts'

export const self = { name: 'quartermaster', version: '1' }

export interface UpstreamCall {
  readonly name: string
  /** The input schema. It can require that some fields are also sent as headers. */
  readonly schema: JsonObject
  readonly input: JsonObject
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly live: Live | undefined
  /** Headers that identify the platform's call. */
  readonly headers: Readonly<Record<string, string>>
}

/** The session that the SDK has negotiated with a server. */
export interface UpstreamSession {
  readonly url: URL
  /** Sent with every call. */
  readonly headers: Readonly<Record<string, string>>
  readonly version: string
  readonly isModern: boolean
  /** Called with messages of the server that are not about the current call. */
  onOther(message: JsonObject): void
  /** Notifies the server that a call is cancelled. */
  cancel(id: string): void
}

/** The session to post calls to; undefined if the client does not use Streamable HTTP. */
export function sessionOf(
  client: Client,
  address: string,
  configured: Readonly<Record<string, string>>,
): UpstreamSession | undefined {
  const { transport } = client
  const version = client.getNegotiatedProtocolVersion()
  if (!(transport instanceof StreamableHTTPClientTransport) || version === undefined) return undefined
  const { sessionId } = transport
  const isModern = client.getProtocolEra() === 'modern'
  const url = new URL(address)
  const own = Object.entries(configured).map(([name, value]) => [name.toLowerCase(), value] as const)
  const headers = {
    // Configured headers must not override those that are set per call.
    ...Object.fromEntries(own.filter(([name]) => !ofCalls.test(name))),
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': version,
    ...(sessionId !== undefined && { 'mcp-session-id': sessionId }),
  }
  return {
    url,
    headers,
    version,
    isModern,
    onOther: (message) => transport.onmessage?.(message as never),
    cancel(requestId) {
      // With the modern protocol, closing the connection cancels the call.
      if (isModern) return
      const params = { requestId, reason: 'the caller disconnected' }
      void transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }).catch(() => {})
    },
  }
}

const ofCalls = /^(x-quartermaster-|mcp-(method|name)$)/

/** Whether the name needs no encoding, and no input field has to be repeated in a header. */
export const isFastPath = ({ name, schema }: UpstreamCall, { isModern }: UpstreamSession): boolean =>
  !isModern || (/^[\x21-\x7e]+$/.test(name) && !name.startsWith('=?') && !mentionsHeaders(schema))

const mirrored = new WeakMap<JsonObject, boolean>()

/** Whether fields of the input have to be repeated in headers. */
export function mentionsHeaders(schema: JsonObject): boolean {
  let answer = mirrored.get(schema)
  if (answer === undefined) {
    answer = JSON.stringify(schema).includes('"x-mcp-header"')
    mirrored.set(schema, answer)
  }
  return answer
}

/**
 * The fast path to an MCP server: one POST and its response on the SDK's session, but without the SDK. Progress goes to the
 * caller. All other messages are passed to the SDK.
 */
export function postCall(
  params: JsonObject,
  call: UpstreamCall,
  session: UpstreamSession,
  onOther: (message: JsonObject) => void,
  http: HttpClient,
): Promise<JsonObject> {
  const post = new CallPost(params, call, session, onOther)
  // The stream may continue for a moment after the result.
  post.send(http)
  return post.result
}

function metaOf({ _meta = {} }: JsonObject, { live }: UpstreamCall, id: string, session: UpstreamSession): JsonObject {
  return {
    ...(session.isModern && {
      [PROTOCOL_VERSION_META_KEY]: session.version,
      [CLIENT_INFO_META_KEY]: self,
      [CLIENT_CAPABILITIES_META_KEY]: {},
    }),
    ...(_meta as JsonObject),
    ...(live?.onProgress && { progressToken: id }),
  }
}

/** A call as an HTTP request, and its response as JSON or as an event stream. */
class CallPost implements OutboundRequest {
  readonly method = 'POST'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
  readonly result: Promise<JsonObject>
  /** Random and not a number like the SDK's ids, so that a server cannot answer a call that it did not receive. */
  readonly #id = randomUUID()
  readonly #call: UpstreamCall
  readonly #session: UpstreamSession
  readonly #onOther: (message: JsonObject) => void
  #events: EventStream | undefined
  #isAnswered = false
  #resolve!: (result: JsonObject) => void
  #reject!: (reason: unknown) => void

  constructor(
    params: JsonObject,
    call: UpstreamCall,
    session: UpstreamSession,
    onOther: (message: JsonObject) => void,
  ) {
    const { isModern } = session
    this.#call = call
    this.#session = session
    this.#onOther = onOther
    this.url = session.url
    this.signal = call.signal
    this.headers = isModern
      ? { ...session.headers, ...call.headers, 'mcp-method': 'tools/call', 'mcp-name': call.name }
      : { ...session.headers, ...call.headers }
    const whole =
      call.live?.onProgress || isModern ? { ...params, _meta: metaOf(params, call, this.#id, session) } : params
    this.body = JSON.stringify({ jsonrpc: '2.0', id: this.#id, method: 'tools/call', params: whole })
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  send(http: HttpClient): void {
    http
      .request(this)
      .then((response) => {
        this.#read(response)
        return this.#isAnswered ? undefined : this.#resume(http)
      })
      .catch((error: unknown) => this.#fail(error))
  }

  /** A server may close the stream, and the client resumes it for the rest. */
  async #resume(http: HttpClient): Promise<void> {
    while (!this.#isAnswered && this.#events?.lastId !== undefined && !this.#session.isModern) {
      await pause(this.#events.retryMs ?? 1000, this.signal)
      const headers = { ...this.headers, accept: 'text/event-stream', 'last-event-id': this.#events.lastId }
      const { url, signal } = this
      const onEvents = (part: Buffer) => this.onEvents(part)
      const hasEnough = () => this.hasEnough()
      this.#read(await http.request({ url, method: 'GET', headers, signal, onEvents, hasEnough }))
    }
    if (!this.#isAnswered) throw new SdkError(SdkErrorCode.ConnectionClosed, 'the stream ended without a response')
  }

  #fail(error: unknown): void {
    if (this.signal.aborted && !this.#isAnswered) this.#session.cancel(this.#id)
    this.#reject(error)
  }

  onEvents(part: Buffer): void {
    this.#events ??= new EventStream((data) => this.#take(data))
    this.#events.feed(part)
  }

  hasEnough(): boolean {
    return this.#isAnswered
  }

  #read({ status, headers, body }: OutboundResponse): void {
    const isJson = /^application\/json\b/i.test(headers['content-type'] ?? '')
    if (isJson && body.length > 0) this.#take(body.toString())
    if (status >= 300 && !this.#isAnswered) {
      throw new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, `it returned status ${status}`, { status })
    }
  }

  #take(text: string): void {
    const received = parse(text)
    if (received === undefined) this.#refuse('its response is not valid JSON')
    for (const message of Array.isArray(received) ? received : [received]) if (isObject(message)) this.#receive(message)
  }

  #receive(message: JsonObject): void {
    const { id, method, result, error, params } = message
    if (method === 'notifications/progress' && isObject(params) && params.progressToken === this.#id) {
      const { progressToken: _, _meta, ...progress } = params
      this.#call.live?.onProgress?.(progress as never)
    } else if (method !== undefined || id !== this.#id) {
      this.#onOther(message)
    } else if (isObject(error)) {
      this.#isAnswered = true
      this.#reject(new ProtocolError(Number(error.code), String(error.message), error.data))
    } else {
      this.#isAnswered = true
      this.#settle(result)
    }
  }

  #settle(result: unknown): unknown {
    if (!isObject(result)) return this.#refuse('its response has no result')
    const { resultType, content } = result
    if (resultType === undefined && Array.isArray(content)) return this.#resolve(result)
    if (resultType === 'input_required' && this.#call.live?.requester) return this.#resolve(result)
    if (resultType !== undefined && resultType !== 'complete')
      return this.#refuse(`it returned the unsupported result type "${resultType}"`)
    if (content !== undefined && !Array.isArray(content)) return this.#refuse('its response has no content')
    const { resultType: _, ...rest } = result
    return this.#resolve({ ...rest, content: content ?? [] })
  }

  /** Rejects the call because of an invalid response. */
  #refuse(reason: string): unknown {
    this.#isAnswered = true
    return this.#reject(new ProtocolError(ProtocolErrorCode.InternalError, reason))
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const pause = (milliseconds: number, signal: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
