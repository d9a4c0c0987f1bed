import { setTimeout as sleep } from 'node:timers/promises'
import { PlatformError } from '../../model/errors.ts'

/** The limit for a whole answer, even if data keeps arriving. */
const longestAnswer = 60 * 60_000

/** Aborts an attempt when the caller disconnects, or when no data has arrived within the provider's timeout. */
export class Watch implements Disposable {
  readonly signal: AbortSignal
  readonly #silence = new AbortController()
  readonly #seconds: number
  readonly #provider: string
  readonly #longest: NodeJS.Timeout
  readonly #timer: NodeJS.Timeout
  #over = false

  constructor(caller: AbortSignal, provider: { readonly name: string; readonly timeout_seconds: number }) {
    this.#provider = provider.name
    this.#seconds = provider.timeout_seconds
    this.signal = AbortSignal.any([caller, this.#silence.signal])
    this.#timer = setTimeout(() => this.#end(this.#seconds), this.#seconds * 1000)
    this.#longest = setTimeout(() => this.#end(longestAnswer / 1000), longestAnswer)
  }

  /** Call when data arrives: restarts the idle timeout. */
  touch(): void {
    // `refresh` would restart a timer that was cleared.
    if (!this.#over) this.#timer.refresh()
  }

  /** Sleeps; throws the abort reason if the attempt ends in the meantime. */
  async pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.signal }).catch(() => {
      throw this.signal.reason
    })
  }

  /** Waits until the attempt is aborted. */
  stall(): Promise<never> {
    const { signal } = this
    return new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }

  [Symbol.dispose](): void {
    this.#over = true
    clearTimeout(this.#timer)
    clearTimeout(this.#longest)
  }

  #end(seconds: number): void {
    this.#silence.abort(new PlatformError('MODEL_TIMEOUT', { provider: this.#provider, seconds }))
  }
}
