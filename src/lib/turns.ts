/** How long users may follow one another before the event loop gets a turn. */
const sliceMs = 4

/**
 * Hands a resource to one user after the other, in the order in which they asked. After each time slice it first lets the event
 * loop turn, so that thousands of waiting users do not block timers and sockets.
 */
export class Turns {
  readonly #waiting: (() => void)[] = []
  #isTaken = false
  /** When the slice began, if one has in this turn of the event loop. */
  #began: number | undefined

  async take(): Promise<void> {
    if (this.#isTaken) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    this.#isTaken = true
    const now = performance.now()
    if (this.#began === undefined) this.#begin(now)
    else if (now - this.#began > sliceMs) await new Promise(setImmediate)
  }

  /** Does synchronous work in its turn. */
  async use<T>(work: () => T): Promise<T> {
    await this.take()
    try {
      return work()
    } finally {
      this.release()
    }
  }

  /** The next one in line has it from here on, so nobody can get in between. */
  release(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#isTaken = false
  }

  #begin(now: number): void {
    this.#began = now
    setImmediate(() => {
      this.#began = undefined
    })
  }
}
