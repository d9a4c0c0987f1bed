/** Peers of the OAuth client: a real authorization server, a browser that agrees to everything, and a scripted server. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider, { type Configuration } from 'oidc-provider'
import type { OAuthContext, TraceStep } from '../src/credentials/oauth/types.ts'
import { Outbound, type OutboundOptions } from '../src/http/outbound.ts'

export const redirectUri = 'http://127.0.0.1:9/oauth/callback'

/** The context of the OAuth client on the guarded fetch, with everything it traces. */
export function openContext(options: Partial<OutboundOptions> = {}) {
  const outbound = new Outbound({ allowLoopback: true, allow: [], maxResponseBytes: 4_000_000, ...options })
  const steps: TraceStep[] = []
  const { fetch } = outbound.client({ project: 'proj_1', credentials: [] })
  const context = { fetch, trace: (step) => void steps.push(step) } satisfies OAuthContext
  return { ...context, steps, [Symbol.asyncDispose]: () => outbound.close() }
}

async function listen(handler: RequestListener) {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { server, url, close }
}

/**
 * `oidc-provider` with registration, refresh tokens that rotate and are revoked on reuse, revocation, client credentials and
 * `iss` in responses. Its resource is `<url>/mcp`.
 */
export async function startAuthorizationServer(configuration: Configuration = {}) {
  let handle: RequestListener = (_request, response) => void response.writeHead(503).end()
  const { url, close } = await listen((request, response) => void handle(request, response))
  const provider = new Provider(url, { ...settings(`${url}/mcp`), ...configuration })
  const callback = provider.callback()
  let holding: ((...pair: Parameters<RequestListener>) => boolean) | undefined
  handle = (request, response) => {
    if (request.url === '/token' && holding?.(request, response)) return
    if (request.url?.startsWith('/interaction/')) return void agree(provider, request, response)
    if (request.url !== '/.well-known/oauth-protected-resource/mcp') return void callback(request, response)
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({ resource: `${url}/mcp`, authorization_servers: [url], scopes_supported: ['notes:read'] }),
    )
  }
  /** Holds the next token request before it is processed, or its response. Resolves once it is held, and nothing releases it. */
  const holdNext = (what: 'request' | 'response') =>
    new Promise<void>((resolve) => {
      holding = (_request, response) => {
        holding = undefined
        if (what === 'request') resolve()
        else
          response.end = () => {
            resolve()
            return response
          }
        return what === 'request'
      }
    })
  return { url, resource: `${url}/mcp`, provider, holdNext, [Symbol.asyncDispose]: close }
}

const settings = (resource: string): Configuration => ({
  clients: [
    {
      client_id: 'service',
      client_secret: 'a secret with % and + and : in it',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
  ],
  scopes: ['openid', 'offline_access', 'notes:read', 'notes:write'],
  claims: { openid: ['sub', 'email'] },
  conformIdTokenClaims: false,
  clientDefaults: { application_type: 'native' },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@example.com` }) }),
  interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
  cookies: { keys: ['only for tests'] },
  issueRefreshToken: async (_context, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope: 'notes:read notes:write', accessTokenFormat: 'opaque' }),
    },
  },
})

/** Signs in as Alice and consents to whatever is asked. */
async function agree(provider: Provider, ...[request, response]: Parameters<RequestListener>): Promise<void> {
  const { params, prompt } = await provider.interactionDetails(request, response)
  if (prompt.name === 'login') return provider.interactionFinished(request, response, { login: { accountId: 'alice' } })
  const grant = new provider.Grant({ accountId: 'alice', clientId: String(params.client_id) })
  const scope = String(params.scope ?? '')
  grant.addOIDCScope(scope)
  grant.addResourceScope(String(params.resource), scope)
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
}

/** Opens a URL like a browser, with cookies, until it is sent to the redirect URI. Returns the parameters it arrives with. */
export async function browse(start: string): Promise<URLSearchParams> {
  const cookies = new Map<string, string>()
  let url = new URL(start)
  for (let hops = 0; hops < 10; hops++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    const text = await response.text()
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`${url.pathname} answered ${response.status}: ${text}`)
    url = new URL(location, url)
    if (url.href.startsWith(redirectUri)) return url.searchParams
  }
  throw new Error('Too many redirects')
}

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

interface Reply {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
  /** Sends the headers and half of the body, and then nothing. */
  readonly stalls?: boolean
}

/** Answers what the script says, by method and path, and 404 otherwise. Remembers what it received. */
export async function startScripted(script: (url: string) => Record<string, Reply | ((request: Received) => Reply)>) {
  const received: Received[] = []
  let replies: ReturnType<typeof script> = {}
  const { url, close } = await listen(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', headers } = request
    const path = request.url ?? ''
    const arrived = { method, path, headers, body: Buffer.concat(chunks).toString() }
    received.push(arrived)
    const found = replies[`${method} ${path.split('?')[0]}`] ?? { status: 404, body: { message: 'Not found' } }
    const { status = 200, headers: extra, body, stalls } = typeof found === 'function' ? found(arrived) : found
    response.writeHead(status, { 'content-type': 'application/json', ...extra })
    if (stalls) response.write('{')
    else response.end(typeof body === 'string' ? body : JSON.stringify(body ?? {}))
  })
  replies = script(url)
  return { url, received, script: replies, [Symbol.asyncDispose]: close }
}

/** Metadata of an authorization server at this URL that has nothing wrong with it. */
export const soundMetadata = (url: string) => ({
  issuer: url,
  authorization_endpoint: `${url}/authorize`,
  token_endpoint: `${url}/token`,
  registration_endpoint: `${url}/register`,
  revocation_endpoint: `${url}/revoke`,
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'none'],
})

/** A protected server at `<url>/mcp` that is its own authorization server, with nothing wrong with it. */
export const soundServer = (url: string): Record<string, Reply | ((request: Received) => Reply)> => ({
  'GET /.well-known/oauth-protected-resource/mcp': {
    body: { resource: `${url}/mcp`, authorization_servers: [url], scopes_supported: ['read', 'write'] },
  },
  'GET /.well-known/oauth-authorization-server': { body: soundMetadata(url) },
  'POST /register': ({ body }) => ({ status: 201, body: { ...JSON.parse(body), client_id: 'client-1' } }),
  'POST /token': { body: { access_token: 'at-secret-1', token_type: 'Bearer', expires_in: 3600 } },
})
