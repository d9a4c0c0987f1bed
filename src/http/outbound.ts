import { hash } from 'node:crypto'
import { lookup as lookUpInDns } from 'node:dns'
import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib'
import { type buildConnector, Client, Dispatcher, Response as FetchResponse, fetch as fetchWith, Pool } from 'undici'
import { PlatformError } from '../model/errors.ts'
import { createAddressRules, type FindObjection } from './addresses.ts'
import {
  type Connection,
  Exchange,
  type OutboundRequest,
  type OutboundResponse,
  type ResponseLimits,
  tooLarge,
} from './exchange.ts'
import { guardedConnector, type Lookup, Refusal, refuseLiteral } from './guard.ts'
import { InFlight } from './in-flight.ts'
import { keepAliveMaxMs, Pools } from './pools.ts'
import { createProxiedPool, createProxyRules, createTargetJudge, ProxyFailure, type ProxySettings } from './proxy.ts'

export type { OutboundRequest, OutboundResponse } from './exchange.ts'

export interface OutboundOptions {
  readonly allowLoopback: boolean
  /** Ranges such as `10.0.0.0/8` that the operator allows, or `private` for all private ones. */
  readonly allow: readonly string[]
  readonly maxResponseBytes: number
  /** The operator's HTTP proxies. */
  readonly proxy?: ProxySettings
  /** Resolves host names. Uses the system's resolver by default. */
  readonly lookup?: Lookup
}

/** Identifies whose connections a request may use. */
export interface Owner {
  /** The id of a project; undefined for requests of the platform itself. */
  readonly project: string | undefined
  /** Identifies the credentials that are sent: ids, URLs, headers. Only a hash is stored. */
  readonly credentials: readonly unknown[]
}

/** Sends requests on connections that no other owner uses. */
export interface HttpClient {
  /** Sends a request, follows redirects, and reads the whole response. */
  request(request: OutboundRequest): Promise<OutboundResponse>
  /** For libraries that make their own requests. Does not check redirects itself. */
  readonly fetch: typeof fetch
}

const maxRedirects = 5

/**
 * Sends all requests to URLs that users choose. The egress rules are checked when a connection is made, on the address that
 * is connected to, so neither a redirect nor a changed DNS record can bypass them.
 *
 * HTTP/1.1 cannot distinguish a late or extra response from the response to the next request on a connection. So connections
 * are never shared between projects, nor between credentials of one project.
 */
export class Outbound {
  readonly #pools: Pools
  readonly #maxBytes: number
  readonly #inFlight: InFlight
  readonly #rules: FindObjection

  constructor(options: OutboundOptions) {
    const rules = createAddressRules(options)
    this.#rules = rules
    const lookUp = options.lookup ?? lookUpInDns
    const connect = guardedConnector(rules, lookUp)
    const judge = createTargetJudge(rules, lookUp)
    const findProxy = createProxyRules(options.proxy ?? {})
    this.#maxBytes = options.maxResponseBytes
    this.#inFlight = new InFlight({ perProject: 4 * this.#maxBytes, overall: 16 * this.#maxBytes })
    this.#pools = new Pools((origin) => {
      const proxy = findProxy(new URL(origin))
      if (proxy) return createProxiedPool(origin, proxy, judge, poolOptions)
      return new Pool(origin, { ...poolOptions, connect })
    })
  }

  /** `maxBytes` replaces the limit of responses. */
  client({ project, credentials }: Owner, maxBytes = this.#maxBytes): HttpClient {
    const owner = hash('sha256', JSON.stringify([project, credentials]), 'base64')
    const limits = { project, maxBytes, inFlight: this.#inFlight }
    return new OwnedClient(owner, this.#pools, limits)
  }

  /** Why a URL can never be requested, as far as its text shows that: "it connects to a private address". */
  refusalOf({ hostname }: URL): string | undefined {
    const isLocal = /(^|\.)localhost\.?$/i.test(hostname)
    const host = isLocal ? '127.0.0.1' : hostname.replace(/^\[(.*)\]$/, '$1')
    return refuseLiteral(host, this.#rules)?.message
  }

  /** Aborts requests in flight with `SHUTTING_DOWN`. To let calls finish, wait for them first. */
  close(): Promise<void> {
    return this.#pools.close()
  }
}

/**
 * A pool stops using a client that reports busy, until the client reports that it is ready. After an invalid request,
 * undici's client reports busy and never recovers: after 128 of those, no connection is left.
 */
class PooledClient extends Client implements Connection {
  #socket: Socket | undefined

  constructor(origin: URL, options: Client.Options) {
    const connect = options.connect as buildConnector.connector
    super(origin, {
      ...options,
      connect: (target: buildConnector.Options, callback: buildConnector.Callback) =>
        connect(target, (...connected) => {
          this.#socket = connected[1] ?? undefined
          callback(...connected)
        }),
    })
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (!(handler instanceof Exchange)) return super.dispatch(options, handler)
    handler.connection = this
    return super.dispatch(options, handler) || handler.over
  }

  /** Runs before undici, which also defers with setImmediate, reuses the connection. */
  drop(): void {
    setImmediate(() => this.#socket?.destroy())
  }
}

const poolOptions = {
  factory: (origin: URL, options: Client.Options) => new PooledClient(origin, options),
  connections: 128,
  pipelining: 1,
  allowH2: false,
  // The caller's signal has the timeout.
  headersTimeout: 0,
  bodyTimeout: 0,
  // A server's keep-alive timeout starts when it sends its response, which a busy process may read later.
  keepAliveTimeoutThreshold: 1000,
  keepAliveMaxTimeout: keepAliveMaxMs,
} satisfies Pool.Options

class OwnedClient implements HttpClient {
  readonly #owner: string
  readonly #pools: Pools
  readonly #limits: ResponseLimits
  #target: Target | undefined

  constructor(owner: string, pools: Pools, limits: ResponseLimits) {
    this.#owner = owner
    this.#pools = pools
    this.#limits = limits
  }

  request(request: OutboundRequest): Promise<OutboundResponse> {
    return this.#send(request, 0)
  }

  readonly fetch = (async (input, init) => {
    const dispatcher = new OwnedDispatcher(this.#owner, this.#pools)
    const response = await fetchWith(input as string, { ...(init as object), dispatcher })
    return response.body === null ? response : limited(response, this.#limits.maxBytes)
  }) as typeof fetch

  #send(request: OutboundRequest, followed: number): Promise<OutboundResponse> {
    return new Promise((resolve, reject) => {
      const { url, method, headers, body, signal } = request
      signal.throwIfAborted()
      const { origin, path } = this.#targetOf(url)
      const take = (response: OutboundResponse) =>
        resolve(isFinal(response) ? response : this.#continue(response, request, followed))
      const fail = (error: unknown) => reject(signal.aborted ? signal.reason : explain(error, url.host))
      const exchange = new Exchange(request, this.#limits, take, fail)
      try {
        this.#pools.get(this.#owner, origin).dispatch({ path, method, headers, body: body ?? null }, exchange)
      } catch (error) {
        fail(error)
      }
    })
  }

  /** Most clients send all requests to one URL, and taking it apart costs as much as finding its pool. */
  #targetOf(url: URL): Target {
    if (this.#target?.href !== url.href) {
      checkUrl(url)
      this.#target = { href: url.href, origin: url.origin, path: url.pathname + url.search }
    }
    return this.#target
  }

  /** Follows a redirect, or decodes the body. */
  async #continue(response: OutboundResponse, request: OutboundRequest, followed: number): Promise<OutboundResponse> {
    const location = redirects.has(response.status) ? response.headers.location : undefined
    if (location === undefined) return this.#decode(response, request)
    if (followed === maxRedirects) throw new PlatformError('TOO_MANY_REDIRECTS', { limit: maxRedirects })
    return this.#send(follow(request, response.status, location), followed + 1)
  }

  async #decode(response: OutboundResponse, { url, signal }: OutboundRequest): Promise<OutboundResponse> {
    const { 'content-encoding': encoding = '', 'content-length': _, ...headers } = response.headers
    const decoders = findDecoders(encoding)
    if (!decoders || response.body.length === 0) return response
    let { body } = response
    const { maxBytes } = this.#limits
    try {
      for (const decode of decoders) body = await decode(body, { maxOutputLength: maxBytes })
    } catch (cause) {
      if (codeOf(cause) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes)
      throw unreachable(url.host, 'the response could not be decoded', cause)
    }
    signal.throwIfAborted()
    return { status: response.status, headers, body }
  }
}

/** A URL that may be called, in parts. */
interface Target {
  readonly href: string
  readonly origin: string
  readonly path: string
}

const unreachable = (host: string, reason: string, cause?: unknown) =>
  new PlatformError('TOOL_UNREACHABLE', { host, reason }, { cause })

const blocked = (url: URL, reason: string) =>
  new PlatformError('EGRESS_BLOCKED', { host: url.host || url.protocol, reason })

function checkUrl(url: URL): void {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw blocked(url, 'only http and https URLs are allowed')
  }
  if (url.username !== '' || url.password !== '') throw blocked(url, 'the URL contains a user name or password')
}

/** Sends the requests of `fetch` through the pools of one owner. */
class OwnedDispatcher extends Dispatcher {
  readonly #owner: string
  readonly #pools: Pools

  constructor(owner: string, pools: Pools) {
    super()
    this.#owner = owner
    this.#pools = pools
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return this.#pools.get(this.#owner, String(options.origin)).dispatch(options, handler)
  }
}

const nothing = Buffer.alloc(0)

/** Limits the size of the response body. For an event stream, the limit applies to each event. */
function limited(response: FetchResponse, limit: number): FetchResponse {
  const inEvents = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (!inEvents && Number(response.headers.get('content-length')) > limit) {
    void response.body?.cancel()
    throw tooLarge(limit)
  }
  let size = 0
  let tail = nothing
  const body = response.body?.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const end = inEvents ? endOfEvent(Buffer.concat([tail, chunk])) - tail.length : -1
        tail = Buffer.from(chunk.subarray(-3))
        size = end > 0 ? chunk.length - end : size + chunk.length
        if (size > limit) controller.error(tooLarge(limit))
        else controller.enqueue(chunk)
      },
    }),
  )
  const { status, statusText, headers, url } = response
  // The constructor of Response cannot set the URL.
  return Object.defineProperty(new FetchResponse(body, { status, statusText, headers }), 'url', { value: url })
}

/** The position after the last complete event. */
const endOfEvent = (bytes: Buffer) => {
  const [plain, windows] = [bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\r\n\r\n')]
  return Math.max(plain < 0 ? -1 : plain + 2, windows < 0 ? -1 : windows + 4)
}

const redirects = new Set([301, 302, 303, 307, 308])

const isFinal = ({ status, headers }: OutboundResponse): boolean =>
  (status < 300 || !redirects.has(status)) && headers['content-encoding'] === undefined

/** Headers that are kept on a redirect to another origin. Any other may contain a secret. */
const harmless = new Set(['accept', 'content-type', 'user-agent'])

/** Builds the request for a redirect. */
function follow(request: OutboundRequest, status: number, location: string): OutboundRequest {
  const url = locate(location, request.url)
  if (request.url.protocol === 'https:' && url.protocol === 'http:') {
    throw blocked(url, 'it redirects from https to http')
  }
  const { method } = request
  const asGet = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST'
  const crosses = url.origin !== request.url.origin
  const kept = Object.entries(request.headers).filter(([header]) => {
    const name = header.toLowerCase()
    return !(asGet && name.startsWith('content-')) && (!crosses || harmless.has(name))
  })
  const headers = Object.fromEntries(kept)
  return { ...request, url, headers, ...(asGet && { method: 'GET', body: undefined }) }
}

function locate(location: string, base: URL): URL {
  // Headers are decoded as Latin-1, but servers send non-ASCII URLs as UTF-8.
  const url = URL.parse(Buffer.from(location, 'latin1').toString(), base.href)
  if (url) return url
  throw unreachable(base.host, 'it redirects to an invalid URL')
}

type Decoder = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

const unzip: Decoder = promisify(gunzip)
const inflateFramed: Decoder = promisify(inflate)
const inflateBare: Decoder = promisify(inflateRaw)

const codings = new Map<string, Decoder>([
  ['gzip', unzip],
  ['x-gzip', unzip],
  // Some servers omit the zlib header, whose first byte ends in 8.
  ['deflate', (body, options) => (((body[0] ?? 0) & 15) === 8 ? inflateFramed : inflateBare)(body, options)],
  ['br', promisify(brotliDecompress)],
  ['zstd', promisify(zstdDecompress)],
  ['identity', async (body) => body],
])

/** The decoders for a content encoding, in order; undefined to leave the body as it is. */
function findDecoders(encoding: string): readonly Decoder[] | undefined {
  const decoders = encoding.split(',').map((coding) => codings.get(coding.trim().toLowerCase()))
  // More than two encodings are never intended, and a long list would multiply the work.
  return decoders.length <= 2 && decoders.every((decoder) => decoder !== undefined) ? decoders.reverse() : undefined
}

/** Converts the error of a failed request to a `PlatformError` with a readable reason. */
export function explain(error: unknown, host: string): PlatformError {
  if (error instanceof PlatformError) return error
  const options = { cause: error }
  if (error instanceof Refusal) {
    const reason = `${error.message}. An operator can allow it with QM_EGRESS_ALLOW`
    return new PlatformError('EGRESS_BLOCKED', { host, reason }, options)
  }
  if (error instanceof ProxyFailure) return unreachable(host, error.message, error)
  const code = codeOf(error)
  return /^UND_ERR_(DESTROYED|CLOSED)$/.test(code)
    ? new PlatformError('SHUTTING_DOWN', {}, options)
    : unreachable(host, reasonOf(code), error)
}

/** The code of an error, or its name if it has no code. */
const codeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return ''
  // `fetch` rejects some ports itself, with an error that has only a message.
  if (error.message === 'bad port') return 'BAD_PORT'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

const reasons: readonly (readonly [codes: RegExp, reason: string])[] = [
  [/^ECONNREFUSED$/, 'connection refused'],
  [/^BAD_PORT$/, 'its port is on the list of blocked ports. Use another port'],
  [/^(ENOTFOUND|ENODATA|EAI_NONAME|EAI_NODATA)$/, 'host not found'],
  [/^EAI_/, 'the DNS lookup failed'],
  [/^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, 'the connection timed out'],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, 'no route to the host'],
  [/^(ECONNRESET|ECONNABORTED|EPIPE)$/, 'the connection was lost'],
  [/^UND_ERR_(SOCKET|RES_CONTENT_LENGTH_MISMATCH)$/, 'the connection was lost'],
  [/^(EPROTO$|ERR_SSL_)/, 'the TLS handshake failed'],
  [/CERT|^UNABLE_TO_|^INVALID_(CA|PURPOSE)$|^HOSTNAME_MISMATCH$/, 'the TLS certificate is not trusted'],
  [/^(HPE_|HTTPParserError$|UND_ERR_HEADERS_OVERFLOW$)/, 'the response is not valid HTTP'],
  [/^UND_ERR_(INVALID_ARG|NOT_SUPPORTED)$/, 'a header or the URL is not valid'],
  [/^UND_ERR_REQ_CONTENT_LENGTH_MISMATCH$/, 'a header or the URL is not valid'],
]

const reasonOf = (code: string): string => reasons.find(([codes]) => codes.test(code))?.[1] ?? 'the request failed'
