import type { Outbound } from '../../http/outbound.ts'
import { PlatformError } from '../../model/errors.ts'
import { newId } from '../../model/ids.ts'
import type { OAuthClients } from '../../store/oauth-clients.ts'
import { sealedAt } from '../../store/sealed.ts'
import { fillApp, findApp } from '../apps.ts'
import { parseChallenge } from '../oauth/challenge.ts'
import { discover } from '../oauth/discover.ts'
import { OAuthError } from '../oauth/errors.ts'
import { register } from '../oauth/register.ts'
import type {
  AuthMethod,
  AuthorizationServer,
  OAuthClient,
  OAuthContext,
  PreRegisteredClient,
  Trace,
} from '../oauth/types.ts'
import type { Vault } from '../vault.ts'
import type { ConnectPlan } from './plan.ts'

export interface OAuthSetupDeps {
  readonly oauthClients: OAuthClients
  readonly outbound: Pick<Outbound, 'client'>
  readonly vault: Pick<Vault, 'open' | 'seal'>
  /** The base URL of the platform. */
  publicUrl(): string
  /** The URL of our client ID metadata document, if it is public. */
  clientMetadataUrl(): string | undefined
}

/** An authorization server, and what to request there. */
export interface Authority {
  readonly server: AuthorizationServer
  readonly resource: string | undefined
  readonly scopes: readonly string[] | undefined
  /** How the client authenticates, if the server's metadata does not say so. */
  readonly authMethod?: AuthMethod
}

const setupMs = 20_000

interface RegisterOptions {
  readonly preRegistered?: PreRegisteredClient
  readonly signal?: AbortSignal | undefined
  readonly trace?: Trace | undefined
}

/** Finds authorization servers, and our client at each of them. */
export class OAuthSetup {
  readonly #deps: OAuthSetupDeps

  constructor(deps: OAuthSetupDeps) {
    this.#deps = deps
  }

  get redirectUri(): string {
    return `${this.#deps.publicUrl()}/connect/callback`
  }

  contextFor(
    { subject: { project_id: project } }: Pick<ConnectPlan, 'subject'>,
    issuer = '',
    trace?: Trace,
  ): OAuthContext {
    const { fetch } = this.#deps.outbound.client({ project, credentials: ['oauth', issuer] })
    return { fetch, signal: AbortSignal.timeout(setupMs), trace }
  }

  /** The scopes that the server asks for come first: it knows what the operation needs. */
  async authorityOf(plan: ConnectPlan, challenge: string | null, trace?: Trace): Promise<Authority> {
    const { settings, server, origins } = plan
    const { token_endpoint: tokenEndpoint, authorization_endpoint: authorizationEndpoint, issuer } = settings
    if (tokenEndpoint !== undefined) {
      const published = { issuer: issuer ?? new URL(tokenEndpoint).origin, token_endpoint: tokenEndpoint }
      const described: AuthorizationServer = {
        ...published,
        ...(authorizationEndpoint !== undefined && { authorization_endpoint: authorizationEndpoint }),
        code_challenge_methods_supported: ['S256'],
        quirks: { unknownIssuer: issuer === undefined },
      }
      return { server: described, resource: server, scopes: settings.scopes }
    }
    const app = server === undefined && issuer === undefined ? findApp(plan.app) : undefined
    if (app) {
      const { subdomain } = settings
      const filled = await explained(async () => fillApp(app, subdomain === undefined ? {} : { subdomain }))
      const scopes = settings.scopes ?? app.scopes
      return { server: filled.server, resource: undefined, scopes, authMethod: app.authMethod }
    }
    if (server === undefined && issuer === undefined) {
      throw new PlatformError('CONNECTION_FAILED', {
        reason: 'nothing names its authorization server. Set "issuer" or "token_endpoint"',
      })
    }
    const found = await explained(() =>
      discover(
        {
          resourceUrl: server ?? String(origins[0]),
          challenge: challenge === null ? undefined : parseChallenge(challenge),
          issuerOverride: issuer,
        },
        this.contextFor(plan, '', trace),
      ),
    )
    const scopes = [
      ...new Set([...(settings.scopes ?? []), ...(challengedOr(found.scopes, challenge, settings.scopes) ?? [])]),
    ]
    return {
      server: found.server,
      resource: server === undefined ? undefined : found.resource,
      scopes: scopes.length > 0 ? scopes : undefined,
    }
  }

  /**
   * Another client after the server has rejected one that it had registered: it may have removed it. Connections share
   * registrations, so another connection may already have replaced it.
   */
  async replaceClient(
    plan: Pick<ConnectPlan, 'subject'>,
    server: AuthorizationServer,
    rejected: OAuthClient,
    signal?: AbortSignal,
  ): Promise<OAuthClient> {
    const known = await this.#findClient(plan, server)
    if (known && known.clientId !== rejected.clientId) return known
    await this.#deps.oauthClients.forget(plan.subject.project_id, server.issuer)
    return this.#register(plan, server, { signal })
  }

  /** Our client: the operator's, our metadata document, an earlier registration, or a new one. */
  async clientFor(
    plan: ConnectPlan,
    { server, authMethod }: Pick<Authority, 'server' | 'authMethod'>,
    trace?: Trace,
  ): Promise<OAuthClient> {
    const { settings, clientSecret } = plan
    if (settings.client_id !== undefined) {
      return this.#register(plan, server, { preRegistered: preRegisteredOf(settings, clientSecret, authMethod), trace })
    }
    return (await this.#findClient(plan, server)) ?? this.#register(plan, server, { trace })
  }

  #placeOf({ subject }: Pick<ConnectPlan, 'subject'>, { issuer }: AuthorizationServer) {
    return { project_id: subject.project_id, issuer, redirect_uri: this.redirectUri }
  }

  async #findClient(plan: Pick<ConnectPlan, 'subject'>, server: AuthorizationServer): Promise<OAuthClient | undefined> {
    const { oauthClients, vault } = this.#deps
    const known = await oauthClients.find(this.#placeOf(plan, server))
    if (!known) return undefined
    const client: OAuthClient = JSON.parse(vault.open(known.client, sealedAt.oauthClient(known.id)))
    return client.expiresAt === undefined || client.expiresAt > Date.now() ? client : undefined
  }

  async #register(
    plan: Pick<ConnectPlan, 'subject'>,
    server: AuthorizationServer,
    { preRegistered, signal, trace }: RegisterOptions,
  ): Promise<OAuthClient> {
    const { oauthClients, vault, publicUrl, clientMetadataUrl } = this.#deps
    const { redirectUri } = this
    const context = this.contextFor(plan, server.issuer, trace)
    const client = await explained(() =>
      register(
        {
          // Without scopes: some servers would refuse to grant a client more than it was registered with.
          ...{ server, redirectUri, preRegistered },
          clientName: 'Quartermaster',
          clientUri: publicUrl(),
          clientMetadataUrl: clientMetadataUrl(),
        },
        { ...context, signal: signal ?? context.signal },
      ),
    )
    if (client.kind === 'dynamic') {
      const id = newId('oac')
      await oauthClients.save({
        id,
        ...this.#placeOf(plan, server),
        client: await vault.seal(JSON.stringify(client), sealedAt.oauthClient(id)),
      })
    }
    return client
  }
}

/** With a signing algorithm, the secret is a private key. */
const preRegisteredOf = (
  { client_id = '', issuer, signing_algorithm: alg }: ConnectPlan['settings'],
  secret: string | undefined,
  authMethod: AuthMethod | undefined,
) => ({
  clientId: client_id,
  ...(authMethod !== undefined && { authMethod }),
  ...(secret !== undefined && (alg === undefined ? { clientSecret: secret } : { privateKey: { pem: secret, alg } })),
  ...(issuer !== undefined && { issuer }),
})

/** Scopes of a challenge always count. Those of the metadata only if the operator has chosen none. */
const challengedOr = (
  found: readonly string[] | undefined,
  challenge: string | null,
  configured: readonly string[] | undefined,
) => (configured === undefined ? found : challenge === null ? [] : parseChallenge(challenge).scopes)

/** Messages of the OAuth client contain no secrets, and say what to do. */
export async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof OAuthError) {
      throw new PlatformError('CONNECTION_FAILED', { reason: error.message.replace(/\.$/, '') }, { cause: error })
    }
    throw error
  }
}
