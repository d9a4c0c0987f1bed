import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import type { User } from '../model/user.ts'
import type { Store } from '../store/store.ts'
import type { Authenticator } from './authenticator.ts'
import { hashKey } from './keys.ts'
import { hashPassword, isPassword } from './password.ts'
import type { SignInAttempts } from './sign-in-attempts.ts'

/** What the checks below need. They prove who someone is; what that person gets, such as a cookie, is up to the caller. */
export interface SignInDeps {
  readonly store: Store
  readonly authenticator: Authenticator
  readonly attempts: SignInAttempts
}

/** `from` is the client's address, by which failed attempts are limited. */
export function verifyKey(
  key: string,
  from: string,
  { authenticator, attempts }: SignInDeps,
  now = Date.now(),
): Promise<Principal> {
  // Keys contain no whitespace, but pasted text may.
  const headers = { authorization: `Bearer ${key.replaceAll(/\s/g, '')}` }
  return attempts.attempt(from, now, async () => {
    const principal = await authenticator.authenticate(headers)
    // An access token is no key: it is for one endpoint only.
    if (principal.token) throw new PlatformError('UNAUTHENTICATED', { reason: 'unknown' })
    return principal
  })
}

/** The same error, after the same time, for unknown addresses, wrong passwords, and people who have none or are disabled. */
export function verifyPassword(
  email: string,
  password: string,
  from: string,
  { store, authenticator, attempts }: SignInDeps,
  now = Date.now(),
): Promise<Principal> {
  return attempts.attempt(from, now, async () => {
    const row = await store.users.findRow('email', email.trim().toLowerCase())
    const isRight = await isPassword(password, row?.password_hash)
    const principal = row && isRight ? await authenticator.principal(row.id) : undefined
    if (!principal) throw new PlatformError('UNAUTHENTICATED', { reason: 'password' })
    return principal
  })
}

/** The person that an invitation is for. */
export async function findInvited(token: string, from: string, deps: SignInDeps, now = Date.now()): Promise<User> {
  return deps.attempts.attempt(from, now, async () => {
    const row = await deps.store.users.findRow('invitation_hash', hashKey(token))
    const isOpen = row && row.status !== 'disabled' && (row.invitation_expires_at ?? 0) > now
    const user = isOpen ? await deps.store.users.find(row.id) : undefined
    if (!user) throw new PlatformError('INVITATION_NOT_VALID', {})
    return user
  })
}

/** Sets the password of the person that an invitation is for. Works once. All earlier sessions end. */
export async function acceptInvitation(
  { token, password, name }: { readonly token: string; readonly password: string; readonly name?: string | undefined },
  from: string,
  deps: SignInDeps,
): Promise<Principal> {
  await findInvited(token, from, deps)
  const password_hash = await hashPassword(password)
  const user = await deps.store.users.accept(hashKey(token), { password_hash, ...(name && { name }) })
  const principal = user && (await signedOut(user.id, deps))
  if (!principal) throw new PlatformError('INVITATION_NOT_VALID', {})
  return principal
}

/** Changes the password of a person who knows the current one. All sessions end. */
export async function changePassword(
  id: string,
  { current, next }: { readonly current: string; readonly next: string },
  from: string,
  deps: SignInDeps,
  now = Date.now(),
): Promise<Principal> {
  const before = await deps.attempts.attempt(from, now, async () => {
    const row = await deps.store.users.findRow('id', id)
    const isRight = await isPassword(current, row?.password_hash)
    if (row?.password_hash && isRight) return row.password_hash
    const fault = { path: 'current_password', message: 'is not correct' }
    throw new PlatformError('VALIDATION_FAILED', { errors: [fault] })
  })
  const user = await deps.store.users.setPassword(id, before, await hashPassword(next))
  const principal = user && (await signedOut(id, deps))
  if (!principal) throw new PlatformError('UNAUTHENTICATED', { reason: 'signed out' })
  return principal
}

/** Removes the sessions that have ended. */
async function signedOut(id: string, { store, authenticator }: SignInDeps): Promise<Principal | undefined> {
  await store.webSessions.removeOf(id)
  return authenticator.principal(id)
}
