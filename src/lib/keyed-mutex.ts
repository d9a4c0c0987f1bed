/** Serializes work with the same key. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    const done = (async () => {
      await before?.catch(() => {})
      return work()
    })()
    this.#last.set(key, done)
    try {
      return await done
    } finally {
      if (this.#last.get(key) === done) this.#last.delete(key)
    }
  }
}
