import * as oauth from 'oauth4webapi'
import { assertEndpoint, assertSameIssuer } from './capabilities.ts'
import { hostOf } from './endpoints.ts'
import { Misconfigured } from './errors.ts'
import { describe, errorIn, parseBody, temporary } from './responses.ts'
import { authenticate, optionsWith, peerOf } from './token-request.ts'
import type { OAuthClient, OAuthContext, RevokeRequest } from './types.ts'
import { traced } from './wire.ts'

/**
 * Revokes at the authorization server: the refresh token if there is one, which ends the access tokens as well, else the
 * access token. Returns `unsupported` if the server has no way to. The user must then remove access in the app.
 */
export async function revoke(request: RevokeRequest, context: OAuthContext): Promise<'revoked' | 'unsupported'> {
  const { server, client, accessToken, refreshToken } = request
  const endpoint = server.revocation_endpoint
  const token = refreshToken ?? accessToken
  if (endpoint === undefined || token === undefined) return 'unsupported'
  assertSameIssuer(server, client.issuer)
  assertEndpoint(server, 'revocation_endpoint')
  const secrets = [accessToken ?? '', refreshToken ?? '', client.clientSecret ?? '']
  return traced('revocation', context, async (fetch) => {
    const response = await send(request, endpoint, token, fetch)
    const body = parseBody(await response.text())
    if (response.ok && body.ok !== false) return ['revoked', 'The tokens were revoked.']
    const error = errorIn(body, secrets)
    const host = hostOf(endpoint)
    if (response.status >= 500 || response.status === 429) throw temporary(response, error, host)
    throw new Misconfigured(
      `The authorization server at "${host}" did not revoke the tokens (${describe(error, response.status)}). Remove access in the app itself.`,
      { host, code: error.code ?? 'revocation_rejected', status: response.status },
    )
  })
}

type Fetch = typeof globalThis.fetch

async function send(request: RevokeRequest, endpoint: string, token: string, fetch: Fetch): Promise<Response> {
  const { server, client, accessToken, refreshToken } = request
  const revocation = server.quirks?.revocation
  const bearer = accessToken ?? token
  if (revocation === 'bearer')
    return fetch(endpoint, { method: 'POST', headers: { authorization: `Bearer ${bearer}` } })
  if (revocation === 'github') return removeGrant(client, endpoint, bearer, fetch)
  const peer = peerOf(server, client)
  return oauth.revocationRequest(peer.as, peer.client, await authenticate(client), token, {
    ...optionsWith((url, init) => fetch(url, init)),
    additionalParameters: { token_type_hint: refreshToken === undefined ? 'access_token' : 'refresh_token' },
  })
}

/** GitHub removes the whole grant of a user, given any of its tokens. */
const removeGrant = ({ clientId, clientSecret = '' }: OAuthClient, endpoint: string, token: string, fetch: Fetch) =>
  fetch(endpoint.replace('{client_id}', encodeURIComponent(clientId)), {
    method: 'DELETE',
    headers: {
      accept: 'application/vnd.github+json',
      'content-type': 'application/json',
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
    },
    body: JSON.stringify({ access_token: token }),
  })
