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
  /** Told what the program says beside the protocol. */
  readonly onSaid?: (text: string) => void
}

/** How long a program may take to end by itself, and then once it is told to. */
const grace = 2000
/** How long what it has printed may be on its way once it has ended. */
const lastWords = 200

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) signal(child, 'SIGKILL')
})

/**
 * A program of this machine that speaks MCP on its standard input and output. With it end all that it has started: it has
 * a process group of its own, and a shell in front of the server, or a helper behind it, outlives nobody.
 *
 * To learn which era a program is of, the SDK asks another one, started in the same way. It knows by `_serverParams` and
 * `_dispose` that it may.
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
    // One that does not take it has ended, and that is told otherwise.
    return new Promise((resolve) => {
      stdin.write(serializeMessage(message), () => resolve())
    })
  }

  /** Ends it: by itself, or told to, or by force. */
  async close(): Promise<void> {
    const child = this.#child
    if (!child) return
    this.#child = undefined
    child.stdin?.end()
    await isGone(child, grace)
    await end(child)
    this.#received.clear()
    this.onclose?.()
  }

  /** As the SDK ends one that it has started to ask. */
  async _dispose(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child) await end(child)
  }

  /** By itself, or killed by someone else. What it started may still hold its output open. */
  async #ended(child: ChildProcess): Promise<void> {
    if (this.#child !== child) return
    await Promise.race([once(child, 'close'), sleep(lastWords)])
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

/** Whether it and all that it has started are gone within that time. */
async function isGone(child: ChildProcess, milliseconds: number): Promise<boolean> {
  const until = Date.now() + milliseconds
  while (signal(child, 0)) {
    if (Date.now() > until) return false
    await sleep(20)
  }
  return true
}

async function end(child: ChildProcess): Promise<void> {
  if (signal(child, 'SIGTERM') && !(await isGone(child, grace))) signal(child, 'SIGKILL')
  running.delete(child)
  for (const pipe of child.stdio) pipe?.destroy()
}

/** To the whole group; false where nobody is left to hear it. */
function signal(child: ChildProcess, name: NodeJS.Signals | 0): boolean {
  if (child.pid === undefined) return false
  if (process.platform === 'win32') return child.exitCode === null && child.signalCode === null && child.kill(name)
  try {
    return process.kill(-child.pid, name)
  } catch {
    return false
  }
}
