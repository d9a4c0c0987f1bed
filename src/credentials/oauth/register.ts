import { resolveClientMetadata } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { assertSameIssuer, chooseAuthMethod, getAuthorizationEndpoint } from './capabilities.ts'
import { hostOf } from './endpoints.ts'
import { Misconfigured } from './errors.ts'
import { describe, errorIn, parseBody, type ResponseError, temporary } from './responses.ts'
import type { AuthMethod, AuthorizationServer, OAuthClient, OAuthContext, RegisterRequest } from './types.ts'
import { traced } from './wire.ts'

/** Chooses our client at an authorization server: pre-registered, metadata document, dynamic registration, in this order. */
export async function register(request: RegisterRequest, context: OAuthContext): Promise<OAuthClient> {
  const { server, preRegistered, clientMetadataUrl } = request
  const { issuer } = server
  return traced('registration', context, async (fetch) => {
    if (preRegistered) {
      assertSameIssuer(server, preRegistered.issuer ?? issuer)
      const authMethod = preRegistered.authMethod ?? chooseAuthMethod(server, preRegistered)
      return [{ ...preRegistered, issuer, kind: 'pre_registered', authMethod }, 'Uses the client of the operator.']
    }
    getAuthorizationEndpoint(server)
    if (clientMetadataUrl !== undefined && server.client_id_metadata_document_supported) {
      assertDocumentUrl(clientMetadataUrl)
      const client = { clientId: clientMetadataUrl, issuer, kind: 'metadata_document', authMethod: 'none' } as const
      return [client, `Uses the client ID metadata document ${clientMetadataUrl}.`]
    }
    if (server.registration_endpoint === undefined) throw mustRegister(server)
    return [await registerDynamically(request, fetch), 'Registered a new client.']
  })
}

/**
 * Registers with `application_type` as the specification asks. Some servers reject it, so the second attempt leaves it out.
 */
async function registerDynamically(request: RegisterRequest, fetch: typeof globalThis.fetch): Promise<OAuthClient> {
  const metadata = clientMetadata(request)
  try {
    return await post(request.server, metadata, fetch)
  } catch (error) {
    if (!(error instanceof Misconfigured) || error.code !== 'invalid_client_metadata') throw error
    const { application_type: _, ...rest } = metadata
    return post(request.server, rest, fetch)
  }
}

type ClientMetadata = ReturnType<typeof clientMetadata>

function clientMetadata({ server, redirectUri, clientName, clientUri, scopes }: RegisterRequest) {
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const authMethod = authMethods.find((method) => methods.includes(method)) ?? 'none'
  return resolveClientMetadata({
    redirectUrl: redirectUri,
    clientMetadata: {
      client_name: clientName,
      ...(clientUri && { client_uri: clientUri }),
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: authMethod,
      ...(scopes && { scope: scopes.join(' ') }),
    },
  })
}

/** In order of preference, for a client that can keep a secret. */
const authMethods = ['client_secret_basic', 'client_secret_post', 'none'] as const satisfies readonly AuthMethod[]

const Registered = z.object({
  client_id: z.string().min(1).max(4096),
  client_secret: z.string().max(4096).optional(),
  client_secret_expires_at: z.coerce.number().nonnegative().optional().catch(undefined),
  token_endpoint_auth_method: z.enum(authMethods).optional().catch(undefined),
})

async function post(
  server: AuthorizationServer,
  metadata: ClientMetadata,
  fetch: typeof globalThis.fetch,
): Promise<OAuthClient> {
  const endpoint = server.registration_endpoint as string
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(metadata),
  })
  const body = parseBody(await response.text())
  const host = hostOf(endpoint)
  if (!response.ok) throw rejected(response, errorIn(body), host)
  const parsed = Registered.safeParse(Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)))
  if (!parsed.success) throw invalidRegistration(host, String(parsed.error.issues[0]?.path.join('.')))
  return toClient(parsed.data, server)
}

function toClient(registered: z.infer<typeof Registered>, server: AuthorizationServer): OAuthClient {
  const { client_id: clientId, client_secret: clientSecret, client_secret_expires_at: expires = 0 } = registered
  const stated = registered.token_endpoint_auth_method
  const usable = stated !== undefined && (stated === 'none' || clientSecret !== undefined)
  return {
    clientId,
    ...(clientSecret !== undefined && { clientSecret }),
    issuer: server.issuer,
    kind: 'dynamic',
    authMethod: usable ? stated : chooseAuthMethod(server, { ...(clientSecret !== undefined && { clientSecret }) }),
    ...(expires > 0 && { expiresAt: expires * 1000 }),
  }
}

function rejected(response: Response, error: ResponseError, host: string) {
  const { status } = response
  if (status >= 500 || status === 429) return temporary(response, error, host)
  const code = error.code ?? 'registration_rejected'
  return new Misconfigured(
    `The authorization server at "${host}" rejected the registration of a client (${describe(error, status)}). Register a client there by hand, and enter its client ID.`,
    { host, code, status },
  )
}

const invalidRegistration = (host: string, field: string) =>
  new Misconfigured(
    `The authorization server at "${host}" answered the registration with an invalid "${field}". Register a client there by hand, and enter its client ID.`,
    { host, code: 'invalid_registration' },
  )

const mustRegister = ({ issuer }: AuthorizationServer) =>
  new Misconfigured(
    `The authorization server at "${hostOf(issuer)}" does not let clients register themselves. Register a client there by hand, and enter its client ID and secret.`,
    { host: hostOf(issuer), code: 'client_required' },
  )

function assertDocumentUrl(url: string): void {
  const { protocol, pathname, hash } = new URL(url)
  if (protocol === 'https:' && pathname !== '/' && hash === '') return
  const host = hostOf(url)
  throw new Misconfigured('The URL of the client ID metadata document must use https and have a path.', {
    host,
    code: 'invalid_client_metadata_url',
  })
}
