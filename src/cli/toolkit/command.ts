import type { Endpoint } from '../../sdk/send.ts'

/**
 * How the text of a flag is read. `text` is taken as it is written and everything else as JSON; `null` clears a `text
 * or null`; a `list` of text may be a JSON array or the flag repeated; a `flag` may stand alone for true.
 */
export type Reading = 'text' | 'text or null' | 'flag' | 'list' | 'JSON or text' | 'JSON'

export interface Described {
  /** `project_id`, `execute.url`. */
  readonly name: string
  readonly type: string
  readonly required?: boolean
  readonly default?: string
  readonly description?: string
}

export interface Field extends Described {
  readonly where: 'path' | 'query' | 'body'
  readonly reads: Reading
  /** What is inside it, where it is an object or a list of them. */
  readonly parts?: readonly Described[]
}

/** An operation, as the command line knows it. */
export interface Command extends Endpoint {
  readonly name: string
  readonly module: string
  readonly permission: string
  readonly summary: string
  /** A body that can be sent as it is. */
  readonly example?: Readonly<Record<string, unknown>>
  readonly fields: readonly Field[]
}

/** A flag of a command that is no operation. */
export interface Flag {
  readonly name: string
  /** What its value is called in help; without one it stands alone. */
  readonly value?: string
  readonly help: string
  readonly choices?: readonly string[]
  /** Whether it may be given more than once. */
  readonly repeats?: boolean
}

/** A command for people: it is no operation, though it may ask for some. */
export interface OwnCommand {
  readonly name: string
  readonly summary: string
  /** What follows the name, for each way to write it. */
  readonly usage: readonly string[]
  readonly about?: string
  readonly flags: readonly Flag[]
  readonly examples: readonly string[]
  /** What may follow the name at once, for completion. */
  readonly words?: readonly string[]
  /** Loaded when it is run, so that the others start at once. */
  load(): Promise<Runner>
}

/** Resolves with the exit code. */
export type Runner = (args: readonly string[], command: OwnCommand) => Promise<number>

/** What the exit codes mean; docs/guides/command-line.md tells people. */
export const exit = { ok: 0, refused: 1, misused: 2, unreachable: 3, waiting: 4, interrupted: 130 } as const

/** The command was not written as it must be. Said in a line or two, with exit code 2. */
export class UsageError extends Error {}

/** The person has had enough. */
export class Interrupted extends Error {}
