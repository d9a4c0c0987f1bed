import { once } from 'node:events'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Reply } from './lane.ts'

/** How long a connection is kept on which nothing is asked. */
export const keepAlive = 60_000

/** The answer to a plain request, written as it goes out. */
export class PlainReply implements Reply {
  isStream = false
  isGone = false
  /** No other request is answered on the connection. */
  isLast = false
  #isOver = false
  #leaving: (() => void) | undefined
  readonly #socket: Socket
  readonly #onAnswered: (isLast: boolean) => void
  #handOn: (() => void) | undefined

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
    const handOn = this.#handOn
    this.#handOn = undefined
    handOn?.()
  }

  send(status: number, headers: Readonly<Record<string, string>>, text: string): void {
    if (headers.connection === 'close') this.isLast = true
    this.#finish(
      `${this.#head(status, { ...json, ...headers })}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    )
  }

  /** The answer of someone else, whole or as it comes. */
  async respond(answer: Response, signal: AbortSignal): Promise<void> {
    const { status, headers, body } = answer
    if (/^close$/i.test(headers.get('connection') ?? '')) this.isLast = true
    const isEvents = headers.get('content-type')?.startsWith('text/event-stream') === true
    if (!body || !isEvents) {
      const bytes = body ? await bytesOf(body, signal) : Buffer.alloc(0)
      const length = status === 204 || status === 304 ? '' : `content-length: ${bytes.length}\r\n`
      this.#finish(Buffer.concat([Buffer.from(`${this.#foreignHead(status, headers)}${length}\r\n`, 'latin1'), bytes]))
      return
    }
    if (this.isGone) return body.cancel()
    this.isStream = true
    this.#socket.write(`${this.#foreignHead(status, headers)}transfer-encoding: chunked\r\n\r\n`, 'latin1')
    const reader = body.getReader()
    signal.addEventListener('abort', () => void reader.cancel().catch(() => {}))
    for (;;) {
      const { done, value } = await reader.read()
      if (done || this.isGone) break
      // An empty chunk would be the last one.
      if (value.length === 0) continue
      this.#socket.write(Buffer.concat([Buffer.from(`${value.length.toString(16)}\r\n`), value, lineEnd]))
      if (this.#socket.writableNeedDrain) await once(this.#socket, 'drain', { signal })
    }
    this.end()
  }

  #foreignHead(status: number, headers: Headers): string {
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
    if (!headers.has('date')) text += `date: ${date()}\r\n`
    for (const [name, value] of headers) if (!framing.has(name)) text += `${name}: ${value}\r\n`
    return text + (this.isLast ? closing : lasting)
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

  #finish(last: string | Buffer): void {
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

const framing = new Set(['connection', 'keep-alive', 'content-length', 'transfer-encoding', 'trailer'])

async function bytesOf(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<Buffer> {
  const reader = body.getReader()
  signal.addEventListener('abort', () => void reader.cancel().catch(() => {}))
  const parts: Uint8Array[] = []
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return Buffer.concat(parts)
    parts.push(value)
  }
}

const lineEnd = Buffer.from('\r\n')

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
