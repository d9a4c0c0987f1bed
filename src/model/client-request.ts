import { isObject, type JsonObject } from '../lib/json.ts'

/** The MCP client capabilities of a caller, reduced to the ones in the specification that allow requests to it. */
export interface ClientAbilities {
  readonly sampling?: { readonly tools?: JsonObject; readonly context?: JsonObject }
  readonly elicitation?: { readonly form?: JsonObject; readonly url?: JsonObject }
  readonly roots?: JsonObject
}

/** A request to the caller. */
export interface ClientRequest {
  readonly method: 'sampling/createMessage' | 'elicitation/create' | 'roots/list'
  readonly params?: JsonObject
}

/** Sends requests to the caller of a call. */
export interface ClientRequester {
  readonly abilities: ClientAbilities
  /** The signal cancels the request. */
  request(question: ClientRequest, signal?: AbortSignal): Promise<JsonObject>
  /** Sends a notification to a 2025 client, also after the call has ended. */
  notify?(method: string, params: JsonObject): void
  /** The input of this round, if the caller supports input requests as a result and calls again with the answers. */
  readonly round?: InputRound
}

export interface InputRound {
  readonly inputResponses?: JsonObject
  readonly requestState?: string
}

const part = (value: unknown, names: readonly string[]): Record<string, JsonObject> =>
  Object.fromEntries(names.filter((name) => isObject(value) && isObject(value[name])).map((name) => [name, {}]))

/** Extracts the capabilities that allow requests to the client; undefined if there are none. */
export function abilitiesOf(capabilities: unknown): ClientAbilities | undefined {
  if (!isObject(capabilities)) return undefined
  const { sampling, elicitation, roots } = capabilities
  const modes = part(elicitation, ['form', 'url'])
  const abilities: ClientAbilities = {
    ...(isObject(sampling) && { sampling: part(sampling, ['tools', 'context']) }),
    // Without a mode, the client supports forms.
    ...(isObject(elicitation) && { elicitation: Object.keys(modes).length > 0 ? modes : { form: {} } }),
    ...(isObject(roots) && { roots: {} }),
  }
  return Object.keys(abilities).length > 0 ? abilities : undefined
}

/** From least to most severe. */
export const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const
export type LogLevel = (typeof logLevels)[number]

export const isLogLevel = (value: unknown): value is LogLevel => logLevels.includes(value as LogLevel)

export interface LogMessage {
  readonly level: LogLevel
  readonly logger?: string
  readonly data: unknown
}

/** Sends log messages of the upstream server to the caller. */
export interface LogSink {
  /** The minimum level that the caller wants. By default, all. */
  readonly level?: LogLevel
  send(message: LogMessage): void
}

/** Sends a log message to the caller if its level is high enough. */
export function sendLog(logs: LogSink | undefined, message: LogMessage): void {
  const least = logs?.level ? logLevels.indexOf(logs.level) : 0
  if (logLevels.indexOf(message.level) >= least) logs?.send(message)
}
