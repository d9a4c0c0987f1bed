import { Hono } from 'hono'
import type { Logger } from 'pino'
import { PlatformError } from '../model/errors.ts'
import { nearest } from '../model/nearest.ts'
import { answerError } from './answer.ts'
import type { Dashboard } from './dashboard.ts'
import type { Metrics } from './metrics.ts'

export interface WebParts {
  readonly rest: Hono
  /** Signing in and out at the dashboard. */
  readonly signIn: Hono
  readonly dashboard: Dashboard
  /** Answers what comes to /mcp/{server}, and to /mcp. */
  mcp(request: Request, server: string | undefined): Promise<Response>
  /** JSON, printed when it is asked for. */
  openapi(): string
  /** The routes there are, for those who ask for one that there is not. */
  readonly routes: readonly { readonly method: string; readonly path: string }[]
  reference(): string
  readonly metrics: Metrics
  readonly log: Logger
  /** Why the platform takes no work, in a sentence; undefined where it does. */
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

/** Everything that answers HTTP, in one place. */
export function web(parts: WebParts): Hono {
  const { rest, signIn, dashboard, mcp, openapi, routes, reference, metrics, log, fault, searchState } = parts
  const app = new Hono()
  app.get('*', async ({ req }, next) => (await dashboard.answer(req.raw)) ?? next())
  app.get('/health', (context) => context.json({ status: 'ok' }))
  app.get('/ready', async (context) => {
    const reason = await fault()
    return reason === undefined
      ? context.json({ status: 'ready', search: searchState() })
      : context.json({ status: 'not ready', reason }, 503)
  })
  app.get('/metrics', () => metrics.print())
  app.get('/api/v1/openapi.json', () => new Response(openapi(), { headers: { 'content-type': 'application/json' } }))
  app.get('/api/docs', () => new Response(reference(), { headers: page }))
  app.route('/api/v1/dashboard', signIn)
  app.route('/api/v1', rest)
  // The documents that describe agents name their routes without a prefix. A browser that asks for a page sends no key.
  app.on(['GET', 'POST', 'PATCH', 'DELETE'], '/agents/*', (context, next) =>
    context.req.header('authorization') === undefined ? next() : rest.fetch(context.req.raw),
  )
  // Many a client's settings have a slash at the end of an address.
  for (const path of ['/mcp', '/mcp/']) app.all(path, (context) => mcp(context.req.raw, undefined))
  for (const path of ['/mcp/:server', '/mcp/:server/'])
    app.all(path, (context) => mcp(context.req.raw, context.req.param('server')))
  app.notFound(
    async ({ req: { method, path, raw } }) =>
      (await dashboard.lost(raw)) ?? answerError(missing(method, path, routes), log),
  )
  app.onError((error) => answerError(error, log))
  return app
}

/** Tells a wrong method from a wrong path. */
function missing(method: string, path: string, routes: WebParts['routes']): PlatformError {
  const fits = (route: string) => new RegExp(`^${route.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)
  const allowed = routes.filter((route) => fits(route.path)).map((route) => route.method)
  if (allowed.length > 0) return new PlatformError('METHOD_NOT_ALLOWED', { method, path, allowed })
  const close = nearest(path, [...new Set(routes.map((route) => route.path))])
  return new PlatformError('ROUTE_NOT_FOUND', { path, nearest: close })
}
