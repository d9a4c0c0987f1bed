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
import type { HttpClient, OutboundResponse } from '../../http/outbound.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import type { Live } from '../../model/call.ts'

export const self = { name: 'quartermaster', version: '1' }

export interface UpstreamCall {
  readonly name: string
  /** Of the input: some of its fields may have to be said in headers too. */
  readonly schema: JsonObject
  readonly input: JsonObject
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly live: Live | undefined
  /** Says for which call of ours it is made. */
  readonly headers: Readonly<Record<string, string>>
}

/** What the SDK has agreed on with a server. */
export interface Session {
  readonly url: URL
  /** The headers of every call. */
  readonly headers: Readonly<Record<string, string>>
  readonly version: string
  readonly isModern: boolean
  /** Told what the server says that is not about the call that is under way. */
  onOther(message: JsonObject): void
  /** Tells the server that nobody waits for an answer any more. */
  cancel(id: string): void
}

/** The session to post calls to, where a client has one that takes posts. */
export function sessionOf(
  client: Client,
  address: string,
  given: Readonly<Record<string, string>>,
): Session | undefined {
  const { transport } = client
  const version = client.getNegotiatedProtocolVersion()
  if (!(transport instanceof StreamableHTTPClientTransport) || version === undefined) return undefined
  const { sessionId } = transport
  const isModern = client.getProtocolEra() === 'modern'
  const url = new URL(address)
  const own = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const)
  const headers = {
    // What calls say of themselves is not for an address to say.
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
      // In the new era it is told by hanging up.
      if (isModern) return
      const params = { requestId, reason: 'the caller has left' }
      void transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }).catch(() => {})
    },
  }
}

const ofCalls = /^(x-quartermaster-|mcp-(method|name)$)/

/** Whether nothing of a call has to be encoded, or repeated in headers of its own. */
export const isPlain = ({ name, schema }: UpstreamCall, { isModern }: Session): boolean =>
  !isModern || (/^[\x21-\x7e]+$/.test(name) && !name.startsWith('=?') && !mentionsHeaders(schema))

const mirrored = new WeakMap<JsonObject, boolean>()

/** Whether fields of an input are to be repeated in headers. */
export function mentionsHeaders(schema: JsonObject): boolean {
  let answer = mirrored.get(schema)
  if (answer === undefined) {
    answer = JSON.stringify(schema).includes('"x-mcp-header"')
    mirrored.set(schema, answer)
  }
  return answer
}

/**
 * The short way to an MCP server: one POST and its answer, on the session that the SDK made, without the SDK in between.
 * Progress reaches the caller; whatever else a server says meanwhile is handed to the SDK.
 */
export function postCall(
  params: JsonObject,
  call: UpstreamCall,
  session: Session,
  onOther: (message: JsonObject) => void,
  http: HttpClient,
): Promise<JsonObject> {
  // Not a number, as the SDK's ids are, and not to be guessed: a server cannot answer a call that it was not sent.
  const id = randomUUID()
  const { signal } = call
  const answer = new Answer(id, call, onOther)
  const events = new EventStream((data) => answer.take(data))
  const { url } = session
  const listening = { signal, onEvents: (part: Buffer) => events.feed(part), hasEnough: () => answer.isThere }
  const headers = session.isModern
    ? { ...session.headers, ...call.headers, 'mcp-method': 'tools/call', 'mcp-name': call.name }
    : { ...session.headers, ...call.headers }
  const whole =
    call.live?.onProgress || session.isModern ? { ...params, _meta: metaOf(params, call, id, session) } : params
  const request = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: whole })

  const exchange = async () => {
    answer.read(await http.request({ url, method: 'POST', headers, body: request, ...listening }))
    // A server may hang up and be asked again for the rest.
    while (!answer.isThere && events.lastId !== undefined && !session.isModern) {
      await pause(events.retryMs ?? 1000, signal)
      const again = { ...headers, accept: 'text/event-stream', 'last-event-id': events.lastId }
      answer.read(await http.request({ url, method: 'GET', headers: again, ...listening }))
    }
    if (!answer.isThere) throw new SdkError(SdkErrorCode.ConnectionClosed, 'the stream ended without an answer')
  }
  // A stream may go on after the answer, for a moment, which nobody waits for.
  exchange().catch((error: unknown) => {
    if (signal.aborted && !answer.isThere) session.cancel(id)
    answer.reject(error)
  })
  return answer.result
}

function metaOf({ _meta = {} }: JsonObject, { live }: UpstreamCall, id: string, session: Session): JsonObject {
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

/** What is waited for, whichever way it comes. */
class Answer {
  readonly result: Promise<JsonObject>
  isThere = false
  reject!: (reason: unknown) => void
  #resolve!: (result: JsonObject) => void
  readonly #id: string
  readonly #call: UpstreamCall
  readonly #onOther: (message: JsonObject) => void

  constructor(id: string, call: UpstreamCall, onOther: (message: JsonObject) => void) {
    this.#id = id
    this.#call = call
    this.#onOther = onOther
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.reject = reject
    })
  }

  read({ status, headers, body }: OutboundResponse): void {
    const isJson = /^application\/json\b/i.test(headers['content-type'] ?? '')
    if (isJson && body.length > 0) this.take(body.toString())
    if (status >= 300 && !this.isThere) {
      throw new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, `it answered ${status}`, { status })
    }
  }

  take(text: string): void {
    const said = parse(text)
    if (said === undefined) this.#refuse('what it says is not JSON')
    for (const message of Array.isArray(said) ? said : [said]) if (isObject(message)) this.#hear(message as JsonObject)
  }

  #hear(message: JsonObject): void {
    const { id, method, result, error, params } = message
    if (method === 'notifications/progress' && isObject(params) && params.progressToken === this.#id) {
      const { progressToken: _, _meta, ...progress } = params as JsonObject
      this.#call.live?.onProgress?.(progress as never)
    } else if (method !== undefined || id !== this.#id) {
      this.#onOther(message)
    } else if (isObject(error)) {
      this.isThere = true
      this.reject(new ProtocolError(Number(error.code), String(error.message), error.data))
    } else {
      this.isThere = true
      this.#settle(result)
    }
  }

  #settle(result: unknown): unknown {
    if (!isObject(result)) return this.#refuse('its answer is no result')
    const { resultType, content } = result as JsonObject
    if (resultType === undefined && Array.isArray(content)) return this.#resolve(result as JsonObject)
    if (resultType === 'input_required' && this.#call.live?.asking) return this.#resolve(result as JsonObject)
    if (resultType !== undefined && resultType !== 'complete') return this.#refuse(`it answered "${resultType}"`)
    if (content !== undefined && !Array.isArray(content)) return this.#refuse('its answer has no content')
    const { resultType: _, ...rest } = result as JsonObject
    return this.#resolve({ ...rest, content: content ?? [] })
  }

  /** It is there, and what it says makes no sense. */
  #refuse(reason: string): unknown {
    this.isThere = true
    return this.reject(new ProtocolError(ProtocolErrorCode.InternalError, reason))
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
