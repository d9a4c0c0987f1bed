/** Peers for connections: an MCP server that needs tokens of an authorization server, and a browser. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import type { startAuthorizationServer } from './oauth-peers.ts'

type AuthorizationServer = Awaited<ReturnType<typeof startAuthorizationServer>>

export interface ProtectedOptions {
  /** The scope that a call of `write` needs. */
  readonly writeScope?: string
}

/** An MCP server on loopback. It accepts only tokens that the authorization server has issued for it. */
export async function startProtected(as: AuthorizationServer, { writeScope = 'notes:write' }: ProtectedOptions = {}) {
  const calls: { name: string; account: string; token: string }[] = []
  const rejected: string[] = []
  const requests: string[] = []
  let current: { account: string; token: string; scope: string } | undefined
  /** Overrides the answer to every request with a token. */
  let refusesAll = false
  const inputSchema = { type: 'object' as const, properties: { text: { type: 'string' } } }
  const handler = createMcpHandler(
    () => {
      const server = new Server({ name: 'notes', version: '1' }, { capabilities: { tools: {} } })
      server.setRequestHandler('tools/list', () => ({
        tools: ['read', 'write', 'leak'].map((name) => ({ name, inputSchema })),
      }))
      server.setRequestHandler('tools/call', ({ params }) => {
        const { account = '', token = '' } = current ?? {}
        calls.push({ name: params.name, account, token })
        const text = params.name === 'leak' ? `token ${token} ${btoa(`x${token}`)}` : `notes of ${account}`
        return { content: [{ type: 'text', text }] } as never
      })
      return server
    },
    { legacy: 'stateless' },
  )
  const server = createServer((request, response) => void listener(request, response)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = `${origin}/mcp`
  const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`

  const refuse = (status: 401 | 403, parts: string) =>
    new Response('{}', {
      status,
      headers: {
        'www-authenticate': `Bearer resource_metadata="${metadata}", ${parts}`,
        'content-type': 'application/json',
      },
    })

  const listener = getRequestListener(
    async (request) => {
      const { pathname } = new URL(request.url)
      if (pathname === '/.well-known/oauth-protected-resource/mcp') {
        return Response.json({ resource: url, authorization_servers: [as.url], scopes_supported: ['notes:read'] })
      }
      const body = request.method === 'POST' ? await request.clone().text() : ''
      requests.push(body)
      const token = request.headers.get('authorization')?.replace(/^Bearer /, '')
      const found = token === undefined ? undefined : await as.provider.AccessToken.find(token)
      const isOurs = found !== undefined && found.aud === url
      const service = token === undefined || isOurs ? undefined : await as.provider.ClientCredentials.find(token)
      const known = isOurs ? found : service?.aud === url ? service : undefined
      if (!known || refusesAll) {
        if (token !== undefined) rejected.push(token)
        return refuse(401, 'error="invalid_token"')
      }
      const scope = known.scope ?? ''
      if (body.includes('"name":"write"') && !scope.split(' ').includes(writeScope)) {
        return refuse(403, `error="insufficient_scope", scope="${writeScope}"`)
      }
      current = { account: 'accountId' in known ? String(known.accountId) : 'service', token: String(token), scope }
      return handler.fetch(request)
    },
    { overrideGlobalObjects: false },
  )
  return {
    url,
    origin,
    calls,
    rejected,
    requests,
    refuse(all: boolean) {
      refusesAll = all
    },
    async [Symbol.asyncDispose]() {
      await handler.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export interface Visit {
  readonly url: URL
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** A browser without scripts: keeps cookies per host, follows redirects, and sends forms. */
export class TestBrowser {
  readonly #cookies = new Map<string, string>()
  /** Every address it was at. */
  readonly visited: URL[] = []

  async open(address: string | URL, form?: URLSearchParams, { follow = true } = {}): Promise<Visit> {
    let url = new URL(address)
    let body = form
    for (let hops = 0; hops < 15; hops++) {
      this.visited.push(url)
      const response = await fetch(url, {
        method: body ? 'POST' : 'GET',
        redirect: 'manual',
        headers: {
          cookie: this.#cookiesFor(url),
          accept: 'text/html',
          'sec-fetch-site': body ? 'same-origin' : 'none',
        },
        ...(body && { body }),
      })
      this.#keep(url, response.headers.getSetCookie())
      const location = response.headers.get('location')
      const text = await response.text()
      if (location === null || !follow) return { url, status: response.status, headers: response.headers, text }
      url = new URL(location, url)
      body = undefined
    }
    throw new Error('Too many redirects')
  }

  /** Opens a connect link and presses its button. */
  async connect(link: string, fields: Record<string, string> = {}, options = {}): Promise<Visit> {
    const page = await this.open(link)
    if (page.status !== 200) return page
    return this.submit(page, fields, options)
  }

  submit(page: Visit, fields: Record<string, string> = {}, options = {}): Promise<Visit> {
    const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(page.text) ?? []
    const [, action = ''] = /action="([^"]+)"/.exec(page.text) ?? []
    return this.open(new URL(action, page.url), new URLSearchParams({ csrf, ...fields }), options)
  }

  /** Adds a cookie that another page has set. */
  keepCookie(url: string, cookie: string): void {
    this.#keep(new URL(url), [cookie])
  }

  #cookiesFor({ host }: URL): string {
    return [...this.#cookies]
      .filter(([key]) => key.startsWith(`${host} `))
      .map(([key, value]) => `${key.slice(host.length + 1)}=${value}`)
      .join('; ')
  }

  #keep({ host }: URL, lines: readonly string[]): void {
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      this.#cookies.set(`${host} ${name}`, value)
    }
  }
}
