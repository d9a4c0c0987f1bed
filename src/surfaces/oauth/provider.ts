import Provider, { type Configuration, errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider'
import type { Logger } from 'pino'
import type { Authenticator } from '../../access/authenticator.ts'
import { type OauthServerKeys, tokenAlgorithm } from '../../credentials/oauth-server-keys.ts'
import type { Vault } from '../../credentials/vault.ts'
import type { OauthGrant } from '../../model/oauth-grant.ts'
import type { PublicUrl } from '../../server/public-url.ts'
import type { Store } from '../../store/store.ts'
import { createAdapter } from './adapter.ts'
import { SignedClients } from './clients.ts'
import { errorPage, pageHeaders } from './pages.ts'
import { interactionPath, routes } from './paths.ts'
import { resourceAt, resourcePath, scopes } from './resources.ts'

export interface ProviderDeps {
  readonly store: Store
  readonly vault: Pick<Vault, 'seal' | 'open'>
  readonly keys: OauthServerKeys
  readonly publicUrl: PublicUrl
  /** The people and keys that can sign in. */
  readonly holders: Pick<Authenticator, 'principal' | 'resume'>
  /** Fetches metadata documents of clients, behind the egress guard. */
  readonly fetch: typeof fetch
  /** Whether a client with this metadata URL is accepted. */
  readonly acceptsHost: (host: string) => boolean
  readonly allowRegistration: boolean
  /** Called when the access of an app ends, because it asked for that or because a token was used twice. */
  onRevoked(grant: OauthGrant, reason: 'token_reused' | 'revoked_by_app'): Promise<void>
  readonly log: Logger
}

const minute = 60
const day = 24 * 60 * minute
export const refreshSeconds = 30 * day
/** The grant itself ends with the last refresh token (see `oauth_grants`), never before. */
const grantSeconds = 3650 * day

/** The authorization server: everything between a request for authorization and a token, except our two pages. */
export async function createProvider(deps: ProviderDeps): Promise<Provider> {
  const { store, vault, keys, publicUrl, log } = deps
  const clients = new SignedClients(await keys.derive('clients'))
  const cookieKey = (await keys.derive('cookies')).toString('base64url')
  const provider = new Provider(publicUrl.href, {
    ...lifetimes,
    ...tokenRules(deps),
    ...clientRules(deps, clients),
    adapter: (kind) =>
      createAdapter(kind, {
        ...{ store, vault, clients },
        onRevoked: (grant) =>
          deps.onRevoked(grant, Provider.ctx?.oidc.route === 'revocation' ? 'revoked_by_app' : 'token_reused'),
      }),
    // The first one signs.
    jwks: { keys: (await keys.signing()).map(({ jwk }) => jwk as never) },
    routes,
    cookies: cookiesFor(publicUrl, cookieKey),
    responseTypes: ['code'],
    scopes: ['openid', 'offline_access'],
    claims: { openid: ['sub'] },
    pkce: { required: () => true },
    interactions: {
      policy: askEveryTime(),
      url: (_, { uid }) => `${publicUrl.path}${interactionPath}/${uid}`,
    },
    // A grant belongs to the consent that was just given, never to an earlier one.
    loadExistingGrant: async (ctx) => {
      const id = ctx.oidc.result?.consent?.grantId
      return id === undefined ? undefined : ctx.oidc.provider.Grant.find(id)
    },
    findAccount: async ({ oidc }, id) => {
      const since = oidc.session?.loginTs
      // A new password, or signing out everywhere, also ends the session of this browser.
      const principal = await (since === undefined
        ? deps.holders.principal(id)
        : deps.holders.resume(id, (since + 1) * 1000).catch(() => undefined))
      return principal && { accountId: id, claims: () => ({ sub: id }) }
    },
    renderError: (ctx, { error, error_description: description }) => {
      ctx.set(pageHeaders())
      ctx.type = 'html'
      ctx.body = errorPage(error, description ?? '', publicUrl.path)
    },
  })
  provider.on('server_error', (_, err) => log.error({ err }, 'the authorization server failed'))
  return provider
}

const lifetimes = {
  ttl: {
    AccessToken: 10 * minute,
    AuthorizationCode: minute,
    IdToken: 10 * minute,
    Interaction: 30 * minute,
    Session: day / 2,
    RefreshToken: refreshSeconds,
    Grant: grantSeconds,
  },
  // Signing out in the browser does not sign out an editor.
  expiresWithSession: () => false,
} satisfies Configuration

/** Tokens are JWTs for exactly one endpoint. */
function tokenRules({ store, publicUrl }: ProviderDeps): Configuration {
  const infoOf = async ({ oidc }: KoaContextWithOIDC, url: string) => {
    const resource = Array.isArray(oidc.params?.resource) ? undefined : resourceAt(url, publicUrl)
    if (!resource) throw new errors.InvalidTarget('resource must be the URL of an MCP server on this platform')
    const slug = resource.server && ((await store.servers.find(resource.server))?.slug ?? resource.server)
    return {
      scope: scopes.join(' '),
      audience: publicUrl.href + resourcePath(slug),
      accessTokenFormat: 'jwt' as const,
      accessTokenTTL: 10 * minute,
      jwt: { sign: { alg: tokenAlgorithm } },
    }
  }
  return {
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      claimsParameter: { enabled: false },
      revocation: { enabled: true, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: infoOf,
        useGrantedResource: () => true,
        defaultResource: (_ctx, _client, of) => {
          if (of !== undefined) return of[0] as string
          throw new errors.InvalidTarget('resource is required: send the URL of the MCP server')
        },
      },
    },
    extraTokenClaims: (_, token) => ('grantId' in token ? { grant: token.grantId } : undefined),
    issueRefreshToken: async (_, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: (ctx) => {
      requireGrantedResource(ctx)
      return true
    },
  }
}

/** Checked before the refresh token is used up, so that a client can correct its mistake. */
function requireGrantedResource({ oidc }: KoaContextWithOIDC): void {
  const asked = oidc.params?.resource
  const granted = [oidc.entities.RefreshToken?.resource].flat()
  if (asked !== undefined && !granted.includes(asked as string)) throw new errors.InvalidTarget()
}

/** Clients register themselves, or publish a metadata document. */
function clientRules(deps: ProviderDeps, clients: SignedClients): Configuration {
  const { features } = tokenRules(deps)
  const idOf = (ctx: KoaContextWithOIDC): string => {
    const id = clients.idOf(ctx.oidc.body ?? {})
    if (id === undefined) throw new errors.InvalidClientMetadata('the metadata is too long')
    return id
  }
  return {
    clientDefaults: {
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    },
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    // Tokens are requested without cookies, so any page may do so for itself.
    clientBasedCORS: () => true,
    fetch: deps.fetch as never,
    features: {
      ...features,
      registration: {
        enabled: deps.allowRegistration,
        idFactory: idOf,
        secretFactory: (ctx) => clients.secretOf(idOf(ctx)),
        issueRegistrationAccessToken: false,
      },
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        allowFetch: async (_, id) => deps.acceptsHost(new URL(id).hostname),
      },
    },
  }
}

/** Browsers share cookies between all ports of a host, so two platforms on one host need different names. */
function cookiesFor({ port, isSecure, path }: PublicUrl, key: string): NonNullable<Configuration['cookies']> {
  const suffix = port === '' ? '' : `_${port}`
  const secure = { httpOnly: true, sameSite: 'lax', signed: true, secure: isSecure } as const
  return {
    names: {
      session: `${isSecure ? '__Host-' : ''}qm_oauth${suffix}`,
      interaction: `${isSecure ? '__Secure-' : ''}qm_oauth_interaction${suffix}`,
      resume: `${isSecure ? '__Secure-' : ''}qm_oauth_resume${suffix}`,
    },
    long: { ...secure, path: isSecure ? '/' : `${path}/` },
    short: secure,
    keys: [key],
  }
}

/** A remembered consent could be used by anyone who makes the person open a link, so there is none. */
function askEveryTime(): interactionPolicy.DefaultPolicy {
  const { Check, base } = interactionPolicy
  const policy = base()
  policy
    .get('login')
    ?.checks.add(
      new Check(
        'no_account',
        'the account no longer exists',
        ({ oidc }) => oidc.session?.accountId !== undefined && oidc.account === undefined,
      ),
    )
  policy
    .get('consent')
    ?.checks.add(
      new Check('every_time', 'consent is required', 'consent_required', ({ oidc }) => !oidc.result?.consent),
    )
  return policy
}
