import type { Hono as App } from 'hono'
import { Hono } from 'hono'
import type { Logger } from 'pino'
import { PlatformError } from '../model/errors.ts'
import { nearest } from '../model/nearest.ts'
import { answerError } from './answer.ts'
import type { Metrics } from './metrics.ts'

export interface WebParts {
  readonly rest: Hono
  /** JSON, printed once. */
  readonly openapi: string
  /** The paths there are, for those who ask for one that there is not. */
  readonly paths: readonly string[]
  readonly reference: string
  readonly metrics: Metrics
  readonly log: Logger
  isReady(): Promise<boolean>
}

const page = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** Everything that answers HTTP, in one place. */
export function web({ rest, openapi, paths, reference, metrics, log, isReady }: WebParts): Hono {
  const app = new Hono()
  app.get('/health', (context) => context.json({ status: 'ok' }))
  app.get('/ready', async (context) =>
    (await isReady()) ? context.json({ status: 'ready' }) : context.json({ status: 'not ready' }, 503),
  )
  app.get('/metrics', () => metrics.print())
  app.get('/api/v1/openapi.json', () => new Response(openapi, { headers: { 'content-type': 'application/json' } }))
  app.get('/api/docs', () => new Response(reference, { headers: page }))
  app.route('/api/v1', rest)
  app.get('/', (context) => context.redirect('/api/docs'))
  app.notFound(({ req: { path } }) =>
    answerError(new PlatformError('ROUTE_NOT_FOUND', { path, nearest: nearest(path, paths) }), log),
  )
  app.onError((error) => answerError(error, log))
  return app
}
