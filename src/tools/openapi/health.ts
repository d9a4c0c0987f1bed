import type { UpstreamHealth } from '../../mcp/client/upstream.ts'

const maxTools = 10_000

/** How the last requests of each tool went, as far as this process knows. */
export class ApiHealth {
  readonly #tools = new Map<string, { readonly failures: number; readonly error: string | null }>()

  /** A response that is not a server error, whatever it says, shows that the service is up. */
  up(toolId: string): void {
    this.#set(toolId, { failures: 0, error: null })
  }

  down(toolId: string, error: string): void {
    this.#set(toolId, { failures: (this.#tools.get(toolId)?.failures ?? 0) + 1, error })
  }

  of(toolId: string, actions: number | null): UpstreamHealth {
    const known = this.#tools.get(toolId)
    const state = known === undefined ? 'unknown' : known.failures > 0 ? 'down' : 'up'
    return { state, failures: known?.failures ?? 0, error: known?.error ?? null, tools: actions, era: null }
  }

  #set(toolId: string, state: { readonly failures: number; readonly error: string | null }): void {
    this.#tools.delete(toolId)
    this.#tools.set(toolId, state)
    const [oldest] = this.#tools.keys()
    if (this.#tools.size > maxTools && oldest !== undefined) this.#tools.delete(oldest)
  }
}
