import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { identity, trust } from '../../test/certificate.ts'
import { PlatformError } from '../model/errors.ts'
import { Outbound, type OutboundOptions, type OutboundRequest } from './outbound.ts'

const remedy = 'An operator can allow it with QM_EGRESS_ALLOW'

const limit = 100_000

const owner = { project: 'proj_1', credentials: [] }

const open = (options: Partial<OutboundOptions> = {}) => {
  const outbound = new Outbound({ allowLoopback: true, allow: [], maxResponseBytes: limit, ...options })
  return {
    get: (url: string, request: Partial<OutboundRequest> = {}) =>
      outbound.client(owner).request({
        url: new URL(url),
        method: 'GET',
        headers: {},
        signal: new AbortController().signal,
        ...request,
      }),
    [Symbol.asyncDispose]: () => outbound.close(),
  }
}

interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

async function listen(server: Server, scheme = 'http') {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    sockets,
    url: `${scheme}://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      if (server.listening) await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A loopback server that records the requests it receives. */
async function serve(answer: RequestListener) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url = '', headers } = request
    received.push({ method, url, headers, body: Buffer.concat(chunks).toString() })
    answer(request, response)
  })
  return { ...(await listen(server)), received }
}

const redirect =
  (status: number, location: string): RequestListener =>
  ({ url }, response) => {
    if (url === '/end') response.end('arrived')
    else response.writeHead(status, { location }).end()
  }

const failureOf = (answer: Promise<unknown>) =>
  answer.then(
    () => {
      throw new Error('it was answered')
    },
    (error: unknown) => {
      expect(error).toBeInstanceOf(PlatformError)
      const { code, details } = error as PlatformError
      return { code, ...details }
    },
  )

/** Records every address to which a connection was attempted. */
function watchConnections() {
  const attempted: string[] = []
  const watch = (message: unknown) => {
    const { socket } = message as { socket: Socket }
    socket.on('connectionAttempt', (address) => attempted.push(address))
  }
  subscribe('net.client.socket', watch)
  return { attempted, [Symbol.dispose]: () => unsubscribe('net.client.socket', watch) }
}

test('a request arrives as given, and its response is returned complete', async () => {
  await using server = await serve((_, response) => {
    response.writeHead(201, { 'content-type': 'text/plain', 'set-cookie': ['a=1', 'b=2'] }).end('done: ü')
  })
  await using outbound = open()

  const response = await outbound.get(`${server.url}/a%20b?c=d#e`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'k' },
    body: '{"city":"São Paulo"}',
  })

  expect(response.status).toBe(201)
  expect(response.headers).toMatchObject({ 'content-type': 'text/plain', 'set-cookie': 'a=1, b=2' })
  expect(response.body.toString()).toBe('done: ü')
  const [received] = server.received
  expect(received).toMatchObject({ method: 'POST', url: '/a%20b?c=d', body: '{"city":"São Paulo"}' })
  expect(received?.headers).toMatchObject({ host: `127.0.0.1:${server.port}`, 'x-api-key': 'k' })
  expect(received?.headers).not.toHaveProperty('accept-encoding')
})

test('a response in many chunks is returned in order, whatever its size', async () => {
  const pieces = Array.from({ length: 500 }, (_, index) => `${index};`.repeat((index % 7) + 1))
  await using server = await serve((_, response) => {
    for (const piece of pieces) response.write(piece)
    response.end()
  })
  await using outbound = open()

  const { body } = await outbound.get(server.url)

  expect(body.toString()).toBe(pieces.join(''))
})

test('fifty concurrent requests each get their own response', async () => {
  await using server = await serve(({ url }, response) => setTimeout(() => response.end(url), 5))
  await using outbound = open()
  const paths = Array.from({ length: 50 }, (_, index) => `/${index}`)

  const responses = await Promise.all(paths.map((path) => outbound.get(server.url + path)))

  expect(responses.map(({ body }) => body.toString())).toEqual(paths)
})

test('consecutive requests share connections', async () => {
  await using server = await serve((_, response) => response.end('ok'))
  await using outbound = open()

  for (let index = 0; index < 20; index++) await outbound.get(server.url)

  // A connection is briefly unavailable between two requests, so the second request may open another.
  expect(server.sockets.size).toBeLessThanOrEqual(2)
})

test.each([
  'http://127.0.0.1',
  'http://localhost',
  'http://2130706433',
  'http://0x7f.1',
  'http://0177.0.0.1',
  'http://[::ffff:127.0.0.1]',
])('loopback is blocked unless it is allowed, even as %s', async (host) => {
  await using server = await serve((_, response) => response.end('secret'))
  await using outbound = open({ allowLoopback: false })

  const failure = await failureOf(outbound.get(`${host}:${server.port}/`))

  expect(failure).toMatchObject({ code: 'EGRESS_BLOCKED', reason: expect.stringContaining('a loopback address') })
  expect(server.sockets.size).toBe(0)
})

test.each([
  ['http://169.254.169.254/latest/meta-data', '169.254.169.254', `it is a cloud metadata address. ${remedy}`],
  ['http://10.0.0.1/', '10.0.0.1', `it is a private address. ${remedy}`],
  ['http://[fd00::1]:8080/', '[fd00::1]:8080', `it is a private address. ${remedy}`],
  ['https://[64:ff9b::a00:1]/', '[64:ff9b::a00:1]', `it is a private address. ${remedy}`],
])('%s is blocked before a connection is opened, directly and as a redirect target', async (address, host, reason) => {
  await using server = await serve(redirect(302, address))
  await using outbound = open()
  using connections = watchConnections()

  const direct = await failureOf(outbound.get(address))
  const redirected = await failureOf(outbound.get(server.url))

  expect(direct).toEqual({ code: 'EGRESS_BLOCKED', host, reason })
  expect(redirected).toEqual(direct)
  expect(connections.attempted).toEqual(['127.0.0.1'])
})

test('a host name is checked at every lookup, so DNS rebinding cannot reach a blocked address', async () => {
  await using server = await serve((_, response) => response.setHeader('connection', 'close').end('ok'))
  const answers = ['127.0.0.1', '127.0.0.2']
  await using outbound = open({
    allowLoopback: false,
    allow: ['127.0.0.1'],
    lookup: (_hostname, _options, callback) => callback(null, [{ address: answers.shift() ?? '', family: 4 }]),
  })
  const url = `http://rebind.test:${server.port}/`
  using connections = watchConnections()

  const first = await outbound.get(url)
  const second = await failureOf(outbound.get(url))

  expect(first.status).toBe(200)
  const host = `rebind.test:${server.port}`
  expect(second).toEqual({ code: 'EGRESS_BLOCKED', host, reason: `it resolves to a loopback address. ${remedy}` })
  expect(connections.attempted).toEqual(['127.0.0.1'])
})

test.each(['10.0.0.1', '169.254.169.254', '::ffff:10.0.0.1', 'fd00::1', 'fe80::1%lo'])(
  'a host name that resolves to %s is blocked before a connection is opened',
  async (address) => {
    await using outbound = open({
      lookup: (_hostname, _options, callback) => callback(null, [{ address, family: address.includes(':') ? 6 : 4 }]),
    })
    using connections = watchConnections()

    const failure = await failureOf(outbound.get('https://inside.test/'))

    expect(failure).toMatchObject({ code: 'EGRESS_BLOCKED', reason: expect.stringContaining('it resolves to a') })
    expect(connections.attempted).toEqual([])
  },
)

test('only the allowed addresses of a host name are tried', async () => {
  await using server = await serve((_, response) => response.end('ok'))
  const addresses = ['127.0.0.2', '127.0.0.3', '127.0.0.1'].map((address) => ({ address, family: 4 }))
  await using outbound = open({
    allowLoopback: false,
    allow: ['127.0.0.1'],
    lookup: (_hostname, _options, callback) => callback(null, addresses),
  })
  using connections = watchConnections()

  const response = await outbound.get(`http://mixed.test:${server.port}/`)

  expect(response.body.toString()).toBe('ok')
  expect(connections.attempted).toEqual(['127.0.0.1'])
})

test('a connection that ends up at a blocked address gets no request', async () => {
  await using server = await serve((_, response) => response.end('secret'))
  await using outbound = open({ allowLoopback: false, allow: ['0.0.0.0'] })

  const failure = await failureOf(outbound.get(`http://0.0.0.0:${server.port}/`))

  expect(failure).toMatchObject({ code: 'EGRESS_BLOCKED', reason: `it connects to a loopback address. ${remedy}` })
  expect(server.received).toEqual([])
})

test('a range that the operator allows can be called', async () => {
  await using server = await serve((_, response) => response.end('ok'))
  await using outbound = open({ allowLoopback: false, allow: ['127.0.0.0/8'] })

  const response = await outbound.get(server.url)

  expect(response.body.toString()).toBe('ok')
})

test('an invalid range is refused at startup', () => {
  expect(() => open({ allow: ['10.0.0.0/99'] })).toThrow('"10.0.0.0/99" is not an address range')
})

test.each([
  ['file:///etc/passwd', 'file:', 'only http and https URLs are allowed'],
  ['ftp://example.com/', 'example.com', 'only http and https URLs are allowed'],
  ['http://user:pass@example.com/', 'example.com', 'the URL contains a user name or password'],
])('%s is blocked, directly and as a redirect target', async (address, host, reason) => {
  await using server = await serve(redirect(307, address))
  await using outbound = open()

  const direct = await failureOf(outbound.get(address))
  const redirected = await failureOf(outbound.get(server.url))

  expect(direct).toEqual({ code: 'EGRESS_BLOCKED', host, reason })
  expect(redirected).toEqual(direct)
})

test.each([
  [301, 'POST', 'GET'],
  [302, 'POST', 'GET'],
  [303, 'POST', 'GET'],
  [303, 'PUT', 'GET'],
  [307, 'POST', 'POST'],
  [308, 'POST', 'POST'],
  [301, 'PUT', 'PUT'],
  [302, 'DELETE', 'DELETE'],
  [303, 'HEAD', 'HEAD'],
  [301, 'HEAD', 'HEAD'],
])(
  'a %i response to %s is followed with %s, and the body is kept only if the method is',
  async (status, method, next) => {
    await using server = await serve(redirect(status, '/end'))
    await using outbound = open()
    const body = method === 'POST' || method === 'PUT' ? '{"a":1}' : undefined
    const headers = { 'Content-Type': 'application/json', 'content-language': 'en', 'x-own': 'kept' }

    const response = await outbound.get(`${server.url}/start`, { method, headers, body })

    expect(response.status).toBe(200)
    const [, second] = server.received
    expect(second).toMatchObject({ method: next, url: '/end', body: method === next ? (body ?? '') : '' })
    expect(second?.headers['x-own']).toBe('kept')
    expect(second?.headers['content-type']).toBe(method === next ? 'application/json' : undefined)
    expect(second?.headers['content-language']).toBe(method === next ? 'en' : undefined)
  },
)

test('credentials are not sent to another origin after a redirect, nor back again', async () => {
  await using far = await serve(({ url }, response) => {
    if (url === '/back') response.writeHead(307, { location: `${near.url}/end` })
    response.end('arrived')
  })
  await using near = await serve((request, response) => redirect(307, `${far.url}/back`)(request, response))
  await using outbound = open()
  const secrets = { Authorization: 'Bearer s', cookie: 's', 'Proxy-Authorization': 's', 'x-api-key': 's', 'x-any': 's' }
  const harmless = { accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'quartermaster' }

  const response = await outbound.get(near.url, { method: 'POST', headers: { ...secrets, ...harmless }, body: '{}' })

  expect(response.body.toString()).toBe('arrived')
  expect(near.received[0]?.headers).toMatchObject({ authorization: 'Bearer s', 'x-any': 's' })
  for (const received of [far.received[0], near.received[1]]) {
    expect(received?.headers).toMatchObject(harmless)
    expect(received).toMatchObject({ method: 'POST', body: '{}' })
    for (const name of Object.keys(secrets)) expect(received?.headers).not.toHaveProperty(name.toLowerCase())
  }
})

test('five redirects are followed, and the sixth is refused', async () => {
  await using server = await serve(({ url = '' }, response) => {
    const left = Number(url.slice(1))
    if (left > 0) response.writeHead(302, { location: `${left - 1}` })
    response.end('arrived')
  })
  await using outbound = open()

  const five = await outbound.get(`${server.url}/5`)
  const six = await failureOf(outbound.get(`${server.url}/6`))

  expect(five.body.toString()).toBe('arrived')
  expect(six).toEqual({ code: 'TOO_MANY_REDIRECTS', limit: 5 })
})

test('a redirect without a Location header is returned like any other response', async () => {
  await using server = await serve((_, response) => response.writeHead(302).end('nowhere'))
  await using outbound = open()

  const response = await outbound.get(server.url)

  expect([response.status, response.body.toString()]).toEqual([302, 'nowhere'])
})

test('a Location header may contain non-ASCII characters', async () => {
  await using server = await serve(({ url }, response) => {
    if (url === '/') response.writeHead(302, { location: Buffer.from('/é').toString('latin1') })
    response.end()
  })
  await using outbound = open()

  await outbound.get(server.url)

  expect(server.received[1]?.url).toBe('/%C3%A9')
})

test('a redirect to an invalid URL is reported as such', async () => {
  await using server = await serve(redirect(302, 'http://[nonsense'))
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url))

  expect(failure).toMatchObject({ code: 'TOOL_UNREACHABLE', reason: 'it redirects to an invalid URL' })
})

test.each([
  ['declared', { 'content-length': limit + 1 }],
  ['not declared', {}],
])('a response over the size limit is aborted if its length is %s', async (_, headers) => {
  await using server = await serve((_, response) => {
    response.writeHead(200, headers)
    response.end(Buffer.alloc(limit + 1))
  })
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url))

  expect(failure).toEqual({ code: 'RESPONSE_TOO_LARGE', limit })
})

test('an endless response is aborted at the size limit', async () => {
  await using server = await serve((_, response) => {
    const more = () => {
      while (response.write(Buffer.alloc(10_000)));
    }
    response.on('drain', more)
    more()
  })
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url))

  expect(failure).toEqual({ code: 'RESPONSE_TOO_LARGE', limit })
})

test('a response of exactly the size limit is accepted, with and without a length, uncompressed and compressed', async () => {
  const body = Buffer.alloc(limit, 'a')
  await using server = await serve(({ url }, response) => {
    if (url === '/length') response.setHeader('content-length', limit)
    if (url === '/gzip') response.setHeader('content-encoding', 'gzip').end(gzipSync(body))
    else response.end(body)
  })
  await using outbound = open()

  for (const path of ['/length', '/none', '/gzip']) {
    const response = await outbound.get(server.url + path)

    expect(response.body.equals(body)).toBe(true)
  }
})

test('a large Content-Length in the response to HEAD is not an error', async () => {
  await using server = await serve((_, response) => {
    response.writeHead(200, { 'content-length': limit * 2, 'content-encoding': 'gzip' }).end()
  })
  await using outbound = open()

  const response = await outbound.get(server.url, { method: 'HEAD' })

  expect(response.headers['content-length']).toBe(String(limit * 2))
  expect(response.body.length).toBe(0)
})

const text = 'quartermaster '.repeat(100)

test.each([
  ['gzip', gzipSync(text)],
  ['X-GZIP', gzipSync(text)],
  ['deflate', deflateSync(text)],
  ['deflate', deflateRawSync(text)],
  ['br', brotliCompressSync(text)],
  ['zstd', zstdCompressSync(text)],
  ['deflate, gzip', gzipSync(deflateSync(text))],
  ['identity', Buffer.from(text)],
])('a response encoded as %s is decoded', async (encoding, body) => {
  await using server = await serve((_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body))
  await using outbound = open()

  const response = await outbound.get(server.url)

  expect(response.body.toString()).toBe(text)
  expect(response.headers).not.toHaveProperty('content-encoding')
})

test.each(['compress', 'constructor', 'gzip, gzip, gzip'])(
  'a response with the unknown encoding "%s" is returned undecoded',
  async (encoding) => {
    await using server = await serve((_, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end('raw'),
    )
    await using outbound = open()

    const response = await outbound.get(server.url)

    expect(response.body.toString()).toBe('raw')
    expect(response.headers['content-encoding']).toBe(encoding)
  },
)

const bomb = Buffer.alloc(10_000_000)

test.each([
  ['gzip', gzipSync(bomb)],
  ['deflate', deflateSync(bomb)],
  ['br', brotliCompressSync(bomb)],
  ['zstd', zstdCompressSync(bomb)],
])('a small %s response that decompresses beyond the size limit is refused', async (encoding, body) => {
  expect(body.length).toBeLessThan(limit)
  await using server = await serve((_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body))
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url))

  expect(failure).toEqual({ code: 'RESPONSE_TOO_LARGE', limit })
})

test.each([
  ['gzip', Buffer.from('not gzip at all')],
  ['gzip', gzipSync(text).subarray(0, -10)],
  ['deflate', Buffer.from('\xff\xff', 'latin1')],
  ['br', brotliCompressSync(text).subarray(0, -10)],
  ['zstd', zstdCompressSync(text).subarray(0, -10)],
])('a corrupt %s response is reported as such', async (encoding, body) => {
  await using server = await serve((_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body))
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url))

  expect(failure).toMatchObject({ code: 'TOOL_UNREACHABLE', reason: 'the response could not be decoded' })
})

test.each([
  ['HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this', 'the connection was lost'],
  ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n', 'the connection was lost'],
  ['', 'the connection was lost'],
  ['SSH-2.0-OpenSSH_9.9\r\n', 'the response is not valid HTTP'],
  ['HTTP/1.1 200 OK\r\nno header\r\n\r\n', 'the response is not valid HTTP'],
])('a server that responds with %j and closes the connection is reported as unreachable', async (answer, reason) => {
  await using server = await listen(createTcpServer((socket) => socket.once('data', () => socket.end(answer))))
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url))

  expect(failure).toEqual({ code: 'TOOL_UNREACHABLE', host: `127.0.0.1:${server.port}`, reason })
})

test('a response with too many headers is reported as unreachable', async () => {
  await using server = await serve((_, response) => response.setHeader('x', 'x'.repeat(100_000)).end())
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url))

  expect(failure).toMatchObject({ code: 'TOOL_UNREACHABLE', reason: 'the response is not valid HTTP' })
})

test('a closed port is reported as "connection refused"', async () => {
  const gone = await serve((_, response) => response.end())
  await gone[Symbol.asyncDispose]()
  await using outbound = open()

  const failure = await failureOf(outbound.get(gone.url))

  expect(failure).toEqual({ code: 'TOOL_UNREACHABLE', host: `127.0.0.1:${gone.port}`, reason: 'connection refused' })
})

test('a host name that does not exist is reported as such, with details for the log', async () => {
  const cause = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
  await using outbound = open({ lookup: (_hostname, _options, callback) => callback(cause, []) })

  const answer = outbound.get('http://nowhere.test/')

  await expect(answer).rejects.toMatchObject({ details: { host: 'nowhere.test', reason: 'host not found' }, cause })
})

test.each<Record<string, string>>([
  { 'x-key': 'secret\r\nx-other: 1' },
  { 'x-key': 'secret €' },
  { 'bad name': 'secret' },
  { 'content-length': '99' },
])('an invalid header is reported without its value, on every attempt: %j', async (headers) => {
  await using server = await serve((_, response) => response.end('ok'))
  await using outbound = open()
  const bad = { method: 'POST', headers, body: '{}' }

  const failures = await Promise.all(Array.from({ length: 150 }, () => failureOf(outbound.get(server.url, bad))))
  const good = await outbound.get(server.url, { signal: AbortSignal.timeout(5000) })

  const reason = 'a header or the URL is not valid'
  expect(failures[0]).toEqual({ code: 'TOOL_UNREACHABLE', host: `127.0.0.1:${server.port}`, reason })
  expect(good.status).toBe(200)
  expect(server.received.length).toBe(1)
})

test.each([
  ['before it is sent', false, ''],
  ['while the answer is awaited', true, ''],
  ['while the answer is read', true, 'begun'],
])('a request that is aborted %s ends immediately with the reason of the signal', async (_, isSent, begun) => {
  await using server = await serve((_, response) => {
    if (begun) response.write(begun)
    setTimeout(() => controller.abort(reason), 50)
  })
  await using outbound = open()
  const controller = new AbortController()
  const reason = { why: 'enough' }
  if (!isSent) controller.abort(reason)

  const answer = outbound.get(server.url, { signal: controller.signal })

  await expect(answer).rejects.toBe(reason)
  expect(server.received.length).toBe(isSent ? 1 : 0)
})

test('a request that is aborted during the DNS lookup ends immediately', async () => {
  await using outbound = open({ lookup: () => {} })

  const answer = outbound.get('http://slow.test/', { signal: AbortSignal.timeout(50) })

  await expect(answer).rejects.toMatchObject({ name: 'TimeoutError' })
})

test('requests that are aborted while they wait for a connection are never sent, and do not block others', async () => {
  const held: (() => void)[] = []
  await using server = await serve(({ url }, response) => {
    if (url === '/hold') held.push(() => response.end('held'))
    else response.end(url)
  })
  await using outbound = open()
  const holding = Array.from({ length: 128 }, () => outbound.get(`${server.url}/hold`))
  await expect.poll(() => held.length).toBe(128)

  const given = { signal: AbortSignal.timeout(20) }
  const impatient = await Promise.allSettled(Array.from({ length: 200 }, () => outbound.get(`${server.url}/no`, given)))
  const patient = Array.from({ length: 200 }, () => outbound.get(`${server.url}/yes`))
  for (const release of held) release()
  const answers = await Promise.all([...holding, ...patient])

  expect(impatient.every(({ status }) => status === 'rejected')).toBe(true)
  expect(answers.every(({ status }) => status === 200)).toBe(true)
  expect(server.received.filter(({ url }) => url === '/no')).toEqual([])
  expect(server.sockets.size).toBe(128)
})

test('requests in flight at shutdown fail with "the platform is shutting down"', async () => {
  await using server = await serve(() => {})
  const outbound = open()
  const answer = failureOf(outbound.get(server.url))
  await expect.poll(() => server.received.length).toBe(1)

  await outbound[Symbol.asyncDispose]()

  expect(await answer).toEqual({ code: 'SHUTTING_DOWN' })
  expect(await failureOf(outbound.get(server.url))).toEqual({ code: 'SHUTTING_DOWN' })
})

const serveSecurely = (answer: RequestListener) => listen(createTlsServer(identity, answer), 'https')

test('a server with an untrusted certificate is refused', async () => {
  await using server = await serveSecurely((_, response) => response.end('hello'))
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url))

  expect(failure).toMatchObject({ code: 'TOOL_UNREACHABLE', reason: 'the TLS certificate is not trusted' })
})

test('a certificate for another host name is refused', async () => {
  using _ = trust()
  await using server = await serveSecurely((_, response) => response.end('hello'))
  await using outbound = open({
    lookup: (_hostname, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]),
  })

  const failure = await failureOf(outbound.get(`https://other.test:${server.port}/`))

  expect(failure).toMatchObject({ code: 'TOOL_UNREACHABLE', reason: 'the TLS certificate is not trusted' })
})

test('a server that does not support TLS is reported as such', async () => {
  await using server = await serve((_, response) => response.end('hello'))
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url.replace('http:', 'https:')))

  expect(failure).toMatchObject({ code: 'TOOL_UNREACHABLE', reason: 'the TLS handshake failed' })
})

test('https requests go through the same egress guard, and a redirect from https to http is refused', async () => {
  using _ = trust()
  await using plain = await serve((_, response) => response.end('in the open'))
  await using server = await serveSecurely(redirect(302, plain.url))
  const url = `https://localhost:${server.port}/end`
  await using outbound = open()
  await using strict = open({ allowLoopback: false })

  const answered = await outbound.get(url)
  const downgraded = await failureOf(outbound.get(server.url))
  const guarded = await failureOf(strict.get(url))

  expect(answered.body.toString()).toBe('arrived')
  const reason = 'it redirects from https to http'
  expect(downgraded).toEqual({ code: 'EGRESS_BLOCKED', host: `127.0.0.1:${plain.port}`, reason })
  expect(plain.received).toEqual([])
  expect(guarded).toMatchObject({ code: 'EGRESS_BLOCKED', reason: `it resolves to a loopback address. ${remedy}` })
})

test('TLS connections are reused, for requests and responses of any size', async () => {
  using _ = trust()
  const body = Buffer.alloc(limit, 'abc')
  await using server = await serveSecurely(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    response.end(Buffer.concat(parts))
  })
  await using outbound = open()
  const url = `https://localhost:${server.port}/`

  for (let index = 0; index < 10; index++) {
    const answered = await outbound.get(url, { method: 'POST', body: body.toString() })
    expect(answered.body.equals(body)).toBe(true)
  }
  const used = server.sockets.size
  const many = await Promise.all(Array.from({ length: 20 }, () => outbound.get(url, { method: 'POST', body: 'é' })))

  // A connection is not reused within the turn in which its response ended.
  expect(used).toBeLessThanOrEqual(2)
  expect(many.map((answered) => answered.body.toString())).toEqual(Array(20).fill('é'))
  expect(server.sockets.size).toBeLessThanOrEqual(22)
})

test('a certificate is checked against the host name that the caller used', async () => {
  using _ = trust()
  await using server = await serveSecurely(({ headers }, response) => response.end(headers.host))
  await using outbound = open()
  const url = `https://127.0.0.1:${server.port}/`

  const known = await outbound.get(url, { headers: { host: `localhost:${server.port}` } })
  const other = await failureOf(outbound.get(url, { headers: { host: 'other.test' } }))
  const odd = await failureOf(outbound.get(url, { headers: { host: 'a b/c' } }))

  expect(known.body.toString()).toBe(`localhost:${server.port}`)
  expect(other).toMatchObject({ reason: 'the TLS certificate is not trusted' })
  expect(odd).toMatchObject({ code: 'TOOL_UNREACHABLE' })
})

const fetching = (options: Partial<OutboundOptions> = {}) => {
  const outbound = new Outbound({ allowLoopback: true, allow: [], maxResponseBytes: limit, ...options })
  return { fetch: outbound.client(owner).fetch, [Symbol.asyncDispose]: () => outbound.close() }
}

test.each([
  ['declares its size', { 'content-length': String(limit + 1) }],
  ['does not', {}],
])('a fetch response over the size limit that %s is aborted', async (_, headers) => {
  await using server = await serve((_request, response) => {
    response.writeHead(200, headers).end('x'.repeat(limit + 1))
  })
  await using outbound = fetching()

  const failure = await failureOf(outbound.fetch(server.url).then((response) => response.text()))

  expect(failure).toMatchObject({ code: 'RESPONSE_TOO_LARGE' })
})

test('a fetch response within the size limit is returned with its URL, also if it is compressed', async () => {
  const text = 'x'.repeat(limit)
  await using server = await serve((_request, response) => {
    response.writeHead(201, { 'content-encoding': 'gzip', 'x-own': '1' }).end(gzipSync(text))
  })
  await using outbound = fetching()

  const response = await outbound.fetch(`${server.url}/a`)

  expect(await response.text()).toBe(text)
  expect([response.status, response.url, response.headers.get('x-own')]).toEqual([201, `${server.url}/a`, '1'])
})

test.each(['\n\n', '\r\n\r\n'])(
  'an event stream may be endless as long as no single event exceeds the size limit',
  async (end) => {
    const event = `data: ${'x'.repeat(limit / 2)}${end}`
    await using server = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
      for (let count = 0; count < 5; count++) response.write(event)
      response.end(`data: ${'x'.repeat(limit)}`)
    })
    await using outbound = fetching()

    let size = 0
    const failure = await failureOf(
      (async () => {
        const { body } = await outbound.fetch(server.url)
        for await (const chunk of body ?? []) size += chunk.length
      })(),
    )

    expect(size).toBeGreaterThanOrEqual(5 * event.length)
    expect(failure).toMatchObject({ code: 'RESPONSE_TOO_LARGE' })
  },
)
