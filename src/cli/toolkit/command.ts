import type { Endpoint } from '../../sdk/send.ts'

/**
 * How the value of a flag is parsed. `text` is used unchanged; the others are parsed as JSON. In a `text or null`, `null`
 * clears the field. A `list` of text can be a JSON array, names with commas, or the flag repeated. A `flag` without a value is true.
 */
export type Reading = 'text' | 'text or null' | 'flag' | 'list' | 'JSON or text' | 'JSON'

export interface Described {
  /** `project_id`, `execute.url`. */
  readonly name: string
  readonly type: string
  readonly required?: boolean
  readonly default?: string
  readonly description?: string
  /** Whether it is an object with any keys, whose values are text. */
  readonly texts?: boolean
}

export interface Field extends Described {
  readonly where: 'path' | 'query' | 'body'
  readonly reads: Reading
  /** The fields of an object, or of the objects in a list. */
  readonly parts?: readonly Described[]
}

/** A command generated from an operation of the API. */
export interface Command extends Endpoint {
  readonly name: string
  readonly module: string
  readonly permission: string
  readonly summary: string
  /** A body that can be sent as it is. */
  readonly example?: Readonly<Record<string, unknown>>
  readonly fields: readonly Field[]
}

export interface Flag {
  readonly name: string
  readonly short?: string
  /** The name of its value in help. A flag without one is a switch. */
  readonly value?: string
  /** Whether the value may be omitted. */
  readonly optional?: boolean
  readonly help: string
  readonly choices?: readonly string[]
  /** Whether the flag may be repeated. */
  readonly repeats?: boolean
  /** Whether `--no-<name>` sets the switch to false. */
  readonly negatable?: boolean
}

/** A hand-written command. It may use several operations, or none. */
export interface CustomCommand {
  readonly name: string
  readonly summary: string
  /** The arguments after the name, one entry for each form of the command. */
  readonly usage: readonly string[]
  readonly about?: string
  readonly flags: readonly Flag[]
  readonly examples: readonly string[]
  /** The subcommands or fixed first arguments, for completion. */
  readonly words?: readonly string[]
  /** Generated commands that do the same. They still work but are left out of help and completion. */
  readonly replaces?: readonly string[]
  /** Loads the implementation only when the command runs, to keep start-up fast. */
  load(): Promise<Runner>
  /** Loads the implementation of `--help`, for a command whose help depends on its arguments. */
  loadHelp?(): Promise<Runner>
}

/** The values of each flag that was given, by the flag's name. A switch has the value `true` or `false`. */
export type FlagValues = ReadonlyMap<string, readonly string[]>

export interface Invocation {
  readonly command: CustomCommand
  /** The arguments after the command's name. */
  readonly args: readonly string[]
  /** The flags before the command's name. */
  readonly globals: FlagValues
}

/** Resolves with the exit code. */
export type Runner = (invocation: Invocation) => Promise<number>

/** Documented in docs/guides/command-line.md. */
export const exit = { ok: 0, refused: 1, misused: 2, unreachable: 3, waiting: 4, interrupted: 130 } as const

/** A mistake in the command's arguments. Reported in a line or two, with exit code 2. */
export class UsageError extends Error {}

/** A file that was read has faults. Reported without usage lines, with exit code 1. */
export class InvalidFile extends Error {}

/** The user pressed Ctrl-C. */
export class Interrupted extends Error {}
