import type { Endpoint } from '../sdk/send.ts'

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
  readonly fields: readonly Field[]
}

/** The command was not written as it must be. Said in a line or two, with exit code 2. */
export class UsageError extends Error {}
