import type { Socket } from 'node:net'
import { findServe, type Head, type Lane, type Serve, whenGone } from './lane.ts'
import { isPlain, isPlainPath, mostHeaders } from './plain-head.ts'
import { keepAlive, PlainReply } from './plain-reply.ts'

/** A longer head is not plain. */
const longestHead = 16 * 1024
/** Whoever takes longer to send a request is waited for elsewhere. */
const longestWait = 5000
/** So much of what is asked before the last answer is taken in: who is not read at all is not heard when it leaves, either. */
const longestEarly = 64 * 1024
/** Longer than callers are told that a connection is kept, so that none asks in the moment in which it is closed. */
const idle = keepAlive + 1000

/** Answers everything, and more slowly. */
export type LongWay = (request: Request) => Response | Promise<Response>

/**
 * A connection as it begins. As long as all that comes are plain requests that a lane takes, they are read and answered
 * here, for half of what Node's own way costs; what the lane leaves after a look at the body is answered the long way, and
 * the connection stays. With anything else it is handed on to Node for good, together with what came: so nothing here has
 * to know what is wrong with a request, or how to say it.
 */
export class PlainConnection {
  readonly #socket: Socket
  readonly #lanes: readonly Lane[]
  readonly #longWay: LongWay
  readonly #handOn: (bytes: Buffer) => void
  /** What has come of a request that is not whole, and since when; or what came before the one before was answered. */
  #part: Buffer | undefined
  #since = 0
  /** The last head, and where it led: callers send the same one with each request. */
  #head = ''
  #found: Found | undefined
  #reply: PlainReply | undefined

  constructor(socket: Socket, lanes: readonly Lane[], longWay: LongWay, handOn: (bytes: Buffer) => void) {
    this.#socket = socket
    this.#lanes = lanes
    this.#longWay = longWay
    this.#handOn = handOn
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('close', this.#onClose)
    socket.on('error', this.#onError)
    socket.setTimeout(idle, this.#onTimeout)
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
      // It has its answer first.
      this.#part = all
      if (all.length > longestEarly) this.#socket.pause()
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
      this.#socket.setTimeout(idle)
    }
    const body = bytes.subarray(start)
    const reply = new PlainReply(this.#socket, this.#onAnswered, () => {
      const { signal } = whenGone(reply)
      void this.#goLongWay(this.#ask(found.head, body, signal), reply, signal)
    })
    this.#reply = reply
    found.serve(body, reply)
  }

  async #goLongWay(answering: Promise<Response>, reply: PlainReply, signal: AbortSignal): Promise<void> {
    try {
      await reply.respond(await answering, signal)
    } catch {
      // Half an answer is out, or nobody is there to take it.
      this.#socket.destroy()
    }
  }

  /** Apart, so that nobody holds the body for as long as the answer takes. */
  async #ask({ path, headers }: Head, body: Buffer, signal: AbortSignal): Promise<Response> {
    const stream = new ReadableStream({
      start(sent) {
        sent.enqueue(new Uint8Array(body))
        sent.close()
      },
    })
    const init = { method: 'POST', headers: headers as Record<string, string>, body: stream, signal, duplex: 'half' }
    return this.#longWay(new Request(`http://${headers.host}${path}`, init as RequestInit))
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
    const socket = this.#socket
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('close', this.#onClose)
    socket.off('error', this.#onError)
    socket.setTimeout(0, this.#onTimeout)
    if (socket.destroyed) return
    this.#handOn(bytes)
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
  readonly head: Head
  readonly serve: Serve
  /** Of the body. */
  readonly length: number
}

function findLane(text: string, lanes: readonly Lane[]): Found | undefined {
  const head = readHead(text)
  const serve = head && findServe(head, lanes)
  return serve && { head, serve, length: Number(head.headers['content-length']) }
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

const requestLine = /^POST (\S+) HTTP\/1\.1$/
const token = /^[!#$%&'*+.^`|~\w-]+$/
/** Nor A0, which `trim` takes for a space, and HTTP does not: a length with one behind it is none. */
const notText = /[^\t\x20-\x7e\x80-\x9f\xa1-\xff]/

/** Undefined for one that is in any way unusual, or might be read in two ways. */
function readHead(text: string): Head | undefined {
  const [first = '', ...lines] = text.split('\r\n')
  const path = requestLine.exec(first)?.[1]
  if (!isPlainPath(path) || lines.length > mostHeaders) return undefined
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
