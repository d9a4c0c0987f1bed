import { setTimeout as sleep } from 'node:timers/promises'
import { PlatformError } from '../../model/errors.ts'

/** However lively a provider is, an answer that takes longer than this will not come. */
const longestAnswer = 60 * 60_000

/** Ends an attempt when the caller leaves, or when nothing has come for too long. */
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

  /** Something came. */
  touch(): void {
    // A timer that was cleared would run again.
    if (!this.#over) this.#timer.refresh()
  }

  /** Waits without losing patience; throws the reason when the attempt ends meanwhile. */
  async pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.signal }).catch(() => {
      throw this.signal.reason
    })
  }

  /** Waits for the end. */
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
