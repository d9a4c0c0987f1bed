import { existsSync, readdirSync } from 'node:fs'
import { PlatformError } from '../../model/errors.ts'
import { type Exchange, type Params, sendJson } from '../../server/exchange.ts'
import type { PublicUrl } from '../../server/public-url.ts'
import type { Route } from '../../server/router.ts'
import type { AuthorizationServerDeps } from './authorization-server.ts'
import { stylesPath } from './pages.ts'
import { interactionPath, metadataPaths, routes } from './paths.ts'
import { resourceMetadata } from './resources.ts'
import { styles } from './styles.ts'

/**
 * The routes of the authorization server. It is loaded on first use: many installations never use it, it needs the secret
 * key, and it knows its own URL only once the platform listens.
 */
export function oauthRoutes(deps: AuthorizationServerDeps, assets: URL): Route[] {
  const load = async () => {
    const { AuthorizationServer } = await import('./authorization-server.ts')
    return new AuthorizationServer(deps)
  }
  let loading: ReturnType<typeof load> | undefined
  const handle = async (exchange: Exchange) => {
    loading ??= load()
    await (await loading).handle(exchange)
  }
  const paths = [
    ...metadataPaths.flatMap((path) => [path, `${path}/*`]),
    ...Object.values(routes),
    `${routes.authorization}/:uid`,
    `${interactionPath}/:uid`,
  ]
  return [
    ...paths.map((path) => ({ method: 'ALL', path, handle })),
    {
      method: 'GET',
      path: stylesPath,
      handle: (exchange) => exchange.send(200, styleHeaders, fontFrom(assets) + styles),
    },
  ]
}

const styleHeaders = {
  'content-type': 'text/css; charset=utf-8',
  'x-content-type-options': 'nosniff',
  'cache-control': 'public, max-age=3600',
}

/** The font of the dashboard, whose name contains a hash. Without it, these pages have the font of the system. */
function fontFrom(assets: URL): string {
  const names = existsSync(assets) ? readdirSync(assets) : []
  const name = names.find((one) => /^inter-[\w-]+\.woff2$/.test(one))
  if (name === undefined) return ''
  return `@font-face { font-family: "Inter"; font-weight: 100 900; font-display: swap; src: url("../assets/${name}") format("woff2"); }`
}

const wellKnown = '/.well-known/oauth-protected-resource'

/** Where clients find out who issues tokens for our MCP endpoints. Anyone may read it, from any page. */
export function resourceRoutes(publicUrl: PublicUrl): Route[] {
  const handle = (exchange: Exchange, { server }: Params) => {
    if (server !== undefined && !isReference.test(server)) {
      throw new PlatformError('ROUTE_NOT_FOUND', { path: exchange.path, nearest: [] })
    }
    const document = resourceMetadata(server, exchange.headers.host, publicUrl)
    sendJson(exchange, 200, JSON.stringify(document), {
      'access-control-allow-origin': '*',
      'cache-control': 'no-cache',
    })
  }
  const paths = [`${wellKnown}/mcp`, `/mcp${wellKnown}`, `${wellKnown}/mcp/:server`, `/mcp/:server${wellKnown}`]
  return paths.map((path) => ({ method: 'GET', path, handle }))
}

/** A slug or an id. Whether such a server exists is not revealed. */
const isReference = /^[A-Za-z0-9][\w-]{0,62}$/
