import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'
import { expect, test } from 'vitest'
import { Pools } from './pools.ts'

async function serve() {
  const held: ServerResponse[] = []
  const server = createServer((request, response) => {
    if (request.url === '/hold') held.push(response)
    else response.setHeader('keep-alive', 'timeout=60').end('ok')
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    held,
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    countConnections: () =>
      new Promise<number>((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const open = (most?: number) => {
  const pools = new Pools((origin) => new Pool(origin), most)
  const get = async (owner: string, origin: string, path = '/') => {
    const { body } = await pools.get(owner, origin).request({ origin, path, method: 'GET' })
    return body.text()
  }
  return { pools, get, [Symbol.asyncDispose]: () => pools.close() }
}

test('the number of pools and idle connections is bounded for any number of owners', async () => {
  await using server = await serve()
  await using outbound = open(10)

  for (let index = 0; index < 100; index++) await outbound.get(`owner ${index}`, server.origin)

  expect(outbound.pools.size).toBe(10)
  await expect.poll(server.countConnections).toBe(10)
})

test('a pool that has been idle for long is closed, and a recently used one is kept', async () => {
  await using server = await serve()
  await using outbound = open()
  await outbound.get('one', server.origin)
  const between = performance.now()
  await outbound.get('other', server.origin)

  outbound.pools.sweep(between)

  expect(outbound.pools.size).toBe(1)
  await expect.poll(server.countConnections).toBe(1)
})

test('a removed pool finishes its requests in flight', async () => {
  await using server = await serve()
  await using outbound = open(1)
  const answer = outbound.get('one', server.origin, '/hold')
  await expect.poll(() => server.held.length).toBe(1)

  await outbound.get('other', server.origin)
  server.held[0]?.end('late')

  expect(await answer).toBe('late')
  await expect.poll(server.countConnections).toBe(1)
})
