import * as oauth from 'oauth4webapi'
import { PlatformError } from '../model/errors.ts'

/** An OpenID Connect provider, and how to reach it. */
export interface OidcClient {
  /** For messages. */
  readonly name: string
  readonly issuer: string
  readonly clientId: string
  /** Null for public clients. */
  readonly clientSecret: string | null
  /** Must apply the egress rules. */
  readonly fetch: typeof fetch
}

/** What the browser must bring back unchanged. Secret: store it encrypted, or on the server. */
export interface OidcFlow {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly redirectUri: string
}

/** A verified account. The issuer and the subject identify it; the email address may change, or pass to someone else. */
export interface OidcAccount {
  readonly issuer: string
  readonly subject: string
  /** Null unless the provider says that it has verified the address. */
  readonly email: string | null
  readonly name: string | null
}

export type OidcServer = oauth.AuthorizationServer

const timeoutMs = 10_000
const clockToleranceSeconds = 30

/** Discovers the provider's endpoints. */
export function discover(client: OidcClient): Promise<OidcServer> {
  return explained(client, async () => {
    const issuer = new URL(client.issuer)
    const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options(client)))
    if (!server.authorization_endpoint || !isSafe(server.authorization_endpoint, client)) {
      throw new Error('its metadata has no valid authorization_endpoint')
    }
    return server
  })
}

/** Returns the URL to send the browser to, and what `finishOidc` needs afterwards. `server` is what `discover` returned. */
export async function startOidc(
  client: OidcClient,
  server: OidcServer,
  redirectUri: string,
): Promise<{ url: URL; flow: OidcFlow }> {
  const flow: OidcFlow = {
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    verifier: oauth.generateRandomCodeVerifier(),
    redirectUri,
  }
  const url = new URL(server.authorization_endpoint as string)
  const parameters = {
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
    scope: 'openid email profile',
    state: flow.state,
    nonce: flow.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(flow.verifier),
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return { url, flow }
}

/**
 * Exchanges the code for an ID token and verifies it: signature, issuer, audience, expiry and nonce. `parameters` is the
 * query that the provider sent the browser back with. Its state and issuer are compared before the code is sent anywhere.
 */
export function finishOidc(
  client: OidcClient,
  server: OidcServer,
  { state, nonce, verifier, redirectUri }: OidcFlow,
  parameters: URLSearchParams,
): Promise<OidcAccount> {
  return explained(client, async () => {
    const self: oauth.Client = { client_id: client.clientId, [oauth.clockTolerance]: clockToleranceSeconds }
    const valid = oauth.validateAuthResponse(server, self, parameters, state)
    const authentication = authenticationOf(client, server)
    const send = options(client)
    const response = await oauth.authorizationCodeGrantRequest(
      ...([server, self, authentication, valid, redirectUri, verifier, send] as const),
    )
    const token = await oauth.processAuthorizationCodeResponse(server, self, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    })
    await oauth.validateApplicationLevelSignature(server, response, options(client))
    const claims = oauth.getValidatedIdTokenClaims(token) as oauth.IDToken
    return accountOf(claims, await userInfo(client, server, self, token.access_token, claims))
  })
}

/** Providers may send the email address only from their userinfo endpoint. */
async function userInfo(
  client: OidcClient,
  server: oauth.AuthorizationServer,
  self: oauth.Client,
  accessToken: string,
  claims: oauth.IDToken,
): Promise<Claims> {
  if (claims.email !== undefined || !server.userinfo_endpoint) return {}
  const response = await oauth.userInfoRequest(server, self, accessToken, options(client))
  return oauth.processUserInfoResponse(server, self, claims.sub, response)
}

type Claims = Readonly<Record<string, unknown>>

function accountOf(idToken: oauth.IDToken, more: Claims): OidcAccount {
  const claims: Claims = { ...more, ...idToken }
  // Some providers send booleans as text.
  const isVerified = claims.email_verified === true || claims.email_verified === 'true'
  return {
    issuer: idToken.iss,
    subject: idToken.sub,
    email: isVerified && typeof claims.email === 'string' ? claims.email.trim().toLowerCase() : null,
    name: typeof claims.name === 'string' && claims.name.trim() !== '' ? claims.name.trim().slice(0, 200) : null,
  }
}

function authenticationOf({ clientSecret }: OidcClient, server: oauth.AuthorizationServer): oauth.ClientAuth {
  if (clientSecret === null) return oauth.None()
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  return methods.includes('client_secret_basic')
    ? oauth.ClientSecretBasic(clientSecret)
    : oauth.ClientSecretPost(clientSecret)
}

/** Only an issuer that is itself reached by http, which is one on this machine, may have http endpoints. */
const mayBePlain = ({ issuer }: OidcClient): boolean => issuer.startsWith('http:')

const isSafe = (endpoint: string, client: OidcClient): boolean => {
  const protocol = URL.parse(endpoint)?.protocol
  return protocol === 'https:' || (protocol === 'http:' && mayBePlain(client))
}

const options = (client: OidcClient) => ({
  [oauth.customFetch]: client.fetch,
  [oauth.allowInsecureRequests]: mayBePlain(client),
  signal: AbortSignal.timeout(timeoutMs),
})

/** Errors without what the provider sent, which may contain tokens or be made up. */
async function explained<T>({ name }: OidcClient, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof PlatformError) throw error
    if (error instanceof oauth.AuthorizationResponseError && error.error === 'access_denied') {
      throw new PlatformError('SIGN_IN_REFUSED', { reason: 'cancelled' })
    }
    throw new PlatformError('SIGN_IN_PROVIDER_FAILED', { provider: name, reason: reasonOf(error) })
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof oauth.ResponseBodyError) return `it answered with the error "${safe(error.error)}"`
  if (error instanceof oauth.AuthorizationResponseError) return `it refused with the error "${safe(error.error)}"`
  if (!(error instanceof Error)) return 'unknown error'
  if (error.name === 'TimeoutError') return `it did not answer within ${timeoutMs / 1000} s`
  const { cause } = error
  return error instanceof TypeError && cause instanceof Error ? cause.message : error.message
}

const safe = (code: string): string => code.replaceAll(/[^\w.-]/g, '').slice(0, 60)
