import { text as readAll } from 'node:stream/consumers'
import type { CommonOptions } from '@clack/prompts'
import { Interrupted } from './command.ts'
import { io } from './io.ts'

type Prompts = typeof import('@clack/prompts')
type Streams = Required<Pick<CommonOptions, 'input' | 'output' | 'signal'>>

/** Shows a prompt. Throws `Interrupted` if the user presses Ctrl-C, Ctrl-D or Escape. */
async function prompt<T>(show: (clack: Prompts, streams: Streams) => Promise<T>): Promise<Exclude<T, symbol>> {
  const { stdin, stderr, env } = io()
  // Clack has no option for colors. It reads this variable.
  if (env.NO_COLOR) process.env.NO_COLOR = '1'
  // Loaded here, because most commands never prompt.
  const clack = await import('@clack/prompts')
  // At the end of the input, Clack would wait forever.
  const ended = new AbortController()
  const end = () => ended.abort()
  const onKey = (_: string, key?: { ctrl?: boolean; name?: string }) => key?.ctrl && key.name === 'd' && end()
  stdin.on('keypress', onKey).once('end', end)
  try {
    // Prompts go to standard error, because standard output is for results.
    const answer = await show(clack, { input: stdin, output: stderr, signal: ended.signal })
    if (typeof answer === 'symbol') throw new Interrupted()
    return answer as Exclude<T, symbol>
  } finally {
    stdin.off('keypress', onKey).off('end', end)
  }
}

export interface TextOptions {
  /** The answer when the user presses Enter without typing. */
  readonly fallback?: string
  /** Returns the error to show, or nothing. */
  readonly validate?: (answer: string) => string | undefined
}

export const askText = (message: string, { fallback = '', validate }: TextOptions = {}): Promise<string> =>
  prompt(({ text }, streams) =>
    text({
      ...streams,
      message,
      placeholder: fallback,
      defaultValue: fallback,
      ...(validate && { validate: (typed) => validate(typed?.trim() ? typed : fallback) }),
    }),
  )

export const askChoice = (message: string, choices: readonly string[], initial?: string): Promise<string> =>
  prompt(({ select }, streams) => {
    const options = choices.map((value) => ({ value, label: value }))
    return select({ ...streams, message, options, ...(initial && { initialValue: initial }) })
  })

/** Lets the user choose any number of options, at least one. */
export const askChoices = (
  message: string,
  options: readonly { readonly value: string; readonly label: string; readonly hint?: string }[],
): Promise<string[]> =>
  prompt(({ multiselect }, streams) => multiselect({ ...streams, message, options: [...options], required: true }))

export const askYes = (message: string): Promise<boolean> =>
  prompt(({ confirm }, streams) => confirm({ ...streams, message, initialValue: false }))

/** Asks for a secret without showing it. Without a terminal, reads standard input. */
export async function askSecret(message: string): Promise<string> {
  const { stdin } = io()
  if (!stdin.isTTY) return (await readAll(stdin)).trim()
  return (await prompt(({ password }, streams) => password({ ...streams, message }))).trim()
}
