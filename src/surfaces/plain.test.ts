import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setImmediate as nextRound, setTimeout as pause } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import type { Lane, Reply } from './lane.ts'
import { listen } from './server.ts'

const app = new Hono()
app.all('*', async ({ req }) => new Response(`app ${req.method} ${req.path} ${await req.text()}`))
app.onError(({ message }) => new Response(message, { status: 400 }))

/** Answers what comes to /lane as the test says, and everything else by the app, which tells what it was sent. */
async function start(serve: (body: string, reply: Reply) => void) {
  const lane: Lane = ({ path }) => (path === '/lane' ? (body, reply) => serve(body.toString(), reply) : undefined)
  const server = await listen({ app, lanes: [lane] }, '127.0.0.1', 0)
  const port = Number(new URL(server.url).port)
  return {
    ...server,
    port,
    exchange: (parts: readonly string[], patience?: number) => exchange(port, parts, patience),
    [Symbol.asyncDispose]: () => server.close(0),
  }
}

/** The app alone, on Node's own server. */
async function startBare() {
  const server = createServer({ keepAliveTimeout: 60_000 }, getRequestListener(app.fetch))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    exchange: (parts: readonly string[]) => exchange(port, parts),
    [Symbol.asyncDispose]: async () => void server.close(),
  }
}

/** Sends bytes as they are, in parts, and gives all that is answered until the other side is done. */
async function exchange(port: number, parts: readonly string[], patience = 300): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  let answer = ''
  // In turns of this process, which is the other side as well: when the machine stands still, so do both.
  let quiet = 0
  socket.on('data', (bytes) => {
    answer += bytes
    quiet = 0
  })
  socket.on('error', () => {})
  for (const part of parts) {
    socket.write(part, part.includes('\xa0') ? 'latin1' : 'utf8')
    if (parts.length === 1) break
    // So that each is read by itself, though the machine may have stood still meanwhile: the other side has had its turn.
    await pause(parts.length < 5 ? 20 : 1)
    await nextRound()
    await nextRound()
  }
  for (; !socket.closed && (answer === '' || quiet < patience / 10); quiet++) await pause(10)
  socket.destroy()
  return answer.replaceAll(/^date: .*\r\n/gim, '')
}

const head = (more = '', length = 2) =>
  `POST /lane HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n${more}\r\n`

const echo = (body: string, reply: Reply) => reply.send(200, {}, `lane ${body}`)

test('a plain request is answered by the lane, one after the other on the same connection', async () => {
  await using server = await start(echo)

  const answer = await server.exchange([`${head()}{}`, `${head('', 6)}"olé"`, `${head()}[]`])

  const answered = (text: string, length: number) =>
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: keep-alive\r\nkeep-alive: timeout=60\r\ncontent-length: ${length}\r\n\r\n${text}`
  expect(answer).toBe(answered('lane {}', 7) + answered('lane "olé"', 11) + answered('lane []', 7))
})

test('a request that comes in parts is the same request, wherever it is parted', async () => {
  await using server = await start(echo)
  const whole = `${head()}{}`
  const expected = await server.exchange([whole])
  for (let at = 1; at < whole.length; at++) {
    expect(await server.exchange([whole.slice(0, at), whole.slice(at)], 30), `parted at ${at}`).toBe(expected)
  }

  expect(await server.exchange([...whole])).toBe(expected)
})

test('who asks again before the answer is answered in order, and nothing is lost', async () => {
  const replies: [string, Reply][] = []
  await using server = await start((body, reply) => {
    replies.push([body, reply])
    setTimeout(() => echo(body, reply), 50)
  })
  const [one, two] = [`${head()}{}`, `${head()}[]`]
  const other = 'GET /other HTTP/1.1\r\nhost: x\r\n\r\n'

  expect((await server.exchange([one, two])).match(/lane ..|app .*/g)).toEqual(['lane {}', 'lane []'])
  // Two at once are no plain request, so both are read by Node.
  expect((await server.exchange([one + two])).match(/lane ..|Keep-Alive: /g)).toEqual([
    'Keep-Alive: ',
    'lane {}',
    'Keep-Alive: ',
    'lane []',
  ])
  expect((await server.exchange([one, two + other])).match(/lane ..|app \S+ \S+ ?.?.?/g)).toEqual([
    'lane {}',
    'lane []',
    'app GET /other ',
  ])
})

const unusual: Record<string, string> = {
  'another method': 'GET /lane HTTP/1.1\r\nhost: x\r\n\r\n',
  'a query': `${head().replace('/lane', '/lane?x=1')}{}`,
  'an address in the absolute form': `${head().replace('/lane', 'http://x/lane')}{}`,
  'an older version': `${head().replace('HTTP/1.1', 'HTTP/1.0')}{}`,
  'no host': `${head().replace('host: x\r\n', '')}{}`,
  'two hosts': `${head('host: y\r\n')}{}`,
  'an empty host': `${head().replace('host: x', 'host:')}{}`,
  'a host that holds a path': `${head().replace('host: x', 'host: x/other?')}{}`,
  'two lengths': `${head('content-length: 2\r\n')}{}`,
  'two lengths that differ': `${head('content-length: 3\r\n')}{} `,
  'a length and chunks': `${head('transfer-encoding: chunked\r\n')}2\r\n{}\r\n0\r\n\r\n`,
  'chunks alone': `${head('transfer-encoding: chunked\r\n').replace('content-length: 2\r\n', '')}2\r\n{}\r\n0\r\n\r\n`,
  'a length that is signed': `${head().replace('content-length: 2', 'content-length: +2')}{}`,
  'a length with a space that is not one in HTTP': `${head().replace('content-length: 2', 'content-length: 2\xa0')}{}`,
  'a length that is no number': `${head().replace('content-length: 2', 'content-length: 2x')}{}`,
  'another type': `${head().replace('application/json', 'text/plain')}{}`,
  'a connection to be closed': `${head('connection: close\r\n')}{}`,
  'a connection to be closed, in the words of old proxies': `${head('proxy-connection: close\r\n')}{}`,
  'an expectation': `${head('expect: 100-continue\r\n')}{}`,
  'an upgrade': `${head('connection: upgrade\r\nupgrade: h2c\r\n')}{}`,
  'a header that is folded': `${head('x-a: b\r\n c\r\n')}{}`,
  'a header without a name': `${head(': b\r\n')}{}`,
  'a header without a colon': `${head('nothing\r\n')}{}`,
  'a space before the colon': `${head('x-a : b\r\n')}{}`,
  'a bare line feed': `${head('x-a: b\nx-b: c\r\n')}{}`,
  'a NUL in a value': `${head('x-a: b\0\r\n')}{}`,
  'what is not HTTP': 'hello there, is this MCP?\r\n\r\n',
  'a secure hello': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'more headers than anyone sends': `${head(Array.from({ length: 1000 }, (_, count) => `x-${count}:\r\n`).join(''))}{}`,
  'a head without end': `${head(`x-a: ${'b'.repeat(40_000)}\r\n`)}{}`,
}

test.each(Object.entries(unusual))('%s is answered as Node answers it', async (_, request) => {
  await using server = await start(() => {
    throw new Error('the lane took it')
  })
  await using bare = await startBare()

  const answer = await server.exchange([request])

  expect(answer).not.toBe('')
  expect(answer).toBe(await bare.exchange([request]))
})

test('what a lane hands on is answered as if it had never seen it', async () => {
  await using server = await start(async (body, reply) => {
    await pause(20)
    if (body === '{}') reply.handOn()
    else echo(body, reply)
  })

  expect(await server.exchange([`${head()}[]`, `${head()}{}`, `${head()}[]`])).toMatch(
    /lane \[\].*app POST \/lane \{\}.*lane \[\]$/s,
  )
})

const get = 'GET /other HTTP/1.1\r\nhost: x\r\n\r\n'

test('on a connection that Node has, what is plain goes by the lane, and what it hands on by the app', async () => {
  await using server = await start((body, reply) => (body === '{}' ? reply.handOn() : echo(body, reply)))

  const answer = await server.exchange([
    get,
    `${head()}[]`,
    `${head()}{}`,
    `${head('x-a: 1\r\nx-a: 2\r\n')}[]`,
    `${head()}""`,
  ])

  expect(answer.match(/lane ..|app POST \S+ ..|app GET \/other/g)).toEqual([
    'app GET /other',
    'lane []',
    'app POST /lane {}',
    'app POST /lane []',
    'lane ""',
  ])
})

describe.each([
  ['on a connection of its own', ''],
  ['on one that Node has', get],
])('what the app answers to what a lane has handed on, %s,', (_, before) => {
  const ask = async (answer: () => Response | Promise<Response>, more: readonly string[] = []) => {
    const own = new Hono().all('/lane', answer).all('*', () => new Response('other'))
    const handsOn: Lane = ({ path }) => (path === '/lane' ? (_body, reply) => reply.handOn() : undefined)
    const server = await listen({ app: own, lanes: [handsOn] }, '127.0.0.1', 0)
    try {
      const port = Number(new URL(server.url).port)
      const answers = await exchange(port, [...(before && [before]), `${head()}{}`, ...more])
      return answers.slice(before ? answers.indexOf('other') + 5 : 0).toLowerCase()
    } finally {
      await server.close(0)
    }
  }

  test('may have no body', async () => {
    const none = await ask(() => new Response(null, { status: 204 }), [`${head()}[]`])
    const accepted = await ask(() => new Response(null, { status: 202 }))

    expect(none.match(/http\/1.1 204/g)).toHaveLength(2)
    expect(none).not.toContain('content-length')
    expect(accepted).toMatch(/^http\/1.1 202 accepted\r\n/)
    expect(accepted).not.toContain('content-type')
  })

  test('has its own status and headers, and its text as it is', async () => {
    const answer = await ask(
      () => new Response('"olé"', { status: 404, headers: { 'x-a': '1', 'content-type': 'text/x' } }),
    )

    expect(answer).toMatch(/^http\/1.1 404 not found\r\n/)
    expect(answer).toContain('x-a: 1\r\n')
    expect(answer).toContain('content-type: text/x\r\n')
    expect(answer).toContain('content-length: 6\r\n')
    expect(answer).toMatch(/\r\n\r\n"olé"$/)
  })

  test('is framed once, whatever it says of that itself', async () => {
    const headers = new Headers({ 'content-length': '5' })
    headers.append('set-cookie', 'a=1')
    headers.append('set-cookie', 'b=2')

    const whole = await ask(() => new Response(Uint8Array.of(0xef, 0xbb, 0xbf, 0xff, 0x41), { headers }))

    expect(whole.match(/content-length: 5/g)).toHaveLength(1)
    expect(whole).toContain('set-cookie: a=1\r\n')
    expect(whole).toContain('set-cookie: b=2\r\n')
  })

  test('is not ended by a part of it that is empty', async () => {
    const parts = ['data: 1\n\n', '', 'data: 2\n\n'].map((text) => new TextEncoder().encode(text))
    const answer = await ask(
      () => new Response(ReadableStream.from(parts), { headers: { 'content-type': 'text/event-stream' } }),
    )

    expect(answer.match(/data: \d/g)).toEqual(['data: 1', 'data: 2'])
    expect(answer.match(/\r\n0\r\n/g)).toHaveLength(1)
  })

  test('comes as a stream where it is one, byte by byte', async () => {
    const bytes = Buffer.from('data: olé\n\n')
    const events = () =>
      new Response(ReadableStream.from([...bytes].map((byte) => Uint8Array.of(byte))), {
        headers: { 'content-type': 'text/event-stream' },
      })

    const answer = await ask(events, [`${head()}{}`])

    expect(answer.match(/http\/1.1 200/g)).toHaveLength(2)
    expect(answer).toContain('transfer-encoding: chunked\r\n')
    expect(answer).toMatch(/\r\n0\r\n\r\n$/)
  })
})

test.each([
  ['on a connection of its own', ''],
  ['on one that Node has', get],
])('the app hears when one who was handed on leaves, %s, and its stream is closed', async (_, before) => {
  let asked: AbortSignal | undefined
  let isCancelled = false
  const events = () =>
    new ReadableStream({
      start: (stream) => stream.enqueue(Buffer.from('data: 1\n\n')),
      cancel() {
        isCancelled = true
      },
    })
  const own = new Hono()
    .post('/lane', ({ req }) => {
      asked = req.raw.signal
      return new Response(events(), { headers: { 'content-type': 'text/event-stream' } })
    })
    .all('*', () => new Response('other'))
  const server = await listen({ app: own, lanes: [() => (_body, reply) => reply.handOn()] }, '127.0.0.1', 0)
  const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' })
  let heard = ''
  socket.on('data', (bytes) => (heard += bytes))
  if (before) {
    socket.write(before)
    await expect.poll(() => heard).toContain('other')
  }
  socket.write(`${head()}{}`)
  await expect.poll(() => heard).toContain('data: 1')

  socket.destroy()

  await expect.poll(() => [asked?.aborted, isCancelled]).toEqual([true, true])
  await server.close(0)
})

test('who stops in the middle of a request is left to Node, and its time limits, after five seconds', async () => {
  await using server = await start(echo)
  const [first, half] = [`${head()}[]`, `${head()}{`]
  const socket = connect({ port: server.port, host: '127.0.0.1', noDelay: true })
  let answer = ''
  socket.on('data', (bytes) => (answer += bytes))
  socket.write(first)
  await expect.poll(() => answer).toMatch(/lane \[\]$/)
  socket.write(half)
  await pause(5500)
  socket.write('}')

  await expect.poll(() => answer).toMatch(/Keep-Alive: .*lane \{\}$/s)
  socket.destroy()
})

test.each(['1.2.3.4.5', 'a.1', 'x:70000'])(
  'a host like %s, which is none, is the fault of who sends it',
  async (host) => {
    await using server = await start(echo)

    expect(await server.exchange([`GET /other HTTP/1.1\r\nhost: ${host}\r\n\r\n`])).toMatch(
      /^HTTP\/1.1 400 .*The Host header does not name a host/s,
    )
  },
)

test('who ends lines with a line feed alone is told at once that this is not HTTP', async () => {
  await using server = await start(echo)
  const asked = Date.now()

  expect(await server.exchange([`${head().replaceAll('\r\n', '\n')}{}`])).toMatch(/^HTTP\/1.1 400 /)
  expect(Date.now() - asked).toBeLessThan(3000)
})

test.each([
  ['its head', head().slice(0, 40)],
  ['its body', `${head()}{`],
])('who hangs up in the middle of a request, in %s, is answered as Node answers it', async (_, half) => {
  await using server = await start(echo)
  await using bare = await startBare()
  const ask = async (port: number) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.end(half)
    return (await socket.toArray()).join('')
  }

  const answer = await ask(server.port)

  expect(answer).toMatch(/^HTTP\/1.1 400 /)
  expect(answer).toBe(await ask(bare.port))
})

test.each([
  ['while it is being given', 0],
  ['later', 50],
])('what is asked after the last answer, %s, is not carried out', async (_, wait) => {
  const asked: string[] = []
  await using server = await start(async (body, reply) => {
    asked.push(body)
    await pause(30)
    reply.send(200, { connection: 'close' }, '1')
  })
  const socket = connect({ port: server.port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
  socket.write(`${head()}{}`)
  await pause(wait + 10)
  socket.write(`${head()}[]`)
  const answers = (await socket.toArray()).join('')
  await pause(50)

  expect(answers.match(/HTTP/g)).toEqual(['HTTP'])
  expect(asked).toEqual(['{}'])
  socket.destroy()
})

test('a status that HTTP has no words for is sent as Node sends it', async () => {
  await using server = await start((_, reply) => reply.send(499, {}, '{}'))

  expect(await server.exchange([`${head()}{}`])).toMatch(/^HTTP\/1.1 499 unknown\r\n/)
})

test.each([
  ['on a connection of its own', false],
  ['on one that Node has', true],
])('a stream of events reaches the caller as it is said, %s', async (_, isNodes) => {
  await using server = await start(async (_, reply) => {
    reply.say('data: 1\n\n')
    await pause(20)
    reply.say('data: olé\n\n')
    reply.end('data: 3\n\n')
    reply.say('data: late\n\n')
    reply.end()
  })

  const answer = await server.exchange([...(isNodes ? [get] : []), `${head()}{}`])

  expect(answer).toContain('content-type: text/event-stream\r\n')
  expect(answer.match(/data: .*/g)).toEqual(['data: 1', 'data: olé', 'data: 3'])
  expect(answer).toMatch(/\r\n0\r\n\r\n$/)
})

test.each([
  ['on a connection of its own', ''],
  ['on one that Node has', get],
])('a lane hears when the caller leaves, %s, and what it answers then goes nowhere', async (_, before) => {
  let leave = () => {}
  const left = new Promise<void>((resolve) => (leave = resolve))
  await using server = await start((body, reply) => {
    reply.onGone(() => {
      echo(body, reply)
      leave()
    })
  })
  const socket = connect(server.port, '127.0.0.1')
  if (before) {
    socket.write(before)
    await once(socket, 'data')
  }
  await new Promise<void>((resolve) => socket.write(`${head()}{}`, () => resolve()))
  await pause(50)
  socket.destroy()

  await left
})

test('a lane hears when a caller leaves who had begun to ask for something else', async () => {
  const left: string[] = []
  const server = await start((body, reply) => reply.onGone(() => left.push(body)))
  const socket = connect({ port: server.port, host: '127.0.0.1', noDelay: true })
  for (const part of [`${head()}{}`, 'POST ', '/lane HT']) {
    socket.write(part)
    await pause(50)
  }
  socket.end()

  await expect.poll(() => left).toEqual(['{}'])
  const asked = Date.now()
  await server.close(10)
  expect(Date.now() - asked).toBeLessThan(5000)
})

test('when it stops, those who wait are answered, those who do not are cut off', async () => {
  const server = await start((body, reply) => void setTimeout(() => echo(body, reply), 300))
  const idle = connect(server.port, '127.0.0.1')
  await once(idle, 'connect')
  const waiting = server.exchange([`${head()}{}`], 1000)
  await pause(100)
  const closed = server.close(10)

  expect(await waiting).toMatch(/connection: close.*lane \{\}$/s)
  await closed
})

/** Asks, and takes nothing of the answer until it is told to. */
async function startSlowReader(port: number) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  let read = 0
  socket.on('data', (bytes) => (read += bytes.length))
  socket.on('error', () => {})
  socket.pause()
  return {
    ask: () => new Promise<void>((resolve) => socket.write(`${head()}{}`, () => resolve())),
    async readAll(size: number) {
      socket.resume()
      while (!socket.closed && read < size) await pause(10)
      return read
    },
    end: () => socket.destroy(),
  }
}

const large = 10_000_000

test('who does not take its answers is not answered more, until it does', async () => {
  let answered = 0
  await using server = await start((_, reply) => {
    answered++
    reply.send(200, {}, 'x'.repeat(large))
  })
  const reader = await startSlowReader(server.port)
  for (let count = 0; count < 10; count++) {
    await reader.ask()
    await pause(20)
  }

  expect(answered).toBe(1)
  expect(await reader.readAll(10 * large)).toBeGreaterThan(10 * large)
  expect(answered).toBe(10)
  reader.end()
})

test('when it stops, an answer that is taken slowly still goes out whole', async () => {
  const server = await start((_, reply) => reply.send(200, {}, 'x'.repeat(large)))
  const reader = await startSlowReader(server.port)
  await reader.ask()
  await pause(50)
  const closed = server.close(10)
  await pause(200)

  expect(await reader.readAll(large)).toBeGreaterThan(large)
  await closed
})
