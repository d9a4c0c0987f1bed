import { importPKCS8 } from 'jose'
import * as oauth from 'oauth4webapi'
import type { JsonObject } from '../../lib/json.ts'
import { assertEndpoint, assertSameIssuer } from './capabilities.ts'
import { hostOf } from './endpoints.ts'
import { Misconfigured, type OAuthError } from './errors.ts'
import { parseBody } from './responses.ts'
import { standardize } from './standardize.ts'
import { type Attempt, rejectionOf } from './token-errors.ts'
import type { AuthorizationServer, OAuthClient, OAuthContext } from './types.ts'
import { traced } from './wire.ts'

export interface TokenRequest extends Attempt {
  /** Token exchange may return a token that is not for use at a resource, with the type `N_A`. */
  readonly anyTokenType?: boolean
  readonly send: (peer: Peer) => Promise<Response>
}

/** What the functions of oauth4webapi take. */
export interface Peer {
  readonly as: oauth.AuthorizationServer
  readonly client: oauth.Client
  readonly auth: oauth.ClientAuth
  readonly options: {
    readonly [oauth.customFetch]: (
      url: string,
      init: oauth.CustomFetchOptions<'POST', URLSearchParams>,
    ) => Promise<Response>
    /** Whether plain http is acceptable is decided by `wire.ts`. */
    readonly [oauth.allowInsecureRequests]: true
  }
}

/** Sends a token request and returns the response as the standard describes it. Throws an `OAuthError` if it is rejected. */
export async function requestToken(request: TokenRequest, context: OAuthContext): Promise<JsonObject> {
  const { server, client, send, anyTokenType } = request
  assertSameIssuer(server, client.issuer)
  assertEndpoint(server, 'token_endpoint')
  const auth = await authenticate(client)
  return traced('token', context, async (fetch) => {
    let body: JsonObject = {}
    const exchange = async (url: string, init: oauth.CustomFetchOptions<'POST', URLSearchParams>) => {
      const response = await fetch(url, adapted(init, server))
      body = standardize(parseBody(await response.text()), server.quirks)
      if (!response.ok || body.error !== undefined) throw rejectionOf(request, response, body)
      // ID tokens only provide a name for the account, so an unusual one must not make the connection fail.
      const { id_token: _, ...checked } = body
      return Response.json(checked)
    }
    const peer = { ...peerOf(server, client), auth, options: optionsWith(exchange) }
    const response = await send(peer)
    await oauth
      .processGenericTokenEndpointResponse(peer.as, peer.client, response, {
        ...(anyTokenType && { recognizedTokenTypes: { n_a: () => {} } }),
      })
      .catch(() => {
        throw invalidResponse(server, body)
      })
    return [body, summaryOf(body)]
  })
}

export const peerOf = (server: AuthorizationServer, { clientId }: OAuthClient) => ({
  as: {
    issuer: server.issuer,
    token_endpoint: server.token_endpoint,
    ...(server.revocation_endpoint !== undefined && { revocation_endpoint: server.revocation_endpoint }),
    authorization_response_iss_parameter_supported: server.authorization_response_iss_parameter_supported === true,
  } satisfies oauth.AuthorizationServer,
  client: { client_id: clientId } satisfies oauth.Client,
})

export const optionsWith = (exchange: Peer['options'][typeof oauth.customFetch]): Peer['options'] => ({
  [oauth.customFetch]: exchange,
  [oauth.allowInsecureRequests]: true,
})

export async function authenticate({
  authMethod,
  clientSecret,
  privateKey,
  issuer,
}: OAuthClient): Promise<oauth.ClientAuth> {
  if (authMethod === 'none') return oauth.None()
  if (authMethod === 'private_key_jwt' && privateKey) {
    const { pem, alg, kid } = privateKey
    const key = await importPKCS8(pem, alg).catch(() => {
      throw incomplete(issuer, `the private key is not a key for ${alg} in PKCS #8 PEM`)
    })
    return oauth.PrivateKeyJwt({ key, ...(kid && { kid }) })
  }
  if (authMethod === 'private_key_jwt') throw incomplete(issuer, 'the private key is missing')
  if (clientSecret === undefined || clientSecret === '') throw incomplete(issuer, 'the client secret is missing')
  return authMethod === 'client_secret_basic' ? basic(clientSecret) : oauth.ClientSecretPost(clientSecret)
}

/**
 * Unlike the library's, leaves hyphens and dots as they are. Both are valid, but not every server decodes credentials, and
 * most client IDs contain a hyphen.
 */
const basic =
  (clientSecret: string): oauth.ClientAuth =>
  (_as, { client_id }, _body, headers) => {
    const credentials = `${encodeURIComponent(client_id)}:${encodeURIComponent(clientSecret)}`
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`)
  }

const incomplete = (issuer: string, reason: string) =>
  new Misconfigured(`The client for "${hostOf(issuer)}" cannot authenticate: ${reason}. Correct the client.`, {
    host: hostOf(issuer),
    code: 'incomplete_client',
  })

function adapted(
  { method, headers, body }: oauth.CustomFetchOptions<'POST', URLSearchParams>,
  { quirks }: AuthorizationServer,
): RequestInit {
  if (!quirks?.jsonTokenRequest) return { method, headers, body }
  return {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(Object.fromEntries(body)),
  }
}

function invalidResponse({ token_endpoint }: AuthorizationServer, { token_type }: JsonObject): OAuthError {
  const host = hostOf(token_endpoint)
  const reason =
    typeof token_type === 'string' && token_type.toLowerCase() !== 'bearer'
      ? 'answered with a type of token that is not supported. Only bearer tokens are'
      : 'answered without an access token'
  return new Misconfigured(`The authorization server at "${host}" ${reason}.`, { host, code: 'invalid_token_response' })
}

const summaryOf = ({ expires_in, refresh_token, scope }: JsonObject): string =>
  [
    `Received an access token${typeof expires_in === 'number' ? ` that is valid for ${expires_in} seconds` : ''}`,
    refresh_token === undefined ? 'no refresh token' : 'a refresh token',
    typeof scope === 'string' ? `the scopes "${scope}"` : 'no statement about scopes',
  ].join(', ')
