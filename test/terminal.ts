import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { quoted } from '../src/cli/toolkit/example.ts'

const bin = fileURLToPath(new URL('../bin/quartermaster.js', import.meta.url))

export interface OnTerminal extends AsyncDisposable {
  /** All that was printed, without colours and what moves the cursor. */
  text(): string
  raw(): string
  /** Waits until something is printed that was not there at the last `sees`. */
  sees(what: string | RegExp): Promise<void>
  type(keys: string): void
  /** The exit code. */
  readonly ended: Promise<number | null>
}

/** The command line on a terminal of its own, 80 columns wide unless said otherwise. */
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

/** Runs to the end. */
export async function runOnTerminal(...given: Parameters<typeof onTerminal>) {
  await using terminal = onTerminal(...given)
  const code = await terminal.ended
  return { code, text: terminal.text(), raw: terminal.raw() }
}
