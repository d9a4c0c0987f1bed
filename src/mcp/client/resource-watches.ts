import { type Client, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client'

type Listener = () => void

/** The resources of a server that callers subscribe to. Each is subscribed to once, for all of them. */
export class ResourceWatches {
  readonly #listeners = new Map<string, Set<Listener>>()
  /** How to end the subscriptions of the current connection. */
  readonly #ends = new Map<string, () => Promise<unknown>>()

  get isEmpty(): boolean {
    return this.#listeners.size === 0
  }

  async add(uri: string, listener: Listener, client: Client): Promise<void> {
    const listeners = this.#listeners.get(uri) ?? new Set()
    this.#listeners.set(uri, listeners.add(listener))
    if (listeners.size > 1) return
    try {
      await this.#begin(uri, client)
    } catch (error) {
      this.#listeners.delete(uri)
      throw error
    }
  }

  remove(uri: string, listener: Listener): void {
    const listeners = this.#listeners.get(uri)
    if (!listeners?.delete(listener) || listeners.size > 0) return
    this.#listeners.delete(uri)
    const end = this.#ends.get(uri)
    this.#ends.delete(uri)
    end?.().catch(() => {})
  }

  /** Receives notifications on a new connection, and subscribes to everything again. */
  attach(client: Client): void {
    client.setNotificationHandler('notifications/resources/updated', ({ params: { uri } }) => {
      for (const listener of this.#listeners.get(uri) ?? []) listener()
    })
    this.#ends.clear()
    for (const uri of this.#listeners.keys()) this.#begin(uri, client).catch(() => {})
  }

  async #begin(uri: string, client: Client): Promise<void> {
    if (!client.getServerCapabilities()?.resources?.subscribe) {
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'it does not support subscriptions to resources')
    }
    if (client.getProtocolEra() === 'modern') {
      const subscription = await client.listen({ resourceSubscriptions: [uri] })
      this.#ends.set(uri, () => subscription.close())
    } else {
      await client.subscribeResource({ uri })
      this.#ends.set(uri, () => client.unsubscribeResource({ uri }))
    }
    // The last listener may have left in the meantime.
    if (!this.#listeners.has(uri)) await this.#ends.get(uri)?.()
  }
}
