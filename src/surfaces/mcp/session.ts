import { randomUUID } from 'node:crypto'
import { wholeSlice } from '../../lib/characters.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import { type Abilities, abilitiesOf, type LogLevel } from '../../model/asking.ts'
import type { Request as Asking } from '../../operations/operation.ts'

const prefix = 'qm1.'
/** How many callers' levels are remembered; the one that was set first is forgotten first. */
const most = 10_000

const longestName = 100
const longestId = 2000

/** Of what a client says of itself, its name; undefined where it says none. */
export function clientNameOf(info: unknown): Asking['client'] | undefined {
  if (!isObject(info) || typeof info.name !== 'string' || info.name === '') return undefined
  const { name, version } = info
  return {
    name: wholeSlice(name, longestName),
    version: typeof version === 'string' ? wholeSlice(version, longestName) : null,
  }
}

/**
 * Sessions of callers of 2025, without a state: the id itself says who the caller is and what it can be asked, so any
 * process can read it. It is no secret and no permission, only what the caller said of itself. The level of logs, which a
 * caller may set later, is kept in this process.
 */
export class Sessions {
  readonly #levels = new Map<string, LogLevel>()

  idFor(capabilities: unknown, clientInfo: unknown): string {
    const said = JSON.stringify({ ...abilitiesOf(capabilities), client: clientNameOf(clientInfo) })
    return `${prefix}${Buffer.from(said).toString('base64url')}.${randomUUID()}`
  }

  abilities(id: string | null): Abilities | undefined {
    return abilitiesOf(saidIn(id))
  }

  client(id: string | undefined): Asking['client'] | undefined {
    return id === undefined ? undefined : clientNameOf(saidIn(id)?.client)
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

function saidIn(id: string | null): JsonObject | undefined {
  if (!id?.startsWith(prefix) || id.length > longestId) return undefined
  const [, encoded = ''] = id.split('.')
  try {
    return JSON.parse(Buffer.from(encoded, 'base64url').toString())
  } catch {
    return undefined
  }
}
