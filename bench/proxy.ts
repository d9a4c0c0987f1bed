/**
 * A minimal proxy with the same libraries as the platform: receives with `node:http`, parses the JSON, renames the tool, sends
 * with `undici` and returns the response with its length. It has no authentication, permissions, validation or logging.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Dispatcher, Pool } from 'undici'

const pool = new Pool(process.argv[2] as string, { connections: 128, pipelining: 1 })
const headers = ['content-type', 'application/json', 'accept', 'application/json, text/event-stream']

class Answer implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse
  readonly #chunks: Buffer[] = []
  #status = 502

  constructor(response: ServerResponse) {
    this.#response = response
  }

  onRequestStart(): void {}

  onResponseStart(_: unknown, status: number): void {
    this.#status = status
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    const body = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks)
    this.#response
      .writeHead(this.#status, { 'content-type': 'application/json', 'content-length': body.length })
      .end(body)
  }

  onResponseError(): void {
    this.#response.writeHead(502).end()
  }
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const text = chunks.length === 1 ? (chunks[0] as Buffer).toString() : Buffer.concat(chunks).toString()
    const message = JSON.parse(text)
    if (message.method === 'tools/call') message.params.name = message.params.name.replace(/^proxied_/, '')
    const body = JSON.stringify(message)
    pool.dispatch({ path: '/', method: 'POST', headers, body }, new Answer(response))
  })
})
server.listen(0, '127.0.0.1', () => console.log(`ready at http://127.0.0.1:${(server.address() as AddressInfo).port}`))
