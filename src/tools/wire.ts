import { isIP, type Socket } from 'node:net'
import type { buildConnector } from 'undici'
import {
  defaultKeptMs,
  HeadMemory,
  type HttpRequest,
  type HttpResponse,
  printHead,
  type RequestHead,
  ResponseReader,
  WireError,
} from './http1.ts'

export interface WireRequest extends HttpRequest {
  readonly signal: AbortSignal
  /** Takes a stream of events as it comes; then the response, which comes when the stream ends, has no body. */
  onEvents?(part: Buffer): void
  /** Whether nobody waits for more events than have come. */
  hasEnough?(): boolean
}

const mostConnections = 128
const sweepMs = 1000
/** Some servers hang up after each answer and do not say so. They do it at once. */
const probationMs = 10
/** So long a stream of events of which nobody wants more has to end by itself, and leave a connection to be used again. */
const goodbyeMs = 1000

/**
 * An HTTP/1.1 client for one use: a request whose body is a string, a response that is read whole. A request waits in
 * the queue of its pool until it has a connection to itself, is sent, and ends with an answer, an error or its signal.
 */
export class Wire {
  readonly #connect: buildConnector.connector
  readonly #limit: number
  readonly #pools = new Map<string, Pool>()
  #sweeper: NodeJS.Timeout | undefined
  #closed = false

  constructor(connect: buildConnector.connector, limit: number) {
    this.#connect = connect
    this.#limit = limit
  }

  request(request: WireRequest): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new WireError('WIRE_CLOSED')
      const head = printHead(request)
      const pool = this.#poolOf(request.url, head)
      pool.take(new Exchange(request, head, this.#limit, pool, resolve, reject))
    })
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#sweeper)
    for (const pool of this.#pools.values()) pool.close()
    this.#pools.clear()
  }

  #poolOf(url: URL, { origin, host }: RequestHead): Pool {
    // A certificate is checked for the host by the name that the caller has for it.
    const name = host === undefined || url.protocol === 'http:' ? undefined : nameOf(host)
    const key = name === undefined ? origin : `${origin} ${name}`
    let pool = this.#pools.get(key)
    if (!pool) {
      pool = new Pool(this.#connect, url, name)
      this.#pools.set(key, pool)
      this.#sweeper ??= setInterval(() => this.#sweep(), sweepMs).unref()
    }
    return pool
  }

  #sweep(): void {
    const now = performance.now()
    for (const [key, pool] of this.#pools) {
      pool.sweep(now)
      if (pool.isEmpty) this.#pools.delete(key)
    }
    if (this.#pools.size > 0) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }
}

/** The name in a host header; an address is no name. */
function nameOf(host: string): string | undefined {
  const name = host.startsWith('[') ? '' : host.replace(/:.*/, '')
  return name === '' || isIP(name) !== 0 ? undefined : name
}

/** The connections to one origin, and who waits for one. */
class Pool {
  readonly #connect: buildConnector.connector
  readonly #target: buildConnector.Options
  readonly #open = new Set<Connection>()
  /** The one used last is the last, and the first to be used again, so that those too many grow old. */
  readonly #idle: Connection[] = []
  readonly #waiting = new Set<Exchange>()
  #connecting = 0
  #closed = false

  constructor(connect: buildConnector.connector, url: URL, servername: string | undefined) {
    const { host, protocol, port } = url
    const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
    this.#connect = connect
    this.#target = { host, hostname, protocol, port, ...(servername !== undefined && { servername }) }
  }

  get isEmpty(): boolean {
    return this.#open.size === 0 && this.#connecting === 0 && this.#waiting.size === 0
  }

  take(exchange: Exchange): void {
    const connection = this.#waiting.size === 0 ? this.#takeIdle() : undefined
    if (connection) connection.send(exchange)
    else {
      this.#waiting.add(exchange)
      this.#grow()
    }
  }

  leave(exchange: Exchange): void {
    this.#waiting.delete(exchange)
  }

  release(connection: Connection): void {
    const exchange = this.#next()
    if (exchange) connection.send(exchange)
    else this.#idle.push(connection)
  }

  remove(connection: Connection): void {
    this.#open.delete(connection)
    const index = this.#idle.indexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
    this.#grow()
  }

  sweep(now: number): void {
    for (const connection of this.#idle.filter(({ idleUntil }) => idleUntil <= now)) connection.close()
  }

  close(): void {
    this.#closed = true
    for (const connection of this.#open) connection.close(new WireError('WIRE_CLOSED'))
    for (const exchange of this.#waiting) exchange.fail(new WireError('WIRE_CLOSED'))
    this.#waiting.clear()
  }

  /** Makes connections for those who wait, as far as there is room. */
  #grow(): void {
    const room = mostConnections - this.#open.size - this.#connecting
    const wanted = this.#closed ? 0 : Math.min(this.#waiting.size - this.#connecting, room)
    for (let count = 0; count < wanted; count++) this.#add()
  }

  #takeIdle(): Connection | undefined {
    const now = performance.now()
    for (;;) {
      const connection = this.#idle.pop()
      if (!connection || (connection.isOpen && connection.idleUntil > now)) return connection
      connection.close()
    }
  }

  #add(): void {
    this.#connecting++
    try {
      this.#connect(this.#target, (error, socket) => {
        if (error || socket.destroyed) this.#onNoConnection(error ?? new WireError('WIRE_BROKE_OFF'))
        else this.#onConnection(socket)
      })
    } catch (error) {
      this.#onNoConnection(error)
    }
  }

  #onConnection(socket: Socket): void {
    this.#connecting--
    if (this.#closed) {
      socket.destroy()
      return
    }
    const connection = new Connection(socket, this)
    this.#open.add(connection)
    const exchange = this.#next()
    if (exchange) connection.send(exchange)
    else connection.rest(defaultKeptMs)
  }

  /** One of those who wait is told, unless as many connections are still being made. */
  #onNoConnection(error: unknown): void {
    this.#connecting--
    if (this.#waiting.size > this.#connecting) this.#next()?.fail(error)
    this.#grow()
  }

  #next(): Exchange | undefined {
    const [exchange] = this.#waiting
    if (exchange) this.#waiting.delete(exchange)
    return exchange
  }
}

const connectionOf = Symbol('the connection of a socket')

type Wired = Socket & { [connectionOf]?: Connection }

/** As large as what is read from a socket at once. */
const buffer = Buffer.allocUnsafeSlow(64 * 1024)

/**
 * How the sockets of a wire are read: all into the same memory, whose content is looked at there and then. Otherwise each
 * part would be new memory, and go through a stream, which is of no use here.
 */
export const readWire = {
  buffer,
  callback(this: Wired, size: number): boolean {
    this[connectionOf]?.read(buffer.subarray(0, size))
    return true
  },
}

/** One socket. It has one request at a time, or none. */
class Connection {
  idleUntil = 0
  readonly heads = new HeadMemory()
  readonly #socket: Socket
  readonly #pool: Pool
  #exchange: Exchange | undefined
  #sentAt = performance.now()
  /** Whether its server was seen to keep it after an answer. */
  #isKept = false
  #closed = false

  constructor(socket: Socket, pool: Pool) {
    this.#socket = socket
    this.#pool = pool
    ;(socket as Wired)[connectionOf] = this
    socket.on('end', () => this.#end())
    socket.on('error', (error) => this.close(error))
    socket.on('close', () => this.close())
  }

  get isOpen(): boolean {
    return this.#socket.writable
  }

  send(exchange: Exchange): void {
    this.#exchange = exchange
    this.#sentAt = performance.now()
    exchange.begin(this)
    const { head, isPlain } = exchange.head
    const { body = '' } = exchange.request
    this.#socket.ref()
    if (isPlain) {
      // One string is one copy and one call to the system.
      this.#socket.write(head + body, 'latin1')
      return
    }
    this.#socket.cork()
    this.#socket.write(head, 'latin1')
    this.#socket.write(body, 'utf8')
    this.#socket.uncork()
  }

  /** Has the answer to this one end soon. */
  hurry(exchange: Exchange): void {
    setTimeout(() => {
      if (this.#exchange === exchange) this.close()
    }, goodbyeMs).unref()
  }

  /**
   * Waits to be used again, for so long, without keeping the process from ending. That counts from when it was last sent
   * something: its server has counted since its answer, which a process that is busy may read much later.
   */
  rest(milliseconds: number): void {
    this.idleUntil = this.#sentAt + milliseconds
    this.#socket.unref()
    this.#pool.release(this)
  }

  close(error?: unknown): void {
    if (this.#closed) return
    this.#closed = true
    const exchange = this.#exchange
    this.#exchange = undefined
    this.#socket.destroy()
    this.#pool.remove(this)
    exchange?.fail(error ?? new WireError('WIRE_BROKE_OFF'))
  }

  read(part: Buffer): void {
    const exchange = this.#exchange
    try {
      // Where nothing was asked, it is the answer to nothing.
      if (!exchange) this.close()
      else if (exchange.reader?.read(part)) this.#finish(exchange)
    } catch (error) {
      this.close(error)
    }
  }

  #end(): void {
    const exchange = this.#exchange
    if (exchange?.reader?.end()) this.#finish(exchange)
    else this.close()
  }

  #finish(exchange: Exchange): void {
    // Whoever takes events may have had enough of them with the last.
    if (exchange !== this.#exchange) return
    this.#exchange = undefined
    const { keptMs = 0, isPromised = false } = exchange.reader ?? {}
    // A server that answers before it has read everything still takes what comes next for the rest of it.
    const isOver = exchange.head.isLast || this.#socket.writableLength > 0
    if (keptMs <= 0 || isOver) this.close()
    else if (this.#isKept || isPromised) this.rest(keptMs)
    else this.#prove(keptMs)
    exchange.succeed()
  }

  /** After its first answer it is left alone for a moment: what is sent on one that is being closed is lost. */
  #prove(keptMs: number): void {
    this.#socket.unref()
    const pass = () => {
      if (this.#closed) return
      this.#isKept = true
      this.rest(keptMs)
    }
    // What has come by then is read first, however late it is.
    setTimeout(() => setImmediate(pass), probationMs).unref()
  }
}

/** One request and its outcome. */
class Exchange {
  readonly request: WireRequest
  readonly head: RequestHead
  /** None while it waits for a connection. */
  reader: ResponseReader | undefined
  #connection: Connection | undefined
  #isHurried = false
  readonly #limit: number
  readonly #pool: Pool
  readonly #resolve: (response: HttpResponse) => void
  readonly #reject: (reason: unknown) => void

  constructor(
    request: WireRequest,
    head: RequestHead,
    limit: number,
    pool: Pool,
    resolve: (response: HttpResponse) => void,
    reject: (reason: unknown) => void,
  ) {
    this.request = request
    this.head = head
    this.#limit = limit
    this.#pool = pool
    this.#resolve = resolve
    this.#reject = reject
    request.signal.addEventListener('abort', this)
  }

  begin(connection: Connection): void {
    const { method, onEvents } = this.request
    this.#connection = connection
    const take = onEvents && ((part: Buffer) => this.#onEvents(part))
    this.reader = new ResponseReader(method, this.#limit, take, connection.heads)
  }

  /** The signal was aborted. What has been sent cannot be taken back, so its connection is given up. */
  handleEvent(): void {
    const { reason } = this.request.signal
    this.#connection?.close(reason)
    this.#pool.leave(this)
    this.fail(reason)
  }

  succeed(): void {
    this.request.signal.removeEventListener('abort', this)
    if (this.reader) this.#resolve(this.reader.response)
  }

  fail(reason: unknown): void {
    this.request.signal.removeEventListener('abort', this)
    this.#reject(reason)
  }

  #onEvents(part: Buffer): void {
    const { request } = this
    request.onEvents?.(part)
    request.signal.throwIfAborted()
    if (this.#isHurried || !request.hasEnough?.()) return
    this.#isHurried = true
    this.#connection?.hurry(this)
  }
}
