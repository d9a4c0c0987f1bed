import { AsyncLocalStorage } from 'node:async_hooks'

/** The streams and the environment of a command. */
export interface Io {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly env: Readonly<Record<string, string | undefined>>
}

const current = new AsyncLocalStorage<Io>()

/** The streams and environment of the running command. Tests run many commands in one process, each with its own. */
export const io = (): Io => current.getStore() ?? process

export const withIo = <T>(streams: Io, work: () => Promise<T>): Promise<T> => current.run(streams, work)

/** Prints a result. */
export const say = (text: string): void => void io().stdout.write(`${text}\n`)

/** Prints a message for the user. Results go to standard output, so that a program that reads them gets nothing else. */
export const note = (text: string): void => void io().stderr.write(`${text}\n`)
