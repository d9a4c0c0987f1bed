import { spawn } from 'node:child_process'
import { Readable } from 'node:stream'
import { WriteStream } from 'node:tty'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { run } from '../src/cli/run.ts'
import { quoted } from '../src/cli/toolkit/example.ts'
import { collector } from './clients.ts'

const bin = fileURLToPath(new URL('../bin/quartermaster.js', import.meta.url))

export interface OnTerminal extends AsyncDisposable {
  /** All output, without colors and cursor movements. */
  text(): string
  raw(): string
  /** Waits for text that was printed after the last `sees`. */
  sees(what: string | RegExp): Promise<void>
  type(keys: string): void
  /** The exit code. */
  readonly ended: Promise<number | null>
}

/** The CLI on a pseudoterminal, 80 columns wide by default. */
export function onTerminal(
  args: readonly string[],
  environment: Record<string, string> = {},
  { columns = 80, rows = 24 }: { columns?: number; rows?: number } = {},
): OnTerminal {
  const command = `stty cols ${columns} rows ${rows}; exec ${[process.execPath, bin, ...args].map(quoted).join(' ')}`
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { PATH: process.env.PATH, TERM: 'xterm-256color', SHELL: '/bin/sh', ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let output = ''
  let seen = 0
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stdin.on('error', () => {})
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const plain = (text: string) => stripVTControlCharacters(text).replaceAll('\r\n', '\n')
  return {
    text: () => plain(output),
    raw: () => output,
    ended,
    type: (keys) => void child.stdin.write(keys),
    async sees(what) {
      for (let tries = 0; tries < 1000; tries++) {
        const fresh = plain(output.slice(seen))
        if (typeof what === 'string' ? fresh.includes(what) : what.test(fresh)) {
          seen = output.length
          return
        }
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      throw new Error(`never seen: ${what}\n${plain(output)}`)
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Runs the CLI in this process, as on a terminal of 80 columns without input. */
export async function runOnTerminal(args: readonly string[], environment: Record<string, string> = {}) {
  const { getColorDepth } = WriteStream.prototype
  const { stream, text } = collector({ isTTY: true, columns: 80, rows: 24, getColorDepth })
  const stdin = Object.assign(Readable.from([]), { isTTY: true }) as unknown as NodeJS.ReadStream
  const env = { TERM: 'xterm-256color', XDG_CONFIG_HOME: '/nowhere', ...environment }
  const code = await run(args, { stdin, stdout: stream, stderr: stream, env })
  return { code, text: stripVTControlCharacters(text()), raw: text() }
}
