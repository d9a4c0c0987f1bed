import type { Logger } from 'pino'
import { z } from 'zod'
import { csrfTokenOf, type DashboardSessions, type SignedIn } from '../../access/dashboard-sessions.ts'
import { PlatformError } from '../../model/errors.ts'
import { iso } from '../../model/page.ts'
import { parseInput } from '../../operations/operation.ts'
import { readJson } from '../../server/body.ts'
import { requireCsrfToken, requireOwnPage, sessionCookie, sessionTokenOf } from '../../server/browser-session.ts'
import { sendError } from '../../server/error-reply.ts'
import { type Exchange, type Handler, sendJson } from '../../server/exchange.ts'
import type { Route } from '../../server/router.ts'

const NewSession = z.strictObject({ key: z.string().min(1).max(1000) })

export interface SignInDeps {
  readonly sessions: DashboardSessions
  readonly log: Logger
  readonly closing: AbortSignal
  readonly version: string
}

/**
 * Sign-in and sign-out of the dashboard. The browser exchanges an API key for a session cookie. These are not
 * operations, because only browsers use them.
 */
export function signInRoutes({ sessions, log, closing, version }: SignInDeps): Route[] {
  const sendSession = (exchange: Exchange, status: number, { principal, expiresAt }: SignedIn, token: string) => {
    const body = {
      key: { id: principal.id, name: principal.name, project_id: principal.projectId },
      csrf_token: csrfTokenOf(token),
      expires_at: iso(expiresAt),
      version,
    }
    sendJson(exchange, status, JSON.stringify(body), { ...noStore, 'set-cookie': sessionCookie(token, exchange) })
  }
  const handlers: Record<string, Handler> = {
    async GET(exchange) {
      const token = tokenOf(exchange)
      requireOwnPage(exchange)
      sendSession(exchange, 200, await sessions.authenticate(token), token)
    },
    async POST(exchange) {
      if (closing.aborted) throw new PlatformError('SHUTTING_DOWN', {})
      requireOwnPage(exchange)
      const { key } = parseInput(NewSession, await readJson(exchange, 10_000))
      const signedIn = await sessions.signIn(key.trim(), exchange.peer)
      sendSession(exchange, 201, signedIn, signedIn.token)
    },
    async DELETE(exchange) {
      const token = tokenOf(exchange)
      requireOwnPage(exchange)
      requireCsrfToken(exchange, token)
      await sessions.signOut(token)
      exchange.send(204, { ...noStore, 'set-cookie': sessionCookie('', exchange) })
    },
  }
  return Object.entries(handlers).map(([method, handle]) => ({
    method,
    path: '/api/v1/dashboard/session',
    handle: async (exchange, params) => {
      try {
        await handle(exchange, params)
      } catch (error) {
        sendError(exchange, error, log, noStore)
      }
    },
  }))
}

const noStore = { 'cache-control': 'no-store' }

function tokenOf(exchange: Exchange): string {
  const token = sessionTokenOf(exchange)
  if (token === undefined) throw new PlatformError('UNAUTHENTICATED', { reason: 'signed out' })
  return token
}
