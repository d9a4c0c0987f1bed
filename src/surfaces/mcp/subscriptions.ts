type Stop = () => void

/** How many resources a client can subscribe to, and how many sessions are kept. The oldest are dropped first. */
export const maxSubscriptions = 100
const maxSessions = 10_000
/** How long a session may be without a stream, so that a client can reconnect. */
const graceMs = 60_000

interface Session {
  readonly stops: Map<string, Stop>
  leaving: NodeJS.Timeout | undefined
}

/**
 * The resources that 2025 clients have subscribed to, by session. They are kept in this process, like the streams on which
 * clients are notified. 2026 clients subscribe for the duration of a request.
 */
export class Subscriptions {
  readonly #sessions = new Map<string, Session>()

  /** Returns false if the session has too many subscriptions. */
  async add(session: string, uri: string, start: () => Promise<Stop>): Promise<boolean> {
    const { stops } = this.#of(session)
    if (stops.has(uri)) return true
    if (stops.size >= maxSubscriptions) return false
    const stop = await start()
    // The session may have ended, or subscribed twice.
    if (this.#sessions.get(session)?.stops !== stops || stops.has(uri)) stop()
    else stops.set(uri, stop)
    return true
  }

  remove(session: string, uri: string): void {
    const stops = this.#sessions.get(session)?.stops
    stops?.get(uri)?.()
    stops?.delete(uri)
  }

  /** Its client has opened a stream. */
  arrived(session: string): void {
    clearTimeout(this.#sessions.get(session)?.leaving)
  }

  /** The last stream of its client has closed. */
  left(session: string): void {
    const found = this.#sessions.get(session)
    if (!found) return
    clearTimeout(found.leaving)
    found.leaving = setTimeout(() => this.#end(session), graceMs).unref()
  }

  close(): void {
    for (const session of this.#sessions.keys()) this.#end(session)
  }

  #of(id: string): Session {
    const found = this.#sessions.get(id) ?? { stops: new Map(), leaving: undefined }
    this.#sessions.set(id, found)
    const [oldest] = this.#sessions.keys()
    if (this.#sessions.size > maxSessions && oldest !== undefined) this.#end(oldest)
    return found
  }

  #end(id: string): void {
    const session = this.#sessions.get(id)
    this.#sessions.delete(id)
    clearTimeout(session?.leaving)
    for (const stop of session?.stops.values() ?? []) stop()
  }
}
