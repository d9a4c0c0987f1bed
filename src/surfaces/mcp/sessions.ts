import { randomUUID } from 'node:crypto'
import { wholeSlice } from '../../lib/characters.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import { abilitiesOf, type ClientAbilities, type LogLevel } from '../../model/client-request.ts'
import type { RequestContext } from '../../operations/operation.ts'

const prefix = 'qm1.'
/** How many sessions' log levels are stored. The oldest are dropped first. */
const most = 10_000

const longestName = 100
const longestId = 2000

/** The client's name and version; undefined if it sends no name. */
export function clientNameOf(info: unknown): RequestContext['client'] | undefined {
  if (!isObject(info) || typeof info.name !== 'string' || info.name === '') return undefined
  const { name, version } = info
  return {
    name: wholeSlice(name, longestName),
    version: typeof version === 'string' ? wholeSlice(version, longestName) : null,
  }
}

/**
 * Stateless sessions for the 2025 protocol: the session id encodes the client's name and capabilities, so any process
 * can read it. It is not a secret and grants nothing. Log levels, which a client can set later, are stored in this
 * process.
 */
export class McpSessions {
  readonly #levels = new Map<string, LogLevel>()

  idFor(capabilities: unknown, clientInfo: unknown): string {
    const said = JSON.stringify({ ...abilitiesOf(capabilities), client: clientNameOf(clientInfo) })
    return `${prefix}${Buffer.from(said).toString('base64url')}.${randomUUID()}`
  }

  abilities(id: string | null): ClientAbilities | undefined {
    return abilitiesOf(saidIn(id))
  }

  client(id: string | undefined): RequestContext['client'] | undefined {
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
