import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { startAuthorization } from '../src/credentials/oauth/authorize.ts'
import { parseChallenge } from '../src/credentials/oauth/challenge.ts'
import { discover } from '../src/credentials/oauth/discover.ts'
import { finishAuthorization } from '../src/credentials/oauth/finish.ts'
import { clientCredentials, enterpriseAuthorization, exchangeAssertion } from '../src/credentials/oauth/grants.ts'
import { register } from '../src/credentials/oauth/register.ts'
import type { Challenge, Discovery, OAuthClient, OAuthContext, Tokens } from '../src/credentials/oauth/types.ts'
import { openContext, redirectUri } from './oauth-peers.ts'

/** What the official conformance suite passes to the client under test. */
export interface OAuthScenario {
  readonly server: string
  readonly name: string
  readonly version: string
  readonly context?: Readonly<Record<string, string | undefined>>
}

/** The smallest client of the OAuth engine: it keeps its tokens in memory, and its browser agrees to everything. */
class EngineClient {
  readonly #scenario: OAuthScenario
  readonly #context: OAuthContext
  readonly #clients = new Map<string, OAuthClient>()
  #tokens: Tokens | undefined
  #requested: readonly string[] | undefined

  constructor(scenario: OAuthScenario, context: OAuthContext) {
    this.#scenario = scenario
    this.#context = context
  }

  /** Sends the token, and authorizes again at most twice per request. */
  readonly fetch: typeof fetch = async (input, init) => {
    for (let attempt = 0; ; attempt++) {
      const headers = new Headers(init?.headers)
      if (this.#tokens) headers.set('authorization', `Bearer ${this.#tokens.accessToken}`)
      const response = await fetch(input, { ...init, headers })
      const challenge = parseChallenge(response.headers.get('www-authenticate'))
      const wanted = response.status === 401 || (response.status === 403 && challenge.error === 'insufficient_scope')
      if (!wanted || attempt === 2) return response
      await response.text()
      await this.#authorize(challenge)
    }
  }

  async #authorize(challenge: Challenge): Promise<void> {
    const found = await discover({ resourceUrl: this.#scenario.server, challenge }, this.#context)
    const client = this.#clients.get(found.issuer) ?? (await this.#register(found))
    this.#clients.set(found.issuer, client)
    this.#tokens = (await this.#withoutBrowser(found, client)) ?? (await this.#withBrowser(found, client, challenge))
  }

  #register({ server, scopes }: Discovery): Promise<OAuthClient> {
    const {
      client_id: clientId,
      client_secret: clientSecret,
      private_key_pem: pem,
      signing_algorithm: alg = '',
    } = {
      ...this.#scenario.context,
    }
    const preRegistered = clientId ? { clientId, clientSecret, ...(pem && { privateKey: { pem, alg } }) } : undefined
    const clientMetadataUrl = 'https://conformance-test.local/client-metadata.json'
    const request = { server, redirectUri, scopes, clientName: 'Quartermaster', clientMetadataUrl, preRegistered }
    return register(request, this.#context)
  }

  async #withoutBrowser({ server, resource, scopes }: Discovery, client: OAuthClient): Promise<Tokens | undefined> {
    const { name, context: settings = {} } = this.#scenario
    const request = { server, client, resource, scopes }
    if (name.includes('client-credentials')) return clientCredentials(request, this.#context)
    const { valid_jwt: assertion, idp_token_endpoint, idp_issuer: issuer = '', idp_id_token: idToken = '' } = settings
    if (assertion) return exchangeAssertion({ ...request, assertion }, this.#context)
    if (!idp_token_endpoint) return undefined
    const clientId = settings.idp_client_id ?? ''
    const identityProvider = {
      server: { issuer, token_endpoint: idp_token_endpoint },
      client: { clientId, issuer, kind: 'pre_registered', authMethod: 'none' } as const,
    }
    return enterpriseAuthorization({ ...request, identityProvider, idToken }, this.#context)
  }

  async #withBrowser(
    { server, resource, scopes }: Discovery,
    client: OAuthClient,
    { error }: Challenge,
  ): Promise<Tokens> {
    const previousScopes = error === 'insufficient_scope' ? this.#requested : undefined
    const { url, pending } = await startAuthorization({ server, client, redirectUri, resource, scopes, previousScopes })
    const response = await fetch(url, { redirect: 'manual' })
    const params = new URL(response.headers.get('location') ?? '').searchParams
    const tokens = await finishAuthorization({ pending, params, server, client }, this.#context)
    this.#requested = pending.scopes
    return tokens
  }
}

/** Connects to the suite's server and calls its tools. Rejects if the engine refuses to. */
export async function playOAuthClient(scenario: OAuthScenario): Promise<void> {
  await using context = openContext()
  const engine = new EngineClient(scenario, context)
  const mode = scenario.version === '2026-07-28' ? ('auto' as const) : ('legacy' as const)
  const client = new Client({ name: 'quartermaster', version: '1' }, { versionNegotiation: { mode } })
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(scenario.server), { fetch: engine.fetch }))
    const { tools } = await client.listTools()
    for (const { name } of tools) await client.callTool({ name, arguments: {} })
  } finally {
    await client.close()
  }
}
