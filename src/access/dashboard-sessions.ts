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

const maxFailures = 20
const minute = 60_000

export interface SignedIn {
  readonly principal: Principal
  readonly expiresAt: number
}

/**
 * Sessions of the dashboard. The browser holds a random token; the database holds its hash and the id of the API key that
 * was used to sign in. A session has the current permissions of that key, and ends when the key is revoked.
 */
export class DashboardSessions {
  readonly #store: Store
  readonly #authenticator: Authenticator
  readonly #failures = new Map<string, { start: number; count: number }>()

  constructor(store: Store, authenticator: Authenticator) {
    this.#store = store
    this.#authenticator = authenticator
  }

  /** `from` is the client's address. Failed attempts are rate limited per address. */
  async signIn(key: string, from: string, now = Date.now()): Promise<SignedIn & { readonly token: string }> {
    const principal = await this.identify(key, from, now)
    const token = randomBytes(32).toString('base64url')
    const expiresAt = now + lasts
    const session = { token_hash: hashKey(token), api_key_id: principal.id, created_at: now, expires_at: expiresAt }
    await this.#store.webSessions.create(session)
    return { principal, token, expiresAt }
  }

  /** Checks a key that a person has typed in. An access token is no such key, because it is for one endpoint only. */
  async identify(key: string, from: string, now = Date.now()): Promise<Principal> {
    this.#requirePatience(from, now)
    // Keys contain no whitespace, but pasted text may.
    const headers = { authorization: `Bearer ${key.replaceAll(/\s/g, '')}` }
    try {
      const principal = await this.#authenticator.authenticate(headers)
      if (principal.token) throw new PlatformError('UNAUTHENTICATED', { reason: 'unknown' })
      return principal
    } catch (error) {
      this.#countFailure(from, now)
      throw error
    }
  }

  async authenticate(token: string, now = Date.now()): Promise<SignedIn> {
    const session = await this.#store.webSessions.find(hashKey(token))
    const isOver = !session || session.expires_at <= now
    const principal = isOver ? undefined : await this.#authenticator.resume(session.api_key_id)
    if (!session || !principal) throw new PlatformError('UNAUTHENTICATED', { reason: 'signed out' })
    const expiresAt = now + lasts
    if (expiresAt - session.expires_at > grain) await this.#store.webSessions.extend(session.token_hash, expiresAt)
    return { principal, expiresAt }
  }

  signOut(token: string): Promise<void> {
    return this.#store.webSessions.remove(hashKey(token))
  }

  #requirePatience(from: string, now: number): void {
    const window = this.#failures.get(from)
    if (!window || now - window.start >= minute || window.count < maxFailures) return
    const seconds = Math.max(1, Math.ceil((window.start + minute - now) / 1000))
    throw new PlatformError('TOO_MANY_SIGN_INS', { retry_after_seconds: seconds })
  }

  #countFailure(from: string, now: number): void {
    const last = this.#failures.get(from)
    const window = last && now - last.start < minute ? last : { start: now, count: 0 }
    window.count++
    if (this.#failures.size > 10_000) this.#forgetOld(now)
    this.#failures.set(from, window)
  }

  #forgetOld(now: number): void {
    for (const [from, { start }] of this.#failures) if (now - start >= minute) this.#failures.delete(from)
  }
}

/** Sent by the dashboard's own pages; other sites cannot know it. Derived from the token, so it is not stored. */
export const csrfTokenOf = (token: string): string => hash('sha256', `csrf\n${token}`, 'base64url')

export const isCsrfTokenOf = (token: string, sent: string | null): boolean => {
  const expected = Buffer.from(csrfTokenOf(token))
  const given = Buffer.from(sent ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
}
