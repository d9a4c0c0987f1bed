/**
 * The official conformance suite starts this program as the client under test. It is the smallest client that uses the OAuth
 * engine: it keeps its tokens in memory, and its browser agrees to everything.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { startAuthorization } from '../src/credentials/oauth/authorize.ts'
import { parseChallenge } from '../src/credentials/oauth/challenge.ts'
import { discover } from '../src/credentials/oauth/discover.ts'
import { finishAuthorization } from '../src/credentials/oauth/finish.ts'
import { clientCredentials, enterpriseAuthorization, exchangeAssertion } from '../src/credentials/oauth/grants.ts'
import { register } from '../src/credentials/oauth/register.ts'
import type { Challenge, OAuthClient, Tokens } from '../src/credentials/oauth/types.ts'
import { openContext, redirectUri } from './oauth-peers.ts'

const resourceUrl = process.argv.at(-1) ?? ''
const version = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? ''
const settings: Record<string, string | undefined> = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
const context = openContext()

const clients = new Map<string, OAuthClient>()
let tokens: Tokens | undefined
let requested: readonly string[] | undefined

async function authorize(challenge: Challenge): Promise<void> {
  const found = await discover({ resourceUrl, challenge }, context)
  const { server, resource, scopes } = found
  const client = clients.get(server.issuer) ?? (await registerAt(found))
  clients.set(server.issuer, client)
  if (scenario.includes('client-credentials')) {
    tokens = await clientCredentials({ server, client, resource, scopes }, context)
    return
  }
  if (settings.valid_jwt !== undefined) {
    const assertion = settings.valid_jwt
    tokens = await exchangeAssertion({ server, client, resource, scopes, assertion }, context)
    return
  }
  if (settings.idp_token_endpoint !== undefined) {
    const issuer = settings.idp_issuer ?? ''
    const identityProvider = {
      server: { issuer, token_endpoint: settings.idp_token_endpoint },
      client: { clientId: settings.idp_client_id ?? '', issuer, kind: 'pre_registered', authMethod: 'none' } as const,
    }
    const idToken = settings.idp_id_token ?? ''
    tokens = await enterpriseAuthorization({ server, client, resource, scopes, identityProvider, idToken }, context)
    return
  }
  const previousScopes = challenge.error === 'insufficient_scope' ? requested : undefined
  const { url, pending } = await startAuthorization({ server, client, redirectUri, resource, scopes, previousScopes })
  const response = await fetch(url, { redirect: 'manual' })
  const params = new URL(response.headers.get('location') ?? '').searchParams
  tokens = await finishAuthorization({ pending, params, server, client }, context)
  requested = pending.scopes
}

function registerAt({ server, scopes }: Awaited<ReturnType<typeof discover>>): Promise<OAuthClient> {
  const { client_id: clientId, client_secret: clientSecret, private_key_pem: pem, signing_algorithm: alg } = settings
  const preRegistered = clientId && { clientId, clientSecret, ...(pem && { privateKey: { pem, alg: alg ?? '' } }) }
  return register(
    {
      server,
      redirectUri,
      scopes,
      clientName: 'Quartermaster',
      clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
      ...(preRegistered && { preRegistered }),
    },
    context,
  )
}

/** Sends the token, and authorizes again at most twice per request. */
const authorized: typeof fetch = async (input, init) => {
  for (let attempt = 0; ; attempt++) {
    const headers = new Headers(init?.headers)
    if (tokens) headers.set('authorization', `Bearer ${tokens.accessToken}`)
    const response = await fetch(input, { ...init, headers })
    const challenge = parseChallenge(response.headers.get('www-authenticate'))
    const wanted = response.status === 401 || (response.status === 403 && challenge.error === 'insufficient_scope')
    if (!wanted || attempt === 2) return response
    await response.text()
    await authorize(challenge)
  }
}

const mode = version === '2026-07-28' ? ('auto' as const) : ('legacy' as const)
const client = new Client({ name: 'quartermaster', version: '1' }, { versionNegotiation: { mode } })
await client.connect(new StreamableHTTPClientTransport(new URL(resourceUrl), { fetch: authorized }))
const { tools } = await client.listTools()
for (const { name } of tools) await client.callTool({ name, arguments: {} })
await client.close()
process.exit()
