import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import type { Store } from '../store/store.ts'
import { hashKey, type Keys } from './keys.ts'

const hours = 60 * 60 * 1000
const lasts = 12 * hours
/** The end moves on with every use, but is not written for every request. */
const grain = 10 * 60 * 1000

const mostFailures = 20
const minute = 60_000

export interface SignedIn {
  readonly principal: Principal
  readonly expiresAt: number
}

/**
 * Who is signed in at the dashboard. The browser keeps a random token, the database its hash and the id of the key that
 * was shown; what a session may do is what that key may do now, and it ends with the key.
 */
export class Sessions {
  readonly #store: Store
  readonly #keys: Keys
  readonly #failures = new Map<string, { start: number; count: number }>()

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** `from` is the address that asks: one that tries many wrong keys has to wait. */
  async signIn(key: string, from: string, now = Date.now()): Promise<SignedIn & { readonly token: string }> {
    this.#requirePatience(from, now)
    const principal = await this.#keys.authenticate(key, now).catch((error: unknown) => {
      this.#countFailure(from, now)
      throw error
    })
    const token = randomBytes(32).toString('base64url')
    const expiresAt = now + lasts
    const session = { token_hash: hashKey(token), api_key_id: principal.id, created_at: now, expires_at: expiresAt }
    await this.#store.webSessions.create(session)
    return { principal, token, expiresAt }
  }

  async authenticate(token: string, now = Date.now()): Promise<SignedIn> {
    const session = await this.#store.webSessions.find(hashKey(token))
    const isOver = !session || session.expires_at <= now
    const principal = isOver ? undefined : await this.#keys.holderOf(session.api_key_id, now)
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
    if (!window || now - window.start >= minute || window.count < mostFailures) return
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

/** What pages of ours must send along, and no other page can know: made from the token, so that it needs no place. */
export const csrfTokenOf = (token: string): string => hash('sha256', `csrf\n${token}`, 'base64url')

export const isCsrfTokenOf = (token: string, sent: string | null): boolean => {
  const expected = Buffer.from(csrfTokenOf(token))
  const given = Buffer.from(sent ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
}
