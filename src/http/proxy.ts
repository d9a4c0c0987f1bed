import { isIP, isIPv6 } from 'node:net'
import { buildConnector, Client, type Dispatcher, Pool } from 'undici'
import { createAddressRules, type FindObjection, Ranges } from './addresses.ts'
import { connectTimeoutMs, type Lookup, Refusal, refuseLiteral, reportResets } from './guard.ts'

// Sends outbound requests through an HTTP proxy: https with a tunnel (CONNECT), http with the absolute URL in the request.
// The proxy resolves host names, so the egress guard cannot check the address that is connected to. Instead, it checks
// literal addresses, names of metadata services, and the addresses that a name resolves to locally.

export interface ProxySettings {
  /** For http targets. */
  readonly http?: string | undefined
  /** For https targets. */
  readonly https?: string | undefined
  /** Hosts that are called directly, as in NO_PROXY. */
  readonly except?: string | undefined
}

/** Returns the proxy for an origin; undefined if it is called directly. */
export type FindProxy = (target: URL) => URL | undefined

export function createProxyRules({ http, https, except = '' }: ProxySettings): FindProxy {
  const proxies: Readonly<Record<string, URL | undefined>> = {
    'http:': http === undefined ? undefined : new URL(http),
    'https:': https === undefined ? undefined : new URL(https),
  }
  const isExcepted = readExceptions(except)
  return (target) => {
    const proxy = proxies[target.protocol]
    return proxy && !isLoopback(hostOf(target)) && !isExcepted(target) ? proxy : undefined
  }
}

const strictRules = createAddressRules({ allowLoopback: false, allow: [] })

/** Loopback means this machine. Through a proxy, it would mean the proxy's machine. */
const isLoopback = (host: string) =>
  host === 'localhost' ||
  host.endsWith('.localhost') ||
  (isIP(host) !== 0 && strictRules(host) === 'a loopback address')

/** The host of a URL for comparisons: without brackets and without a trailing dot. */
const hostOf = ({ hostname }: URL) => hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')

/** Parses NO_PROXY: `*`, names (which include their subdomains), `name:port`, addresses, ranges such as `10.0.0.0/8`. */
function readExceptions(text: string): (target: URL) => boolean {
  const entries = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
  if (entries.includes('*')) return () => true
  const isRange = (entry: string) => isIP(entry.replace(/\/\d+$/, '')) !== 0
  const ranges = new Ranges(entries.filter(isRange))
  const names = entries.filter((entry) => !isRange(entry)).map(readName)
  return (target) => {
    const host = hostOf(target)
    if (isIP(host) !== 0 && ranges.have(host)) return true
    const port = target.port || (target.protocol === 'https:' ? '443' : '80')
    return names.some(
      (entry) =>
        (entry.port === undefined || entry.port === port) && (host === entry.host || host.endsWith(`.${entry.host}`)),
    )
  }
}

function readName(entry: string): { readonly host: string; readonly port: string | undefined } {
  const [, host = '', port] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(entry) ?? []
  return { host: host.replace(/^\*?\./, '').replace(/\.$/, ''), port }
}

/** A request failed because of the proxy, not the target. */
export class ProxyFailure extends Error {}

const localLookupMs = 2000

const metadataNames = new Set(['metadata', 'metadata.google.internal', 'metadata.goog', 'instance-data'])

export type JudgeTarget = (target: URL) => Promise<Refusal | undefined>

/** Checks a target before the request goes to a proxy. A name that does not resolve locally is left to the proxy. */
export function createTargetJudge(findObjection: FindObjection, lookUp: Lookup): JudgeTarget {
  const resolve = (host: string) =>
    new Promise<readonly string[]>((done) => {
      const timer = setTimeout(() => done([]), localLookupMs).unref()
      lookUp(host, { all: true }, (error, addresses) => {
        clearTimeout(timer)
        done(error ? [] : addresses.map(({ address }) => address))
      })
    })
  return async (target) => {
    const host = hostOf(target)
    if (isIP(host) !== 0) return refuseLiteral(host, findObjection)
    if (metadataNames.has(host)) return new Refusal('it is the name of a cloud metadata service')
    // The proxy may use any of the addresses, so a single blocked one is enough to refuse.
    const objection = (await resolve(host)).map(findObjection).find((each) => each !== undefined)
    return objection === undefined ? undefined : new Refusal(`it resolves to ${objection}`)
  }
}

/** A pool of connections to an origin through a proxy. */
export function createProxiedPool(origin: string, proxy: URL, judge: JudgeTarget, options: Pool.Options): Pool {
  const target = new URL(origin)
  const connect = checkedConnector(
    target,
    judge,
    target.protocol === 'https:' ? tunnelConnector(proxy) : proxyConnector(proxy),
  )
  return target.protocol === 'https:'
    ? new Pool(origin, { ...options, connect })
    : new ForwardingPool(target, proxy, { ...options, connect })
}

function checkedConnector(
  target: URL,
  judge: JudgeTarget,
  connect: buildConnector.connector,
): buildConnector.connector {
  return (options, callback) => {
    judge(target).then(
      (refusal) => (refusal ? callback(refusal, null) : connect(options, callback)),
      (error: Error) => callback(error, null),
    )
  }
}

/** Connects to the proxy. It may have any address, because the operator configured it. */
function proxyConnector(proxy: URL): buildConnector.connector {
  const connect = buildConnector({ timeout: connectTimeoutMs, allowH2: false })
  return ({ servername: _, ...options }, callback) =>
    connect({ ...options, hostname: hostOf(proxy), host: proxy.host }, (cause, socket) => {
      if (cause) return callback(new ProxyFailure('the proxy cannot be reached', { cause }), null)
      reportResets(socket)
      return callback(null, socket)
    })
}

/** Connects to a target through a tunnel of the proxy, with TLS inside it. */
function tunnelConnector(proxy: URL): buildConnector.connector {
  const secure = buildConnector({ timeout: connectTimeoutMs, allowH2: false })
  const headers = authorizationFor(proxy)
  return (options, callback) => {
    const { hostname, port } = options
    const path = `${isIPv6(hostname) ? `[${hostname}]` : hostname}:${port || 443}`
    const client = new Client(proxy.origin, { connect: proxyConnector(proxy), headersTimeout: connectTimeoutMs })
    client.connect({ path, headers: { host: path, ...headers } }, (error, data) => {
      if (error) {
        void client.destroy()
        callback(error instanceof ProxyFailure ? error : failedTunnel(error), null)
      } else if (data.statusCode !== 200) {
        data.socket.on('error', () => {}).destroy()
        callback(refusedTunnel(data.statusCode), null)
      } else secure({ ...options, httpSocket: data.socket as never }, callback)
    })
  }
}

const failedTunnel = (cause: Error) => new ProxyFailure('the proxy did not open a tunnel', { cause })

const refusedTunnel = (status: number) =>
  new ProxyFailure(
    status === 407 ? 'the proxy requires other credentials (407)' : `the proxy refused the connection (${status})`,
  )

function authorizationFor({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {}
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }
}

/** Connections to a proxy that are used for requests to one http origin. */
class ForwardingPool extends Pool {
  readonly #origin: string
  readonly #headers: Readonly<Record<string, string>>

  constructor(target: URL, proxy: URL, options: Pool.Options) {
    super(proxy.origin, options)
    this.#origin = target.origin
    // Proxies use the URL. In case one uses the Host header instead, it has the same host.
    this.#headers = { ...authorizationFor(proxy), host: target.host }
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const headers = { ...withoutHopHeaders(options.headers), ...this.#headers }
    return super.dispatch({ ...options, path: this.#origin + options.path, headers }, handler)
  }
}

const hopHeaders = new Set(['host', 'proxy-authorization', 'proxy-connection'])

function withoutHopHeaders(headers: Dispatcher.DispatchOptions['headers']): Record<string, string> {
  const entries = Array.isArray(headers) ? inPairs(headers) : Object.entries(headers ?? {})
  return Object.fromEntries(entries.filter(([name]) => !hopHeaders.has(name.toLowerCase())))
}

const inPairs = (flat: readonly string[]): [string, string][] =>
  flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : []))
