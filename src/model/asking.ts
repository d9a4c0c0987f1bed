import { isObject, type JsonObject } from '../lib/json.ts'

/** What a caller can be asked while its call runs, in MCP's words: reduced to the few that the specification has. */
export interface Abilities {
  readonly sampling?: { readonly tools?: JsonObject; readonly context?: JsonObject }
  readonly elicitation?: { readonly form?: JsonObject; readonly url?: JsonObject }
  readonly roots?: JsonObject
}

/** Something that is asked of the caller. */
export interface Question {
  readonly method: 'sampling/createMessage' | 'elicitation/create' | 'roots/list'
  readonly params?: JsonObject
}

/** The way to ask the caller whose call it is. */
export interface Asking {
  readonly abilities: Abilities
  /** With a signal that takes the question back. */
  ask(question: Question, signal?: AbortSignal): Promise<JsonObject>
  /** Present where the caller takes questions as an answer and calls again: what it brings this time. */
  readonly round?: Round
}

export interface Round {
  readonly inputResponses?: JsonObject
  readonly requestState?: string
}

const part = (value: unknown, names: readonly string[]): Record<string, JsonObject> =>
  Object.fromEntries(names.filter((name) => isObject(value) && isObject(value[name])).map((name) => [name, {}]))

/** Of all that a client says of itself, what it can be asked; nothing if it can be asked nothing. */
export function abilitiesOf(capabilities: unknown): Abilities | undefined {
  if (!isObject(capabilities)) return undefined
  const { sampling, elicitation, roots } = capabilities
  const modes = part(elicitation, ['form', 'url'])
  const abilities: Abilities = {
    ...(isObject(sampling) && { sampling: part(sampling, ['tools', 'context']) }),
    // Without a mode, forms are meant.
    ...(isObject(elicitation) && { elicitation: Object.keys(modes).length > 0 ? modes : { form: {} } }),
    ...(isObject(roots) && { roots: {} }),
  }
  return Object.keys(abilities).length > 0 ? abilities : undefined
}

/** From the least important to the most. */
export const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const
export type LogLevel = (typeof logLevels)[number]

export const isLogLevel = (value: unknown): value is LogLevel => logLevels.includes(value as LogLevel)

export interface LogMessage {
  readonly level: LogLevel
  readonly logger?: string
  readonly data: unknown
}

/** What the caller wants to hear of what the one who is called logs. */
export interface Logs {
  /** The least important that it wants; everything where it did not say. */
  readonly level?: LogLevel
  tell(message: LogMessage): void
}

/** Tells the caller, if it wants to hear of it. */
export function tellLog(logs: Logs | undefined, message: LogMessage): void {
  const least = logs?.level ? logLevels.indexOf(logs.level) : 0
  if (logLevels.indexOf(message.level) >= least) logs?.tell(message)
}
