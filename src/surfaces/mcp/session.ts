import { randomUUID } from 'node:crypto'
import { type Abilities, abilitiesOf, type LogLevel } from '../../model/asking.ts'

const prefix = 'qm1.'
/** How many callers' levels are remembered; the one that was set first is forgotten first. */
const most = 10_000

/**
 * Sessions of callers of 2025, without a state: the id itself says what the caller can be asked, so any process can read
 * it. It is no secret and no permission, only what the caller said of itself. The level of logs, which a caller may set
 * later, is kept in this process.
 */
export class Sessions {
  readonly #levels = new Map<string, LogLevel>()

  idFor(capabilities: unknown): string {
    const abilities = JSON.stringify(abilitiesOf(capabilities) ?? {})
    return `${prefix}${Buffer.from(abilities).toString('base64url')}.${randomUUID()}`
  }

  abilities(id: string | null): Abilities | undefined {
    if (!id?.startsWith(prefix) || id.length > 1000) return undefined
    const [, encoded = ''] = id.split('.')
    try {
      return abilitiesOf(JSON.parse(Buffer.from(encoded, 'base64url').toString()))
    } catch {
      return undefined
    }
  }

  level(id: string | null): LogLevel | undefined {
    return id === null ? undefined : this.#levels.get(id)
  }

  setLevel(id: string, level: LogLevel): void {
    this.#levels.delete(id)
    this.#levels.set(id, level)
    const [oldest] = this.#levels.keys()
    if (this.#levels.size > most && oldest !== undefined) this.#levels.delete(oldest)
  }
}
