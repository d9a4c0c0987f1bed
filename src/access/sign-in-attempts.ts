import { PlatformError } from '../model/errors.ts'

const maxFailures = 20
const minute = 60_000

/** Rate limits failed sign-ins per client address, of every kind together. Counted in this process. */
export class SignInAttempts {
  readonly #windows = new Map<string, { start: number; count: number }>()

  /** Runs a check of credentials, which throws if they are wrong. `from` is the client's address. */
  async attempt<T>(from: string, now: number, check: () => Promise<T>): Promise<T> {
    const window = this.#windowOf(from, now)
    if (window.count >= maxFailures) {
      const seconds = Math.max(1, Math.ceil((window.start + minute - now) / 1000))
      throw new PlatformError('TOO_MANY_SIGN_INS', { retry_after_seconds: seconds })
    }
    // Counted before the check, so that parallel attempts cannot exceed the limit.
    window.count++
    const result = await check()
    window.count--
    return result
  }

  #windowOf(from: string, now: number): { start: number; count: number } {
    const last = this.#windows.get(from)
    if (last && now - last.start < minute) return last
    if (this.#windows.size > 10_000) this.#forgetOld(now)
    const window = { start: now, count: 0 }
    this.#windows.set(from, window)
    return window
  }

  #forgetOld(now: number): void {
    for (const [from, { start }] of this.#windows) if (now - start >= minute) this.#windows.delete(from)
  }
}
