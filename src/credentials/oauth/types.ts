/**
 * The OAuth client: obtains, refreshes and revokes tokens at other authorization servers. It stores nothing. Every value
 * here is plain data that a caller can keep in a row and pass back later.
 */

/** What every function needs to reach the network. */
export interface OAuthContext {
  /** The guarded fetch of `src/http/outbound.ts`. Redirects, sizes and times are limited here on top of it. */
  readonly fetch: typeof fetch
  readonly signal?: AbortSignal | undefined
  /** The limit for each request; 10 seconds by default. */
  readonly timeoutMs?: number | undefined
  /** Called after each step. Steps contain no secrets. */
  readonly trace?: Trace | undefined
}

export type Trace = (step: TraceStep) => void

export interface TraceStep {
  readonly step:
    | 'request'
    | 'challenge'
    | 'resource_metadata'
    | 'server_metadata'
    | 'registration'
    | 'authorization'
    | 'token'
    | 'account'
    | 'revocation'
  readonly ok: boolean
  readonly method?: string
  /** Host and path, such as `auth.example.com/token`. Never a query. */
  readonly url?: string
  readonly status?: number
  /** What was found, or what failed. A sentence. */
  readonly detail: string
}

/** The parts of a `WWW-Authenticate` header that start or extend an authorization. */
export interface Challenge {
  readonly resourceMetadata?: string
  readonly scopes?: readonly string[]
  /** `invalid_token`, `insufficient_scope` … */
  readonly error?: string
}

/** An authorization server as its metadata describes it (RFC 8414, field names as on the wire), or as an app preset does. */
export interface AuthorizationServer {
  readonly issuer: string
  readonly authorization_endpoint?: string
  readonly token_endpoint: string
  readonly registration_endpoint?: string
  readonly revocation_endpoint?: string
  readonly userinfo_endpoint?: string
  readonly scopes_supported?: readonly string[]
  readonly response_types_supported?: readonly string[]
  readonly grant_types_supported?: readonly string[]
  readonly code_challenge_methods_supported?: readonly string[]
  readonly token_endpoint_auth_methods_supported?: readonly string[]
  readonly client_id_metadata_document_supported?: boolean
  readonly authorization_response_iss_parameter_supported?: boolean
  /** How an app differs from the standard. Set by presets only, never read from metadata. */
  readonly quirks?: Quirks
}

/** How an app's OAuth differs from the standard. */
export interface Quirks {
  /** Separates scopes in the authorization request; a space by default. Responses may use commas in any case. */
  readonly scopeDelimiter?: string
  /** The parameter that lists scopes in the authorization request; `scope` by default. */
  readonly scopeParameter?: string
  /** The app rejects or ignores PKCE. */
  readonly withoutPkce?: boolean
  /** Added to the authorization URL, such as `access_type=offline`. */
  readonly authorizationParameters?: Readonly<Record<string, string>>
  /** Where tokens are refreshed, if not at the token endpoint. */
  readonly refreshEndpoint?: string
  /** The app takes token requests as JSON instead of a form. */
  readonly jsonTokenRequest?: boolean
  /** Where the token is in the response, such as `authed_user` for user tokens of Slack. */
  readonly tokenPath?: string
  /** The app has no published issuer, so an `iss` parameter cannot be compared. */
  readonly unknownIssuer?: boolean
  readonly account?: AccountSource
  /** How tokens are revoked, if not as RFC 7009 describes: with the token itself, or as GitHub does. */
  readonly revocation?: 'bearer' | 'github'
}

/** Where to find the name of the connected account. */
export interface AccountSource {
  /** Asked with the access token. Without it, the name is in the token response. */
  readonly url?: string
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  /** A JSON body, for GraphQL. */
  readonly body?: string
  /** Fields in order of preference, such as `email` or `workspace.name`. */
  readonly paths: readonly string[]
}

export type AuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'

/** Our client at one authorization server. Valid at its issuer only. */
export interface OAuthClient {
  readonly clientId: string
  readonly clientSecret?: string
  /** For `private_key_jwt`. */
  readonly privateKey?: PrivateKey
  readonly issuer: string
  readonly kind: 'pre_registered' | 'metadata_document' | 'dynamic'
  readonly authMethod: AuthMethod
  /** In epoch milliseconds. Register again afterwards. */
  readonly expiresAt?: number
}

export interface PrivateKey {
  /** PKCS #8 in PEM. */
  readonly pem: string
  /** `RS256`, `PS256`, `ES256`, `EdDSA` … */
  readonly alg: string
  readonly kid?: string
}

/** A client that an operator registered by hand. */
export interface PreRegisteredClient {
  readonly clientId: string
  readonly clientSecret?: string
  readonly privateKey?: PrivateKey
  /** The issuer it was registered at. If unknown, it is bound to the issuer of the first discovery: store the result. */
  readonly issuer?: string
  readonly authMethod?: AuthMethod
}

export interface DiscoverRequest {
  /** The URL of the protected server. */
  readonly resourceUrl: string
  readonly challenge?: Challenge | undefined
  /** If the server lists several authorization servers, use this one. */
  readonly preferredIssuer?: string | undefined
  /**
   * Set by an administrator for servers whose issuer is inconsistent. Metadata may then name this issuer instead, `iss` is
   * compared with it, and it is asked for metadata if the server itself names no authorization server.
   */
  readonly issuerOverride?: string | undefined
}

export interface Discovery {
  /** The `resource` parameter of authorization and token requests, exactly as the server publishes it. */
  readonly resource: string
  readonly resourceName?: string
  readonly issuer: string
  readonly server: AuthorizationServer
  /** From the challenge, else all that the server supports; undefined if it names none. */
  readonly scopes?: readonly string[]
}

export interface RegisterRequest {
  readonly server: AuthorizationServer
  readonly redirectUri: string
  readonly clientName: string
  readonly clientUri?: string | undefined
  /** The https URL of our client ID metadata document. */
  readonly clientMetadataUrl?: string | undefined
  readonly preRegistered?: PreRegisteredClient | undefined
  readonly scopes?: readonly string[] | undefined
}

export interface AuthorizationRequest {
  readonly server: AuthorizationServer
  readonly client: OAuthClient
  readonly redirectUri: string
  /** Undefined for apps that have no resource identifier. */
  readonly resource?: string | undefined
  readonly scopes?: readonly string[] | undefined
  /** On step-up: scopes that were requested before. They are requested again, so that none is lost. */
  readonly previousScopes?: readonly string[] | undefined
  /** Suggests an account to the authorization server. */
  readonly loginHint?: string | undefined
}

export interface StartedAuthorization {
  /** Where to send the browser. */
  readonly url: string
  /** Contained in the URL. Store only `pending`, which has its hash. */
  readonly state: string
  readonly pending: PendingAuthorization
}

/** To be stored until the browser comes back. The verifier is a secret. */
export interface PendingAuthorization {
  /** `hashState(state)`. Find the row by it. */
  readonly stateHash: string
  readonly verifier: string
  readonly issuer: string
  readonly clientId: string
  readonly redirectUri: string
  readonly scopes?: readonly string[]
  readonly resource?: string
}

export interface AuthorizationReturn {
  readonly pending: PendingAuthorization
  /** The query of the callback. */
  readonly params: URLSearchParams
  readonly server: AuthorizationServer
  readonly client: OAuthClient
}

export interface RefreshRequest {
  readonly server: AuthorizationServer
  readonly client: OAuthClient
  readonly refreshToken: string
  readonly resource?: string | undefined
  /** Scopes granted so far; kept if the response does not name any. Not sent. */
  readonly scopes?: readonly string[] | undefined
}

export interface ClientCredentialsRequest {
  readonly server: AuthorizationServer
  readonly client: OAuthClient
  readonly resource?: string | undefined
  readonly scopes?: readonly string[] | undefined
}

/** Token exchange (RFC 8693). */
export interface TokenExchangeRequest extends ClientCredentialsRequest {
  readonly subjectToken: string
  readonly subjectTokenType: string
  readonly requestedTokenType?: string | undefined
  readonly audience?: string | undefined
}

/** A JWT as authorization grant (RFC 7523), such as an ID-JAG of an identity provider. */
export interface AssertionRequest extends ClientCredentialsRequest {
  readonly assertion: string
}

/** Enterprise-managed authorization: the identity provider vouches for the user, without a browser. */
export interface EnterpriseRequest extends ClientCredentialsRequest {
  readonly identityProvider: { readonly server: AuthorizationServer; readonly client: OAuthClient }
  readonly idToken: string
  /** Required here: it is part of what the identity provider signs. */
  readonly resource: string
}

export interface RevokeRequest {
  readonly server: AuthorizationServer
  readonly client: OAuthClient
  readonly accessToken?: string | undefined
  readonly refreshToken?: string | undefined
}

export interface Tokens {
  readonly accessToken: string
  /** On refresh, the previous one if the response has none. */
  readonly refreshToken?: string
  readonly tokenType: 'Bearer'
  /** In epoch milliseconds. Undefined if the server names no lifetime and there is nothing to refresh it with. */
  readonly expiresAt?: number
  /** Granted scopes; those requested if the response names none. */
  readonly scopes: readonly string[]
  /** Granted, but not requested. */
  readonly extraScopes: readonly string[]
  /** A name for people, such as an e-mail address. Not an identity. */
  readonly account?: string
}
