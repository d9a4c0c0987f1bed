export interface ProgramLimits {
  readonly memoryBytes: number
  /** The program's own time, without the time that its calls take. */
  readonly cpuMs: number
  readonly calls: number
  /** Of the input of a call and of the result. The platform parses them on its main thread. */
  readonly jsonChars: number
}

/** What the thread of a program reports. */
export type FromProgram =
  | { readonly kind: 'call'; readonly number: number; readonly action: string; readonly input: string }
  /** It cannot go on without the answer to a call. `answered` answers were used. */
  | { readonly kind: 'idle'; readonly answered: number }
  | { readonly kind: 'done'; readonly output: string }
  | { readonly kind: 'failed'; readonly message: string }

/** The answer to the first call without one: JSON, or the message of an error. */
export interface ToProgram {
  readonly ok: boolean
  readonly text: string
}
