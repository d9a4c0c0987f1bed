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
  /** Without a server: the platform itself. */
  mcp(exchange: Exchange, server: string | undefined): Promise<void>
  readonly dashboard: Dashboard
  /** JSON, printed when it is asked for. */
  openapi(): string
  reference(): string
  readonly metrics: Metrics
  readonly log: Logger
  /** Why the platform takes no work, in a sentence; undefined if it does. */
  fault(): Promise<string | undefined>
  /** How actions are searched, which may be worse than was wanted. */
  searchState(): object
}

const page = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** Everything that answers HTTP, as one table. */
export function createHandler(deps: WebDeps): (exchange: Exchange) => Promise<void> {
  const { rest, signIn, mcp, dashboard, openapi, reference, metrics, log, fault, searchState } = deps
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
    ...restRoutes,
    // Some clients put a slash at the end of an address.
    ...['/mcp', '/mcp/'].map((path) => any(path, (exchange) => mcp(exchange, undefined))),
    ...['/mcp/:server', '/mcp/:server/'].map((path) => any(path, (exchange, { server }) => mcp(exchange, server))),
  ])

  /** The documents that describe agents name their routes without a prefix. A browser that opens a page sends no key. */
  const findUnprefixed = (method: string, { path, headers }: Exchange) =>
    path.startsWith('/agents/') && headers.authorization !== undefined ? find(method, `/api/v1${path}`) : undefined

  return async (exchange) => {
    try {
      const method = exchange.method === 'HEAD' ? 'GET' : exchange.method
      if (method === 'GET' && (await dashboard.serve(exchange))) return
      const match = find(method, exchange.path) ?? findUnprefixed(method, exchange)
      if (match) await match.handle(exchange, match.params)
      else if (!(await dashboard.serveNotFound(exchange))) throw notFound(exchange, restRoutes)
    } catch (error) {
      sendError(exchange, error, log)
    }
  }
}

/** Tells a wrong method from a wrong path. */
function notFound({ method, path }: Exchange, routes: readonly Route[]): PlatformError {
  const fits = (route: string) => new RegExp(`^${route.replaceAll(/:\w+/g, '[^/]+')}$`).test(path)
  const allowed = routes.filter((route) => fits(route.path)).map((route) => route.method)
  if (allowed.length > 0) return new PlatformError('METHOD_NOT_ALLOWED', { method, path, allowed })
  const documented = new Set(routes.map((route) => route.path.replaceAll(/:(\w+)/g, '{$1}')))
  return new PlatformError('ROUTE_NOT_FOUND', { path, nearest: nearest(path, [...documented]) })
}
