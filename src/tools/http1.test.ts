import { expect, test } from 'vitest'
import { printHead, ResponseReader } from './http1.ts'

const limit = 100_000

/** What a reader makes of the parts of a response, and of the end of the connection after them. */
function readParts(parts: readonly string[], method = 'GET') {
  const reader = new ResponseReader(method, limit)
  try {
    const whole = parts.findIndex((part) => reader.read(Buffer.from(part, 'latin1')))
    if (whole < 0 && !reader.end()) return 'not whole'
    const { status, headers, body } = reader.response
    return { status, headers: { ...headers }, body: body.toString('latin1'), keptMs: reader.keptMs }
  } catch (error) {
    return (error as { code: string }).code
  }
}

const ok = 'HTTP/1.1 200 OK\r\n'

test.each([
  ['of a declared length', `${ok}Content-Length: 5\r\nx-a:  b \t\r\n\r\nhello`, 'hello', 4000],
  [
    'in chunks',
    `${ok}Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n00A;a="b"\r\n, wide wor\r\n0\r\n\r\n`,
    undefined,
    4000,
  ],
  ['with trailers', `${ok}transfer-encoding: chunked\r\n\r\n1;x\r\n!\r\n0;y\r\nx-sum: 1\r\nx-b:\r\n\r\n`, '!', 4000],
  ['that ends with its connection', `${ok}content-type: text/plain\r\n\r\nhello\r\n\r\nworld`, undefined, 0],
  ['of nothing', `${ok}content-length: 0\r\n\r\n`, '', 4000],
  ['without headers or reason', 'HTTP/1.1 204\r\n\r\n', '', 4000],
  ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nhi', 'hi', 0],
  [
    'after interim ones',
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 \r\nlink: </a>\r\n\r\n${ok}content-length: 1\r\n\r\n1`,
    '1',
    4000,
  ],
  ['that closes', `${ok}connection: x, Close\r\ncontent-length: 1\r\n\r\n1`, '1', 0],
  ['that says how long it waits', `${ok}keep-alive: max=5, timeout=9\r\ncontent-length: 1\r\n\r\n1`, '1', 8000],
])('a response %s is the same wherever it is cut', (_, text, body, keptMs) => {
  const whole = readParts([text])

  expect(whole).toMatchObject({ keptMs, ...(body !== undefined && { body }) })
  for (let at = 1; at < text.length; at++) expect(readParts([text.slice(0, at), text.slice(at)])).toEqual(whole)
  expect(readParts([...text])).toEqual(whole)
})

test('header names come in lower case, values trimmed and as they are, and several of one name as one', () => {
  const read = readParts([`${ok}X-A: 1\r\nx-a:\t2\r\nX-Empty:\r\nx-letter: \xc3\xa0\r\ncontent-length: 0\r\n\r\n`])

  expect(read).toMatchObject({ headers: { 'x-a': '1, 2', 'x-empty': '', 'x-letter': '\xc3\xa0' } })
})

test('headers may have the names of what objects inherit', () => {
  const reader = new ResponseReader('GET', limit)

  reader.read(Buffer.from(`${ok}__proto__: a\r\nconstructor: b\r\ncontent-length: 0\r\n\r\n`))

  const { headers } = reader.response
  expect([Object.hasOwn(headers, '__proto__'), headers.constructor, headers.toString]).toEqual([true, 'b', undefined])
})

test.each([
  ['HEAD', `${ok}content-length: 5\r\n\r\n`],
  ['GET', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n'],
  ['GET', 'HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n'],
])(
  'a response to %s that declares a body it cannot have is whole, and its connection is of no more use',
  (method, text) => {
    expect(readParts([text], method)).toMatchObject({ body: '', keptMs: 0 })
  },
)

test.each([`${ok}content-length: 2\r\n\r\nhi!`, `${ok}content-length: 2\r\n\r\nhi${ok}`, `HTTP/1.1 204 \r\n\r\n${ok}`])(
  'what stands after the end, as in %j, is no part of a response, and its connection is of no more use',
  (text) => {
    expect(readParts([text])).toMatchObject({ body: text.includes('hi') ? 'hi' : '', keptMs: 0 })
  },
)

const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`

test.each([
  'SSH-2.0-OpenSSH_9.9\r\n',
  'HELLO\r\n',
  `\r\n${ok}\r\n`,
  'HTTP/2 200 OK\r\n\r\n',
  'HTTP/1.2 200 OK\r\n\r\n',
  'HTTP/1.1  200 OK\r\n\r\n',
  'HTTP/1.1 20 OK\r\n\r\n',
  'HTTP/1.1 099 OK\r\n\r\n',
  'HTTP/1.1 2000 OK\r\n\r\n',
  'http/1.1 200 OK\r\n\r\n',
  'HTTP/1.1 200 O\0K\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  `${ok}no colon\r\n\r\n`,
  `${ok}: no name\r\n\r\n`,
  `${ok}space before : colon\r\n\r\n`,
  `${ok}x-a : 1\r\n\r\n`,
  `${ok}x-a: 1\r\n folded\r\n\r\n`,
  `${ok}x-a: 1\nx-b: 2\r\n\r\n`,
  `${ok}x-a: 1\rx-b: 2\r\n\r\n`,
  'HTTP/1.1 200 OK\ncontent-length: 1\n\n!',
  `${ok}content-length: 1\r\n\n!`,
  `${ok}content-length: 1\r\n\r!`,
  `${ok}content-length: 1\r\n \r\n!`,
  `${ok}x-a: \0\r\n\r\n`,
  `${ok}x-a: \x7f\r\n\r\n`,
  `${ok}x-\xe9: 1\r\n\r\n`,
  `${ok}content-length: 5\r\ncontent-length: 6\r\n\r\nhello`,
  `${ok}content-length: 5\r\nContent-Length: 5\r\n\r\nhello`,
  `${ok}content-length: 5, 5\r\n\r\nhello`,
  `${ok}content-length: +5\r\n\r\nhello`,
  `${ok}content-length: -5\r\n\r\nhello`,
  `${ok}content-length: 0x5\r\n\r\nhello`,
  `${ok}content-length: 5.0\r\n\r\nhello`,
  `${ok}content-length:\r\n\r\nhello`,
  `${ok}content-length: ${'9'.repeat(16)}\r\n\r\nhello`,
  `${ok}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  `${ok}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  `${ok}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
  `${ok}transfer-encoding: identity\r\n\r\nhello`,
  `${ok}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`,
  `${ok}transfer-encoding:\r\n\r\nhello`,
  `${chunked}\r\n`,
  `${chunked}g\r\n`,
  `${chunked}0x5\r\nhello\r\n`,
  `${chunked}-5\r\nhello\r\n`,
  `${chunked} 5\r\nhello\r\n`,
  `${chunked}5 \r\nhello\r\n`,
  `${chunked}123456789\r\nhello\r\n`,
  `${chunked}5\nhello\r\n`.padEnd(400, ' '),
  `${chunked}5;a\nb\r\nhello\r\n`,
  `${chunked}5\r\nhello0\r\n\r\n`,
  `${chunked}5\r\nhello\n0\r\n\r\n`,
  `${chunked}5\r\nhello\r0\r\n\r\n`,
  `${chunked}5;${'x'.repeat(300)}\r\nhello\r\n`,
  `${chunked}0\r\nno trailer\r\n\r\n`,
  `${chunked}0\r\n folded: 1\r\n\r\n`,
  `${ok}x: ${'x'.repeat(17_000)}`,
  `${ok}x: ${'x'.repeat(17_000)}\r\ncontent-length: 0\r\n\r\n`,
  `${ok}${'x: 1\r\n'.repeat(5000)}`,
  `${chunked}0\r\n${'x: 1\r\n'.repeat(5000)}`,
  `${chunked}0\r\nx: ${'x'.repeat(17_000)}`,
  'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100),
])('what is no valid HTTP is refused, at once or in pieces: %j', (text) => {
  const inHundreds = text.match(/.{1,100}/gs) ?? []

  expect(readParts([text])).toBe('WIRE_BAD_RESPONSE')
  expect(readParts(text.length > 1000 ? inHundreds : [...text])).toBe('WIRE_BAD_RESPONSE')
})

test.each([
  '',
  'HTT',
  ok,
  `${ok}content-length: 5\r\n\r\nhell`,
  chunked,
  `${chunked}5\r\nhello`,
  `${chunked}5\r\nhello\r\n0\r\n`,
  `${chunked}0\r\nx: 1\r\n`,
  'HTTP/1.1 100 Continue\r\n\r\n',
])('a response that ends too early, as %j does, is not whole', (text) => {
  expect(readParts(text === '' ? [] : [text])).toBe('not whole')
})

test('a head of 16 KiB is read', () => {
  const text = `${ok}content-length: 1\r\n${'x: 1\r\n'.repeat(2700)}`

  expect(readParts([`${text}\r\n!`])).toMatchObject({ body: '!' })
})

test('a body that is too large is refused as soon as that is known, however it comes', () => {
  const text = 'x'.repeat(limit + 1)

  expect(readParts([`${ok}content-length: ${limit + 1}\r\n\r\n`])).toBe('RESPONSE_TOO_LARGE')
  expect(readParts([`${ok}\r\n`, text])).toBe('RESPONSE_TOO_LARGE')
  expect(readParts([`${chunked}fffff\r\n`, text])).toBe('RESPONSE_TOO_LARGE')
})

const print = (request: Partial<Parameters<typeof printHead>[0]> = {}) =>
  printHead({ url: new URL('http://a.test:81/b?c=d#e'), method: 'GET', headers: {}, ...request })

test('a request says where it goes, what is wanted, and how long its body is', () => {
  const { head, isPlain, isLast } = print({ method: 'POST', headers: { 'X-Own': 'é', accept: '*/*' }, body: '{"é":1}' })

  expect(head).toBe(
    'POST /b?c=d HTTP/1.1\r\nhost: a.test:81\r\nconnection: keep-alive\r\n' +
      'X-Own: é\r\naccept: */*\r\ncontent-length: 8\r\n\r\n',
  )
  expect([isPlain, isLast]).toEqual([false, false])
})

test.each([
  ['GET', undefined, false, false],
  ['POST', undefined, true, false],
  ['POST', '', true, false],
  ['DELETE', undefined, false, false],
  ['DELETE', 'x', true, true],
  ['GET', 'x', true, true],
  ['HEAD', undefined, false, true],
])(
  'a %s request with the body %j says its length: %s, and gives up its connection: %s',
  (method, body, says, gives) => {
    const { head, isLast } = print({ method, body })

    expect([head.includes('content-length: '), isLast]).toEqual([says, gives])
  },
)

test('a caller may say how the host is called, that the connection is to close, and the length if it is right', () => {
  const { head, host, isLast } = print({
    method: 'PUT',
    headers: { Host: 'b.test', Connection: 'x, Close', 'Content-Length': '1' },
    body: '1',
  })

  expect(head).toBe('PUT /b?c=d HTTP/1.1\r\nhost: b.test\r\nconnection: close\r\ncontent-length: 1\r\n\r\n')
  expect([host, isLast]).toEqual(['b.test', true])
})

test.each<Parameters<typeof print>[0]>([
  { headers: { 'x-a': '1\r\nx-b: 2' } },
  { headers: { 'x-a': '1\nx-b: 2' } },
  { headers: { 'x-a': '1\r' } },
  { headers: { 'x-a': '\0' } },
  { headers: { 'x-a': '€' } },
  { headers: { 'x-a': '\x7f' } },
  { headers: { 'x-a: 1\r\nx-b': '2' } },
  { headers: { 'x-a: 1': '2' } },
  { headers: { 'x a': '1' } },
  { headers: { '': '1' } },
  { headers: { é: '1' } },
  { headers: { host: 'a\r\nx: 1' } },
  { headers: { host: 'a', Host: 'b' } },
  { headers: { 'Transfer-Encoding': 'chunked' } },
  { headers: { 'keep-alive': '1' } },
  { headers: { Upgrade: 'websocket' } },
  { headers: { expect: '100-continue' } },
  { headers: { connection: 'a b' } },
  { headers: { connection: '' } },
  { headers: { 'content-length': '2' }, body: '1' },
  { headers: { 'content-length': '1, 1' }, body: '1' },
  { headers: { 'content-length': '+1' }, body: '1' },
  { method: 'GET / HTTP/1.1\r\nx: 1\r\n\r\nGET' },
  { method: '' },
  { url: { pathname: '/a b', search: '', host: 'a' } as URL },
  { url: { pathname: '/a\r\nb', search: '', host: 'a' } as URL },
  { url: { pathname: 'a', search: '', host: 'a' } as URL },
  { url: new URL('data:a') },
])('a request that could be read otherwise than it is meant is not sent: %j', (request) => {
  expect(() => print(request)).toThrow('WIRE_BAD_REQUEST')
})
