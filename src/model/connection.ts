import { z } from 'zod'
import { Id, Text, Timestamp } from './page.ts'
import { Headers, ToolFields } from './tool.ts'

export const ConnectionType = z.enum([
  'api_key',
  'bearer',
  'basic',
  'oauth2_client_credentials',
  'oauth2_authorization_code',
  'oauth2_token_exchange',
  'oauth2_enterprise_managed',
])
export type ConnectionType = z.infer<typeof ConnectionType>

/** Types whose tokens are obtained without a browser, so that no page can connect them. */
export const needsNoBrowser = (type: string): boolean =>
  ['oauth2_client_credentials', 'oauth2_token_exchange', 'oauth2_enterprise_managed'].includes(type)

/*
 * The status of a connection:
 *
 *     active ◀──▶ expiring ──▶ reauth_required ◀──▶ revoked
 *        ▲                            │               │
 *        └──────── connected again ───┴───────────────┘
 *
 * - `active`: its credentials work, as far as is known. Access tokens are refreshed before they expire.
 * - `expiring`: it still works, but its token expires soon and cannot be refreshed: there is no refresh token, or the
 *   authorization server is failing.
 * - `reauth_required`: calls fail with `CONNECTION_REQUIRED` until its owner connects again. Also before the first time.
 * - `revoked`: the same, because someone revoked it here or at the service.
 */
export const ConnectionStatus = z.enum(['active', 'expiring', 'reauth_required', 'revoked'])
export type ConnectionStatus = z.infer<typeof ConnectionStatus>

/** Whether calls can use a connection with this status. */
export const isUsable = (status: ConnectionStatus): boolean => status === 'active' || status === 'expiring'

/** The id of an end user, as the application that uses the platform knows it. */
export const EndUserId = Text.trim().min(1).max(200)

export const ConnectionOwner = z.object({
  kind: z.enum(['project', 'user']),
  id: z.string().nullable().describe('The end user; null for the project'),
})
export type ConnectionOwner = z.infer<typeof ConnectionOwner>

export const OwnerInput = z
  .strictObject({ kind: z.enum(['project', 'user']), id: EndUserId.nullish() })
  .refine(({ kind, id }) => (kind === 'user') === (id !== undefined && id !== null), {
    error: 'must be {"kind": "project"}, or {"kind": "user", "id": "…"}',
  })

/** What the connection is for: all tools of an app, or one tool. */
export const target = {
  app: (ToolFields.app.unwrap() as z.ZodString).optional().describe('The app whose tools use it'),
  tool_id: Id.optional().describe('The only tool that uses it'),
}

const HttpUrl = Text.max(2000).refine(
  (text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''),
  'must be an http or https URL',
)
/** A scope is printable ASCII without spaces, quotes and backslashes (RFC 6749). */
const Scope = z
  .string()
  .max(500)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'is not a valid OAuth scope')

/** How to authenticate, without secrets. Which fields apply depends on the type. */
export const ConnectionSettings = {
  header: (Headers.keyType as z.ZodString)
    .max(200)
    .optional()
    .describe('api_key: the header that carries the key; defaults to x-api-key'),
  query: Text.min(1)
    .max(200)
    .optional()
    .describe('api_key: the query parameter that carries the key, instead of a header'),
  username: Text.max(1000).optional().describe('basic: the user name'),
  client_id: Text.min(1)
    .max(2000)
    .optional()
    .describe('oauth2: a client that is registered at the authorization server'),
  scopes: z
    .array(Scope)
    .max(200)
    .optional()
    .describe('oauth2: the scopes to request; by default, those the server asks for'),
  issuer: HttpUrl.optional().describe('oauth2: the authorization server; by default, the one the MCP server names'),
  subdomain: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i, 'must be one label of a host name, such as "acme"')
    .optional()
    .describe('oauth2: your part of the host name, for well-known apps that have one per customer, such as shopify'),
  signing_algorithm: z
    .string()
    .max(20)
    .optional()
    .describe('oauth2: how client assertions are signed with private_key, such as ES256'),
  authorization_endpoint: HttpUrl.optional().describe('oauth2: only if the authorization server publishes no metadata'),
  token_endpoint: HttpUrl.optional().describe('oauth2: only if the authorization server publishes no metadata'),
  audience: Text.max(2000).optional().describe('oauth2_token_exchange: the service that the token is for'),
  subject_token_type: Text.max(200)
    .optional()
    .describe('oauth2_token_exchange: the type of subject_token, as a URN; an access token by default'),
  idp_issuer: HttpUrl.optional().describe('oauth2_enterprise_managed: the identity provider of the company'),
  idp_token_endpoint: HttpUrl.optional().describe(
    'oauth2_enterprise_managed: only if the identity provider publishes no metadata',
  ),
  idp_client_id: Text.min(1).max(2000).optional().describe('oauth2_enterprise_managed: our client there'),
}
export type ConnectionSettings = z.infer<z.ZodObject<typeof ConnectionSettings>>

/** Secret fields. They are encrypted, and no operation returns them. */
const SecretText = Text.min(1).max(65_536)
export const ConnectionSecrets = {
  value: SecretText.optional().describe('api_key, bearer: the key or token'),
  api_key: SecretText.optional().describe('Another name for value'),
  token: SecretText.optional().describe('Another name for value'),
  password: SecretText.optional().describe('basic: the password'),
  private_key: SecretText.optional().describe('oauth2: a PKCS #8 key in PEM, instead of client_secret'),
  client_secret: SecretText.optional().describe('oauth2: the secret of the client'),
  subject_token: SecretText.optional().describe(
    'oauth2_token_exchange: the token to exchange; oauth2_enterprise_managed: an ID token of the user',
  ),
  idp_client_secret: SecretText.optional().describe(
    'oauth2_enterprise_managed: the secret of the client at the identity provider',
  ),
}

/** An account at an app: of one end user, or shared by the project. */
export const Connection = z.object({
  id: z.string(),
  project_id: z.string(),
  app: z.string().nullable(),
  tool_id: z.string().nullable(),
  type: ConnectionType,
  owner: ConnectionOwner,
  status: ConnectionStatus,
  account: z.string().nullable().describe('Whose account it is at the service, if known'),
  scopes: z.array(z.string()).describe('The granted scopes'),
  expires_at: Timestamp.nullable().describe('When the current token expires; it is refreshed before that if possible'),
  header: z.string().nullable(),
  query: z.string().nullable(),
  username: z.string().nullable(),
  client_id: z.string().nullable(),
  issuer: z.string().nullable().describe('The authorization server'),
  resource: z.string().nullable().describe('The MCP server that the tokens are issued for'),
  origins: z.array(z.string()).describe('The only origins that its credentials are sent to'),
  error: z.string().nullable().describe('What went wrong last'),
  last_used_at: Timestamp.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Connection = z.infer<typeof Connection>

/** How the accounts of an app are connected: what a hosted page asks for, or the OAuth client to use. */
export const AuthConfig = z.object({
  id: z.string(),
  project_id: z.string(),
  app: z.string().nullable(),
  tool_id: z.string().nullable(),
  type: ConnectionType,
  header: z.string().nullable(),
  query: z.string().nullable(),
  client_id: z.string().nullable(),
  has_client_secret: z.boolean(),
  scopes: z.array(z.string()).nullable(),
  issuer: z.string().nullable(),
  subdomain: z.string().nullable(),
  authorization_endpoint: z.string().nullable(),
  token_endpoint: z.string().nullable(),
  audience: z.string().nullable(),
  subject_token_type: z.string().nullable(),
  idp_issuer: z.string().nullable(),
  idp_token_endpoint: z.string().nullable(),
  idp_client_id: z.string().nullable(),
  has_idp_client_secret: z.boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type AuthConfig = z.infer<typeof AuthConfig>

/** Why a call needs its user to connect. */
export const ConnectReason = z.enum(['missing', 'expired', 'revoked', 'insufficient_scope'])
export type ConnectReason = z.infer<typeof ConnectReason>
