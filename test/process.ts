import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const program = new URL('../bin/quartermaster.js', import.meta.url).pathname

/** The platform as a separate process, as an operator runs it. */
export interface Running extends AsyncDisposable {
  readonly url: string
  readonly child: ChildProcess
  /** Everything it has printed so far. */
  readonly output: () => string
  /** The time until it reported that it is ready. */
  readonly startedInMs: number
  /** Sends a signal and waits for the exit. Returns the exit code, or the signal that ended it. */
  stop(signal: NodeJS.Signals): Promise<number | string>
}

export interface Ended {
  readonly code: number | string
  readonly output: string
}

/** Runs a command of the program until it exits. */
export async function run(args: string[], environment: Record<string, string> = {}): Promise<Ended> {
  const child = start(args, environment)
  let output = ''
  child.stdout?.on('data', (chunk) => (output += chunk))
  child.stderr?.on('data', (chunk) => (output += chunk))
  const code = await endOf(child)
  return { code, output }
}

/** Starts the platform and waits until it is ready. Throws if it exits before that. */
export async function startProcess(
  data: string,
  environment: Record<string, string> = {},
  port = '0',
): Promise<Running> {
  const began = performance.now()
  const child = start(['up', '--port', port, '--data', data], environment)
  const ended = endOf(child)
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk
      const ready = /ready at (http:\S+)/.exec(output)
      if (ready?.[1]) resolve(ready[1])
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    void ended.then((code) => reject(new Error(`it ended with ${code}: ${output}`)))
  })
  return {
    url,
    child,
    output: () => output,
    startedInMs: performance.now() - began,
    stop(signal) {
      child.kill(signal)
      return ended
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

const start = (args: string[], environment: Record<string, string>) =>
  spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, QM_LOG_LEVEL: 'warn', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })

const endOf = (child: ChildProcess) =>
  new Promise<number | string>((resolve) => child.once('close', (code, signal) => resolve(signal ?? code ?? 0)))

export async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'quartermaster-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
