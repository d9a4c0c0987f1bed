import { resourceUrlFromServerUrl } from '@modelcontextprotocol/client'
import { hostOf, objectionTo } from './endpoints.ts'
import { Misconfigured } from './errors.ts'
import { findResourceMetadata, type ResourceMetadata } from './resource-metadata.ts'
import { findServerMetadata } from './server-metadata.ts'
import type { Challenge, DiscoverRequest, Discovery, OAuthContext } from './types.ts'

/** Finds the authorization server of a protected server, and checks that both agree on who they are. */
export async function discover(request: DiscoverRequest, context: OAuthContext): Promise<Discovery> {
  const { resourceUrl, challenge, issuerOverride } = request
  if (issuerOverride !== undefined) assertIssuer(issuerOverride, resourceUrl)
  if (challenge) context.trace?.({ step: 'challenge', ok: true, detail: describeChallenge(challenge) })
  const metadata = await findResourceMetadata(request, context)
  const issuer = metadata ? chooseIssuer(metadata, request) : (issuerOverride ?? new URL(resourceUrl).origin)
  const server = await findServerMetadata(issuer, issuerOverride, context)
  if (!server) throw notFound(resourceUrl, issuer, metadata !== undefined)
  const scopes = challenge?.scopes ?? metadata?.scopes
  return {
    resource: metadata?.resource ?? canonical(resourceUrl),
    ...(metadata?.resourceName && { resourceName: metadata.resourceName }),
    issuer: server.issuer,
    server,
    ...(scopes && { scopes }),
  }
}

const describeChallenge = ({ resourceMetadata, scopes = [], error }: Challenge): string =>
  [
    `The server asks for authorization${error === undefined ? '' : ` (${error})`}.`,
    resourceMetadata === undefined
      ? 'It does not say where its metadata is.'
      : `Its metadata is at ${hostOf(resourceMetadata)}.`,
    ...(scopes.length > 0 ? [`It needs the scopes "${scopes.join(' ')}".`] : []),
  ].join(' ')

function assertIssuer(issuer: string, resourceUrl: string): void {
  const objection = objectionTo(issuer, resourceUrl)
  if (objection === undefined) return
  const host = hostOf(resourceUrl)
  throw new Misconfigured(`The issuer that is set for "${host}" ${objection}. Correct it.`, {
    host,
    code: 'insecure_url',
  })
}

const chooseIssuer = (
  { authorizationServers }: ResourceMetadata,
  { preferredIssuer, issuerOverride }: DiscoverRequest,
) =>
  authorizationServers.find((issuer) => issuer === preferredIssuer) ??
  authorizationServers.find((issuer) => issuer === issuerOverride) ??
  (authorizationServers[0] as string)

/** Without a fragment, and without the slash that URLs of origins get. */
const canonical = (resourceUrl: string) => {
  const { href, pathname, search } = resourceUrlFromServerUrl(resourceUrl)
  return pathname === '/' && search === '' ? href.slice(0, -1) : href
}

function notFound(resourceUrl: string, issuer: string, named: boolean): Misconfigured {
  const host = hostOf(named ? issuer : resourceUrl)
  const message = named
    ? `The authorization server at "${host}" publishes no metadata. Ask its operator to publish /.well-known/oauth-authorization-server.`
    : `"${host}" requires authorization, but does not publish where: it has no /.well-known/oauth-protected-resource. Set the issuer of its authorization server for this tool, or use an API key.`
  return new Misconfigured(message, { host, code: 'no_metadata' })
}
