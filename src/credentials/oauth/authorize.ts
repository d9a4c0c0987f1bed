import { createHash } from 'node:crypto'
import { computeScopeUnion } from '@modelcontextprotocol/client'
import * as oauth from 'oauth4webapi'
import { assertSameIssuer, getAuthorizationEndpoint } from './capabilities.ts'
import type { AuthorizationRequest, StartedAuthorization } from './types.ts'

/** States are random, so a plain hash suffices to store and find them. */
export const hashState = (state: string): string => createHash('sha256').update(state).digest('base64url')

/** Builds the URL to which the browser is sent, and what must be stored until it comes back. */
export async function startAuthorization(request: AuthorizationRequest): Promise<StartedAuthorization> {
  const { server, client, redirectUri, resource } = request
  assertSameIssuer(server, client.issuer)
  const url = new URL(getAuthorizationEndpoint(server))
  const state = oauth.generateRandomState()
  const verifier = oauth.generateRandomCodeVerifier()
  const scopes = chooseScopes(request)
  const parameters = {
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
    state,
    ...(await pkce(request, verifier)),
    ...scopeParameters(request, scopes),
    ...(resource !== undefined && { resource }),
    ...(request.loginHint !== undefined && { login_hint: request.loginHint }),
    ...server.quirks?.authorizationParameters,
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  const { issuer } = server
  const { clientId } = client
  return {
    url: url.href,
    state,
    pending: {
      stateHash: hashState(state),
      verifier,
      issuer,
      clientId,
      redirectUri,
      ...(scopes && { scopes }),
      ...(resource !== undefined && { resource }),
    },
  }
}

/**
 * On step-up, the previous scopes are requested again. `offline_access` is added where the server lists it, because some
 * servers issue refresh tokens only then. If no scope is known, none is sent, and the server decides.
 */
function chooseScopes({
  server,
  scopes = [],
  previousScopes = [],
}: AuthorizationRequest): readonly string[] | undefined {
  const union = computeScopeUnion(previousScopes.join(' '), scopes.join(' '))
  if (union === undefined) return undefined
  const offline = server.scopes_supported?.includes(offlineAccess) ? offlineAccess : undefined
  return computeScopeUnion(union, offline)?.split(' ')
}

const offlineAccess = 'offline_access'

function scopeParameters({ server }: AuthorizationRequest, scopes: readonly string[] = []): Record<string, string> {
  if (scopes.length === 0) return {}
  const { scopeParameter = 'scope', scopeDelimiter = ' ' } = server.quirks ?? {}
  return {
    [scopeParameter]: scopes.join(scopeDelimiter),
    // OpenID Connect: without consent, `offline_access` is ignored.
    ...(scopes.includes(offlineAccess) && { prompt: 'consent' }),
  }
}

const pkce = async ({ server }: AuthorizationRequest, verifier: string): Promise<Record<string, string>> =>
  server.quirks?.withoutPkce
    ? {}
    : { code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' }
