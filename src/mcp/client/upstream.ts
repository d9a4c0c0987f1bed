import { existsSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import {
  CLIENT_CAPABILITIES_META_KEY,
  Client,
  LOG_LEVEL_META_KEY,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Tool,
} from '@modelcontextprotocol/client'
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio'
import { z } from 'zod'
import { ConnectionNeeded } from '../../credentials/connections/authorization.ts'
import type { Redactor } from '../../credentials/redactor.ts'
import { explain, type HttpClient } from '../../http/outbound.ts'
import { backoffMs } from '../../lib/backoff.ts'
import { isEmpty, type JsonObject } from '../../lib/json.ts'
import type { Live } from '../../model/call.ts'
import type { ClientAbilities, InputRound } from '../../model/client-request.ts'
import { PlatformError } from '../../model/errors.ts'
import type { McpAddress } from './address.ts'
import { listTools, maxPages } from './list-tools.ts'
import { listOffers, type Offers } from './offers.ts'
import { Program } from './program.ts'
import { ResourceWatches } from './resource-watches.ts'
import { CallsInFlight, inRounds, passOn } from './server-requests.ts'
import { isFastPath, postCall, self, sessionOf, type UpstreamCall, type UpstreamSession } from './streamable.ts'

/** How long a list of tools is cached without a change notification. */
const listLifetime = 5 * 60_000
/** After this many consecutive failures, calls fail immediately until the next attempt. */
const failuresUntilDown = 3
/** Short, because a server should be used again within a second after it recovers. */
const longestPause = 500
const connectTimeout = 10_000
/** Change notifications are debounced by this many milliseconds. */
const changesWithin = 50
/** The maximum length of a server's error message that is passed on. */
const longestReason = 1000

export interface UpstreamHealth {
  readonly state: 'unknown' | 'up' | 'down'
  readonly failures: number
  readonly error: string | null
  readonly tools: number | null
  readonly era: string | null
}

/** A request other than a tool call. */
export interface UpstreamRequest extends Pick<UpstreamCall, 'signal' | 'timeoutMs' | 'live' | 'headers'> {
  readonly method: UpstreamMethod
  readonly params: JsonObject
}

/** What clients rely on. Everything else is passed on unchanged. */
const Result = {
  'prompts/get': z.looseObject({ messages: z.array(z.looseObject({})) }),
  'resources/read': z.looseObject({ contents: z.array(z.looseObject({ uri: z.string() })) }),
  'completion/complete': z.looseObject({ completion: z.looseObject({ values: z.array(z.string()) }) }),
}
export type UpstreamMethod = keyof typeof Result

/** Callbacks for changes of an upstream. */
export interface Watcher {
  /** The tools may have changed. */
  changed?(): void
  /** The prompts or resources may have changed. */
  offersChanged?(): void
  /** The server is down. `said` is what a program wrote to standard error. */
  wentDown?(error: PlatformError, said: string): void
  cameBack?(): void
}

/**
 * A remote MCP server, with one connection shared by all its users.
 *
 * Connects on first use. A failure drops the connection, and the next call reconnects. After several consecutive failures
 * the server is down: calls fail immediately, and after a pause a single call tries again. The list of tools is cached until
 * the server announces a change, the connection is replaced, or the list is too old.
 */
export class Upstream {
  readonly host: string
  readonly #address: McpAddress
  readonly #http: HttpClient
  readonly #watcher: Watcher
  #connection: Promise<Client> | undefined
  /** The last connection that was fully established. */
  #made: Promise<Client> | undefined
  /** The newest client that was opened. */
  #client: Client | undefined
  /** The end of what a program has written to standard error. */
  #stderr = ''
  /** The transport of a pending connection, so that `close` does not have to wait for it. */
  #opening: { close(): Promise<void> } | undefined
  readonly #sessions = new WeakMap<Client, UpstreamSession>()
  /** While the server is down: whether a call is trying it. */
  #trying = false
  #tools: { readonly list: Promise<readonly Tool[]>; readonly until: number } | undefined
  /** The last list of tools and its time. Kept when the connection is lost. */
  #listed: { readonly tools: readonly Tool[]; readonly at: number } | undefined
  /** What it offers beside tools. The last list is kept when the connection is lost. */
  #offers: { readonly list: Promise<Offers>; readonly until: number } | undefined
  #lastOffers: Offers | undefined
  readonly #watches = new ResourceWatches()
  #renewing: Promise<void> | undefined
  #announced: NodeJS.Timeout | undefined
  #toolCount: number | null = null
  #failures = 0
  #pausedUntil = 0
  #lastFailure: PlatformError | null = null
  #era: string | null = null
  readonly #abilities: ClientAbilities
  /** A server may echo credentials in an error, and a program on its standard error. */
  readonly #secrets: Pick<Redactor, 'text'>
  readonly #calls = new CallsInFlight()
  /** Separate connections that declare client capabilities, for callers that have them. */
  readonly #withAbilities = new Map<string, Upstream>()
  #inUse = 0
  #usedAt = Date.now()

  constructor(
    address: McpAddress,
    http: HttpClient,
    redactor: Pick<Redactor, 'text'>,
    watcher: Watcher = {},
    abilities: ClientAbilities = {},
  ) {
    this.#address = address
    this.#abilities = abilities
    this.#secrets = redactor
    this.#http = http
    this.#watcher = watcher
    this.host = address.url === undefined ? String(address.command) : new URL(address.url).host
  }

  get isProgram(): boolean {
    return this.#address.command !== undefined
  }

  /** When it was last used; undefined while it is in use. */
  get idleSince(): number | undefined {
    const others = [...this.#withAbilities.values()].map((other) => other.idleSince)
    if (this.#inUse > 0 || others.includes(undefined)) return undefined
    return Math.max(this.#usedAt, ...(others as number[]))
  }

  /** The health of the connection with the most failures. */
  get health(): UpstreamHealth {
    const own = this.#health
    const others = [...this.#withAbilities.values()].map(({ health }) => health)
    const { state, failures, error } = others.reduce((a, b) => (b.failures > a.failures ? b : a), own)
    return { ...own, state, failures, error }
  }

  get #health(): UpstreamHealth {
    const isConnected = this.#connection !== undefined && this.#connection === this.#made
    const state = this.#failures >= failuresUntilDown ? 'down' : isConnected && this.#failures === 0 ? 'up' : 'unknown'
    return {
      state,
      failures: this.#failures,
      error: this.#lastFailure?.message ?? null,
      tools: this.#toolCount,
      era: this.#era,
    }
  }

  /** All tools of the server, cached. */
  tools(): Promise<readonly Tool[]> {
    if (!this.#tools || this.#tools.until < Date.now()) {
      const list = this.#use(listTools)
      const tools = { list, until: Date.now() + listLifetime }
      this.#tools = tools
      list.then(
        (all) => {
          this.#toolCount = all.length
          this.#listed = { tools: all, at: Date.now() }
        },
        () => {
          if (this.#tools === tools) this.#tools = undefined
        },
      )
    }
    return this.#tools.list
  }

  /**
   * Lists the tools again if the list is older than `maxAge`, and reports a change only if the list differs. If listing
   * fails, the old list stays. Does nothing for a server that was never listed.
   */
  renew(maxAge: number): Promise<void> {
    const before = this.#listed
    if (!before || Date.now() - before.at <= maxAge) return Promise.resolve()
    this.#renewing ??= this.#renew(before.tools).finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #renew(before: readonly Tool[]): Promise<void> {
    const tools = await this.#use(listTools)
    this.#toolCount = tools.length
    this.#listed = { tools, at: Date.now() }
    this.#tools = { list: Promise.resolve(tools), until: Date.now() + listLifetime }
    if (!isDeepStrictEqual(tools, before)) this.#watcher.changed?.()
  }

  /** Its prompts, resources and templates, cached. If they cannot be listed now, the last known ones. */
  async offers(): Promise<Offers> {
    if (!this.#offers || this.#offers.until < Date.now()) {
      const offers = { list: this.#use(listOffers), until: Date.now() + listLifetime }
      this.#offers = offers
      offers.list.catch(() => {
        if (this.#offers === offers) this.#offers = undefined
      })
    }
    try {
      this.#lastOffers = await this.#offers.list
    } catch (error) {
      if (!this.#lastOffers) throw error
    }
    return this.#lastOffers
  }

  /** Calls the listener when the resource changes, until the returned function is called. */
  async watch(uri: string, listener: () => void): Promise<() => void> {
    await this.#use((client) => this.#watches.add(uri, listener, client))
    return () => this.#watches.remove(uri, listener)
  }

  get isWatched(): boolean {
    return !this.#watches.isEmpty
  }

  /** Sends a request other than a tool call, such as `prompts/get`, and returns the result unchanged. */
  request(request: UpstreamRequest): Promise<JsonObject> {
    const { method, params, signal, timeoutMs } = request
    return this.#use(async (client) => {
      this.#calls.enter(request)
      try {
        const options = { signal, timeout: timeoutMs + 1000 }
        const send = () => client.request({ method, params }, Result[method], options)
        return (await this.#calls.within(request, send)) as JsonObject
      } finally {
        this.#calls.leave(request, signal.aborted)
      }
    }, signal)
  }

  call(call: UpstreamCall): Promise<JsonObject> {
    const requester = call.live?.requester
    return requester ? this.#callWithAbilities(call, requester.abilities) : this.#callHere(call)
  }

  async #callWithAbilities(call: UpstreamCall, abilities: ClientAbilities): Promise<JsonObject> {
    const other = await this.#findWithAbilities(abilities)
    return other ? other.call(call) : this.#callHere(call)
  }

  #callHere(call: UpstreamCall): Promise<JsonObject> {
    return this.#use((client) => this.#tracked(call, client), call.signal)
  }

  async #tracked(call: UpstreamCall, client: Client): Promise<JsonObject> {
    const { signal, live } = call
    this.#calls.enter(call)
    try {
      if (!live?.requester) return await this.#send(call, undefined, client)
      return await inRounds(live.requester, (round) => this.#send(call, round, client))
    } finally {
      this.#calls.leave(call, signal.aborted)
    }
  }

  #send(call: UpstreamCall, round: InputRound | undefined, client: Client): Promise<JsonObject> {
    const { name, schema, input, signal, timeoutMs, live } = call
    const _meta = this.#metaOf(live)
    const own = { name, arguments: input }
    const params = _meta || round ? { ...own, ...(_meta && { _meta }), ...(round as JsonObject | undefined) } : own
    const session = this.#sessions.get(client)
    if (session && isFastPath(call, session)) {
      const onOther = (message: JsonObject) => this.#calls.within(call, () => session.onOther(message))
      return postCall(params, call, session, onOther, this.#http)
    }
    const options = {
      signal,
      timeout: timeoutMs + 1000,
      ...(live?.onProgress && { onprogress: live.onProgress }),
      ...(live?.requester && { allowInputRequired: true }),
      // Omits the output schema, because the SDK would validate the result against it. Results are passed on unchanged.
      toolDefinition: { name, inputSchema: schema as Tool['inputSchema'] },
    }
    return this.#calls.within(call, () => client.callTool(params, options) as Promise<JsonObject>)
  }

  /** With the 2025 protocol, client capabilities are declared once per connection. With 2026, they are in each request. */
  async #findWithAbilities(abilities: ClientAbilities): Promise<Upstream | undefined> {
    if (this.isProgram || Object.keys(this.#abilities).length > 0) return undefined
    if (this.#era === null) await this.#use(async () => {})
    if (this.#era !== 'legacy') return undefined
    const key = JSON.stringify(abilities)
    const other = this.#withAbilities.get(key) ?? new Upstream(this.#address, this.#http, this.#secrets, {}, abilities)
    this.#withAbilities.set(key, other)
    return other
  }

  #metaOf(live: Live | undefined): JsonObject | undefined {
    if (this.#era !== 'modern') return isEmpty(live?.meta) ? undefined : live?.meta
    const own = {
      ...(live?.requester && { [CLIENT_CAPABILITIES_META_KEY]: live.requester.abilities as JsonObject }),
      ...(live?.logs?.level && { [LOG_LEVEL_META_KEY]: live.logs.level }),
    }
    const meta = { ...live?.meta, ...own }
    return isEmpty(meta) ? undefined : meta
  }

  async close(): Promise<void> {
    clearTimeout(this.#announced)
    const others = [...this.#withAbilities.values()]
    await Promise.all([this.#opening?.close(), this.#disconnect(), ...others.map((other) => other.close())])
  }

  async #disconnect(): Promise<void> {
    const connection = this.#connection
    this.#connection = undefined
    await (await connection?.catch(() => undefined))?.close().catch(() => {})
  }

  /** An aborted signal means that the caller gave up. That does not count as a failure of the server. */
  async #use<T>(work: (client: Client) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const isDown = this.#failures >= failuresUntilDown
    if (isDown && (this.#trying || Date.now() < this.#pausedUntil)) {
      const { reason } = (this.#lastFailure?.details ?? {}) as { reason?: string }
      throw this.#unreachable(`it failed ${this.#failures} times in a row${reason ? `, most recently: ${reason}` : ''}`)
    }
    this.#trying = isDown
    this.#inUse++
    const reused = this.#connection !== undefined
    this.#connection ??= this.#begin()
    const connection = this.#connection
    try {
      const result = await work(await connection)
      this.#answered()
      return result
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      return await this.#recover(error, connection, reused ? work : undefined, signal)
    } finally {
      if (isDown) this.#trying = false
      this.#inUse--
      this.#usedAt = Date.now()
    }
  }

  /** A restarted server does not know the session. It rejects the request without running it, so the request is retried. */
  async #recover<T>(
    error: unknown,
    connection: Promise<Client>,
    work: ((client: Client) => Promise<T>) | undefined,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    if (breaksConnection(error) && this.#connection === connection) await this.#disconnect()
    if (!work || !breaksConnection(error) || !wasNotDone(error)) throw this.#explain(error)
    try {
      this.#connection ??= this.#begin()
      const result = await work(await this.#connection)
      this.#answered()
      return result
    } catch (again) {
      throw signal?.aborted ? signal.reason : this.#explain(again)
    }
  }

  #begin(): Promise<Client> {
    const connection = this.#calls.outside(() => this.#connect())
    connection.then(
      () => {
        this.#made = connection
      },
      () => {},
    )
    return connection
  }

  async #connect(): Promise<Client> {
    const { command, args = [], env = {}, cwd } = this.#address
    if (command !== undefined) {
      const inherited = getDefaultEnvironment()
      this.#stderr = ''
      const onSaid = (text: string) => {
        this.#stderr = this.#secrets.text(this.#stderr + text).slice(-longestReason)
      }
      return this.#open(new Program({ command, args, env: { ...inherited, ...env }, onSaid, ...(cwd && { cwd }) }))
    }
    const url = new URL(String(this.#address.url))
    // The SDK supports headers per connection, but not per call.
    const fetch: typeof globalThis.fetch = (input, init) => {
      const headers = new Headers(init?.headers)
      for (const [name, value] of Object.entries(this.#calls.headers)) headers.set(name, value)
      return this.#http.fetch(input, { ...init, headers })
    }
    const options = { fetch, requestInit: { headers: this.#address.headers ?? {} } }
    try {
      return await this.#open(new StreamableHTTPClientTransport(url, options))
    } catch (error) {
      // Servers with the older SSE transport return these for a POST to the URL of their event stream.
      if (error instanceof SdkHttpError && [400, 404, 405, 406].includes(error.status)) {
        return this.#open(new SSEClientTransport(url, options)).catch(() => {
          throw error
        })
      }
      throw error
    }
  }

  async #open(transport: StreamableHTTPClientTransport | SSEClientTransport | Program): Promise<Client> {
    const client = new Client(self, {
      capabilities: this.#abilities,
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: connectTimeout } },
      listMaxPages: maxPages,
      listChanged: {
        tools: { autoRefresh: false, debounceMs: changesWithin, onChanged: () => this.#changed() },
        prompts: { autoRefresh: false, debounceMs: changesWithin, onChanged: () => this.#offersChanged() },
        resources: { autoRefresh: false, debounceMs: changesWithin, onChanged: () => this.#offersChanged() },
      },
    })
    passOn(client, this.#abilities, this.#calls)
    this.#opening = transport
    try {
      await client.connect(transport, { timeout: connectTimeout })
    } finally {
      if (this.#opening === transport) this.#opening = undefined
    }
    this.#era = client.getProtocolEra() ?? null
    client.onclose = () => {
      // A replaced client may close late.
      if (this.#client !== client) return
      this.#connection = undefined
      this.#tools = undefined
      this.#offers = undefined
    }
    const { url, headers = {} } = this.#address
    const session = url === undefined ? undefined : sessionOf(client, url, headers)
    if (session) this.#sessions.set(client, session)
    // The list of an earlier connection may be outdated. After the first connection, the caller is about to list anyway.
    if (this.#client && this.#tools) this.#changed()
    this.#client = client
    this.#watches.attach(client)
    // The SDK listens only if the server declares `listChanged`, but some servers send changes without declaring it.
    if (!client.getServerCapabilities()?.tools?.listChanged) {
      client.setNotificationHandler('notifications/tools/list_changed', () => this.#announceChange())
    }
    return client
  }

  /** Discards the cached list, so that the next use lists the tools again. */
  refresh(): void {
    this.#listed = undefined
    this.#offersChanged()
    this.#changed()
  }

  /** Debounces change notifications. */
  #announceChange(): void {
    clearTimeout(this.#announced)
    this.#announced = setTimeout(() => this.#changed(), changesWithin).unref()
  }

  #changed(): void {
    this.#tools = undefined
    this.#watcher.changed?.()
  }

  #offersChanged(): void {
    this.#offers = undefined
    this.#watcher.offersChanged?.()
  }

  #explain(thrown: unknown): unknown {
    const error = unwrapped(thrown)
    if (error instanceof ConnectionNeeded) {
      // The server works. It has asked for an account.
      this.#answered()
      return error
    }
    if (error instanceof PlatformError) return breaksConnection(error) ? this.#failed(error) : error
    if (error instanceof DOMException || (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)) {
      return this.#failed(this.#unreachable('the request timed out', error))
    }
    if (error instanceof SdkHttpError) {
      const reason =
        error.status === 401 || error.status === 403
          ? 'it rejected the credentials'
          : `it returned status ${error.status}`
      return this.#failed(this.#protocolError(reason, error))
    }
    if (isInvalidMcp(error)) return this.#failed(this.#protocolError('its response is not valid MCP', error))
    const notStarted = this.isProgram && reasonNotStarted(error, this.#address)
    if (notStarted) return this.#failed(this.#unreachable(notStarted, error))
    if (isFetchFailure(error)) return this.#failed(explain(error.cause, this.host))
    if (breaksConnection(error)) {
      const isClosed = error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed
      return this.#failed(
        this.#unreachable(isClosed ? 'it closed the connection without a response' : 'the connection failed', error),
      )
    }
    // A JSON-RPC error is a response, so the server is up.
    this.#answered()
    return this.#protocolError(this.#reasonOf(error), error)
  }

  #protocolError(reason: string, cause: unknown): PlatformError {
    return new PlatformError('TOOL_PROTOCOL_ERROR', { host: this.host, reason }, { cause })
  }

  #answered(): void {
    if (this.#failures >= failuresUntilDown) this.#watcher.cameBack?.()
    this.#failures = 0
    this.#lastFailure = null
  }

  #failed(error: PlatformError): PlatformError {
    this.#failures++
    this.#lastFailure = error
    if (this.#failures === failuresUntilDown) this.#watcher.wentDown?.(error, this.#stderr.trim())
    // Concurrent calls fail together. They must not extend the pause more than one failure would.
    if (Date.now() >= this.#pausedUntil) {
      this.#pausedUntil = Date.now() + backoffMs(this.#failures, { firstMs: 100, maxMs: longestPause })
    }
    return error
  }

  #reasonOf(error: unknown): string {
    if (error instanceof SdkError && error.code === SdkErrorCode.ListPaginationExceeded) {
      return `its list of tools has more than ${maxPages} pages`
    }
    if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) {
      return 'its response does not match the MCP schema'
    }
    if (!(error instanceof Error)) return 'it returned an error'
    return this.#secrets.text(error.message).slice(0, longestReason).toWellFormed()
  }

  #unreachable(reason: string, cause?: unknown) {
    return new PlatformError('TOOL_UNREACHABLE', { host: this.host, reason }, { cause })
  }
}

/** Errors of a single response, or a missing one. They do not affect other requests on the connection. */
const ofOneAnswer: ReadonlySet<string> = new Set([
  SdkErrorCode.RequestTimeout,
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.InputRequiredRoundsExceeded,
  SdkErrorCode.ListPaginationExceeded,
])

/** A JSON-RPC error and a response that is too large are responses. After any other error, the connection may be broken. */
const breaksConnection = (error: unknown): boolean =>
  !(error instanceof Error && error.name === 'ProtocolError') &&
  !(error instanceof PlatformError && error.code === 'RESPONSE_TOO_LARGE') &&
  !(error instanceof SdkError && ofOneAnswer.has(error.code))

const wasNotDone = (error: unknown): boolean =>
  (error instanceof SdkHttpError && (error.status === 404 || error.status === 400)) ||
  (error instanceof SdkError && error.code === SdkErrorCode.NotConnected) ||
  /ECONNREFUSED/.test(String((error as { cause?: { code?: string } })?.cause?.code))

/** An error during the SDK's era negotiation has the actual failure as its cause. */
const unwrapped = (error: unknown): unknown =>
  error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed ? (error.cause ?? error) : error

/** The server responds, but not with valid MCP. */
const isInvalidMcp = (error: unknown): boolean =>
  error instanceof SyntaxError || (error instanceof SdkError && error.code === SdkErrorCode.ClientHttpUnexpectedContent)

/** `fetch` throws a TypeError with the reason as its cause. */
const isFetchFailure = (error: unknown): error is TypeError =>
  error instanceof TypeError && error.cause instanceof Error

/** Why a program could not be started. The system reports a missing folder in the same way as a missing program. */
function reasonNotStarted(error: unknown, { command = '', cwd }: McpAddress): string | undefined {
  const { code, syscall } = Object(error) as NodeJS.ErrnoException
  if (!syscall?.startsWith('spawn')) return undefined
  if ((code === 'ENOENT' || code === 'ENOTDIR') && cwd !== undefined && !isFolder(cwd)) {
    return 'the folder in "cwd" does not exist'
  }
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return /[\\/]/.test(command) ? 'the program was not found' : 'the program was not found on the PATH'
  }
  return code === 'EACCES'
    ? 'the user who runs the platform is not allowed to run it'
    : `the program did not start (${code})`
}

const isFolder = (path: string): boolean => existsSync(`${path}/.`)
