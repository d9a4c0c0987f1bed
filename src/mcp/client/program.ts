import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type JSONRPCMessage,
  ReadBuffer,
  SdkError,
  SdkErrorCode,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client'
import spawn from 'cross-spawn'

export interface ProgramParameters {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Called with what the program writes to standard error. */
  readonly onSaid?: (text: string) => void
}

/** How long a program may take to exit after its input closes, and then after SIGTERM. */
const exitTimeout = 2000
/** How long to wait for remaining output after the program has exited. */
const outputTimeout = 200

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) signal(child, 'SIGKILL')
})

/**
 * A local program that speaks MCP on its standard input and output. It runs in its own process group, so that all processes
 * it has started end with it, such as a shell in front of the server or a helper behind it.
 *
 * To detect the protocol era of a program, the SDK starts a second one in the same way and probes it. It does so only if the
 * transport has `_serverParams` and `_dispose`.
 */
export class Program implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly _serverParams: ProgramParameters
  readonly stderr = null
  readonly #received = new ReadBuffer()
  #child: ChildProcess | undefined

  constructor(parameters: ProgramParameters) {
    this._serverParams = parameters
  }

  get pid(): number | null {
    return this.#child?.pid ?? null
  }

  async start(): Promise<void> {
    const { command, args, env, cwd, onSaid } = this._serverParams
    const isOwnGroup = process.platform !== 'win32'
    const child = spawn(command, [...args], { env, cwd, stdio: 'pipe', detached: isOwnGroup, windowsHide: true })
    this.#child = child
    if (child.pid !== undefined) running.add(child)
    child.stdout?.on('data', (part: Buffer) => this.#read(part))
    child.stderr?.on('data', (part: Buffer) => onSaid?.(part.toString()))
    for (const pipe of child.stdio) pipe?.on('error', (error) => this.onerror?.(error))
    child.once('exit', () => void this.#ended(child))
    await once(child, 'spawn')
    child.on('error', (error) => this.onerror?.(error))
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin
    if (!stdin?.writable) return Promise.reject(new SdkError(SdkErrorCode.NotConnected, 'Not connected'))
    // Ignores write errors: the program has exited then, which `onclose` reports.
    return new Promise((resolve) => {
      stdin.write(serializeMessage(message), () => resolve())
    })
  }

  /** Closes the input, then sends SIGTERM, then SIGKILL, until the program has exited. */
  async close(): Promise<void> {
    const child = this.#child
    if (!child) return
    this.#child = undefined
    child.stdin?.end()
    await isGone(child, exitTimeout)
    await end(child)
    this.#received.clear()
    this.onclose?.()
  }

  /** The SDK calls this to end a program that it started as a probe. */
  async _dispose(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child) await end(child)
  }

  /** The program exited on its own or was killed. Its child processes may still hold its output open. */
  async #ended(child: ChildProcess): Promise<void> {
    if (this.#child !== child) return
    await Promise.race([once(child, 'close'), sleep(outputTimeout)])
    if (this.#child !== child) return
    this.#child = undefined
    await end(child)
    this.onclose?.()
  }

  #read(part: Buffer): void {
    try {
      this.#received.append(part)
    } catch (error) {
      this.onerror?.(error as Error)
      void this.close()
      return
    }
    for (;;) {
      try {
        const message = this.#received.readMessage()
        if (message === null) return
        this.onmessage?.(message)
      } catch (error) {
        this.onerror?.(error as Error)
      }
    }
  }
}

/** Waits until the program and all its child processes have exited. Returns false after the timeout. */
async function isGone(child: ChildProcess, milliseconds: number): Promise<boolean> {
  const until = Date.now() + milliseconds
  while (signal(child, 0)) {
    if (Date.now() > until) return false
    await sleep(20)
  }
  return true
}

async function end(child: ChildProcess): Promise<void> {
  if (signal(child, 'SIGTERM') && !(await isGone(child, exitTimeout))) signal(child, 'SIGKILL')
  running.delete(child)
  for (const pipe of child.stdio) pipe?.destroy()
}

/** Signals the whole process group. Returns false if no process is left. */
function signal(child: ChildProcess, name: NodeJS.Signals | 0): boolean {
  if (child.pid === undefined) return false
  if (process.platform === 'win32') return child.exitCode === null && child.signalCode === null && child.kill(name)
  try {
    return process.kill(-child.pid, name)
  } catch {
    return false
  }
}
