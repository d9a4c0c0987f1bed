import { hostOf, objectionTo } from './endpoints.ts'
import { Misconfigured } from './errors.ts'
import type { AuthMethod, AuthorizationServer, OAuthClient } from './types.ts'

/**
 * Checks that a server offers the authorization code flow with PKCE, and returns its authorization endpoint. A server that
 * does not state its PKCE methods may ignore the challenge, so it is refused (MCP specification).
 */
export function getAuthorizationEndpoint(server: AuthorizationServer): string {
  const host = hostOf(server.issuer)
  const refuse = (reason: string) =>
    new Misconfigured(`The authorization server at "${host}" cannot be used to connect: ${reason}.`, {
      host,
      code: 'unsupported_server',
    })
  const { authorization_endpoint: endpoint, response_types_supported: types } = server
  if (endpoint === undefined) throw refuse('it has no authorization endpoint')
  if (types && !types.includes('code')) throw refuse('it does not offer the authorization code flow')
  const withPkce = server.code_challenge_methods_supported?.includes('S256')
  if (!withPkce && !server.quirks?.withoutPkce) {
    throw refuse('its metadata does not list S256 in code_challenge_methods_supported, so PKCE is not guaranteed')
  }
  assertEndpoint(server, 'authorization_endpoint')
  return endpoint
}

type Endpoint = Extract<keyof AuthorizationServer, `${string}_endpoint`>

/** Browsers and credentials are sent to endpoints, so only https will do, or http on this machine. */
export function assertEndpoint(server: AuthorizationServer, name: Endpoint): void {
  const objection = objectionTo(server[name] ?? '', server.issuer)
  if (objection === undefined) return
  const host = hostOf(server.issuer)
  throw new Misconfigured(
    `The ${name} of the authorization server at "${host}" ${objection}, so it is not used. Correct it, or ask the operator of the server to fix its metadata.`,
    { host, code: 'insecure_url' },
  )
}

/** How to authenticate a client that has these credentials, preferring what the server supports. */
export function chooseAuthMethod(
  server: AuthorizationServer,
  client: Pick<OAuthClient, 'clientSecret' | 'privateKey'>,
): AuthMethod {
  if (client.privateKey) return 'private_key_jwt'
  if (client.clientSecret === undefined) return 'none'
  const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  return !supported.includes('client_secret_basic') && supported.includes('client_secret_post')
    ? 'client_secret_post'
    : 'client_secret_basic'
}

/** Credentials are valid at one issuer. Sending them to another would let it impersonate us. */
export function assertSameIssuer(server: AuthorizationServer, issuer: string): void {
  if (issuer === server.issuer) return
  const host = hostOf(server.issuer)
  throw new Misconfigured(
    `The server now uses the authorization server at "${host}", but the credentials belong to the one at "${hostOf(issuer)}", so they were not sent. Register a client there and connect again.`,
    { host, code: 'issuer_changed' },
  )
}
