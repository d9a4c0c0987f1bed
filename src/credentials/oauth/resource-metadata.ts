import { resourceUrlFromServerUrl, specTypeSchemas } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../lib/json.ts'
import { isScope } from './challenge.ts'
import { fetchDocument, invalidDocument } from './documents.ts'
import { hostOf, objectionTo } from './endpoints.ts'
import { Misconfigured } from './errors.ts'
import type { DiscoverRequest, OAuthContext } from './types.ts'
import { traced } from './wire.ts'

export interface ResourceMetadata {
  readonly resource: string
  readonly resourceName?: string
  readonly authorizationServers: readonly string[]
  readonly scopes?: readonly string[]
}

const rootPath = '/.well-known/oauth-protected-resource'

/**
 * Finds the metadata of a protected resource (RFC 9728): where the challenge says, else at the well-known place of its path,
 * else at the root. Returns undefined if there is none.
 */
export async function findResourceMetadata(
  { resourceUrl, challenge }: DiscoverRequest,
  context: OAuthContext,
): Promise<ResourceMetadata | undefined> {
  for (const place of placesOf(resourceUrl, challenge?.resourceMetadata)) {
    const found = await traced('resource_metadata', context, async (fetch) => {
      assertUsable(place, resourceUrl)
      const document = await fetchDocument(place, fetch)
      if (!document) return [undefined, 'There is no metadata here.']
      const metadata = read(document, place, resourceUrl)
      return [
        metadata,
        `Resource ${metadata.resource}, authorization servers: ${metadata.authorizationServers.join(', ')}.`,
      ]
    })
    if (found) return found
  }
  if (challenge?.resourceMetadata === undefined) return undefined
  throw invalidDocument(hostOf(challenge.resourceMetadata), 'is missing, although the server refers to it')
}

function placesOf(resourceUrl: string, named: string | undefined): readonly string[] {
  if (named !== undefined) return [named]
  const { origin, pathname, search } = new URL(resourceUrl)
  const path = pathname.replace(/\/$/, '')
  return path === '' ? [origin + rootPath] : [origin + rootPath + path + search, origin + rootPath]
}

function read(document: JsonObject, place: string, resourceUrl: string): ResourceMetadata {
  const host = hostOf(place)
  const parsed = specTypeSchemas.OAuthProtectedResourceMetadata['~standard'].validate(document)
  if (parsed.issues)
    throw invalidDocument(host, `has an invalid field ${parsed.issues[0]?.path?.join('.') ?? ''}`.trim())
  const { resource, resource_name, authorization_servers = [], scopes_supported = [] } = parsed.value
  if (!isResourceOf(resource, resourceUrl, place)) throw wrongResource(resource, resourceUrl)
  if (authorization_servers.length === 0) throw invalidDocument(host, 'names no authorization server')
  for (const server of authorization_servers) assertUsable(server, resourceUrl)
  // All of them are requested, in a URL.
  const scopes = scopes_supported.filter(isScope).slice(0, 100)
  return {
    resource,
    ...(resource_name && { resourceName: resource_name.slice(0, 200) }),
    authorizationServers: authorization_servers,
    ...(scopes.length > 0 && { scopes }),
  }
}

/**
 * Metadata applies only to the resource that it names. Otherwise a server could obtain tokens for another one. Metadata at
 * the root of an origin may also name a parent of the resource, because it speaks for the whole origin.
 */
function isResourceOf(resource: string, resourceUrl: string, place: string): boolean {
  const [named, wanted, from] = [new URL(resource), resourceUrlFromServerUrl(resourceUrl), new URL(place)]
  if (named.hash !== '' || named.origin !== wanted.origin) return false
  if (named.href === wanted.href || (named.search === '' && named.pathname === wanted.pathname)) return true
  const fromRoot = from.origin === wanted.origin && from.pathname === rootPath
  const parent = named.pathname.endsWith('/') ? named.pathname : `${named.pathname}/`
  return fromRoot && named.search === '' && wanted.pathname.startsWith(parent)
}

const wrongResource = (resource: string, resourceUrl: string) => {
  const host = hostOf(resourceUrl)
  const published = new URL(resource)
  return new Misconfigured(
    `The OAuth metadata of "${host}" is for another resource (${published.origin}${published.pathname}), so it is not used. Use exactly that URL for the tool if it is the right one, or ask the operator of the server to fix its metadata.`,
    { host, code: 'resource_mismatch' },
  )
}

function assertUsable(url: string, publisher: string): void {
  const objection = objectionTo(url, publisher)
  if (objection === undefined) return
  const host = hostOf(publisher)
  throw new Misconfigured(`"${host}" refers to a URL for authorization that ${objection}. It is not used.`, {
    host,
    code: 'insecure_url',
  })
}
