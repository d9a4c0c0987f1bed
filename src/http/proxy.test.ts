import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { expect, test } from 'vitest'
import { identity, trust } from '../../test/certificate.ts'
import { startProxy } from '../../test/proxy.ts'
import { PlatformError } from '../model/errors.ts'
import { Outbound, type OutboundOptions, type OutboundRequest } from './outbound.ts'
import { createProxyRules } from './proxy.ts'

async function listen(server: Server) {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

const serve = (answer: RequestListener) => listen(createServer({ keepAliveTimeout: 1 }, answer))
const serveSecurely = (answer: RequestListener) => listen(createTlsServer({ ...identity, keepAliveTimeout: 1 }, answer))

/** Resolves no host name unless given addresses, as in a network where only the proxy resolves names. */
const lookup =
  (known: Record<string, string> = {}): NonNullable<OutboundOptions['lookup']> =>
  (hostname, _options, callback) => {
    const address = known[hostname]
    if (address === undefined) callback(Object.assign(new Error('no such host'), { code: 'ENOTFOUND' }), [])
    else callback(null, [{ address, family: 4 }])
  }

function open(options: Partial<OutboundOptions>) {
  const outbound = new Outbound({ allowLoopback: true, allow: [], maxResponseBytes: 1e6, lookup: lookup(), ...options })
  const http = outbound.client({ project: 'proj_1', credentials: [] })
  return {
    outbound,
    fetch: http.fetch,
    /** The body of the response, or the code and reason of the failure. */
    async ask(url: string, request: Partial<OutboundRequest> = {}) {
      try {
        const signal = AbortSignal.timeout(10_000)
        const { body } = await http.request({ url: new URL(url), method: 'GET', headers: {}, signal, ...request })
        return body.toString()
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error
        return `${error.code}: ${(error.details as { reason?: string }).reason}`
      }
    },
    [Symbol.asyncDispose]: () => outbound.close(),
  }
}

test('http requests go through HTTP_PROXY with its credentials, and without proxy credentials of the caller', async () => {
  await using server = await serve(({ url, headers }, response) =>
    response.end(`${headers.host}${url} ${headers['x-key']}`),
  )
  await using proxy = await startProxy()
  await using outbound = open({ proxy: { http: proxy.url.replace('//', '//me:p%40ss@') } })
  const url = `http://api.invalid:${server.port}/a?b=c`

  const answer = await outbound.ask(url, { headers: { 'x-key': 'k', 'Proxy-Authorization': 'stolen' } })
  const fetched = await (await outbound.fetch(url, { headers: { 'x-key': 'k' } })).text()

  expect([answer, fetched]).toEqual(Array(2).fill(`127.0.0.1:${server.port}/a?b=c k`))
  expect(proxy.requests).toEqual(Array(2).fill(`GET ${url}`))
  expect(new Set(proxy.credentials)).toEqual(new Set([`Basic ${Buffer.from('me:p@ss').toString('base64')}`]))
})

test('https requests go through a tunnel of HTTPS_PROXY, and certificates are still checked', async () => {
  await using server = await serveSecurely((_, response) => response.end('in the tunnel'))
  await using proxy = await startProxy()
  await using outbound = open({ proxy: { https: proxy.url.replace('//', '//me:secret@') } })
  const url = `https://api.invalid:${server.port}/`
  const asLocalhost = { headers: { host: 'localhost' } }

  const untrusted = await outbound.ask(url, asLocalhost)
  using _ = trust()
  const trusted = await outbound.ask(url, asLocalhost)
  const otherName = await outbound.ask(url)

  expect(trusted).toBe('in the tunnel')
  const refused = 'TOOL_UNREACHABLE: the TLS certificate is not trusted'
  expect([untrusted, otherName]).toEqual([refused, refused])
  expect(new Set(proxy.requests)).toEqual(new Set([`CONNECT api.invalid:${server.port}`]))
  expect(new Set(proxy.credentials)).toEqual(new Set([`Basic ${Buffer.from('me:secret').toString('base64')}`]))
})

test.each(['http', 'https'])('an %s address that the egress guard blocks is not sent to the proxy', async (scheme) => {
  await using proxy = await startProxy()
  const known = { 'inside.invalid': '10.0.0.1', 'metadata.invalid': '169.254.169.254' }
  await using outbound = open({ proxy: { http: proxy.url, https: proxy.url }, lookup: lookup(known) })

  const hosts = ['169.254.169.254', '10.1.2.3', '[fd00::1]', 'metadata.google.internal', ...Object.keys(known)]
  const answers = await Promise.all(hosts.map((host) => outbound.ask(`${scheme}://${host}/`)))

  expect(answers.map((answer) => answer.split(':')[0])).toEqual(hosts.map(() => 'EGRESS_BLOCKED'))
  expect(proxy.requests).toEqual([])
})

test('a redirect received through a proxy is checked like the first address', async () => {
  await using server = await serve((_, response) => response.writeHead(302, { location: 'http://10.0.0.1/' }).end())
  await using proxy = await startProxy()
  await using outbound = open({ proxy: { http: proxy.url } })

  const answer = await outbound.ask(`http://api.invalid:${server.port}/`)

  expect(answer).toContain('EGRESS_BLOCKED: it is a private address')
  expect(proxy.requests).toHaveLength(1)
})

test('an operator can allow a private range behind a proxy', async () => {
  await using server = await serve((_, response) => response.end('allowed'))
  await using proxy = await startProxy()
  await using outbound = open({ proxy: { http: proxy.url }, allow: ['10.0.0.0/8'] })

  expect(await outbound.ask(`http://10.0.0.1:${server.port}/`)).toBe('allowed')
})

test('loopback addresses and NO_PROXY hosts are called directly, with the same checks as without a proxy', async () => {
  await using server = await serve((_, response) => response.end('direct'))
  await using proxy = await startProxy()
  const known = { localhost: '127.0.0.1', 'near.invalid': '127.0.0.1', 'inside.invalid': '10.0.0.1' }
  const settings = { http: proxy.url, except: '.near.invalid, inside.invalid' }
  await using outbound = open({ proxy: settings, lookup: lookup(known) })
  const hosts = ['127.0.0.1', 'localhost', 'near.invalid']

  const answers = await Promise.all(hosts.map((host) => outbound.ask(`http://${host}:${server.port}/`)))
  const blocked = await outbound.ask('http://inside.invalid/')

  expect(answers).toEqual(['direct', 'direct', 'direct'])
  expect(blocked).toContain('EGRESS_BLOCKED')
  expect(proxy.requests).toEqual([])
})

test.each([
  ['', 'http://a.example', true],
  ['*', 'http://a.example', false],
  ['a.example', 'http://a.example', false],
  ['A.Example.', 'http://a.example.', false],
  ['example', 'http://a.example', false],
  ['.example', 'http://a.example', false],
  ['*.example', 'http://a.example', false],
  ['b.example c.example', 'http://c.example', false],
  ['ample', 'http://a.example', true],
  ['a.example:8080', 'http://a.example:8080', false],
  ['a.example:8080', 'http://a.example', true],
  ['a.example:443', 'https://a.example', false],
  ['10.0.0.0/8', 'http://10.1.2.3', false],
  ['10.0.0.0/8', 'http://11.1.2.3', true],
  ['fd00::/8', 'http://[fd00::1]:80', false],
  ['', 'http://[::1]', false],
  ['', 'http://app.localhost', false],
])('with NO_PROXY=%j, does %s go through the proxy? %s', (except, url, expected) => {
  const find = createProxyRules({ http: 'http://proxy.example', https: 'http://proxy.example', except })

  expect(find(new URL(url)) !== undefined).toBe(expected)
})

test.each([
  [403, 'the proxy refused the connection (403)'],
  [407, 'the proxy requires other credentials (407)'],
])('the error names the proxy if it responds with %i to CONNECT', async (status, reason) => {
  await using proxy = await startProxy(status)
  await using outbound = open({ proxy: { https: proxy.url } })

  expect(await outbound.ask('https://api.invalid/')).toBe(`TOOL_UNREACHABLE: ${reason}`)
})

test.each(['http', 'https'])('for an %s address, the error names the proxy if it is unreachable', async (scheme) => {
  const gone = await startProxy()
  await gone[Symbol.asyncDispose]()
  await using outbound = open({ proxy: { http: gone.url, https: gone.url } })

  expect(await outbound.ask(`${scheme}://api.invalid/`)).toBe('TOOL_UNREACHABLE: the proxy cannot be reached')
})

test('connections to a proxy are not shared between projects', async () => {
  await using server = await serve((_, response) => response.end('ok'))
  await using proxy = await startProxy()
  await using outbound = open({ proxy: { http: proxy.url } })
  const ports: (Set<number | undefined> | undefined)[] = []

  for (const project of ['proj_1', 'proj_2']) {
    proxy.ports.clear()
    for (let count = 0; count < 5; count++) {
      const url = new URL(`http://api.invalid:${server.port}/`)
      const signal = AbortSignal.timeout(10_000)
      await outbound.outbound.client({ project, credentials: [] }).request({ url, method: 'GET', headers: {}, signal })
    }
    ports.push(new Set(proxy.ports))
  }

  expect(ports[0]?.intersection(ports[1] as Set<number | undefined>).size).toBe(0)
})
