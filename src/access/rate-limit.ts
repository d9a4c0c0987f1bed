import { PlatformError } from '../model/errors.ts'

export interface Allowance {
  readonly limit: number
  readonly remaining: number
  readonly resetSeconds: number
}

const minute = 60_000

/** Fixed windows of a minute per key, counted in this process. */
export class RateLimit {
  readonly #windows = new Map<string, { start: number; count: number }>()
  readonly #defaultLimit: number

  /** Zero means no limit. */
  constructor(defaultLimit: number) {
    this.#defaultLimit = defaultLimit
  }

  /** Counts one request; throws if it exceeds the limit. Undefined if there is no limit. */
  take(key: string, ownLimit: number | null, now = Date.now()): Allowance | undefined {
    const limit = ownLimit ?? this.#defaultLimit
    if (limit === 0) return undefined
    let window = this.#windows.get(key)
    if (!window || now - window.start >= minute) {
      if (this.#windows.size > 10_000) this.#forgetOld(now)
      window = { start: now, count: 0 }
      this.#windows.set(key, window)
    }
    const resetSeconds = Math.max(1, Math.ceil((window.start + minute - now) / 1000))
    if (window.count >= limit) throw new PlatformError('RATE_LIMITED', { limit, retry_after_seconds: resetSeconds })
    window.count++
    return { limit, remaining: limit - window.count, resetSeconds }
  }

  #forgetOld(now: number): void {
    for (const [key, window] of this.#windows) if (now - window.start >= minute) this.#windows.delete(key)
  }
}
