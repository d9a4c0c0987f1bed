import { existsSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import {
  type CallToolResult,
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
import { Redactor } from '../../credentials/redactor.ts'
import { secretsAt } from '../../credentials/tool-secrets.ts'
import { explain, type HttpClient } from '../../http/outbound.ts'
import { isEmpty, type JsonObject } from '../../lib/json.ts'
import type { Abilities, Round } from '../../model/asking.ts'
import type { Live } from '../../model/call.ts'
import { PlatformError } from '../../model/errors.ts'
import type { McpAddress } from '../../model/tool.ts'
import { listTools, mostPages } from './list-tools.ts'
import { Program } from './program.ts'
import { CallsInFlight, inRounds, passOn } from './questions.ts'
import { isPlain, postCall, type Session, self, sessionOf, type UpstreamCall } from './streamable.ts'

/** How long a list of tools is believed when nobody says that it changed. */
const listLifetime = 5 * 60_000
/** After this many failures in a row callers are refused at once, until it is time to try again. */
const patience = 3
/** Short, because a server that is back should be used again within a second. */
const longestPause = 500
const connectTimeout = 10_000
/** Changes that are announced within so many milliseconds are one. */
const changesWithin = 50
/** Of what a server says is wrong, so much is passed on. */
const longestReason = 1000

export interface UpstreamHealth {
  readonly state: 'unknown' | 'up' | 'down'
  readonly failures: number
  readonly error: string | null
  readonly tools: number | null
  readonly era: string | null
}

/** Who wants to know what becomes of an upstream. */
export interface Watcher {
  /** Its tools may be others. */
  changed?(): void
  /** It is given up for a while; a program may have said why, on its standard error. */
  wentDown?(error: PlatformError, said: string): void
  cameBack?(): void
}

/**
 * An MCP server that we call, with one connection for all who use it.
 *
 * It is connected on first use. A failure drops the connection, and the next call connects anew. After several failures
 * in a row it is down: callers are refused at once, and only when a pause is over does one of them try again. The list
 * of its tools is kept until the server says that it changed, the connection is made anew, or it is too old.
 */
export class Upstream {
  readonly host: string
  readonly #address: McpAddress
  readonly #http: HttpClient
  readonly #watcher: Watcher
  #connection: Promise<Client> | undefined
  /** The connection that was made, and not just begun. */
  #made: Promise<Client> | undefined
  /** The newest that was opened. */
  #client: Client | undefined
  /** The end of what a program has said beside the protocol. */
  #said = ''
  /** Of a connection that is being made, for which nobody is to wait once this is closed. */
  #opening: { close(): Promise<void> } | undefined
  readonly #sessions = new WeakMap<Client, Session>()
  /** While it is down: whether someone is trying it. */
  #trying = false
  #tools: { readonly list: Promise<readonly Tool[]>; readonly until: number } | undefined
  /** What it last listed, and when, whatever became of the connection since. */
  #listed: { readonly tools: readonly Tool[]; readonly at: number } | undefined
  #renewing: Promise<void> | undefined
  #announced: NodeJS.Timeout | undefined
  #known: number | null = null
  #failures = 0
  #pausedUntil = 0
  #lastFailure: PlatformError | null = null
  #era: string | null = null
  readonly #abilities: Abilities
  /** The server may say in an error, or a program on its standard error, what we gave it. */
  readonly #secrets: Redactor
  readonly #calls = new CallsInFlight()
  /** The same server, told that its client can be asked something: for callers who can. */
  readonly #knowing = new Map<string, Upstream>()
  #inUse = 0
  #usedAt = Date.now()

  constructor(address: McpAddress, http: HttpClient, watcher: Watcher = {}, abilities: Abilities = {}) {
    this.#address = address
    this.#abilities = abilities
    this.#secrets = new Redactor(secretsAt(address))
    this.#http = http
    this.#watcher = watcher
    this.host = address.url === undefined ? String(address.command) : new URL(address.url).host
  }

  get isProgram(): boolean {
    return this.#address.command !== undefined
  }

  /** Since when nobody has used it; undefined while someone does. */
  get idleSince(): number | undefined {
    const others = [...this.#knowing.values()].map((knowing) => knowing.idleSince)
    if (this.#inUse > 0 || others.includes(undefined)) return undefined
    return Math.max(this.#usedAt, ...(others as number[]))
  }

  /** Of its connections, the worst counts. */
  get health(): UpstreamHealth {
    const own = this.#health
    const others = [...this.#knowing.values()].map(({ health }) => health)
    const { state, failures, error } = others.reduce((a, b) => (b.failures > a.failures ? b : a), own)
    return { ...own, state, failures, error }
  }

  get #health(): UpstreamHealth {
    const isConnected = this.#connection !== undefined && this.#connection === this.#made
    const state = this.#failures >= patience ? 'down' : isConnected && this.#failures === 0 ? 'up' : 'unknown'
    return {
      state,
      failures: this.#failures,
      error: this.#lastFailure?.message ?? null,
      tools: this.#known,
      era: this.#era,
    }
  }

  /** Every tool it has, page after page. */
  tools(): Promise<readonly Tool[]> {
    if (!this.#tools || this.#tools.until < Date.now()) {
      const list = this.#use(listTools)
      const tools = { list, until: Date.now() + listLifetime }
      this.#tools = tools
      list.then(
        (all) => {
          this.#known = all.length
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
   * Lists the tools again if the list is older than that, and tells only of a list that differs. One that cannot be had
   * leaves the old one in place. Nothing is done for a server that was never listed: whoever needs it lists it.
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
    this.#known = tools.length
    this.#listed = { tools, at: Date.now() }
    this.#tools = { list: Promise.resolve(tools), until: Date.now() + listLifetime }
    if (!isDeepStrictEqual(tools, before)) this.#watcher.changed?.()
  }

  async call(call: UpstreamCall): Promise<CallToolResult> {
    const { signal, live } = call
    const knowing = live?.asking && (await this.#knowingOf(live.asking.abilities))
    if (knowing) return knowing.call(call)
    const result = await this.#use((client) => this.#ask(call, client))
    if (result === signal) throw signal.reason
    return result as CallToolResult
  }

  /** The answer; or the signal, where the caller gave up, which says nothing about the server. */
  async #ask(call: UpstreamCall, client: Client): Promise<JsonObject | AbortSignal> {
    const { signal, live } = call
    const leave = this.#calls.enter(live)
    try {
      if (!live?.asking) return await this.#send(call, undefined, client)
      return await inRounds(live.asking, (round) => this.#send(call, round, client))
    } catch (error) {
      if (signal.aborted) return signal
      throw error
    } finally {
      leave(signal.aborted)
    }
  }

  #send(call: UpstreamCall, round: Round | undefined, client: Client): Promise<JsonObject> {
    const { name, schema, input, signal, timeoutMs, live } = call
    const _meta = this.#metaOf(live)
    const params = { name, arguments: input, ...(_meta && { _meta }), ...(round as JsonObject | undefined) }
    const session = this.#sessions.get(client)
    if (session && isPlain(call, session)) {
      const onOther = (message: JsonObject) => this.#calls.within(call, () => session.onOther(message))
      return postCall(params, call, session, onOther, this.#http)
    }
    const options = {
      signal,
      timeout: timeoutMs + 1000,
      ...(live?.onProgress && { onprogress: live.onProgress }),
      ...(live?.asking && { allowInputRequired: true }),
      // Without the schema of its output, by which the answer would be judged: it is passed on as it is.
      toolDefinition: { name, inputSchema: schema as Tool['inputSchema'] },
    }
    return this.#calls.within(call, () => client.callTool(params, options) as Promise<JsonObject>)
  }

  /** A server of 2025 is told once for a connection what its client can be asked, and one of 2026 with each request. */
  async #knowingOf(abilities: Abilities): Promise<Upstream | undefined> {
    if (this.isProgram || Object.keys(this.#abilities).length > 0) return undefined
    if (this.#era === null) await this.#use(async () => {})
    if (this.#era !== 'legacy') return undefined
    const key = JSON.stringify(abilities)
    const knowing = this.#knowing.get(key) ?? new Upstream(this.#address, this.#http, {}, abilities)
    this.#knowing.set(key, knowing)
    return knowing
  }

  #metaOf(live: Live | undefined): JsonObject | undefined {
    if (this.#era !== 'modern') return isEmpty(live?.meta) ? undefined : live?.meta
    const own = {
      ...(live?.asking && { [CLIENT_CAPABILITIES_META_KEY]: live.asking.abilities as JsonObject }),
      ...(live?.logs?.level && { [LOG_LEVEL_META_KEY]: live.logs.level }),
    }
    const meta = { ...live?.meta, ...own }
    return isEmpty(meta) ? undefined : meta
  }

  async close(): Promise<void> {
    clearTimeout(this.#announced)
    const others = [...this.#knowing.values()]
    await Promise.all([this.#opening?.close(), this.#disconnect(), ...others.map((knowing) => knowing.close())])
  }

  async #disconnect(): Promise<void> {
    const connection = this.#connection
    this.#connection = undefined
    await (await connection?.catch(() => undefined))?.close().catch(() => {})
  }

  async #use<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const isDown = this.#failures >= patience
    if (isDown && (this.#trying || Date.now() < this.#pausedUntil)) {
      const { reason } = (this.#lastFailure?.details ?? {}) as { reason?: string }
      throw this.#unreachable(`it failed ${this.#failures} times in a row${reason ? `, at last: ${reason}` : ''}`)
    }
    this.#trying = isDown
    this.#inUse++
    try {
      const result = await this.#attempt(work)
      this.#answered()
      return result
    } catch (error) {
      throw this.#explain(error)
    } finally {
      if (isDown) this.#trying = false
      this.#inUse--
      this.#usedAt = Date.now()
    }
  }

  /** A server that was restarted does not know our session: what it refused for that was not done, so it is sent again. */
  async #attempt<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const reused = this.#connection !== undefined
    this.#connection ??= this.#begin()
    const connection = this.#connection
    try {
      return await work(await connection)
    } catch (error) {
      if (!breaksConnection(error)) throw error
      if (this.#connection === connection) await this.#disconnect()
      if (!reused || !wasNotDone(error)) throw error
      this.#connection ??= this.#begin()
      return work(await this.#connection)
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
      this.#said = ''
      const onSaid = (text: string) => {
        this.#said = this.#secrets.text(this.#said + text).slice(-longestReason)
      }
      return this.#open(new Program({ command, args, env: { ...inherited, ...env }, onSaid, ...(cwd && { cwd }) }))
    }
    const url = new URL(String(this.#address.url))
    // The SDK knows the headers of a connection, and not those of a call.
    const fetch: typeof globalThis.fetch = (input, init) => {
      const headers = new Headers(init?.headers)
      for (const [name, value] of Object.entries(this.#calls.headers)) headers.set(name, value)
      return this.#http.fetch(input, { ...init, headers })
    }
    const options = { fetch, requestInit: { headers: this.#address.headers ?? {} } }
    try {
      return await this.#open(new StreamableHTTPClientTransport(url, options))
    } catch (error) {
      // What the older transport answers to a POST on its event stream's address.
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
      listMaxPages: mostPages,
      listChanged: { tools: { autoRefresh: false, debounceMs: changesWithin, onChanged: () => this.#changed() } },
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
      // One that was replaced may close late.
      if (this.#client !== client) return
      this.#connection = undefined
      this.#tools = undefined
    }
    const { url, headers = {} } = this.#address
    const session = url === undefined ? undefined : sessionOf(client, url, headers)
    if (session) this.#sessions.set(client, session)
    // What was listed over another connection may be old; the one who opens the first is about to list.
    if (this.#client && this.#tools) this.#changed()
    this.#client = client
    // The SDK listens only where the server declares it, and some announce changes without that.
    if (!client.getServerCapabilities()?.tools?.listChanged) {
      client.setNotificationHandler('notifications/tools/list_changed', () => this.#announceChange())
    }
    return client
  }

  /** The next who asks what it offers asks the server. */
  refresh(): void {
    this.#listed = undefined
    this.#changed()
  }

  /** Several in a row are one. */
  #announceChange(): void {
    clearTimeout(this.#announced)
    this.#announced = setTimeout(() => this.#changed(), changesWithin).unref()
  }

  #changed(): void {
    this.#tools = undefined
    this.#watcher.changed?.()
  }

  #explain(thrown: unknown): unknown {
    const error = unwrapped(thrown)
    if (error instanceof PlatformError) return breaksConnection(error) ? this.#failed(error) : error
    if (error instanceof DOMException || (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)) {
      return this.#failed(this.#unreachable('it did not answer in time', error))
    }
    if (error instanceof SdkHttpError) {
      const reason =
        error.status === 401 || error.status === 403 ? 'it wants other credentials' : `it answered ${error.status}`
      return this.#failed(this.#protocolError(reason, error))
    }
    if (saysNonsense(error)) return this.#failed(this.#protocolError('what it answers is not MCP', error))
    const notStarted = this.isProgram && reasonNotStarted(error, this.#address)
    if (notStarted) return this.#failed(this.#unreachable(notStarted, error))
    if (isFetchFailure(error)) return this.#failed(explain(error.cause, this.host))
    if (breaksConnection(error)) {
      const isClosed = error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed
      return this.#failed(this.#unreachable(isClosed ? 'it hung up without an answer' : 'the connection failed', error))
    }
    // With an error of JSON-RPC, which is an answer.
    this.#answered()
    return this.#protocolError(this.#reasonOf(error), error)
  }

  #protocolError(reason: string, cause: unknown): PlatformError {
    return new PlatformError('TOOL_PROTOCOL_ERROR', { host: this.host, reason }, { cause })
  }

  #answered(): void {
    if (this.#failures >= patience) this.#watcher.cameBack?.()
    this.#failures = 0
    this.#lastFailure = null
  }

  #failed(error: PlatformError): PlatformError {
    this.#failures++
    this.#lastFailure = error
    if (this.#failures === patience) this.#watcher.wentDown?.(error, this.#said.trim())
    // Those that were under way together fail together, and make it no worse than one.
    if (Date.now() >= this.#pausedUntil) {
      const pause = Math.min(50 * 2 ** this.#failures, longestPause)
      this.#pausedUntil = Date.now() + pause * (0.7 + Math.random() * 0.3)
    }
    return error
  }

  #reasonOf(error: unknown): string {
    if (error instanceof SdkError && error.code === SdkErrorCode.ListPaginationExceeded) {
      return `its list of tools has more than ${mostPages} pages`
    }
    if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) {
      return 'its answer does not have the shape that MCP asks for'
    }
    if (!(error instanceof Error)) return 'it answered an error'
    return this.#secrets.text(error.message).slice(0, longestReason).toWellFormed()
  }

  #unreachable(reason: string, cause?: unknown) {
    return new PlatformError('TOOL_UNREACHABLE', { host: this.host, reason }, { cause })
  }
}

/** What is wrong with one answer, or one that did not come, says nothing about the others on the connection. */
const ofOneAnswer: ReadonlySet<string> = new Set([
  SdkErrorCode.RequestTimeout,
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.InputRequiredRoundsExceeded,
  SdkErrorCode.ListPaginationExceeded,
])

/** An error of JSON-RPC is an answer, and so is one that is too large; anything else leaves the connection in doubt. */
const breaksConnection = (error: unknown): boolean =>
  !(error instanceof Error && error.name === 'ProtocolError') &&
  !(error instanceof PlatformError && error.code === 'RESPONSE_TOO_LARGE') &&
  !(error instanceof SdkError && ofOneAnswer.has(error.code))

const wasNotDone = (error: unknown): boolean =>
  (error instanceof SdkHttpError && (error.status === 404 || error.status === 400)) ||
  (error instanceof SdkError && error.code === SdkErrorCode.NotConnected) ||
  /ECONNREFUSED/.test(String((error as { cause?: { code?: string } })?.cause?.code))

/** What failed while the SDK found out which era a server is of is in the cause. */
const unwrapped = (error: unknown): unknown =>
  error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed ? (error.cause ?? error) : error

/** Something is there, and it answers, but in another language. */
const saysNonsense = (error: unknown): boolean =>
  error instanceof SyntaxError || (error instanceof SdkError && error.code === SdkErrorCode.ClientHttpUnexpectedContent)

/** As `fetch` tells of it: the reason is in the cause. */
const isFetchFailure = (error: unknown): error is TypeError =>
  error instanceof TypeError && error.cause instanceof Error

/** Why the system did not start a program. It says the same of a folder that is not there as of a program. */
function reasonNotStarted(error: unknown, { command = '', cwd }: McpAddress): string | undefined {
  const { code, syscall } = Object(error) as NodeJS.ErrnoException
  if (!syscall?.startsWith('spawn')) return undefined
  if ((code === 'ENOENT' || code === 'ENOTDIR') && cwd !== undefined && !isFolder(cwd)) {
    return 'there is no such folder as its "cwd" says'
  }
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return /[\\/]/.test(command) ? 'there is no such program' : 'there is no such program on the PATH'
  }
  return code === 'EACCES' ? 'the user that the platform runs as may not run it' : `the program did not start (${code})`
}

const isFolder = (path: string): boolean => existsSync(`${path}/.`)
