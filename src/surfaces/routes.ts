import type { Logger } from 'pino'
import { nearest } from '../lib/nearest.ts'
import { PlatformError } from '../model/errors.ts'
import { sendError } from '../server/error-reply.ts'
import { type Exchange, sendJson } from '../server/exchange.ts'
import type { Metrics } from '../server/metrics.ts'
import { createRouter, type Route } from '../server/router.ts'
import type { Dashboard } from './dashboard/dashboard.ts'

export interface WebDeps {
  readonly rest: readonly Route[]
  readonly signIn: readonly Route[]
  readonly oauth: readonly Route[]
  readonly connect: readonly Route[]
  /** Without a server, the platform's own MCP endpoint. */
  mcp(exchange: Exchange, server: string | undefined): Promise<void>
  readonly dashboard: Dashboard
  /** JSON, generated on first use. */
  openapi(): string
  reference(): string
  readonly metrics: Metrics
  readonly log: Logger
  /** Why the platform is not ready, in a sentence; undefined if it is. */
  fault(): Promise<string | undefined>
  /** The state of the search, which may have fallen back to keywords. */
  searchState(): object
}

const page = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** All HTTP routes in one table. */
export function createHandler(deps: WebDeps): (exchange: Exchange) => Promise<void> {
  const { rest, signIn, oauth, connect, mcp, dashboard, openapi, reference, metrics, log, fault, searchState } = deps
  const get = (path: string, handle: Route['handle']): Route => ({ method: 'GET', path, handle })
  const any = (path: string, handle: Route['handle']): Route => ({ method: 'ALL', path, handle })
  const restRoutes = rest.map((route) => ({ ...route, path: `/api/v1${route.path}` }))
  const find = createRouter([
    get('/health', (exchange) => sendJson(exchange, 200, '{"status":"ok"}')),
    get('/ready', async (exchange) => {
      const reason = await fault()
      const isReady = reason === undefined
      const body = isReady ? { status: 'ready', search: searchState() } : { status: 'not ready', reason }
      sendJson(exchange, isReady ? 200 : 503, JSON.stringify(body))
    }),
    get('/metrics', async (exchange) =>
      exchange.send(200, { 'content-type': metrics.contentType }, await metrics.print()),
    ),
    get('/api/v1/openapi.json', (exchange) => sendJson(exchange, 200, openapi())),
    get('/api/docs', (exchange) => exchange.send(200, page, reference())),
    ...signIn,
    ...oauth,
    ...connect,
    ...restRoutes,
    // Some clients append a slash to the URL.
    ...['/mcp', '/mcp/'].map((path) => any(path, (exchange) => mcp(exchange, undefined))),
    ...['/mcp/:server', '/mcp/:server/'].map((path) => any(path, (exchange, { server }) => mcp(exchange, server))),
  ])

  /**
   * These also work without the prefix, because documentation for agents uses them so. A browser that opens a page sends no
   * key.
   */
  const findUnprefixed = (method: string, { path, headers }: Exchange) =>
    /^\/(agents\/|sessions(\/|$)|routines\/)/.test(path) && headers.authorization !== undefined
      ? find(method, `/api/v1${path}`)
      : undefined

  return async (exchange) => {
    try {
      const method = exchange.method === 'HEAD' ? 'GET' : exchange.method
      const match = find(method, exchange.path)
      if (match) return await match.handle(exchange, match.params)
      if (method === 'GET' && (await dashboard.serve(exchange))) return
      const unprefixed = findUnprefixed(method, exchange)
      if (!unprefixed) throw notFound(exchange, restRoutes)
      await unprefixed.handle(exchange, unprefixed.params)
    } catch (error) {
      sendError(exchange, error, log)
    }
  }
}

/** Distinguishes a wrong method from a wrong path. */
function notFound({ method, path }: Exchange, routes: readonly Route[]): PlatformError {
  const fits = (route: string) => new RegExp(`^${route.replaceAll(/:\w+/g, '[^/]+')}$`).test(path)
  const allowed = routes.filter((route) => fits(route.path)).map((route) => route.method)
  if (allowed.length > 0) return new PlatformError('METHOD_NOT_ALLOWED', { method, path, allowed })
  const documented = new Set(routes.map((route) => route.path.replaceAll(/:(\w+)/g, '{$1}')))
  return new PlatformError('ROUTE_NOT_FOUND', { path, nearest: nearest(path, [...documented]) })
}
