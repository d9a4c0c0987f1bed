import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Hono } from 'hono'
import type { Lane } from './lane.ts'

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
  const longWay = getRequestListener(app.fetch, { overrideGlobalObjects: false })
  const connections: Connections = new Map()
  const server = createServer(
    // A caller has a minute to send its request; an answer may take as long as the slowest tool.
    { requestTimeout: 60_000, headersTimeout: 30_000, keepAliveTimeout: 60_000 },
    (request, response) => {
      connections.set(request.socket, response)
      const goOn = () => void longWay(request, response)
      if (!lanes.some((lane) => lane(request, response, goOn))) goOn()
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
  return {
    url: `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${bound}`,
    close: (seconds) => closeGently(server, connections, seconds),
  }
}

/** To listen on every address is not one that a browser can open. */
const anyAddress = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
])

/** Who sends nothing for so long while we stop has left its request half sent. */
const patience = 1000

/** A connection, and the last answer that it was asked for, if any. */
type Connections = Map<Socket, ServerResponse | undefined>

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
    const timer = setTimeout(() => server.closeAllConnections(), seconds * 1000)
    // A connection that is kept alive falls idle only once its last answer is out.
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
