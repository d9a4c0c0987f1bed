import type { PublicUrl } from '../../server/public-url.ts'

/** `mcp` includes `mcp:read`. */
export const scopes = ['mcp', 'mcp:read'] as const
export const defaultScope = 'mcp'

/** An MCP endpoint as an OAuth resource: that of a server, by slug or id, or the platform's own. */
export interface McpResource {
  readonly server: string | undefined
}

/** Which endpoint a resource URL means; undefined if none. Whether the server exists is not revealed here. */
export function resourceAt(url: string, publicUrl: PublicUrl): McpResource | undefined {
  const match = /^\/mcp(?:\/([A-Za-z0-9][\w-]{0,62}))?\/?$/.exec(publicUrl.pathOf(url) ?? '')
  return match ? { server: match[1] } : undefined
}

export const resourcePath = (server: string | undefined): string => (server === undefined ? '/mcp' : `/mcp/${server}`)

/** The document by which a client finds the authorization server of an endpoint (RFC 9728). */
export const resourceMetadata = (server: string | undefined, host: string | undefined, publicUrl: PublicUrl) => ({
  resource: publicUrl.hrefFor(host) + resourcePath(server),
  authorization_servers: [publicUrl.href],
  scopes_supported: [defaultScope],
  bearer_methods_supported: ['header'],
  resource_name: server === undefined ? 'Quartermaster' : `Quartermaster: ${server}`,
})

/** Where that document is. */
export const metadataUrl = (server: string | undefined, host: string | undefined, publicUrl: PublicUrl): string =>
  `${publicUrl.hrefFor(host)}${resourcePath(server)}/.well-known/oauth-protected-resource`

/** Tells a client how to get a token, or one with the scopes that it lacks (RFC 9728, RFC 6750). */
export function challenge(
  server: string | undefined,
  host: string | undefined,
  publicUrl: PublicUrl,
  scope?: string,
): string {
  const where = `Bearer resource_metadata="${metadataUrl(server, host, publicUrl)}"`
  return scope === undefined
    ? `${where}, error="invalid_token"`
    : `${where}, error="insufficient_scope", scope="${scope}"`
}
