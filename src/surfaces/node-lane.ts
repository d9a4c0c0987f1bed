import type { IncomingMessage, ServerResponse } from 'node:http'
import { findServe, type Head, type Lane, type Reply } from './lane.ts'
import { isPlain, isPlainPath, mostHeaders } from './plain-head.ts'

/**
 * The lanes on a connection that Node has, because something came on it that was not plain, as a GET is not: what is plain
 * goes by them all the same. False where no lane takes the request.
 */
export function takeLane(
  request: IncomingMessage,
  response: ServerResponse,
  lanes: readonly Lane[],
  longWay: () => void,
): boolean {
  const head = headOf(request)
  const serve = head && findServe(head, lanes)
  if (!serve) return false
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const body = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
    parts.length = 0
    // The long way finds the body there, since it cannot be read twice.
    const handOn = () => {
      Object.assign(request, { rawBody: body })
      longWay()
    }
    serve(body, new NodeReply(response, handOn))
  })
  // Who leaves in the middle of a request gets no answer.
  request.on('error', () => response.destroy())
  return true
}

function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): Head | undefined {
  if (method !== 'POST' || httpVersion !== '1.1' || !isPlainPath(url) || rawHeaders.length > 2 * mostHeaders)
    return undefined
  const headers: Record<string, string> = Object.create(null)
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    if (name in headers) return undefined
    headers[name] = rawHeaders[at + 1] ?? ''
  }
  return isPlain(headers) ? { path: url, headers } : undefined
}

class NodeReply implements Reply {
  isStream = false
  readonly #response: ServerResponse
  readonly handOn: () => void

  constructor(response: ServerResponse, handOn: () => void) {
    this.#response = response
    this.handOn = handOn
  }

  get isGone(): boolean {
    return this.#response.destroyed
  }

  onGone(leave: () => void): void {
    this.#response.once('close', () => {
      if (!this.#response.writableEnded) leave()
    })
  }

  send(status: number, headers: Readonly<Record<string, string>>, text: string): void {
    if (this.#isOver) return
    const length = Buffer.byteLength(text)
    this.#response
      .writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers })
      .end(text)
  }

  say(text: string): void {
    if (this.#isOver) return
    if (!this.isStream) {
      this.isStream = true
      this.#response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' })
    }
    this.#response.write(text)
  }

  end(text?: string): void {
    if (!this.#isOver) this.#response.end(text)
  }

  get #isOver(): boolean {
    return this.isGone || this.#response.writableEnded
  }
}
