/** The least that can stand between a caller and a service: a request in, a request out, an answer back. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'

const pool = new Pool(process.argv[2] as string, { connections: 128 })
const server = createServer(async (incoming, answer) => {
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part)
  const response = await pool.request({
    path: '/',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: Buffer.concat(parts),
  })
  const text = await response.body.text()
  answer.writeHead(response.statusCode, { 'content-type': 'application/json' }).end(text)
})
server.listen(0, '127.0.0.1', () => console.log(`ready at http://127.0.0.1:${(server.address() as AddressInfo).port}`))
