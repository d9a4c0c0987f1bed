import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const answers: Readonly<Record<string, (input: Record<string, unknown>) => object>> = {
  '/orders': ({ number }) => ({ number, status: 'delivered', customer: 'ana@example.com' }),
  '/refund': ({ order }) => ({ refunded: order }),
  '/pay-out': ({ amount }) => ({ paid: amount }),
  '/mail': () => ({ sent: true }),
}

/** Stands in for the systems of a shop, its bank and its mail. */
export async function startServices() {
  const server = createServer(async (request, response) => {
    const parts = await Array.fromAsync(request as AsyncIterable<Buffer>)
    const input = JSON.parse(Buffer.concat(parts).toString() || '{}')
    const answer = answers[request.url ?? '']
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer?.(input) ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => new Promise((resolve) => server.close(resolve)) }
}
