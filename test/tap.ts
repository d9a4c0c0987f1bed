import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A proxy that reports each request before it is forwarded and after the response. */
export interface Tap extends AsyncDisposable {
  readonly url: string
}

export async function startTap(
  target: string,
  onPassing: (moment: 'request' | 'response', body: string) => void,
): Promise<Tap> {
  const { hostname, port } = new URL(target)
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    try {
      for await (const part of request) parts.push(part)
    } catch {
      return
    }
    const body = Buffer.concat(parts)
    onPassing('request', body.toString())
    const { method, url, headers } = request
    const passed = send({ hostname, port, method, path: url, headers: { ...headers, host: `${hostname}:${port}` } })
    passed.on('error', () => response.destroy())
    passed.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    response.on('finish', () => onPassing('response', body.toString()))
    passed.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
