import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Hono } from 'hono'
import type { Lane } from './lane.ts'
import { takeLane } from './node-lane.ts'
import { PlainConnection } from './plain.ts'
import { keepAlive } from './plain-reply.ts'

/** A port that answers, and can be closed without cutting anyone off. */
export interface Listening {
  readonly url: string
  /** Takes no new connections and resolves when the last request is answered, or when the time is up. */
  close(seconds: number): Promise<void>
}

/** What answers: everything does by way of `app`, and some requests by shorter ones. */
export interface Surface {
  readonly app: Hono
  readonly lanes: readonly Lane[]
}

export async function listen(surface: Surface, host: string, port: number): Promise<Listening> {
  const { app, lanes } = surface
  // The globals of whoever embeds the platform stay as they are.
  const longWay = getRequestListener(
    async (request, env) => {
      const answer = await app.fetch(request, env)
      // A stream may last, and nobody reads the body any more.
      Object.assign(env.incoming, { rawBody: undefined })
      return answer
    },
    { overrideGlobalObjects: false },
  )
  const connections: Connections = new Map()
  const server = createServer(
    // A caller has a minute to send its request; an answer may take as long as the slowest tool.
    { requestTimeout: 60_000, headersTimeout: 30_000, keepAliveTimeout: keepAlive },
    (request, response) => {
      connections.set(request.socket, response)
      const goOn = () => void longWay(request, response)
      if (takeLane(request, response, lanes, goOn)) return
      if (namesHost(request)) goOn()
      else response.writeHead(400, { 'content-type': 'text/plain' }).end('The Host header does not name a host.\n')
    },
  )
  // Node's own listener gets a connection when it is handed on, and with it, as if they had just come, the bytes.
  const [toNode] = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const handOn = (bytes: Buffer) => {
      connections.set(socket, undefined)
      toNode?.call(server, socket)
      socket.emit('data', bytes)
    }
    const answer = (request: Request) => app.fetch(request, { incoming: { socket } })
    connections.set(socket, new PlainConnection(socket, lanes, answer, handOn))
    socket.once('close', () => connections.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: bound } = server.address() as AddressInfo
  const reachable = anyAddress.get(host) ?? host
  return {
    url: `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${bound}`,
    close: (seconds) => closeGently(server, connections, seconds),
  }
}

/** Like `1.2.3.4.5`: whoever answers takes it for part of an address, and would find out as late as that it is none. */
const namesHost = ({ headers: { host = '' } }: IncomingMessage): boolean =>
  host === '' || URL.canParse(`http://${host}`)

/** To listen on every address is not one that a browser can open. */
const anyAddress = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
])

/** Who sends nothing for so long while we stop has left its request half sent. */
const patience = 1000

/** The connections, and of those that Node has the last answer that it was asked for, if any. */
type Connections = Map<Socket, PlainConnection | ServerResponse | undefined>

function closeGently(server: Server, connections: Connections, seconds: number): Promise<void> {
  const heard = new Map<Socket, { bytes: number; at: number }>()
  const isStuck = (socket: Socket, response: ServerResponse | undefined): boolean => {
    if (response && !response.writableFinished && response.req.complete) return false
    const last = heard.get(socket)
    if (last?.bytes === socket.bytesRead) return Date.now() - last.at > patience
    heard.set(socket, { bytes: socket.bytesRead, at: Date.now() })
    return false
  }
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      for (const socket of connections.keys()) socket.destroy()
    }, seconds * 1000)
    // A connection that is kept alive falls idle only once its last answer is out.
    const idle = setInterval(() => {
      server.closeIdleConnections()
      for (const [socket, at] of connections) {
        if (at instanceof PlainConnection) at.close()
        else if (isStuck(socket, at)) socket.destroy()
      }
    }, 50)
    server.close(() => {
      clearTimeout(timer)
      clearInterval(idle)
      resolve()
    })
  })
}
