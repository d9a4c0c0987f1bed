import { hash } from 'node:crypto'
import { lookup as lookUpInDns } from 'node:dns'
import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib'
import { type buildConnector, Client, Dispatcher, Response as FetchResponse, fetch as fetchWith, Pool } from 'undici'
import { PlatformError } from '../model/errors.ts'
import { createAddressRules } from './addresses.ts'
import { Exchange, type OutboundRequest, type OutboundResponse, type ResponseLimits, tooLarge } from './exchange.ts'
import { guardedConnector, type Lookup, Refusal } from './guard.ts'
import { InFlight } from './in-flight.ts'
import { keepAliveMaxMs, Pools } from './pools.ts'
import { createProxiedPool, createProxyRules, createTargetJudge, ProxyFailure, type ProxySettings } from './proxy.ts'

export type { OutboundRequest, OutboundResponse } from './exchange.ts'

export interface OutboundOptions {
  readonly allowLoopback: boolean
  /** Ranges like `10.0.0.0/8` that an operator allows, or the word `private` for all private ones. */
  readonly allow: readonly string[]
  readonly maxResponseBytes: number
  /** The operator's HTTP proxies. */
  readonly proxy?: ProxySettings
  /** How host names become addresses; the system's way unless given. */
  readonly lookup?: Lookup
}

/** Whose connections a request may use. */
export interface Owner {
  /** The id of a project; undefined for requests of the platform itself. */
  readonly project: string | undefined
  /** Whatever identifies the credentials that are sent: ids, addresses, headers. Only a hash of it is kept. */
  readonly credentials: readonly unknown[]
}

/** Sends requests on connections that no other owner uses. */
export interface HttpClient {
  /** Sends a request, follows redirects, and reads the whole response. */
  request(request: OutboundRequest): Promise<OutboundResponse>
  /** For libraries that make their own requests. It does not re-check redirects. */
  readonly fetch: typeof fetch
}

const maxRedirects = 5

/**
 * The one way out to addresses that users choose. What may be called is decided where a connection is made, on the
 * address that is connected to, so neither a redirect nor a host name that changes its address gets around it.
 *
 * HTTP/1.1 cannot tell a late or surplus response from the answer to the next request on a connection. So connections are
 * never shared between projects, nor between credentials of one project.
 */
export class Outbound {
  readonly #pools: Pools
  readonly #maxBytes: number
  readonly #inFlight: InFlight

  constructor(options: OutboundOptions) {
    const rules = createAddressRules(options)
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

  client({ project, credentials }: Owner): HttpClient {
    const owner = hash('sha256', JSON.stringify([project, credentials]), 'base64')
    const limits = { project, maxBytes: this.#maxBytes, inFlight: this.#inFlight }
    return new OwnedClient(owner, this.#pools, limits)
  }

  /** Ends what is still in flight with `SHUTTING_DOWN`. To let calls finish, wait for them first. */
  close(): Promise<void> {
    return this.#pools.close()
  }
}

/**
 * A pool stops using a client that reports that it is busy until the client reports that it is not. Undici's client also
 * reports busy, and never otherwise, after a request that is not valid: 128 of those and no connection is left.
 */
class PooledClient extends Client {
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
    // Before undici, which waits as long, uses the connection again.
    handler.dropConnection = () => setImmediate(() => this.#socket?.destroy())
    return super.dispatch(options, handler) || handler.over
  }
}

const poolOptions = {
  factory: (origin: URL, options: Client.Options) => new PooledClient(origin, options),
  connections: 128,
  pipelining: 1,
  allowH2: false,
  // The caller's signal is the time limit.
  headersTimeout: 0,
  bodyTimeout: 0,
  // Servers count from their answer, which a busy process may read later.
  keepAliveTimeoutThreshold: 1000,
  keepAliveMaxTimeout: keepAliveMaxMs,
} satisfies Pool.Options

class OwnedClient implements HttpClient {
  readonly #owner: string
  readonly #pools: Pools
  readonly #limits: ResponseLimits

  constructor(owner: string, pools: Pools, limits: ResponseLimits) {
    this.#owner = owner
    this.#pools = pools
    this.#limits = limits
  }

  async request(request: OutboundRequest): Promise<OutboundResponse> {
    let hop = request
    for (let followed = 0; ; followed++) {
      const response = await this.#send(hop)
      const location = redirects.has(response.status) ? response.headers.location : undefined
      if (location === undefined) {
        return response.headers['content-encoding'] === undefined ? response : this.#decode(response, hop)
      }
      if (followed === maxRedirects) throw new PlatformError('TOO_MANY_REDIRECTS', { limit: maxRedirects })
      hop = follow(hop, response.status, location)
    }
  }

  readonly fetch = (async (input, init) => {
    const dispatcher = new OwnedDispatcher(this.#owner, this.#pools)
    const response = await fetchWith(input as string, { ...(init as object), dispatcher })
    return response.body === null ? response : limited(response, this.#limits.maxBytes)
  }) as typeof fetch

  async #send(request: OutboundRequest): Promise<OutboundResponse> {
    const { url, method, headers, body, signal } = request
    signal.throwIfAborted()
    checkUrl(url)
    try {
      return await new Promise((resolve, reject) => {
        const exchange = new Exchange(request, this.#limits, resolve, reject)
        const path = url.pathname + url.search
        this.#pools.get(this.#owner, url.origin).dispatch({ path, method, headers, body: body ?? null }, exchange)
      })
    } catch (error) {
      throw signal.aborted ? signal.reason : explain(error, url.host)
    }
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

const unreachable = (host: string, reason: string, cause?: unknown) =>
  new PlatformError('TOOL_UNREACHABLE', { host, reason }, { cause })

const blocked = (url: URL, reason: string) =>
  new PlatformError('EGRESS_BLOCKED', { host: url.host || url.protocol, reason })

function checkUrl(url: URL): void {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw blocked(url, 'only http and https addresses are called')
  }
  if (url.username !== '' || url.password !== '') throw blocked(url, 'the address holds a user name or password')
}

/** What `fetch` sends its requests by: the pools of one owner. */
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

/** The response, whose body breaks off once it is too large. Of a stream of events that holds for each of them. */
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
  // Undici's own constructor would not know where the response came from.
  return Object.defineProperty(new FetchResponse(body, { status, statusText, headers }), 'url', { value: url })
}

/** Where the last event that is complete ends. */
const endOfEvent = (bytes: Buffer) => {
  const [plain, windows] = [bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\r\n\r\n')]
  return Math.max(plain < 0 ? -1 : plain + 2, windows < 0 ? -1 : windows + 4)
}

const redirects = new Set([301, 302, 303, 307, 308])

/** Any other header may hold a secret, which is not for another origin to see. */
const harmless = new Set(['accept', 'content-type', 'user-agent'])

/** The request that a redirect asks for. */
function follow(request: OutboundRequest, status: number, location: string): OutboundRequest {
  const url = locate(location, request.url)
  if (request.url.protocol === 'https:' && url.protocol === 'http:') {
    throw blocked(url, 'a redirect leads from https to http')
  }
  const { method } = request
  const asGet = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST'
  const crosses = url.origin !== request.url.origin
  const kept = Object.entries(request.headers).filter(([given]) => {
    const name = given.toLowerCase()
    return !(asGet && name.startsWith('content-')) && (!crosses || harmless.has(name))
  })
  const headers = Object.fromEntries(kept)
  return { ...request, url, headers, ...(asGet && { method: 'GET', body: undefined }) }
}

function locate(location: string, base: URL): URL {
  // Headers are read as Latin-1; addresses that are not ASCII are sent as UTF-8.
  const url = URL.parse(Buffer.from(location, 'latin1').toString(), base.href)
  if (url) return url
  throw unreachable(base.host, 'it redirects to an address that is not valid')
}

type Decoder = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

const unzip: Decoder = promisify(gunzip)
const inflateFramed: Decoder = promisify(inflate)
const inflateBare: Decoder = promisify(inflateRaw)

const codings = new Map<string, Decoder>([
  ['gzip', unzip],
  ['x-gzip', unzip],
  // Some servers leave out the frame, whose first byte ends in 8.
  ['deflate', (body, options) => (((body[0] ?? 0) & 15) === 8 ? inflateFramed : inflateBare)(body, options)],
  ['br', promisify(brotliDecompress)],
  ['zstd', promisify(zstdDecompress)],
  ['identity', async (body) => body],
])

/** What undoes a content encoding, in order; nothing when the body is to be left as it is. */
function findDecoders(encoding: string): readonly Decoder[] | undefined {
  const decoders = encoding.split(',').map((coding) => codings.get(coding.trim().toLowerCase()))
  // Nobody means more than two; a long list is work for nothing, many times over.
  return decoders.length <= 2 && decoders.every((decoder) => decoder !== undefined) ? decoders.reverse() : undefined
}

/** What a request that failed failed of, in words. */
export function explain(error: unknown, host: string): PlatformError {
  if (error instanceof PlatformError) return error
  const options = { cause: error }
  if (error instanceof Refusal) {
    const reason = `${error.message}, which an operator can allow with QM_EGRESS_ALLOW`
    return new PlatformError('EGRESS_BLOCKED', { host, reason }, options)
  }
  if (error instanceof ProxyFailure) return unreachable(host, error.message, error)
  const code = codeOf(error)
  return /^UND_ERR_(DESTROYED|CLOSED)$/.test(code)
    ? new PlatformError('SHUTTING_DOWN', {}, options)
    : unreachable(host, reasonOf(code), error)
}

/** What tells errors apart: the code, or the name of one that has no code. */
const codeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return ''
  // The one thing that `fetch` refuses by itself, and tells of in words alone.
  if (error.message === 'bad port') return 'BAD_PORT'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

const reasons: readonly (readonly [codes: RegExp, reason: string])[] = [
  [/^ECONNREFUSED$/, 'connection refused'],
  [/^BAD_PORT$/, 'its port is kept for another protocol, so that it is never called'],
  [/^(ENOTFOUND|ENODATA|EAI_NONAME|EAI_NODATA)$/, 'no such host'],
  [/^EAI_/, 'the host name could not be looked up'],
  [/^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, 'connecting took too long'],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, 'there is no way to it from here'],
  [/^(ECONNRESET|ECONNABORTED|EPIPE)$/, 'the connection broke off'],
  [/^UND_ERR_(SOCKET|RES_CONTENT_LENGTH_MISMATCH)$/, 'the connection broke off'],
  [/^(EPROTO$|ERR_SSL_)/, 'no secure connection could be made'],
  [/CERT|^UNABLE_TO_|^INVALID_(CA|PURPOSE)$|^HOSTNAME_MISMATCH$/, 'certificate not trusted'],
  [/^(HPE_|HTTPParserError$|UND_ERR_HEADERS_OVERFLOW$)/, 'the response is not valid HTTP'],
  [/^UND_ERR_(INVALID_ARG|NOT_SUPPORTED)$/, 'a header or the address is not valid'],
  [/^UND_ERR_REQ_CONTENT_LENGTH_MISMATCH$/, 'a header or the address is not valid'],
]

const reasonOf = (code: string): string => reasons.find(([codes]) => codes.test(code))?.[1] ?? 'the request failed'
