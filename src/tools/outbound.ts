import { type LookupAddress, type LookupAllOptions, lookup as lookUpInDns } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib'
import { Agent, buildConnector, Response as FetchResponse, fetch as fetchWith } from 'undici'
import { PlatformError } from '../model/errors.ts'
import { createAddressRules, type FindObjection } from './addresses.ts'
import { type HttpResponse, type Opening, openingOf, tooLarge } from './http1.ts'
import { readWire, Wire, type WireRequest } from './wire.ts'

type Lookup = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

export interface OutboundOptions {
  readonly allowLoopback: boolean
  /** Ranges like `10.0.0.0/8` that an operator allows, or the word `private` for all private ones. */
  readonly allow: readonly string[]
  readonly maxResponseBytes: number
  /** How host names become addresses; the system's way unless given. */
  readonly lookup?: Lookup
}

export type OutboundRequest = WireRequest

export type OutboundResponse = HttpResponse

const maxRedirects = 5

/**
 * The one way out to addresses that users choose. What may be called is decided where a connection is made, on the
 * address that is connected to, so neither a redirect nor a host name that changes its mind gets around it.
 */
export class Outbound {
  readonly #wire: Wire
  readonly #agent: Agent
  readonly #limit: number

  constructor(options: OutboundOptions) {
    const connector = (onread?: typeof readWire) =>
      guardedConnector(createAddressRules(options), options.lookup ?? lookUpInDns, onread)
    this.#limit = options.maxResponseBytes
    this.#wire = new Wire(connector(readWire), this.#limit)
    // The caller's signal is the time limit.
    this.#agent = new Agent({
      connect: connector(),
      connections: 128,
      allowH2: false,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  /** What many requests begin with, judged once. */
  open(url: URL, headers: Readonly<Record<string, string>>): Opening {
    checkUrl(url)
    try {
      return openingOf(url, headers)
    } catch (error) {
      throw explain(error, url.host)
    }
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

  /** For libraries that make their own requests: the same guard and limit of size, but no redirects of ours. */
  readonly fetch = (async (input, init) => {
    const response = await fetchWith(input as string, { ...(init as object), dispatcher: this.#agent })
    return response.body === null ? response : limited(response, this.#limit)
  }) as typeof fetch

  /** Ends what is still in flight with `SHUTTING_DOWN`: whoever wants calls to finish waits for them first. */
  close(): Promise<void> {
    this.#wire.close()
    return this.#agent.destroy()
  }

  async #send(request: OutboundRequest): Promise<OutboundResponse> {
    const { url, signal } = request
    signal.throwIfAborted()
    if (!request.opening) checkUrl(url)
    try {
      return await this.#wire.request(request)
    } catch (error) {
      throw signal.aborted ? signal.reason : explain(error, url.host)
    }
  }

  async #decode(response: OutboundResponse, { url, signal }: OutboundRequest): Promise<OutboundResponse> {
    const { 'content-encoding': encoding = '', 'content-length': _, ...headers } = response.headers
    const decoders = findDecoders(encoding)
    if (!decoders || response.body.length === 0) return response
    let { body } = response
    try {
      for (const decode of decoders) body = await decode(body, { maxOutputLength: this.#limit })
    } catch (cause) {
      if (codeOf(cause) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(this.#limit)
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

/** The guard's no. It does not say to which host, because the request knows that better than its connection. */
class Refusal extends Error {}

function guardedConnector(
  findObjection: FindObjection,
  lookUp: Lookup,
  onread?: typeof readWire,
): buildConnector.connector {
  const guardedLookup: LookupFunction = (hostname, options, callback) =>
    lookUp(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, [])
      const open = addresses.filter(({ address }) => findObjection(address) === undefined)
      const [first] = open
      if (!first) {
        return callback(new Refusal(`it resolves to ${findObjection(addresses[0]?.address ?? '')}`), [])
      }
      return options.all ? callback(null, open) : callback(null, first.address, first.family)
    })
  const connect = buildConnector({ lookup: guardedLookup, timeout: 10_000, allowH2: false, ...(onread && { onread }) })

  const findFault = (remoteAddress: string | undefined) => {
    // Only a connection that is closed already has no address.
    if (remoteAddress === undefined) return Object.assign(new Error('closed at once'), { code: 'ECONNRESET' })
    const objection = findObjection(remoteAddress)
    return objection === undefined ? undefined : new Refusal(`it leads to ${objection}`)
  }

  return (options, callback) => {
    // A literal address is not looked up.
    const objection = isIP(options.hostname) === 0 ? undefined : findObjection(options.hostname)
    if (objection !== undefined) {
      queueMicrotask(() => callback(new Refusal(`it is ${objection}`), null))
      return
    }
    connect(options, (error, socket) => {
      if (error) return callback(error, null)
      const fault = findFault(socket.remoteAddress)
      if (!fault) return callback(null, socket)
      socket.destroy()
      return callback(fault, null)
    })
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
  const kept = Object.entries({ ...request.opening?.headers, ...request.headers }).filter(([given]) => {
    const name = given.toLowerCase()
    return !(asGet && name.startsWith('content-')) && (!crosses || harmless.has(name))
  })
  const headers = Object.fromEntries(kept)
  return { ...request, url, headers, opening: undefined, ...(asGet && { method: 'GET', body: undefined }) }
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
  const code = codeOf(error)
  return /^(WIRE_CLOSED|UND_ERR_(DESTROYED|CLOSED))$/.test(code)
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
  [/^(ECONNRESET|ECONNABORTED|EPIPE|WIRE_BROKE_OFF)$/, 'the connection broke off'],
  [/^UND_ERR_(SOCKET|RES_CONTENT_LENGTH_MISMATCH)$/, 'the connection broke off'],
  [/^(EPROTO$|ERR_SSL_)/, 'no secure connection could be made'],
  [/CERT|^UNABLE_TO_|^INVALID_(CA|PURPOSE)$|^HOSTNAME_MISMATCH$/, 'certificate not trusted'],
  [/^(WIRE_BAD_RESPONSE$|HPE_|HTTPParserError$|UND_ERR_HEADERS_OVERFLOW$)/, 'the response is not valid HTTP'],
  [/^(WIRE_BAD_REQUEST|UND_ERR_(INVALID_ARG|NOT_SUPPORTED))$/, 'a header or the address is not valid'],
  [/^UND_ERR_REQ_CONTENT_LENGTH_MISMATCH$/, 'a header or the address is not valid'],
]

const reasonOf = (code: string): string => reasons.find(([codes]) => codes.test(code))?.[1] ?? 'the request failed'
