import type { Dispatcher } from 'undici'
import { PlatformError } from '../model/errors.ts'
import type { InFlight, Reservation } from './in-flight.ts'

export interface OutboundRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
  readonly signal: AbortSignal
  /** Receives an event stream as it arrives. The response, which follows when the stream ends, then has no body. */
  onEvents?(part: Buffer): void
  /** Returns true once the caller needs no more events. */
  hasEnough?(): boolean
}

export interface OutboundResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export const tooLarge = (limit: number) => new PlatformError('RESPONSE_TOO_LARGE', { limit })

/** How long to wait for the end of an event stream that is no longer needed, so that its connection can be reused. */
const drainTimeoutMs = 1000

/**
 * A server's keep-alive timeout starts when it has sent its response. If reading the response took longer than this, the
 * server might close the connection just as it is reused, so the connection is dropped instead.
 */
const slowMs = 1000

/** Responses up to this size are not counted as bytes in flight. */
const smallBytes = 256 * 1024
/** The number of bytes that a response of unknown length reserves at a time. */
const stepBytes = 1024 * 1024

const nothing = Buffer.alloc(0)
const noHeaders: Record<string, string> = {}

export interface ResponseLimits {
  readonly project: string | undefined
  readonly maxBytes: number
  readonly inFlight: InFlight
}

/** The connection that a request is sent on. */
export interface Connection {
  drop(): void
}

/** What the caller of an exchange has handed over and waits for. */
interface Caller {
  readonly request: OutboundRequest
  readonly resolve: (response: OutboundResponse) => void
  readonly reject: (reason: unknown) => void
}

class BrokenOff extends Error {
  readonly code = 'ECONNABORTED'
}

/**
 * One request and its response. Collects the body in a dispatch handler, without a stream or a promise per chunk.
 *
 * Once it is over, it refers to nothing. V8 moves some exchanges to the old generation while they wait. There, even a dead
 * one keeps everything that it refers to alive until the next full collection: the whole call, and through it the next
 * ones. That took 80 MB.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Whether undici is done with the request. The caller may have the response before that. */
  over = false
  /** Set by the client that sends the request. */
  connection: Connection | undefined
  readonly #limits: ResponseLimits
  /** Undefined once it is over. */
  #caller: Caller | undefined
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #headers: Record<string, string> = noHeaders
  #isEvents = false
  #drainTimer: NodeJS.Timeout | undefined
  #reservation: Reservation | undefined
  #startedAt = 0
  #body: Buffer = nothing
  #size = 0

  constructor(
    request: OutboundRequest,
    limits: ResponseLimits,
    resolve: (response: OutboundResponse) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#caller = { request, resolve, reject }
    this.#limits = limits
    request.signal.addEventListener('abort', this)
  }

  /** Called when the signal is aborted. A sent request cannot be cancelled, so its connection is closed. */
  handleEvent(): void {
    this.#caller?.reject(this.#caller.request.signal.reason)
    this.#controller?.abort(new BrokenOff('aborted by the caller'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Aborting here would close a connection on which nothing has been sent; throwing only drops the request.
    if (this.#caller?.request.signal.aborted) throw new BrokenOff('aborted by the caller')
    this.#controller = controller
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) return
    this.#status = status
    this.#startedAt = performance.now()
    this.#headers = {}
    for (const name in headers) {
      const value = headers[name]
      if (value !== undefined) this.#headers[name] = typeof value === 'string' ? value : value.join(', ')
    }
    const { 'content-type': type = '', 'content-length': length } = this.#headers
    const request = this.#caller?.request
    this.#isEvents = request?.onEvents !== undefined && /^text\/event-stream\b/i.test(type)
    // Responses to HEAD and 304 declare the length of a body that they do not have.
    if (length === undefined || request?.method === 'HEAD' || status === 304) return
    const { maxBytes } = this.#limits
    if (Number(length) > maxBytes) throw tooLarge(maxBytes)
    if (Number(length) > smallBytes && !this.#isEvents) this.#reserve(controller, Number(length))
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const size = this.#size + chunk.length
    const { maxBytes } = this.#limits
    if (size > maxBytes) throw tooLarge(maxBytes)
    if (this.#isEvents) this.#takeEvents(chunk)
    else if (this.#size === 0) this.#body = chunk
    else this.#append(chunk, size)
    this.#size = size
    if (size > smallBytes && !this.#isEvents && size > (this.#reservation?.held ?? 0))
      this.#reserve(controller, stepBytes)
  }

  onResponseEnd(): void {
    if (performance.now() - this.#startedAt > slowMs) this.connection?.drop()
    const body = this.#isEvents ? nothing : this.#body.subarray(0, this.#size)
    const response = { status: this.#status, headers: this.#headers, body }
    this.#end()?.resolve(response)
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#end()?.reject(error)
  }

  /** Pauses reading the connection while too many bytes are in flight. */
  #reserve(controller: Dispatcher.DispatchController, bytes: number): void {
    const { project, inFlight } = this.#limits
    this.#reservation ??= inFlight.begin(project, () => this.over || controller.resume())
    if (!inFlight.reserve(this.#reservation, bytes)) controller.pause()
  }

  #takeEvents(chunk: Buffer): void {
    const request = this.#caller?.request
    if (!request || request.signal.aborted) return
    request.onEvents?.(chunk)
    if (this.#drainTimer || request.signal.aborted || !request.hasEnough?.()) return
    this.#drainTimer = setTimeout(
      () => this.#controller?.abort(new BrokenOff('no more events needed')),
      drainTimeoutMs,
    ).unref()
  }

  /** Grows one buffer instead of keeping a list: the chunks of a body sent byte by byte would take 100 times its size. */
  #append(chunk: Buffer, size: number): void {
    if (size > this.#body.length) {
      const declared = Number(this.#headers['content-length'] ?? 0)
      const grown = Buffer.allocUnsafeSlow(declared > 0 ? declared : Math.min(size * 2, this.#limits.maxBytes))
      this.#body.copy(grown, 0, 0, this.#size)
      this.#body = grown
    }
    chunk.copy(this.#body, this.#size)
  }

  #end(): Caller | undefined {
    const caller = this.#caller
    this.over = true
    clearTimeout(this.#drainTimer)
    if (this.#reservation) this.#limits.inFlight.end(this.#reservation)
    caller?.request.signal.removeEventListener('abort', this)
    this.#caller = undefined
    this.#controller = undefined
    this.#headers = noHeaders
    this.#body = nothing
    return caller
  }
}
