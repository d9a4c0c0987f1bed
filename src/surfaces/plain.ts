import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Head, Lane, Reply, Serve } from './lane.ts'

/** A longer head is not plain. */
const longestHead = 16 * 1024
/** Nor is one with more headers: it is remembered for as long as its connection lasts, and each takes many times its length. */
const mostHeaders = 64
/** So much is held of what is sent before anyone has looked at who sends it. */
const longestBody = 256 * 1024
/** Whoever takes longer to send a request is waited for elsewhere. */
const longestWait = 5000
/** How long a connection is kept on which nothing is asked. */
export const keepAlive = 60_000

/**
 * A connection as it begins. As long as all that comes are plain requests that a lane takes, they are read and answered
 * here, for half of what Node's own way costs. With anything else the connection is handed on to Node for good, together
 * with what came: so nothing here has to know what is wrong with a request, or how to say it.
 */
export class PlainConnection {
  readonly #socket: Socket
  readonly #lanes: readonly Lane[]
  readonly #handOn: (bytes: Buffer) => void
  /** What has come of a request that is not whole, and since when; or what came before the one before was answered. */
  #part: Buffer | undefined
  #since = 0
  /** The last head, and where it led: callers send the same one with each request. */
  #head = ''
  #found: Found | undefined
  #reply: PlainReply | undefined

  constructor(socket: Socket, lanes: readonly Lane[], handOn: (bytes: Buffer) => void) {
    this.#socket = socket
    this.#lanes = lanes
    this.#handOn = handOn
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('close', this.#onClose)
    socket.on('error', this.#onError)
    socket.setTimeout(keepAlive, this.#onTimeout)
  }

  /** Closes it: at once where nobody waits for an answer, and otherwise with that. */
  close(): void {
    if (this.#reply) this.#reply.isLast = true
    // The last answer is still on its way out.
    else if (this.#socket.writableLength > 0) return
    else if (this.#part) this.#leave(this.#part)
    else this.#socket.destroy()
  }

  readonly #onData = (bytes: Buffer): void => {
    const all = this.#part ? Buffer.concat([this.#part, bytes]) : bytes
    if (this.#reply) {
      // It has its answer first, and is not listened to until then.
      this.#part = all
      this.#socket.pause()
      return
    }
    if (!this.#part) this.#since = Date.now()
    this.#read(all)
  }

  #read(bytes: Buffer): void {
    const end = bytes.indexOf('\r\n\r\n')
    const found = end < 0 || end > longestHead ? undefined : this.#find(bytes.toString('latin1', 0, end))
    const start = end + 4
    const isPart = end < 0 ? begins(bytes) : found && bytes.length < start + found.length
    if (isPart && Date.now() - this.#since < longestWait) {
      this.#part = bytes
      this.#socket.setTimeout(longestWait)
      return
    }
    if (!found || bytes.length !== start + found.length) {
      this.#leave(bytes)
      return
    }
    if (this.#part) {
      this.#part = undefined
      this.#socket.setTimeout(keepAlive)
    }
    this.#reply = new PlainReply(this.#socket, this.#onAnswered, () => this.#leave(bytes))
    found.serve(bytes.subarray(start), this.#reply)
  }

  #find(head: string): Found | undefined {
    if (head !== this.#head) {
      this.#head = head
      this.#found = findLane(head, this.#lanes)
    }
    return this.#found
  }

  /** From here on it is Node's. */
  #leave(bytes: Buffer): void {
    const early = this.#reply && this.#part
    this.#reply = undefined
    const socket = this.#socket
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('close', this.#onClose)
    socket.off('error', this.#onError)
    socket.setTimeout(0, this.#onTimeout)
    if (socket.destroyed) return
    this.#handOn(early ? Buffer.concat([bytes, early]) : bytes)
    if (early) socket.resume()
  }

  readonly #onAnswered = (isLast: boolean): void => {
    this.#reply = undefined
    if (isLast) this.#finish()
    else if (this.#socket.writableNeedDrain) {
      // Who does not take its answers is not listened to until it does, or they would pile up here.
      this.#socket.pause()
      this.#socket.once('drain', this.#listen)
    } else this.#listen()
  }

  readonly #listen = (): void => {
    const early = this.#part
    if (this.#socket.isPaused()) this.#socket.resume()
    if (!early) return
    this.#since = Date.now()
    this.#read(early)
  }

  /** Whatever was asked after the last answer is not carried out: nobody would hear of it. */
  #finish(): void {
    this.#part = undefined
    this.#socket.off('data', this.#onData)
    this.#socket.resume()
    this.#socket.end()
  }

  readonly #onEnd = (): void => {
    if (this.#part && !this.#reply) {
      // It ends in the middle of a request, which Node has the words for.
      this.#leave(this.#part)
      this.#socket.emit('end')
    } else this.#socket.end()
  }

  readonly #onClose = (): void => {
    this.#reply?.leave()
  }

  readonly #onError = (): void => {
    this.#socket.destroy()
  }

  readonly #onTimeout = (): void => {
    if (this.#reply) return
    if (this.#part && !this.#socket.writableNeedDrain) this.#leave(this.#part)
    else this.#socket.destroy()
  }
}

interface Found {
  readonly serve: Serve
  /** Of the body. */
  readonly length: number
}

function findLane(text: string, lanes: readonly Lane[]): Found | undefined {
  const head = readHead(text)
  if (!head) return undefined
  for (const lane of lanes) {
    const serve = lane(head)
    if (serve) return { serve, length: Number(head.headers['content-length']) }
  }
  return undefined
}

/** Whether it may become a plain request. One whose first line ends with a line feed alone never does. */
function begins(bytes: Buffer): boolean {
  const lineFeed = bytes.indexOf('\n')
  return (
    bytes.length <= longestHead &&
    'POST /'.startsWith(bytes.toString('latin1', 0, 6)) &&
    (lineFeed < 0 || bytes[lineFeed - 1] === carriageReturn)
  )
}

const carriageReturn = 13

const requestLine = /^POST (\/[\w/.-]*) HTTP\/1\.1$/
const token = /^[!#$%&'*+.^`|~\w-]+$/
/** Nor A0, which `trim` takes for a space, and HTTP does not: a length with one behind it is none. */
const notText = /[^\t\x20-\x7e\x80-\x9f\xa1-\xff]/

/** Undefined for one that is in any way unusual, or might be read in two ways. */
function readHead(text: string): Head | undefined {
  const [first = '', ...lines] = text.split('\r\n')
  const path = requestLine.exec(first)?.[1]
  if (path === undefined || lines.length > mostHeaders) return undefined
  const headers: Record<string, string> = Object.create(null)
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase()
    const value = line.slice(colon + 1)
    if (!token.test(name) || notText.test(value) || name in headers) return undefined
    headers[name] = value.trim()
  }
  return isPlain(headers) ? { path, headers } : undefined
}

/** A name or an address, and a port: it becomes part of addresses that are given out. */
const plainHost = /^([a-z\d._-]+|\[[a-f\d:]+\])(:([1-5]?\d{1,4}|6[0-4]\d{3}))?$/

const unusual = ['transfer-encoding', 'content-encoding', 'expect', 'upgrade', 'proxy-connection', 'trailer', 'te']

const isPlain = (headers: Record<string, string>): boolean =>
  plainHost.test(headers.host ?? '') &&
  headers['content-type'] === 'application/json' &&
  /^\d{1,6}$/.test(headers['content-length'] ?? '') &&
  Number(headers['content-length']) <= longestBody &&
  /^keep-alive$/i.test(headers.connection ?? 'keep-alive') &&
  !unusual.some((name) => name in headers)

class PlainReply implements Reply {
  isStream = false
  isGone = false
  /** No other request is answered on the connection. */
  isLast = false
  #isOver = false
  #leaving: (() => void) | undefined
  readonly #socket: Socket
  readonly #onAnswered: (isLast: boolean) => void
  readonly #handOn: () => void

  constructor(socket: Socket, onAnswered: (isLast: boolean) => void, handOn: () => void) {
    this.#socket = socket
    this.#onAnswered = onAnswered
    this.#handOn = handOn
  }

  onGone(leave: () => void): void {
    this.#leaving = leave
  }

  leave(): void {
    this.isGone = true
    this.#leaving?.()
  }

  handOn(): void {
    this.#handOn()
  }

  send(status: number, headers: Readonly<Record<string, string>>, text: string): void {
    if (headers.connection === 'close') this.isLast = true
    this.#finish(
      `${this.#head(status, { ...json, ...headers })}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    )
  }

  say(text: string): void {
    if (this.#isOver || this.isGone) return
    const head = this.isStream ? '' : `${this.#head(200, events)}transfer-encoding: chunked\r\n\r\n`
    this.isStream = true
    this.#socket.write(head + chunk(text))
  }

  end(text?: string): void {
    this.#finish(`${text === undefined ? '' : chunk(text)}0\r\n\r\n`)
  }

  #finish(last: string): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.isGone) return
    this.#socket.write(last)
    this.#onAnswered(this.isLast)
  }

  #head(status: number, headers: Readonly<Record<string, string>>): string {
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\ndate: ${date()}\r\n`
    for (const name in headers) text += `${name}: ${headers[name]}\r\n`
    return headers.connection === undefined ? `${text}${this.isLast ? closing : lasting}` : text
  }
}

const json = { 'content-type': 'application/json' }
const events = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' }
const closing = 'connection: close\r\n'
const lasting = `connection: keep-alive\r\nkeep-alive: timeout=${keepAlive / 1000}\r\n`

const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

let printed = ''
let printedAt = 0

/** A new one each second. */
function date(): string {
  const second = Math.floor(Date.now() / 1000)
  if (second !== printedAt) {
    printedAt = second
    printed = new Date(second * 1000).toUTCString()
  }
  return printed
}
