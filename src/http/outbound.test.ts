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

const remedy = 'which an operator can allow with QM_EGRESS_ALLOW'

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

/** A loopback server that remembers what it was sent. */
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

/** The addresses to which a connection was so much as begun. */
function watchConnections() {
  const attempted: string[] = []
  const watch = (message: unknown) => {
    const { socket } = message as { socket: Socket }
    socket.on('connectionAttempt', (address) => attempted.push(address))
  }
  subscribe('net.client.socket', watch)
  return { attempted, [Symbol.dispose]: () => unsubscribe('net.client.socket', watch) }
}

test('a request arrives as it was given, and its response comes back whole', async () => {
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

test('a response of many pieces comes back in order, whatever its size', async () => {
  const pieces = Array.from({ length: 500 }, (_, index) => `${index};`.repeat((index % 7) + 1))
  await using server = await serve((_, response) => {
    for (const piece of pieces) response.write(piece)
    response.end()
  })
  await using outbound = open()

  const { body } = await outbound.get(server.url)

  expect(body.toString()).toBe(pieces.join(''))
})

test('fifty requests at once are each answered with their own response', async () => {
  await using server = await serve(({ url }, response) => setTimeout(() => response.end(url), 5))
  await using outbound = open()
  const paths = Array.from({ length: 50 }, (_, index) => `/${index}`)

  const responses = await Promise.all(paths.map((path) => outbound.get(server.url + path)))

  expect(responses.map(({ body }) => body.toString())).toEqual(paths)
})

test('requests that follow one another share connections', async () => {
  await using server = await serve((_, response) => response.end('ok'))
  await using outbound = open()

  for (let index = 0; index < 20; index++) await outbound.get(server.url)

  // A connection rests for a moment between two requests, in which the second one is made.
  expect(server.sockets.size).toBeLessThanOrEqual(2)
})

test.each([
  'http://127.0.0.1',
  'http://localhost',
  'http://2130706433',
  'http://0x7f.1',
  'http://0177.0.0.1',
  'http://[::ffff:127.0.0.1]',
])('loopback is not called unless it is allowed, not even as %s', async (host) => {
  await using server = await serve((_, response) => response.end('secret'))
  await using outbound = open({ allowLoopback: false })

  const failure = await failureOf(outbound.get(`${host}:${server.port}/`))

  expect(failure).toMatchObject({ code: 'EGRESS_BLOCKED', reason: expect.stringContaining('a loopback address') })
  expect(server.sockets.size).toBe(0)
})

test.each([
  ['http://169.254.169.254/latest/meta-data', '169.254.169.254', `it is a cloud metadata address, ${remedy}`],
  ['http://10.0.0.1/', '10.0.0.1', `it is a private address, ${remedy}`],
  ['http://[fd00::1]:8080/', '[fd00::1]:8080', `it is a private address, ${remedy}`],
  ['https://[64:ff9b::a00:1]/', '[64:ff9b::a00:1]', `it is a private address, ${remedy}`],
])('%s is refused before a connection is begun, called directly or by a redirect', async (address, host, reason) => {
  await using server = await serve(redirect(302, address))
  await using outbound = open()
  using connections = watchConnections()

  const direct = await failureOf(outbound.get(address))
  const redirected = await failureOf(outbound.get(server.url))

  expect(direct).toEqual({ code: 'EGRESS_BLOCKED', host, reason })
  expect(redirected).toEqual(direct)
  expect(connections.attempted).toEqual(['127.0.0.1'])
})

test('a host name is judged anew each time it is looked up, so it cannot turn into an address that is shut', async () => {
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
  expect(second).toEqual({ code: 'EGRESS_BLOCKED', host, reason: `it resolves to a loopback address, ${remedy}` })
  expect(connections.attempted).toEqual(['127.0.0.1'])
})

test.each(['10.0.0.1', '169.254.169.254', '::ffff:10.0.0.1', 'fd00::1', 'fe80::1%lo'])(
  'a host name that resolves to %s is refused before a connection is begun',
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

test('of the addresses of a host name only those that may be called are tried', async () => {
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

test('an allowed address that leads to one that is not allowed gets no request', async () => {
  await using server = await serve((_, response) => response.end('secret'))
  await using outbound = open({ allowLoopback: false, allow: ['0.0.0.0'] })

  const failure = await failureOf(outbound.get(`http://0.0.0.0:${server.port}/`))

  expect(failure).toMatchObject({ code: 'EGRESS_BLOCKED', reason: `it leads to a loopback address, ${remedy}` })
  expect(server.received).toEqual([])
})

test('a range that an operator allows can be called', async () => {
  await using server = await serve((_, response) => response.end('ok'))
  await using outbound = open({ allowLoopback: false, allow: ['127.0.0.0/8'] })

  const response = await outbound.get(server.url)

  expect(response.body.toString()).toBe('ok')
})

test('a range that makes no sense is refused at the start', () => {
  expect(() => open({ allow: ['10.0.0.0/99'] })).toThrow('"10.0.0.0/99" is not a range')
})

test.each([
  ['file:///etc/passwd', 'file:', 'only http and https addresses are called'],
  ['ftp://example.com/', 'example.com', 'only http and https addresses are called'],
  ['http://user:pass@example.com/', 'example.com', 'the address holds a user name or password'],
])('%s is refused, called directly or by a redirect', async (address, host, reason) => {
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
  'a %i in answer to %s is followed with %s, and the body stays only when the method does',
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

test('a redirect to another origin carries no secret there, nor back again', async () => {
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

test('five redirects are followed and a sixth is not', async () => {
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

test('a redirect that names no address is a response like any other', async () => {
  await using server = await serve((_, response) => response.writeHead(302).end('nowhere'))
  await using outbound = open()

  const response = await outbound.get(server.url)

  expect([response.status, response.body.toString()]).toEqual([302, 'nowhere'])
})

test('a redirect may name an address with letters beyond ASCII', async () => {
  await using server = await serve(({ url }, response) => {
    if (url === '/') response.writeHead(302, { location: Buffer.from('/é').toString('latin1') })
    response.end()
  })
  await using outbound = open()

  await outbound.get(server.url)

  expect(server.received[1]?.url).toBe('/%C3%A9')
})

test('a redirect to something that is no address is told as such', async () => {
  await using server = await serve(redirect(302, 'http://[nonsense'))
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url))

  expect(failure).toMatchObject({ code: 'TOOL_UNREACHABLE', reason: 'it redirects to an address that is not valid' })
})

test.each([
  ['declared', { 'content-length': limit + 1 }],
  ['not declared', {}],
])('a response that is larger than the limit is broken off, its length being %s', async (_, headers) => {
  await using server = await serve((_, response) => {
    response.writeHead(200, headers)
    response.end(Buffer.alloc(limit + 1))
  })
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url))

  expect(failure).toEqual({ code: 'RESPONSE_TOO_LARGE', limit })
})

test('a response that never ends is broken off at the limit', async () => {
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

test('a response of exactly the limit is taken, declared or not, plain or compressed', async () => {
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

test('what a HEAD request says of a large body is no reason to refuse it', async () => {
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
])('a response in %s comes back decoded', async (encoding, body) => {
  await using server = await serve((_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body))
  await using outbound = open()

  const response = await outbound.get(server.url)

  expect(response.body.toString()).toBe(text)
  expect(response.headers).not.toHaveProperty('content-encoding')
})

test.each(['compress', 'constructor', 'gzip, gzip, gzip'])(
  'a response in an encoding that is not known, as in "%s", comes back as it is',
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
])('a small response in %s that unfolds beyond the limit is refused', async (encoding, body) => {
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
])('a response in %s that is broken is told as such', async (encoding, body) => {
  await using server = await serve((_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body))
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url))

  expect(failure).toMatchObject({ code: 'TOOL_UNREACHABLE', reason: 'the response could not be decoded' })
})

test.each([
  ['HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this', 'the connection broke off'],
  ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n', 'the connection broke off'],
  ['', 'the connection broke off'],
  ['SSH-2.0-OpenSSH_9.9\r\n', 'the response is not valid HTTP'],
  ['HTTP/1.1 200 OK\r\nno header\r\n\r\n', 'the response is not valid HTTP'],
])('a server that answers %j and hangs up is told as unreachable', async (answer, reason) => {
  await using server = await listen(createTcpServer((socket) => socket.once('data', () => socket.end(answer))))
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url))

  expect(failure).toEqual({ code: 'TOOL_UNREACHABLE', host: `127.0.0.1:${server.port}`, reason })
})

test('a response with far too many headers is told as unreachable', async () => {
  await using server = await serve((_, response) => response.setHeader('x', 'x'.repeat(100_000)).end())
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url))

  expect(failure).toMatchObject({ code: 'TOOL_UNREACHABLE', reason: 'the response is not valid HTTP' })
})

test('a port where nobody listens is told as a refused connection', async () => {
  const gone = await serve((_, response) => response.end())
  await gone[Symbol.asyncDispose]()
  await using outbound = open()

  const failure = await failureOf(outbound.get(gone.url))

  expect(failure).toEqual({ code: 'TOOL_UNREACHABLE', host: `127.0.0.1:${gone.port}`, reason: 'connection refused' })
})

test('a host name that does not exist is told as such, and the log can say more', async () => {
  const cause = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
  await using outbound = open({ lookup: (_hostname, _options, callback) => callback(cause, []) })

  const answer = outbound.get('http://nowhere.test/')

  await expect(answer).rejects.toMatchObject({ details: { host: 'nowhere.test', reason: 'no such host' }, cause })
})

test.each<Record<string, string>>([
  { 'x-key': 'secret\r\nx-other: 1' },
  { 'x-key': 'secret €' },
  { 'bad name': 'secret' },
  { 'content-length': '99' },
])('a header that cannot be sent is told without its value, however often it is tried: %j', async (headers) => {
  await using server = await serve((_, response) => response.end('ok'))
  await using outbound = open()
  const bad = { method: 'POST', headers, body: '{}' }

  const failures = await Promise.all(Array.from({ length: 150 }, () => failureOf(outbound.get(server.url, bad))))
  const good = await outbound.get(server.url, { signal: AbortSignal.timeout(5000) })

  const reason = 'a header or the address is not valid'
  expect(failures[0]).toEqual({ code: 'TOOL_UNREACHABLE', host: `127.0.0.1:${server.port}`, reason })
  expect(good.status).toBe(200)
  expect(server.received.length).toBe(1)
})

test.each([
  ['before it is sent', false, ''],
  ['while the answer is awaited', true, ''],
  ['while the answer is read', true, 'begun'],
])('a request that is aborted %s ends at once, with the reason as it was given', async (_, isSent, begun) => {
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

test('a request that is aborted while its host is looked up ends at once', async () => {
  await using outbound = open({ lookup: () => {} })

  const answer = outbound.get('http://slow.test/', { signal: AbortSignal.timeout(50) })

  await expect(answer).rejects.toMatchObject({ name: 'TimeoutError' })
})

test('requests that give up waiting for a connection are never sent, and leave the connections to others', async () => {
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

test('what is still in flight at the end is told that the platform is shutting down', async () => {
  await using server = await serve(() => {})
  const outbound = open()
  const answer = failureOf(outbound.get(server.url))
  await expect.poll(() => server.received.length).toBe(1)

  await outbound[Symbol.asyncDispose]()

  expect(await answer).toEqual({ code: 'SHUTTING_DOWN' })
  expect(await failureOf(outbound.get(server.url))).toEqual({ code: 'SHUTTING_DOWN' })
})

const serveSecurely = (answer: RequestListener) => listen(createTlsServer(identity, answer), 'https')

test('a server whose certificate nobody vouches for is not called', async () => {
  await using server = await serveSecurely((_, response) => response.end('hello'))
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url))

  expect(failure).toMatchObject({ code: 'TOOL_UNREACHABLE', reason: 'certificate not trusted' })
})

test('a certificate for another host is not trusted', async () => {
  using _ = trust()
  await using server = await serveSecurely((_, response) => response.end('hello'))
  await using outbound = open({
    lookup: (_hostname, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]),
  })

  const failure = await failureOf(outbound.get(`https://other.test:${server.port}/`))

  expect(failure).toMatchObject({ code: 'TOOL_UNREACHABLE', reason: 'certificate not trusted' })
})

test('a server that does not speak TLS is told as such', async () => {
  await using server = await serve((_, response) => response.end('hello'))
  await using outbound = open()

  const failure = await failureOf(outbound.get(server.url.replace('http:', 'https:')))

  expect(failure).toMatchObject({ code: 'TOOL_UNREACHABLE', reason: 'no secure connection could be made' })
})

test('https is guarded as http is, and no redirect leads from it to http', async () => {
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
  const reason = 'a redirect leads from https to http'
  expect(downgraded).toEqual({ code: 'EGRESS_BLOCKED', host: `127.0.0.1:${plain.port}`, reason })
  expect(plain.received).toEqual([])
  expect(guarded).toMatchObject({ code: 'EGRESS_BLOCKED', reason: `it resolves to a loopback address, ${remedy}` })
})

test('secure connections are shared as others are, and what they carry may be of any size', async () => {
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

test('a secure server is who it says it is by the name that the caller has for it', async () => {
  using _ = trust()
  await using server = await serveSecurely(({ headers }, response) => response.end(headers.host))
  await using outbound = open()
  const url = `https://127.0.0.1:${server.port}/`

  const known = await outbound.get(url, { headers: { host: `localhost:${server.port}` } })
  const other = await failureOf(outbound.get(url, { headers: { host: 'other.test' } }))
  const odd = await failureOf(outbound.get(url, { headers: { host: 'a b/c' } }))

  expect(known.body.toString()).toBe(`localhost:${server.port}`)
  expect(other).toMatchObject({ reason: 'certificate not trusted' })
  expect(odd).toMatchObject({ code: 'TOOL_UNREACHABLE' })
})

const fetching = (options: Partial<OutboundOptions> = {}) => {
  const outbound = new Outbound({ allowLoopback: true, allow: [], maxResponseBytes: limit, ...options })
  return { fetch: outbound.client(owner).fetch, [Symbol.asyncDispose]: () => outbound.close() }
}

test.each([
  ['declares its size', { 'content-length': String(limit + 1) }],
  ['does not', {}],
])('a library’s response that is too large and %s breaks off', async (_, headers) => {
  await using server = await serve((_request, response) => {
    response.writeHead(200, headers).end('x'.repeat(limit + 1))
  })
  await using outbound = fetching()

  const failure = await failureOf(outbound.fetch(server.url).then((response) => response.text()))

  expect(failure).toMatchObject({ code: 'RESPONSE_TOO_LARGE' })
})

test('a response that is not too large comes through as it is, with its address, whatever packs it', async () => {
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
  'a stream of events may go on for ever, as long as no event is too large',
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
