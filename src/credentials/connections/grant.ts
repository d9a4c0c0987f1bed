import type { ConnectionSettings, ConnectionType } from '../../model/connection.ts'
import { PlatformError } from '../../model/errors.ts'
import { chooseAuthMethod } from '../oauth/capabilities.ts'
import { clientCredentials, enterpriseAuthorization, exchangeToken } from '../oauth/grants.ts'
import { findServerMetadata } from '../oauth/server-metadata.ts'
import type { AuthorizationServer, OAuthClient, OAuthContext, Tokens } from '../oauth/types.ts'

/** The identity provider of a company, and our client there. */
export interface IdentityProvider {
  readonly server: AuthorizationServer
  readonly client: OAuthClient
}

export interface Grant {
  readonly type: ConnectionType
  readonly server: AuthorizationServer
  readonly client: OAuthClient
  readonly resource: string | undefined
  readonly scopes: readonly string[] | undefined
  readonly settings: Pick<ConnectionSettings, 'subject_token_type' | 'audience'>
  /** A token of the user, which is exchanged. */
  readonly subjectToken: string | undefined
  readonly identityProvider: IdentityProvider | undefined
}

const accessToken = 'urn:ietf:params:oauth:token-type:access_token'

/** Gets tokens without a browser, in the way that the type of the connection says. */
export function requestGrant(grant: Grant, context: OAuthContext): Promise<Tokens> {
  const { type, server, client, resource, scopes, settings, subjectToken, identityProvider } = grant
  const common = { server, client, resource, scopes }
  if (type === 'oauth2_client_credentials') return clientCredentials(common, context)
  if (subjectToken === undefined) throw incomplete('the token of the user is missing. Set "subject_token"')
  if (type === 'oauth2_token_exchange') {
    const { subject_token_type: subjectTokenType = accessToken, audience } = settings
    return exchangeToken({ ...common, subjectToken, subjectTokenType, audience }, context)
  }
  if (resource === undefined) throw incomplete('only MCP servers have enterprise-managed authorization')
  if (!identityProvider) throw incomplete(unnamed)
  return enterpriseAuthorization({ ...common, resource, identityProvider, idToken: subjectToken }, context)
}

const unnamed = 'nothing names the identity provider. Set "idp_client_id", and "idp_issuer" or "idp_token_endpoint"'

/** The identity provider in the settings, if the type has one. Its endpoints are found from its issuer. */
export async function identityProviderOf(
  type: ConnectionType,
  { idp_issuer, idp_token_endpoint, idp_client_id: clientId }: ConnectionSettings,
  clientSecret: string | undefined,
  context: OAuthContext,
): Promise<IdentityProvider | undefined> {
  if (type !== 'oauth2_enterprise_managed') return undefined
  const issuer = idp_issuer ?? (idp_token_endpoint && new URL(idp_token_endpoint).origin)
  if (issuer === undefined || clientId === undefined) throw incomplete(unnamed)
  const server = idp_token_endpoint
    ? { issuer, token_endpoint: idp_token_endpoint }
    : await findServerMetadata(issuer, undefined, context)
  if (!server) throw incomplete(`the identity provider at "${new URL(issuer).host}" publishes no metadata`)
  const secret = clientSecret === undefined ? {} : { clientSecret }
  const client = { clientId, ...secret, issuer: server.issuer, authMethod: chooseAuthMethod(server, secret) }
  return { server, client: { ...client, kind: 'pre_registered' } }
}

const incomplete = (reason: string) => new PlatformError('CONNECTION_FAILED', { reason })
