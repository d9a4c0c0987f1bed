import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Exchange } from './exchange.ts'
import { NodeExchange } from './node-exchange.ts'

/** A listening port that can be closed gracefully. */
export interface Listening {
  readonly url: string
  /** Stops accepting connections and resolves when the last request is answered, or after the timeout. */
  close(seconds: number): Promise<void>
}

export interface HttpServer {
  handle(exchange: Exchange): void | Promise<void>
  /** Called with the URL that it is reachable at. */
  onListening?(url: string): void
}

export async function listen(platform: HttpServer, host: string, port: number): Promise<Listening> {
  const connections: Connections = new Map()
  const server = createServer(
    // A client has five minutes to send its request, which may be what a model is still writing. A reply may take as long as
    // the slowest tool.
    { requestTimeout: 300_000, headersTimeout: 30_000, keepAliveTimeout: 60_000 },
    (request, response) => {
      connections.set(request.socket, response)
      if (namesHost(request)) void platform.handle(new NodeExchange(request, response))
      else response.writeHead(400, { 'content-type': 'text/plain' }).end('The Host header is not a valid host name.\n')
    },
  )
  server.on('connection', (socket: Socket) => {
    connections.set(socket, undefined)
    socket.once('close', () => connections.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: bound } = server.address() as AddressInfo
  const reachable = anyAddress.get(host) ?? host
  const url = `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${bound}`
  platform.onListening?.(url)
  return {
    url,
    close: (seconds) => closeGently(server, connections, seconds),
  }
}

const usualHost = /^[\w.-]*[a-z][\w.-]*(:\d{1,5})?$|^(\d{1,3}\.){3}\d{1,3}(:\d{1,5})?$/i

const namesHost = ({ headers: { host = '' } }: IncomingMessage): boolean =>
  host === '' || usualHost.test(host) || URL.canParse(`http://${host}`)

/** A browser cannot open the wildcard address. */
const anyAddress = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
])

/** On shutdown, a connection that is silent for this long in the middle of a request is closed. */
const stalledMs = 1000

/** Each connection with its latest reply. */
type Connections = Map<Socket, ServerResponse | undefined>

function closeGently(server: Server, connections: Connections, seconds: number): Promise<void> {
  const heard = new Map<Socket, { bytes: number; at: number }>()
  const isStuck = (socket: Socket, response: ServerResponse | undefined): boolean => {
    if (response && !response.writableFinished && response.req.complete) return false
    const last = heard.get(socket)
    if (last?.bytes === socket.bytesRead) return Date.now() - last.at > stalledMs
    heard.set(socket, { bytes: socket.bytesRead, at: Date.now() })
    return false
  }
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      for (const socket of connections.keys()) socket.destroy()
    }, seconds * 1000)
    // A keep-alive connection becomes idle only after its last reply has been sent.
    const idle = setInterval(() => {
      server.closeIdleConnections()
      for (const [socket, response] of connections) if (isStuck(socket, response)) socket.destroy()
    }, 50)
    server.close(() => {
      clearTimeout(timer)
      clearInterval(idle)
      resolve()
    })
  })
}
