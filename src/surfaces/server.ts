import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
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
  const server = createServer(
    // A caller has a minute to send its request; an answer may take as long as the slowest tool.
    { requestTimeout: 60_000, headersTimeout: 30_000, keepAliveTimeout: 60_000 },
    (request, response) => {
      const goOn = () => void longWay(request, response)
      if (!lanes.some((lane) => lane(request, response, goOn))) goOn()
    },
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: (seconds) => closeGently(server, seconds),
  }
}

function closeGently(server: Server, seconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), seconds * 1000)
    // A connection that is kept alive falls idle only once its last answer is out.
    const idle = setInterval(() => server.closeIdleConnections(), 50)
    server.close(() => {
      clearTimeout(timer)
      clearInterval(idle)
      resolve()
    })
  })
}
