/** The HTTP service that the tools in these benchmarks call. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true,"temperature":21}'),
  )
})
server.listen(0, '127.0.0.1', () => console.log(`ready at http://127.0.0.1:${(server.address() as AddressInfo).port}`))
