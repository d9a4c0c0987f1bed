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
    /** What is answered, or why nothing is. */
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

/** A server that answers each request without a body in its own way, down to the byte. */
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
  ['after an interim one', `HTTP/1.1 103 Early Hints\r\n\r\n${saying('hello')}`],
])('a response %s that comes byte by byte is read, and its connection is used again', async (_, text) => {
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

test('a response without a length ends with its connection', async () => {
  await using server = await speak(async (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\nhello, ')
    await pause(10)
    socket.end('world')
  })
  await using outbound = open()

  expect(await outbound.ask(server.url)).toBe('hello, world')
})

test('a response without a length that is cut off by an error is not taken for whole', async () => {
  await using server = await speak(async (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\nhello, ')
    await pause(20)
    socket.resetAndDestroy()
  })
  await using outbound = open()

  expect(await outbound.ask(server.url)).toBe('the connection broke off')
})

test.each([
  ['a second response', saying('stolen')],
  ['a byte too many', '!'],
  ['an empty line', '\r\n'],
])('%s that comes with the first reaches nobody', async (_, more) => {
  await using server = await speak((socket, path) => socket.write(saying(path) + (path === '/1' ? more : '')))
  await using outbound = open()

  const answers = [await outbound.ask(`${server.url}/1`), await outbound.ask(`${server.url}/2`)]

  expect(answers).toEqual(['/1', '/2'])
  expect(server.sockets.length).toBe(2)
})

test.each([
  ['a response', saying('stolen')],
  ['a byte', 'H'],
])('%s that comes while nothing is asked closes the connection and reaches nobody', async (_, more) => {
  await using server = await speak((socket, path) => socket.write(saying(path)))
  await using outbound = open()
  await outbound.ask(`${server.url}/1`)

  const [socket] = server.sockets
  socket?.write(more)
  await once(socket as Socket, 'close')

  expect(await outbound.ask(`${server.url}/2`)).toBe('/2')
  expect(server.sockets.length).toBe(2)
})

test('a response that arrives unasked while the process is busy reaches nobody', async () => {
  // In a thread of its own, so that its bytes arrive while this one is blocked.
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

test('a connection that its server has closed is not used again', async () => {
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

test('a server that hangs up after each answer, and does not say so, answers every call', async () => {
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

test('a server that closes a connection just when it is used again is told as such, and the call is not made twice', async () => {
  await using server = await speak((socket, path) => (path === '/1' ? socket.write(saying(path)) : socket.destroy()))
  await using outbound = open()

  const answers = [await outbound.ask(`${server.url}/1`), await outbound.ask(`${server.url}/2`)]

  expect(answers).toEqual(['/1', 'the connection broke off'])
  expect(server.paths).toEqual(['/1', '/2'])
})

test.each([
  ['says so', saying('x', 'connection: close\r\n')],
  ['speaks HTTP/1.0', saying('x').replace('1.1', '1.0')],
  ['waits for a second only', saying('x', 'keep-alive: timeout=1\r\n')],
  ['declares a body where none can be', 'HTTP/1.1 304 \r\ncontent-length: 6\r\n\r\n'],
])('a connection whose server %s is closed after one request', async (_, text) => {
  await using server = await speak((socket) => socket.write(text))
  await using outbound = open()

  await outbound.ask(server.url)
  await once(server.sockets[0] as Socket, 'close')
  await outbound.ask(server.url)

  expect(server.sockets.length).toBe(2)
})

test('a connection is kept a second less than its server says, and then closed', async () => {
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

test('a connection whose response took long to read is not used again', async () => {
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
  'of many large responses at once, their length being %s, no more are read than fit in memory, and other projects do not wait',
  {
    timeout: 30_000,
  },
  async (_, declared) => {
    // Larger than what the system buffers for a connection.
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

test('what waits for nothing does not keep a process from ending', async () => {
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

test('two hundred callers share 128 connections, in the order in which they came', async () => {
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

test('those who wait while no connection can be made are each told', async () => {
  const gone = await serve(() => {})
  await gone[Symbol.asyncDispose]()
  await using outbound = open()

  const answers = await Promise.all(Array.from({ length: 300 }, () => outbound.ask(gone.url)))

  expect(new Set(answers)).toEqual(new Set(['connection refused']))
})

test('a request that is aborted while it connects leaves its connection to the next', async () => {
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
])('a request that is aborted while it is %s takes its connection with it', async (_, body, begun) => {
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

test('an answer that comes before the request is all sent counts, and the connection is not used again', async () => {
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

test('letters beyond ASCII arrive as they are, in headers and in bodies, with both or with one of them', async () => {
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

test('a host can be called by another name', async () => {
  await using server = await serve(({ headers }, response) => response.end(headers.host))
  await using outbound = open()

  expect(await outbound.ask(server.url, { headers: { Host: 'other.test' } })).toBe('other.test')
})

test('whoever takes events may end them, and gets none after that', async () => {
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

test('a stream of events that goes on when enough has come does not keep its connection', async () => {
  const stream = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n'
  await using server = await speak((socket, path) => socket.write(path === '/end' ? `${stream}0\r\n\r\n` : stream))
  await using outbound = open()
  const takeOne = { onEvents: () => {}, hasEnough: () => true }

  const endless = await Promise.all(Array.from({ length: 130 }, () => outbound.ask(server.url, takeOne)))

  expect(new Set(endless)).toEqual(new Set(['the connection broke off']))
  expect(await outbound.ask(`${server.url}/end`, takeOne)).toBe('')
})

test('whoever takes events and cannot is told, and nothing else breaks', async () => {
  await using server = await serve((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 0\n\n')
  })
  await using outbound = open()
  const onEvents = () => {
    throw new Error('cannot')
  }

  expect(await outbound.ask(server.url, { onEvents })).toBe('the request failed')
})

test('nothing stays behind on a signal that many requests share', async () => {
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

test('a thousand requests to a server that misbehaves at random are each answered with their own, or told why not', async () => {
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

  const failures = new Set(['the connection broke off', 'the response is not valid HTTP'])
  const wrong = answers.filter((answer, index) => answer !== paths[index] && !failures.has(String(answer)))
  expect(wrong).toEqual([])
  expect(answers.filter((answer, index) => answer === paths[index]).length).toBeGreaterThan(500)
})
