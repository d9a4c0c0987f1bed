import { Hono, type Context as HonoContext } from 'hono'
import { z } from 'zod'
import { csrfTokenOf, type SignedIn } from '../access/sessions.ts'
import { PlatformError } from '../model/errors.ts'
import { iso } from '../model/page.ts'
import { parseInput } from '../operations/operation.ts'
import { answerError } from './answer.ts'
import { requireCsrfToken, requireOwnPage, sessionCookie, sessionTokenOf } from './identify.ts'
import { readJson } from './read-json.ts'
import type { RestParts } from './rest.ts'

const NewSession = z.strictObject({ key: z.string().min(1).max(1000) })

/**
 * Signing in and out at the dashboard, for browsers only: an API key is shown once, and a cookie stands for it from then
 * on. These are no operations, because nobody else has a use for them.
 */
export function signIn(host: Pick<RestParts, 'sessions' | 'log' | 'closing'> & { readonly version: string }): Hono {
  const { sessions, log, version } = host
  const app = new Hono()

  const told = ({ principal, expiresAt }: SignedIn, token: string) => ({
    key: { id: principal.id, name: principal.name, project_id: principal.projectId },
    csrf_token: csrfTokenOf(token),
    expires_at: iso(expiresAt),
    version,
  })
  const answer = (body: unknown, status: number, headers: Record<string, string> = {}) =>
    new Response(body === null ? null : JSON.stringify(body), {
      status,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    })

  app.get('/session', async ({ req }) => {
    const token = tokenOf(req.raw)
    requireOwnPage(req.raw)
    return answer(told(await sessions.authenticate(token), token), 200, { 'set-cookie': sessionCookie(token, req.raw) })
  })
  app.post('/session', async (context) => {
    const { req } = context
    if (host.closing.aborted) throw new PlatformError('SHUTTING_DOWN', {})
    requireOwnPage(req.raw)
    const { key } = parseInput(NewSession, await readJson(req.raw, 10_000))
    const signedIn = await sessions.signIn(key.trim(), addressOf(context))
    const { token } = signedIn
    return answer(told(signedIn, token), 201, { 'set-cookie': sessionCookie(token, req.raw) })
  })
  app.delete('/session', async ({ req }) => {
    const token = tokenOf(req.raw)
    requireOwnPage(req.raw)
    requireCsrfToken(req.raw, token)
    await sessions.signOut(token)
    return answer(null, 204, { 'set-cookie': sessionCookie('', req.raw) })
  })
  app.onError((error) => answerError(error, log, { 'cache-control': 'no-store' }))
  return app
}

function tokenOf(request: Request): string {
  const token = sessionTokenOf(request)
  if (token === undefined) throw new PlatformError('UNAUTHENTICATED', { reason: 'signed out' })
  return token
}

/** Unknown where there is no port, as in a test. */
const addressOf = ({ env }: HonoContext): string =>
  (env as { incoming?: { socket?: { remoteAddress?: string } } } | undefined)?.incoming?.socket?.remoteAddress ?? ''
