import { generateKeyPairSync } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import Provider, { type Configuration } from 'oidc-provider'
import { listen } from './listen.ts'

/** A notes service: an MCP server that needs access tokens, and the authorization server that issues them. */
export async function startNotes() {
  const notes = new Map<string, string[]>()
  const grants = new Map<string, string[]>()
  let handle: RequestListener = (_, response) => void response.writeHead(503).end()
  const { url, close } = await listen((request, response) => void handle(request, response))
  const resource = `${url}/mcp`
  const provider = new Provider(url, settings(resource))
  const issuer = provider.callback()

  const mcp = getRequestListener(async (request) => {
    const token = await provider.AccessToken.find(request.headers.get('authorization')?.slice('Bearer '.length) ?? '')
    if (token?.aud !== resource) {
      const challenge = `Bearer resource_metadata="${url}/.well-known/oauth-protected-resource/mcp"`
      return new Response('{}', { status: 401, headers: { 'www-authenticate': challenge } })
    }
    return createMcpHandler(() => serverFor(token.accountId, notes), { legacy: 'stateless' }).fetch(request)
  })
  handle = (request, response) => {
    const path = request.url ?? ''
    if (path === '/mcp') return void mcp(request, response)
    if (path.startsWith('/interaction/')) return void interact(provider, grants, request, response)
    if (path !== '/.well-known/oauth-protected-resource/mcp') return void issuer(request, response)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ resource, authorization_servers: [url], scopes_supported: ['notes'] }))
  }
  return {
    url: resource,
    close,
    /** What a person does on the settings page of the service. */
    async removeAccess(account: string) {
      for (const id of grants.get(account) ?? []) {
        await provider.AccessToken.revokeByGrantId(id)
        await provider.RefreshToken.revokeByGrantId(id)
      }
    },
  }
}

function serverFor(account: string, notes: Map<string, string[]>): Server {
  const server = new Server({ name: 'notes', version: '1.0.0' }, { capabilities: { tools: {} } })
  const inputSchema = { type: 'object' as const, properties: { text: { type: 'string' as const } } }
  server.setRequestHandler('tools/list', () => ({
    tools: [
      { name: 'list', description: 'Lists your notes', inputSchema: { type: 'object' } },
      { name: 'add', description: 'Adds a note', inputSchema },
    ],
  }))
  server.setRequestHandler('tools/call', ({ params }) => {
    const own = [...(notes.get(account) ?? []), ...(params.name === 'add' ? [String(params.arguments?.text)] : [])]
    notes.set(account, own)
    return { content: [{ type: 'text', text: `Notes of ${account}: ${own.join(', ') || 'none'}` }] }
  })
  return server
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

const settings = (resource: string): Configuration => ({
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig' }] },
  scopes: ['openid', 'offline_access', 'notes'],
  clientDefaults: { application_type: 'native' },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  cookies: { keys: ['only for this example'] },
  issueRefreshToken: async (_, client) => client.grantTypeAllowed('refresh_token'),
  ttl: { Interaction: 600, Session: 3600, Grant: 86_400, AccessToken: 3600, RefreshToken: 86_400 },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope: 'notes', accessTokenFormat: 'opaque' }),
    },
  },
})

/** The sign-in page of the service. Its accounts have no passwords. */
async function interact(
  provider: Provider,
  grants: Map<string, string[]>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { params, prompt, session } = await provider.interactionDetails(request, response)
  if (prompt.name === 'login' && request.method === 'GET') {
    response.setHeader('content-type', 'text/html')
    response.end(`<form method="post" action="${request.url}"><input name="account"><button>Sign in</button></form>`)
  } else if (prompt.name === 'login') {
    const accountId = new URLSearchParams(await text(request)).get('account') ?? ''
    await provider.interactionFinished(request, response, { login: { accountId } })
  } else {
    const accountId = session?.accountId ?? ''
    const grant = new provider.Grant({ accountId, clientId: String(params.client_id) })
    grant.addOIDCScope(String(params.scope ?? ''))
    grant.addResourceScope(String(params.resource), String(params.scope ?? ''))
    const grantId = await grant.save()
    grants.set(accountId, [...(grants.get(accountId) ?? []), grantId])
    await provider.interactionFinished(request, response, { consent: { grantId } })
  }
}
