import { buildDiscoveryUrls } from '@modelcontextprotocol/client'
import { z } from 'zod'
import type { JsonObject } from '../../lib/json.ts'
import { assertEndpoint } from './capabilities.ts'
import { fetchDocument, invalidDocument } from './documents.ts'
import { hostOf } from './endpoints.ts'
import { Misconfigured } from './errors.ts'
import type { AuthorizationServer, OAuthContext } from './types.ts'
import { traced } from './wire.ts'

const Texts = z.array(z.string()).optional()
/** Only literal `true` counts as advertised. */
const Flag = z.boolean().optional().catch(undefined)

/** The fields of RFC 8414 and OpenID Connect Discovery that are used. Some servers send null for missing ones. */
const Metadata = z.object({
  issuer: z.string(),
  authorization_endpoint: z.string().optional(),
  token_endpoint: z.string(),
  registration_endpoint: z.string().optional(),
  revocation_endpoint: z.string().optional(),
  userinfo_endpoint: z.string().optional(),
  scopes_supported: Texts,
  response_types_supported: Texts,
  grant_types_supported: Texts,
  code_challenge_methods_supported: Texts,
  token_endpoint_auth_methods_supported: Texts,
  client_id_metadata_document_supported: Flag,
  authorization_response_iss_parameter_supported: Flag,
})

const endpoints = [
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'revocation_endpoint',
  'userinfo_endpoint',
] as const

/**
 * Fetches the metadata of an authorization server from the well-known places, in the order of the MCP specification.
 * Returns undefined if there is none.
 */
export async function findServerMetadata(
  issuer: string,
  issuerOverride: string | undefined,
  context: OAuthContext,
): Promise<AuthorizationServer | undefined> {
  for (const { url } of buildDiscoveryUrls(issuer)) {
    const found = await traced('server_metadata', context, async (fetch) => {
      const document = await fetchDocument(url.href, fetch)
      if (!document) return [undefined, 'There is no metadata here.']
      const server = read(document, issuer, issuerOverride)
      return [server, `Issuer ${server.issuer}, token endpoint ${hostOf(server.token_endpoint)}.`]
    })
    if (found) return found
  }
  return undefined
}

function read(document: JsonObject, issuer: string, issuerOverride: string | undefined): AuthorizationServer {
  const host = hostOf(issuer)
  const stated = Object.fromEntries(Object.entries(document).filter(([, value]) => value !== null))
  const parsed = Metadata.safeParse(stated)
  if (!parsed.success) throw invalidDocument(host, `has an invalid field "${parsed.error.issues[0]?.path.join('.')}"`)
  const metadata = parsed.data
  // Compared as strings: normalizing would accept lookalikes (RFC 8414, section 3.3).
  if (metadata.issuer !== issuer && metadata.issuer !== issuerOverride) throw wrongIssuer(host)
  for (const name of endpoints) if (metadata[name] !== undefined) assertEndpoint({ ...metadata, issuer }, name)
  return { ...metadata, issuer: issuerOverride ?? metadata.issuer }
}

const wrongIssuer = (host: string) =>
  new Misconfigured(
    `The metadata of the authorization server at "${host}" names another issuer, so it is not used. If you trust this server, set the issuer that it names as the issuer of the tool.`,
    { host, code: 'issuer_mismatch' },
  )
