import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'

export interface TestProxy extends AsyncDisposable {
  readonly url: string
  /** `GET http://…` for forwarded requests and `CONNECT host:port` for tunnels, in order. */
  readonly requests: string[]
  /** The `proxy-authorization` headers. */
  readonly credentials: (string | undefined)[]
  readonly ports: Set<number | undefined>
}

/** An HTTP proxy on loopback that resolves every host name to 127.0.0.1, or refuses everything with a status. */
export async function startProxy(refusal?: number): Promise<TestProxy> {
  const requests: string[] = []
  const credentials: (string | undefined)[] = []
  const ports = new Set<number | undefined>()
  const server = createServer(async (request, response) => {
    requests.push(`${request.method} ${request.url}`)
    credentials.push(request.headers['proxy-authorization'])
    ports.add(request.socket.remotePort)
    const { port, pathname, search } = new URL(request.url ?? '')
    const { 'proxy-authorization': _, connection: _own, ...headers } = request.headers
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const answer = await fetch(`http://127.0.0.1:${port}${pathname}${search}`, {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      redirect: 'manual',
      ...(parts.length > 0 && { body: Buffer.concat(parts) }),
    })
    const kept = [...answer.headers].filter(([name]) => !/^(connection|keep-alive|transfer-encoding)$/.test(name))
    response.writeHead(answer.status, Object.fromEntries(kept))
    response.flushHeaders()
    // An event stream does not end by itself, so each chunk is forwarded as it arrives.
    try {
      for await (const part of answer.body ?? []) response.write(part)
      response.end()
    } catch {
      response.destroy()
    }
  })
  server.on('connect', (request, socket) => {
    requests.push(`CONNECT ${request.url}`)
    credentials.push(request.headers['proxy-authorization'])
    socket.on('error', () => {})
    if (refusal) {
      socket.end(`HTTP/1.1 ${refusal} No\r\ncontent-length: 0\r\n\r\n`)
      return
    }
    const target = connect(Number(request.url?.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(target).pipe(socket)
    })
    target.on('error', () => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    credentials,
    ports,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
