import type { JsonObject } from '../../lib/json.ts'
import { hostOf } from './endpoints.ts'
import { ClientRejected, GrantRejected, Misconfigured, type OAuthError } from './errors.ts'
import { describe, errorIn, type ResponseError, temporary } from './responses.ts'
import type { AuthorizationServer, OAuthClient } from './types.ts'

/** The part of a token request that explains its rejection. */
export interface Attempt {
  readonly server: AuthorizationServer
  readonly client: OAuthClient
  /** What the server is asked to accept, for messages: `refresh token`. */
  readonly credential: string
  /** Never shown, even if the server quotes them. */
  readonly secrets: readonly string[]
}

const terminal = new Set([
  'invalid_grant',
  'access_denied',
  'consent_required',
  'interaction_required',
  'login_required',
  'account_selection_required',
  'invalid_token',
  'expired_token',
])
const passing = new Set(['temporarily_unavailable', 'server_error', 'slow_down'])
const passingStatus = new Set([408, 425])

/**
 * What a rejected token request means for the connection. The code counts before the status, because some servers report a
 * dead grant with status 500; except for 429, which says nothing about the grant.
 */
export function rejectionOf(request: Attempt, response: Response, body: JsonObject): OAuthError {
  const { server, client, credential, secrets } = request
  const host = hostOf(server.token_endpoint)
  const { status } = response
  const error = errorIn(body, [...secrets, client.clientSecret ?? '', client.privateKey?.pem ?? ''])
  const code = error.code ?? ''
  const said = describe(error, status)
  const failure = { host, code: code || 'token_request_rejected', status }
  if (status === 429 || passing.has(code)) return temporary(response, error, host)
  if (terminal.has(code) || isDeadRefreshToken(request, error)) {
    const message = `The authorization server at "${host}" rejected the ${credential} (${said}). Connect the account again.`
    return new GrantRejected(message, failure)
  }
  if (code === 'invalid_client' || (status === 401 && code === '')) {
    return new ClientRejected(clientMessage(host, said, client.kind), { ...failure, code: 'invalid_client' })
  }
  if (status >= 500 || passingStatus.has(status)) return temporary(response, error, host)
  return new Misconfigured(
    status >= 300 && status < 400
      ? `"${host}" redirects token requests, which is not followed. Correct the URL of the token endpoint.`
      : `The authorization server at "${host}" rejected the token request (${said}). Check the scopes, the endpoints and the client of this connection.`,
    failure,
  )
}

/** Some servers answer `invalid_request` to refresh tokens that they do not know. */
const isDeadRefreshToken = ({ credential }: Attempt, { code }: ResponseError) =>
  credential === 'refresh token' && code === 'invalid_request'

const clientMessage = (host: string, said: string, kind: string) =>
  kind === 'pre_registered'
    ? `The authorization server at "${host}" does not accept the client (${said}). Check the client ID and secret.`
    : `The authorization server at "${host}" no longer accepts our client (${said}). Connect again to register a new one.`
