import type { Logger } from 'pino'
import { z } from 'zod'
import { csrfTokenOf, type DashboardSessions, type SignedIn } from '../../access/dashboard-sessions.ts'
import { mayEver } from '../../access/evaluate.ts'
import {
  acceptInvitation,
  changePassword,
  findInvited,
  type SignInDeps,
  verifyKey,
  verifyPassword,
} from '../../access/sign-in.ts'
import { PlatformError } from '../../model/errors.ts'
import { iso } from '../../model/page.ts'
import type { Principal } from '../../model/principal.ts'
import { Password, UserFields } from '../../model/user.ts'
import { parseInput } from '../../operations/operation.ts'
import { readJson } from '../../server/body.ts'
import { requireCsrfToken, requireOwnPage, sessionCookie, sessionTokenOf } from '../../server/browser-session.ts'
import { sendError } from '../../server/error-reply.ts'
import { type Exchange, type Handler, sendJson } from '../../server/exchange.ts'
import type { Route } from '../../server/router.ts'

const secret = z.string().min(1).max(1000)
const KeySession = z.strictObject({ key: secret })
const PasswordSession = z.strictObject({ email: z.string().min(1).max(1000), password: secret })
const InvitationToken = z.strictObject({ token: secret })
const Acceptance = z.strictObject({ token: secret, password: Password, name: UserFields.name.optional() })
const NewPassword = z.strictObject({ current_password: secret, new_password: Password })

export interface DashboardSignInDeps {
  readonly sessions: DashboardSessions
  readonly signIn: SignInDeps
  readonly log: Logger
  readonly closing: AbortSignal
  readonly version: string
  /** All permissions that exist. */
  readonly permissions: ReadonlySet<string>
}

/**
 * Sign-in and sign-out of the dashboard. The browser exchanges an API key, a password or an invitation for a session
 * cookie. These are not operations, because only browsers use them.
 */
export function signInRoutes({ sessions, signIn, log, closing, version, permissions }: DashboardSignInDeps): Route[] {
  const sendSession = async (exchange: Exchange, status: number, { principal, expiresAt }: SignedIn, token: string) => {
    const user = principal.kind === 'user' ? await signIn.store.users.find(principal.id) : undefined
    const { kind, id, name, projectId } = principal
    const body = {
      principal: {
        ...{ kind, id, name, project_id: projectId, email: user?.email ?? null, role: user?.role ?? null },
        has_password: user?.has_password ?? false,
      },
      permissions: [...permissions].filter((permission) => mayEver(principal, permission)),
      csrf_token: csrfTokenOf(token),
      expires_at: iso(expiresAt),
      version,
    }
    sendJson(exchange, status, JSON.stringify(body), { ...noStore, 'set-cookie': sessionCookie(token, exchange) })
  }
  /** Always a new token, so that nobody else can know it. */
  const startSession = async (exchange: Exchange, principal: Principal, since: number) => {
    const before = sessionTokenOf(exchange)
    if (before !== undefined) await sessions.signOut(before)
    const signedIn = await sessions.start(principal, since)
    await sendSession(exchange, 201, signedIn, signedIn.token)
  }
  /** The body of a request by one of our pages. */
  const read = async (exchange: Exchange) => {
    if (closing.aborted) throw new PlatformError('SHUTTING_DOWN', {})
    requireOwnPage(exchange)
    return readJson(exchange, 10_000)
  }
  /** The session of a request that changes something. */
  const requireSession = async (exchange: Exchange): Promise<{ token: string; principal: Principal }> => {
    const token = tokenOf(exchange)
    requireOwnPage(exchange)
    const { principal } = await sessions.authenticate(token)
    requireCsrfToken(exchange, token)
    return { token, principal }
  }
  const handlers: Record<string, Handler> = {
    async 'GET session'(exchange) {
      const token = tokenOf(exchange)
      requireOwnPage(exchange)
      await sendSession(exchange, 200, await sessions.authenticate(token), token)
    },
    async 'POST session'(exchange) {
      const body = await read(exchange)
      const now = Date.now()
      await startSession(exchange, await verify(body, exchange.peer, signIn), now)
    },
    async 'DELETE session'(exchange) {
      const token = tokenOf(exchange)
      requireOwnPage(exchange)
      requireCsrfToken(exchange, token)
      await sessions.signOut(token)
      exchange.send(204, { ...noStore, 'set-cookie': sessionCookie('', exchange) })
    },
    async 'DELETE sessions'(exchange) {
      const { principal } = await requireSession(exchange)
      await sessions.signOutEverywhere(principal)
      exchange.send(204, { ...noStore, 'set-cookie': sessionCookie('', exchange) })
    },
    async 'POST password'(exchange) {
      const { principal } = await requireSession(exchange)
      const { current_password: current, new_password: next } = parseInput(NewPassword, await read(exchange))
      const person = await changePassword(principal.id, { current, next }, exchange.peer, signIn)
      await startSession(exchange, person, Date.now())
    },
    /** A POST, so that the token is in no log. */
    async 'POST invitation'(exchange) {
      const { token } = parseInput(InvitationToken, await read(exchange))
      const { email, name, has_password } = await findInvited(token, exchange.peer, signIn)
      sendJson(exchange, 200, JSON.stringify({ email, name, has_password }), noStore)
    },
    async 'POST invitation/accept'(exchange) {
      const acceptance = parseInput(Acceptance, await read(exchange))
      const person = await acceptInvitation(acceptance, exchange.peer, signIn)
      await startSession(exchange, person, Date.now())
    },
  }
  return Object.entries(handlers).map(([name, handle]) => {
    const [method = '', path] = name.split(' ')
    return {
      method,
      path: `/api/v1/dashboard/${path}`,
      handle: async (exchange, params) => {
        try {
          await handle(exchange, params)
        } catch (error) {
          sendError(exchange, error, log, noStore)
        }
      },
    }
  })
}

const noStore = { 'cache-control': 'no-store' }

function verify(body: unknown, from: string, deps: SignInDeps): Promise<Principal> {
  if (typeof body === 'object' && body !== null && 'email' in body) {
    const { email, password } = parseInput(PasswordSession, body)
    return verifyPassword(email, password, from, deps)
  }
  return verifyKey(parseInput(KeySession, body).key, from, deps)
}

function tokenOf(exchange: Exchange): string {
  const token = sessionTokenOf(exchange)
  if (token === undefined) throw new PlatformError('UNAUTHENTICATED', { reason: 'signed out' })
  return token
}
