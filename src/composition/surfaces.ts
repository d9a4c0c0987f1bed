import { RateLimit } from '../access/rate-limit.ts'
import { version } from '../home.ts'
import type { OperationDeps } from '../operations/operation.ts'
import { createAdmit } from '../server/admit.ts'
import { connectRoutes } from '../surfaces/connect/connect.ts'
import { dashboard } from '../surfaces/dashboard/dashboard.ts'
import { signInRoutes } from '../surfaces/dashboard/sign-in.ts'
import { singleSignOnRoutes } from '../surfaces/dashboard/single-sign-on.ts'
import { McpEndpoints } from '../surfaces/mcp/endpoint.ts'
import { challenge, resourcePath } from '../surfaces/oauth/resources.ts'
import { oauthRoutes, resourceRoutes } from '../surfaces/oauth/routes.ts'
import { signInMethods } from '../surfaces/oauth/sign-in.ts'
import { openapi } from '../surfaces/rest/openapi.ts'
import { reference } from '../surfaces/rest/reference.ts'
import { restRoutes } from '../surfaces/rest/rest.ts'
import { createHandler } from '../surfaces/routes.ts'
import { publishGrantEnd } from '../webhooks/events.ts'
import type { Base } from './base.ts'
import type { Identity } from './identity.ts'

/** What answers HTTP requests. `pages` is the folder of the built dashboard. */
export function createSurfaces(base: Base, identity: Identity, deps: OperationDeps, pages: URL) {
  const { config, log, store, vault, outbound, metrics, publicUrl } = base
  const { authenticator, holders, oauthKeys, sessions, singleSignOn, signIn } = identity
  const { closing, permissions } = deps
  const { bodyLimit } = config
  const operations = [...deps.operations.values()]
  const admit = createAdmit({
    ...{ authenticator, sessions, lineage: base.lineage, closing },
    rateLimit: new RateLimit(config.rateLimit),
    onLoopback: config.onLoopback,
    publicUrl: config.publicUrl,
  })
  const endpoints = new McpEndpoints({
    ...{ deps, admit, authenticator, log, version, bodyLimit },
    ...(config.oauth && { challenge: (server, host, scope) => challenge(server, host, publicUrl, scope) }),
    audienceOf: (slug) => publicUrl.href + resourcePath(slug),
  })
  const authorizationServer = oauthRoutes(
    {
      ...{ store, vault, publicUrl, holders, log, version, sessions },
      keys: oauthKeys,
      fetch: outbound.client({ project: undefined, credentials: ['oauth clients'] }).fetch,
      acceptsHost: (host) => config.oauthClientHosts?.includes(host) ?? true,
      allowRegistration: config.oauthRegistration,
      onRevoked: (grant, reason) => publishGrantEnd(grant, reason, base.webhooks),
      methods: () => signInMethods(signIn),
      providers: () => store.signInProviders.listEnabled(),
      findServer: (reference) => deps.serverCatalogues.findServer(reference),
    },
    new URL('assets/', pages),
  )
  const handle = createHandler({
    rest: restRoutes({ operations, deps, admit, metrics, log, bodyLimit, closing }),
    signIn: [
      ...signInRoutes({ sessions, signIn, log, closing, version, permissions }),
      ...singleSignOnRoutes({ sessions, singleSignOn, store, log, publicUrl: deps.publicUrl }),
    ],
    oauth: config.oauth ? [...authorizationServer, ...resourceRoutes(publicUrl)] : [],
    connect: connectRoutes({
      ...{ sessions, authenticator, store, log },
      flows: deps.connections.flows,
      publicUrl: () => publicUrl.href,
    }),
    mcp: (exchange, server) => endpoints.handle(exchange, server),
    dashboard: dashboard(pages),
    openapi: once(() => JSON.stringify(openapi(operations, permissions, version))),
    reference: once(() => reference(operations, version)),
    metrics,
    log,
    searchState: () => deps.resolver.state,
    fault: async () => (closing.aborted ? 'The platform is shutting down.' : store.writeProbe.fault()),
  })
  return { handle, endpoints }
}

/** Computes a value on first use, because few need it and it would slow down the start. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
