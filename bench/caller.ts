import { connect, type Socket } from 'node:net'

/**
 * An HTTP client with one connection and one request at a time. It shares the machine with the server that it measures, so
 * it does as little as possible: an expensive client would slow down fast servers more than slow ones.
 */
class Caller {
  readonly #socket: Socket
  readonly #head: string
  #received = ''
  #waiting: { resolve: (body: string) => void; reject: (error: Error) => void } | undefined

  constructor(url: string, path: string, headers: Record<string, string>) {
    const { hostname, port, host } = new URL(url)
    const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
    this.#head = `POST ${path} HTTP/1.1\r\n${lines.join('')}content-length: `
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true })
    this.#socket.setTimeout(30_000, () => this.#socket.destroy(new Error(`${url} did not answer for 30 s`)))
    this.#socket.on('data', (part) => this.#read(part))
    this.#socket.on('error', (error) => this.#waiting?.reject(error))
    this.#socket.on('close', () => this.#waiting?.reject(new Error(`${url} closed the connection`)))
  }

  /** Sends a body. Resolves with the complete, unparsed body of the response. */
  post(body: string): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) throw new Error('the connection was closed')
      this.#waiting = { resolve, reject }
      this.#socket.write(`${this.#head}${Buffer.byteLength(body)}\r\n\r\n${body}`)
    })
  }

  close(): void {
    this.#waiting = undefined
    this.#socket.destroy()
  }

  #read(part: Buffer): void {
    this.#received += part.toString('latin1')
    const answer = this.#received
    const end = answer.indexOf('\r\n\r\n')
    if (end === -1) return
    const length = /\r\ncontent-length: *(\d+)/i.exec(answer.slice(0, end))?.[1]
    const whole = length ? answer.length >= end + 4 + Number(length) : answer.endsWith('\r\n0\r\n\r\n')
    if (!whole) return
    this.#received = ''
    const waiting = this.#waiting
    this.#waiting = undefined
    const status = answer.slice(9, 12)
    const text = answer.slice(end + 4)
    if (status.startsWith('2')) waiting?.resolve(text)
    else waiting?.reject(new Error(`unexpected status ${status}: ${text}`))
  }
}

/** A pool of callers that are used in turn, so that no connection idles until the server closes it. */
export class Callers {
  readonly #all: readonly Caller[]
  readonly #free: Caller[]

  constructor(count: number, url: string, path: string, headers: Record<string, string>) {
    this.#all = Array.from({ length: count }, () => new Caller(url, path, headers))
    this.#free = [...this.#all]
  }

  async post(body: string): Promise<string> {
    const caller = this.#free.shift()
    if (!caller) throw new Error('There are more calls than callers.')
    const answer = await caller.post(body)
    this.#free.push(caller)
    return answer
  }

  close(): void {
    for (const caller of this.#all) caller.close()
  }
}
