import { execFile } from 'node:child_process'
import { getEventListeners, once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { PlatformError } from '../model/errors.ts'
import { Outbound, type OutboundOptions, type OutboundRequest, type Owner } from './outbound.ts'

const open = (options: Partial<OutboundOptions> = {}) => {
  const outbound = new Outbound({ allowLoopback: true, allow: [], maxResponseBytes: 10_000_000, ...options })
  const send = (url: string, request: Partial<OutboundRequest> = {}) =>
    outbound
      .client({ project: 'proj_1', credentials: [] })
      .request({ url: new URL(url), method: 'GET', headers: {}, signal: AbortSignal.timeout(20_000), ...request })
  return {
    send,
    /** The body of the response, or the reason for the failure. */
    ask: (url: string, request?: Partial<OutboundRequest>) =>
      send(url, request).then(
        ({ body }) => body.toString(),
        (error: unknown) => (error instanceof PlatformError ? (error.details as { reason: string }).reason : error),
      ),
    [Symbol.asyncDispose]: () => outbound.close(),
  }
}

async function listen(server: Server) {
  const sockets: Socket[] = []
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => {})
    sockets.push(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    sockets,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A TCP server that answers each bodiless HTTP request with the bytes that the test writes. */
async function speak(answer: (socket: Socket, path: string) => unknown) {
  const paths: string[] = []
  const server = createTcpServer({ noDelay: true }, (socket) => {
    let come = ''
    socket.on('data', (part) => {
      come += part.toString('latin1')
      for (let end = come.indexOf('\r\n\r\n'); end >= 0; end = come.indexOf('\r\n\r\n')) {
        const path = come.split(' ')[1] ?? ''
        come = come.slice(end + 4)
        paths.push(path)
        answer(socket, path)
      }
    })
  })
  return { ...(await listen(server)), paths }
}

const serve = (answer: RequestListener) => listen(createServer(answer))

const saying = (body: string, headers = '') =>
  `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n${headers}\r\n${body}`

test.each([
  ['of a declared length', saying('hello')],
  [
    'in chunks',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nx-sum: 1\r\n\r\n',
  ],
  ['after an interim response', `HTTP/1.1 103 Early Hints\r\n\r\n${saying('hello')}`],
])('a response %s that arrives byte by byte is read, and its connection is reused', async (_, text) => {
  await using server = await speak(async (socket) => {
    for (const byte of text) {
      socket.write(byte)
      await nextTurn()
    }
  })
  await using outbound = open()

  const first = await outbound.ask(server.url)
  await pause(100)
  const answers = [first, await outbound.ask(server.url)]

  expect(answers).toEqual(['hello', 'hello'])
  expect(server.sockets.length).toBe(1)
})

test('a response without a length ends when its connection closes', async () => {
  await using server = await speak(async (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\nhello, ')
    await pause(10)
    socket.end('world')
  })
  await using outbound = open()

  expect(await outbound.ask(server.url)).toBe('hello, world')
})

test('a response without a length that ends with a connection reset is an error', async () => {
  await using server = await speak(async (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\nhello, ')
    await pause(20)
    socket.resetAndDestroy()
  })
  await using outbound = open()

  expect(await outbound.ask(server.url)).toBe('the connection was lost')
})

test.each([
  ['a second response', saying('stolen')],
  ['an extra byte', '!'],
  ['an empty line', '\r\n'],
])('%s right after the first response is discarded', async (_, more) => {
  await using server = await speak((socket, path) => socket.write(saying(path) + (path === '/1' ? more : '')))
  await using outbound = open()

  const answers = [await outbound.ask(`${server.url}/1`), await outbound.ask(`${server.url}/2`)]

  expect(answers).toEqual(['/1', '/2'])
  expect(server.sockets.length).toBe(2)
})

test.each([
  ['a response', saying('stolen')],
  ['a byte', 'H'],
])('%s on an idle connection closes it and is discarded', async (_, more) => {
  await using server = await speak((socket, path) => socket.write(saying(path)))
  await using outbound = open()
  await outbound.ask(`${server.url}/1`)

  const [socket] = server.sockets
  socket?.write(more)
  await once(socket as Socket, 'close')

  expect(await outbound.ask(`${server.url}/2`)).toBe('/2')
  expect(server.sockets.length).toBe(2)
})

test('an unsolicited response that arrives while the process is busy is discarded', async () => {
  // Runs in a worker thread so that its bytes arrive while this thread is blocked.
  const program = `
    const { parentPort } = require('node:worker_threads')
    const saying = (body) => 'HTTP/1.1 200 OK\\r\\ncontent-length: ' + body.length + '\\r\\n\\r\\n' + body
    const server = require('node:net').createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (part) => {
        const path = String(part).split(' ')[1]
        socket.write(saying(path))
        setTimeout(() => socket.write(saying('stolen')), 5)
      })
    })
    server.listen(0, '127.0.0.1', () => parentPort.postMessage('http://127.0.0.1:' + server.address().port))`
  const worker = new Worker(program, { eval: true })
  const [url] = (await once(worker, 'message')) as [string]
  await using outbound = open()

  const answers: unknown[] = []
  for (let index = 0; index < 20; index++) {
    answers.push(await outbound.ask(`${url}/${index}`))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
  }
  await worker.terminate()

  expect(answers).toEqual(Array.from({ length: 20 }, (_, index) => `/${index}`))
})

test.each<[string, Owner, Owner]>([
  ['projects', { project: 'proj_1', credentials: ['a'] }, { project: 'proj_2', credentials: ['a'] }],
  ['credentials', { project: 'proj_1', credentials: ['a'] }, { project: 'proj_1', credentials: ['b'] }],
  ['the platform and a project', { project: undefined, credentials: [] }, { project: 'proj_1', credentials: [] }],
])('connections are not shared between %s', async (_, one, other) => {
  const ports = new Set<string>()
  await using server = await serve(({ socket, headers }, response) => {
    ports.add(`${headers['x-who']} ${socket.remotePort}`)
    response.end()
  })
  const outbound = new Outbound({ allowLoopback: true, allow: [], maxResponseBytes: 1000 })
  const send = async (owner: Owner, who: string) => {
    const url = new URL(server.url)
    const signal = AbortSignal.timeout(20_000)
    await outbound.client(owner).request({ url, method: 'GET', headers: { 'x-who': who }, signal })
    await outbound.client(owner).fetch(server.url, { headers: { 'x-who': who } })
  }

  for (let round = 0; round < 20; round++) {
    await Promise.all([send(one, 'one'), send(other, 'other')])
    await send(other, 'other')
    await send(one, 'one')
  }
  await outbound.close()

  const portsOf = (who: string) => [...ports].filter((port) => port.startsWith(who)).map((port) => port.split(' ')[1])
  expect(portsOf('one').filter((port) => portsOf('other').includes(port))).toEqual([])
})

test('a connection that the server has closed is not reused', async () => {
  await using server = await speak((socket, path) => socket.write(saying(path)))
  await using outbound = open()

  const answers: unknown[] = []
  for (let index = 0; index < 20; index++) {
    answers.push(await outbound.ask(`${server.url}/${index}`))
    server.sockets.at(-1)?.end()
    await once(server.sockets.at(-1) as Socket, 'close')
  }

  expect(answers).toEqual(Array.from({ length: 20 }, (_, index) => `/${index}`))
})

test('calls succeed on a server that closes the connection after each response without announcing it', async () => {
  await using server = await speak((socket) => socket.end(saying('ok')))
  await using outbound = open()
  const ask = async () => {
    const answers: unknown[] = []
    for (let count = 0; count < 20; count++) answers.push(await outbound.ask(server.url))
    return answers
  }

  const answers = await Promise.all(Array.from({ length: 16 }, ask))

  expect(new Set(answers.flat())).toEqual(new Set(['ok']))
})

test('a call fails if the server closes a reused connection, and is not sent twice', async () => {
  await using server = await speak((socket, path) => (path === '/1' ? socket.write(saying(path)) : socket.destroy()))
  await using outbound = open()

  const answers = [await outbound.ask(`${server.url}/1`), await outbound.ask(`${server.url}/2`)]

  expect(answers).toEqual(['/1', 'the connection was lost'])
  expect(server.paths).toEqual(['/1', '/2'])
})

test.each([
  ['sends connection: close', saying('x', 'connection: close\r\n')],
  ['speaks HTTP/1.0', saying('x').replace('1.1', '1.0')],
  ['has a keep-alive timeout of one second', saying('x', 'keep-alive: timeout=1\r\n')],
  ['declares a body for a 304', 'HTTP/1.1 304 \r\ncontent-length: 6\r\n\r\n'],
])('a connection whose server %s is closed after one request', async (_, text) => {
  await using server = await speak((socket) => socket.write(text))
  await using outbound = open()

  await outbound.ask(server.url)
  await once(server.sockets[0] as Socket, 'close')
  await outbound.ask(server.url)

  expect(server.sockets.length).toBe(2)
})

test.concurrent('an idle connection is closed one second before the keep-alive timeout of the server', async () => {
  await using server = await speak((socket, path) => socket.write(saying(path, 'keep-alive: timeout=2\r\n')))
  await using outbound = open()
  const start = performance.now()

  await outbound.ask(`${server.url}/1`)
  await pause(100)
  await outbound.ask(`${server.url}/2`)
  await once(server.sockets[0] as Socket, 'close')

  expect(server.sockets.length).toBe(1)
  expect(performance.now() - start).toBeGreaterThan(900)
  expect(await outbound.ask(`${server.url}/3`)).toBe('/3')
})

test.concurrent('a connection is not reused if its response took a long time to read', async ({ expect }) => {
  await using server = await speak(async (socket, path) => {
    socket.write(saying(path).slice(0, -1))
    await pause(1100)
    socket.write(saying(path).slice(-1))
  })
  await using outbound = open()

  const answers = [await outbound.ask(`${server.url}/1`), await outbound.ask(`${server.url}/2`)]

  expect(answers).toEqual(['/1', '/2'])
  await expect.poll(() => server.sockets.filter(({ destroyed }) => destroyed).length).toBe(2)
})

test.each([
  ['declared', true],
  ['not declared', false],
])(
  'if the length of large responses is %s, only as many are read at once as fit in memory, and other projects do not wait',
  {
    timeout: 30_000,
  },
  async (_, declared) => {
    // Larger than the socket buffers of the operating system.
    const bytes = 16 * 1024 * 1024
    const begun: ServerResponse[] = []
    await using server = await serve((_, response) => {
      if (declared) response.setHeader('content-length', bytes)
      response.write(Buffer.alloc(bytes - 1))
      begun.push(response)
    })
    const outbound = new Outbound({ allowLoopback: true, allow: [], maxResponseBytes: bytes })
    const get = async (project: string) => {
      const request = { url: new URL(server.url), method: 'GET', headers: {}, signal: AbortSignal.timeout(20_000) }
      return (await outbound.client({ project, credentials: [] }).request(request)).body.length
    }
    const countRead = () => begun.filter(({ writableLength }) => writableLength === 0).length

    const soon = { timeout: 10_000 }
    const sizes = Array.from({ length: 7 }, () => get('proj_1'))
    await expect.poll(() => begun.length, soon).toBe(7)
    await expect.poll(countRead, soon).toBeGreaterThanOrEqual(declared ? 4 : 1)
    await pause(300)
    const read = countRead()
    expect(read).toBeLessThanOrEqual(4)
    sizes.push(get('proj_2'))
    await expect.poll(() => begun.length, soon).toBe(8)
    await expect.poll(countRead, soon).toBeGreaterThan(read)

    for (const response of begun) response.end('x')
    expect(await Promise.all(sizes)).toEqual(Array(8).fill(bytes))
    await outbound.close()
  },
)

test('idle connections do not keep a process alive', async () => {
  await using server = await speak((socket, path) => socket.write(saying(path, 'keep-alive: timeout=600\r\n')))
  const program = `
    import { Outbound } from ${JSON.stringify(import.meta.resolve('./outbound.ts'))}
    const outbound = new Outbound({ allowLoopback: true, allow: [], maxResponseBytes: 1000 })
    const { signal } = new AbortController()
    const { body } = await outbound.client({ credentials: [] }).request({ url: new URL('${server.url}/1'), method: 'GET', headers: {}, signal })
    console.log(body.toString())`

  const args = ['--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 })

  expect(stdout).toBe('/1\n')
})

test('two hundred callers share 128 connections, first come, first served', async () => {
  const order: string[] = []
  const held: (() => void)[] = []
  await using server = await serve(({ url = '' }, response) => {
    order.push(url)
    held.push(() => response.end(url))
  })
  await using outbound = open()
  const paths = Array.from({ length: 200 }, (_, index) => `/${index}`)

  const answers = paths.map((path) => outbound.ask(server.url + path))
  for (let count = 128; count <= 200; count++) {
    await expect.poll(() => order.length, { interval: 1 }).toBe(count)
    held.shift()?.()
  }
  for (const release of held) release()

  expect(await Promise.all(answers)).toEqual(paths)
  expect(server.sockets.length).toBe(128)
  expect(order.slice(128)).toEqual(paths.slice(128))
})

test('every queued caller gets the error if no connection can be made', async () => {
  const gone = await serve(() => {})
  await gone[Symbol.asyncDispose]()
  await using outbound = open()

  const answers = await Promise.all(Array.from({ length: 300 }, () => outbound.ask(gone.url)))

  expect(new Set(answers)).toEqual(new Set(['connection refused']))
})

test('a connection whose request was aborted while connecting is used for the next request', async () => {
  await using server = await speak((socket, path) => socket.write(saying(path)))
  const found = Promise.withResolvers<void>()
  await using outbound = open({
    lookup: (_hostname, _options, callback) =>
      void found.promise.then(() => callback(null, [{ address: '127.0.0.1', family: 4 }])),
  })
  const url = server.url.replace('127.0.0.1', 'slow.test')
  const controller = new AbortController()
  const impatient = outbound.ask(`${url}/no`, { signal: controller.signal })
  await pause(20)

  controller.abort('enough')
  expect(await impatient).toBe('enough')
  found.resolve()
  await expect.poll(() => server.sockets.length).toBe(1)

  expect(await outbound.ask(`${url}/yes`)).toBe('/yes')
  expect(server.paths).toEqual(['/yes'])
  expect(server.sockets.length).toBe(1)
})

test.each([
  ['sent', 'x'.repeat(9_000_000), ''],
  ['waited for', '', ''],
  ['read', '', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhel'],
])('aborting a request while it is %s closes its connection', async (_, body, begun) => {
  await using server = await listen(
    createTcpServer((socket) => {
      if (body !== '') socket.pause()
      else socket.on('data', () => socket.write(begun))
    }),
  )
  await using outbound = open()
  const controller = new AbortController()
  const answer = outbound.ask(server.url, { method: 'POST', body, signal: controller.signal })
  await expect.poll(() => server.sockets.length).toBe(1)
  await pause(50)

  controller.abort('enough')

  expect(await answer).toBe('enough')
  const [socket] = server.sockets
  socket?.resume()
  await once(socket as Socket, 'close')
})

test('a response that arrives before the request is fully sent is returned, and the connection is not reused', async () => {
  await using server = await listen(
    createTcpServer((socket) => {
      socket.once('data', () => {
        socket.pause()
        socket.write(saying('too much'))
      })
    }),
  )
  await using outbound = open()
  const body = 'x'.repeat(9_000_000)

  const answers = [
    await outbound.ask(server.url, { method: 'POST', body }),
    await outbound.ask(server.url, { method: 'POST', body }),
  ]

  expect(answers).toEqual(['too much', 'too much'])
  expect(server.sockets.length).toBe(2)
})

test('non-ASCII characters arrive unchanged in headers and bodies', async () => {
  await using server = await serve(async (request, response) => {
    let body = ''
    for await (const part of request.setEncoding('utf8')) body += part
    response.end(JSON.stringify([request.headers['x-name'], body]))
  })
  await using outbound = open()
  const sent = [
    ['é', 'São Paulo €'],
    ['é', 'plain'],
    ['plain', '東京 😀'],
  ] as const

  const answers = await Promise.all(
    sent.map(([name, body]) => outbound.ask(server.url, { method: 'POST', headers: { 'x-name': name }, body })),
  )

  expect(answers.map((answer) => JSON.parse(String(answer)))).toEqual(sent)
})

test('a Host header overrides the host name of the URL', async () => {
  await using server = await serve(({ headers }, response) => response.end(headers.host))
  await using outbound = open()

  expect(await outbound.ask(server.url, { headers: { Host: 'other.test' } })).toBe('other.test')
})

test('a consumer of events can abort the stream, and gets no more events', async () => {
  await using server = await serve((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let index = 0; index < 5; index++) response.write(`data: ${index}\n\n`)
  })
  await using outbound = open()
  const controller = new AbortController()
  const parts: string[] = []

  const answer = outbound.ask(server.url, {
    signal: controller.signal,
    onEvents(part) {
      parts.push(part.toString())
      controller.abort('enough')
    },
  })

  expect(await answer).toBe('enough')
  expect(parts).toEqual(['data: 0\n\n'])
})

test('a stream that continues after the consumer has enough releases its connection', async () => {
  const stream = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n'
  await using server = await speak((socket, path) => socket.write(path === '/end' ? `${stream}0\r\n\r\n` : stream))
  await using outbound = open()
  const takeOne = { onEvents: () => {}, hasEnough: () => true }

  const endless = await Promise.all(Array.from({ length: 130 }, () => outbound.ask(server.url, takeOne)))

  expect(new Set(endless)).toEqual(new Set(['the connection was lost']))
  expect(await outbound.ask(`${server.url}/end`, takeOne)).toBe('')
})

test('the request fails if the event consumer throws', async () => {
  await using server = await serve((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 0\n\n')
  })
  await using outbound = open()
  const onEvents = () => {
    throw new Error('cannot')
  }

  expect(await outbound.ask(server.url, { onEvents })).toBe('the request failed')
})

test('no abort listener is left behind on a shared signal', async () => {
  await using server = await serve(({ url }, response) => {
    if (url === '/bad') response.destroy()
    else response.end()
  })
  await using outbound = open()
  const { signal } = new AbortController()

  await Promise.all(
    Array.from({ length: 20 }, (_, index) => outbound.ask(server.url + (index % 2 ? '/bad' : '/good'), { signal })),
  )

  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('each of a thousand requests to a server that misbehaves at random gets its own response or an error', async () => {
  const ways = [
    (path: string) => saying(path),
    (path: string) =>
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${path.length.toString(16)}\r\n${path}\r\n0\r\n\r\n`,
    (path: string) => saying(path) + saying('stolen'),
    (path: string) => saying(path, 'connection: close\r\n'),
    () => 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx',
    (path: string) => saying(path).slice(0, -1),
  ]
  let count = 0
  await using server = await speak(async (socket, path) => {
    const turn = count++
    const text = ways[turn % ways.length]?.(path) ?? ''
    const cut = (turn * 7) % text.length
    socket.write(text.slice(0, cut))
    await nextTurn()
    socket.write(text.slice(cut))
    if (turn % 6 >= 3) setTimeout(() => socket.destroy(), 1)
  })
  await using outbound = open()
  const paths = Array.from({ length: 1000 }, (_, index) => `/${index}`)

  const answers = await Promise.all(paths.map((path) => outbound.ask(server.url + path)))

  const failures = new Set(['the connection was lost', 'the response is not valid HTTP'])
  const wrong = answers.filter((answer, index) => answer !== paths[index] && !failures.has(String(answer)))
  expect(wrong).toEqual([])
  expect(answers.filter((answer, index) => answer === paths[index]).length).toBeGreaterThan(500)
})
