import * as oauth from 'oauth4webapi'
import { hostOf } from './endpoints.ts'
import { Misconfigured } from './errors.ts'
import { requestToken } from './token-request.ts'
import { toTokens } from './tokens.ts'
import type {
  AssertionRequest,
  ClientCredentialsRequest,
  EnterpriseRequest,
  OAuthContext,
  RefreshRequest,
  TokenExchangeRequest,
  Tokens,
} from './types.ts'

/** Refreshes once. Whether a rejection is final is for the caller to decide: another process may have refreshed meanwhile. */
export async function refresh(request: RefreshRequest, context: OAuthContext): Promise<Tokens> {
  const { server, refreshToken, scopes } = request
  const { refreshEndpoint = server.token_endpoint } = server.quirks ?? {}
  const response = await requestToken(
    {
      ...request,
      server: { ...server, token_endpoint: refreshEndpoint },
      credential: 'refresh token',
      secrets: [refreshToken],
      send: ({ as, client, auth, options }) =>
        oauth.refreshTokenGrantRequest(as, client, auth, refreshToken, {
          ...options,
          additionalParameters: resourceOf(request),
        }),
    },
    context,
  )
  return toTokens(response, { scopes, refreshToken })
}

export async function clientCredentials(request: ClientCredentialsRequest, context: OAuthContext): Promise<Tokens> {
  const response = await requestToken(
    {
      ...request,
      credential: 'client',
      secrets: [],
      send: ({ as, client, auth, options }) =>
        oauth.clientCredentialsGrantRequest(as, client, auth, { ...scopeOf(request), ...resourceOf(request) }, options),
    },
    context,
  )
  return toTokens(response, request)
}

/** Exchanges a token for another one (RFC 8693). */
export async function exchangeToken(request: TokenExchangeRequest, context: OAuthContext): Promise<Tokens> {
  const { subjectToken, subjectTokenType, requestedTokenType, audience } = request
  const parameters = {
    subject_token: subjectToken,
    subject_token_type: subjectTokenType,
    ...(requestedTokenType !== undefined && { requested_token_type: requestedTokenType }),
    ...(audience !== undefined && { audience }),
    ...scopeOf(request),
    ...resourceOf(request),
  }
  const response = await requestToken(
    {
      ...request,
      credential: 'token',
      secrets: [subjectToken],
      anyTokenType: true,
      send: ({ as, client, auth, options }) =>
        oauth.genericTokenEndpointRequest(as, client, auth, `${grantTypes}token-exchange`, parameters, options),
    },
    context,
  )
  // A token of another type must not be passed on: as an assertion, it would hand over access to the identity provider.
  if (requestedTokenType !== undefined && response.issued_token_type !== requestedTokenType) throw otherType(request)
  return toTokens(response, request)
}

/** Uses a JWT as authorization grant (RFC 7523). */
export async function exchangeAssertion(request: AssertionRequest, context: OAuthContext): Promise<Tokens> {
  const { assertion } = request
  const parameters = { assertion, ...scopeOf(request), ...resourceOf(request) }
  const response = await requestToken(
    {
      ...request,
      credential: 'assertion',
      secrets: [assertion],
      send: ({ as, client, auth, options }) =>
        oauth.genericTokenEndpointRequest(as, client, auth, `${grantTypes}jwt-bearer`, parameters, options),
    },
    context,
  )
  return toTokens(response, request)
}

/** Token exchange at the identity provider, then the resulting assertion (ID-JAG) at the authorization server. */
export async function enterpriseAuthorization(request: EnterpriseRequest, context: OAuthContext): Promise<Tokens> {
  const { identityProvider, idToken, server, resource, scopes } = request
  const { accessToken } = await exchangeToken(
    {
      ...identityProvider,
      subjectToken: idToken,
      subjectTokenType: `${tokenTypes}id_token`,
      requestedTokenType: `${tokenTypes}id-jag`,
      audience: server.issuer,
      resource,
      scopes,
    },
    context,
  )
  return exchangeAssertion({ ...request, assertion: accessToken }, context)
}

function otherType({ server }: TokenExchangeRequest): Misconfigured {
  const host = hostOf(server.token_endpoint)
  return new Misconfigured(
    `The authorization server at "${host}" issued another type of token than requested, so it was not used. Check whether it supports this kind of token exchange.`,
    { host, code: 'unexpected_token_type' },
  )
}

const grantTypes = 'urn:ietf:params:oauth:grant-type:'
const tokenTypes = 'urn:ietf:params:oauth:token-type:'

const scopeOf = ({ scopes = [] }: { readonly scopes?: readonly string[] | undefined }): Record<string, string> =>
  scopes.length > 0 ? { scope: scopes.join(' ') } : {}

const resourceOf = ({ resource }: { readonly resource?: string | undefined }): Record<string, string> =>
  resource === undefined ? {} : { resource }
