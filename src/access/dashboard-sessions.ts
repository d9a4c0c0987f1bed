import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import type { Store } from '../store/store.ts'
import type { Authenticator } from './authenticator.ts'
import { hashKey } from './keys.ts'

const hours = 60 * 60 * 1000
const lasts = 12 * hours
/** Each use extends a session, but the new expiry is written at most this often. */
const grain = 10 * 60 * 1000

export interface SignedIn {
  readonly principal: Principal
  readonly expiresAt: number
}

/**
 * Sessions of the dashboard. The browser holds a random token; the database holds its hash and the id of the person, or of
 * the API key that was used to sign in. A session has their current permissions, and ends when they lose access.
 */
export class DashboardSessions {
  readonly #store: Store
  readonly #authenticator: Authenticator

  constructor(store: Store, authenticator: Authenticator) {
    this.#store = store
    this.#authenticator = authenticator
  }

  /**
   * Starts a session. `since` is when the principal's credentials were about to be checked: if the password changes after
   * that, the session is over.
   */
  async start(principal: Principal, since: number): Promise<SignedIn & { readonly token: string }> {
    const token = randomBytes(32).toString('base64url')
    const expiresAt = since + lasts
    const session = { token_hash: hashKey(token), principal_id: principal.id, created_at: since, expires_at: expiresAt }
    await this.#store.webSessions.create(session)
    if (principal.kind === 'user') await this.#store.users.touch(principal.id, since)
    return { principal, token, expiresAt }
  }

  async authenticate(token: string, now = Date.now()): Promise<SignedIn> {
    const session = await this.#store.webSessions.find(hashKey(token))
    const isOver = !session || session.expires_at <= now
    const found = isOver ? undefined : await this.#authenticator.resume(session.principal_id, session.created_at)
    if (!session || !found) throw new PlatformError('UNAUTHENTICATED', { reason: 'signed out' })
    const expiresAt = now + lasts
    if (expiresAt - session.expires_at > grain) await this.#store.webSessions.extend(session.token_hash, expiresAt)
    // Pasting a key proves nothing about a person.
    const principal = found.kind === 'user' ? { ...found, signedInAt: session.created_at } : found
    return { principal, expiresAt }
  }

  signOut(token: string): Promise<void> {
    return this.#store.webSessions.remove(hashKey(token))
  }

  /** Ends all sessions of a key or person. */
  async signOutEverywhere({ id, kind }: Principal): Promise<void> {
    if (kind === 'user') await this.#store.users.signOut(id)
    await this.#store.webSessions.removeOf(id)
  }
}

/** Sent by the dashboard's own pages; other sites cannot know it. Derived from the token, so it is not stored. */
export const csrfTokenOf = (token: string): string => hash('sha256', `csrf\n${token}`, 'base64url')

export const isCsrfTokenOf = (token: string, sent: string | null): boolean => {
  const expected = Buffer.from(csrfTokenOf(token))
  const given = Buffer.from(sent ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
}
