import { spawn } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { run } from '../src/cli/run.ts'
import { listen } from '../src/server/listen.ts'
import { adminKey, startPlatform, startService, type TestPlatform } from './kit.ts'

/** A platform on a loopback port, for clients that need a real connection. */
export async function startListening(
  environment: Record<string, string> = {},
): Promise<TestPlatform & { readonly url: string }> {
  const platform = await startPlatform(environment)
  const server = await listen(platform.platform, '127.0.0.1', 0)
  return {
    ...platform,
    url: server.url,
    async [Symbol.asyncDispose]() {
      platform.platform.drain()
      await server.close(5)
      await platform[Symbol.asyncDispose]()
    },
  }
}

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const bin = fileURLToPath(new URL('../bin/quartermaster.js', import.meta.url))

/** The CLI in a separate process, without the environment of this one. */
export const spawnCli = (args: readonly string[], environment: Record<string, string> = {}) =>
  spawn(process.execPath, [bin, ...args], { env: { PATH: process.env.PATH, ...environment } })

type CliOptions = { stdin?: string | Uint8Array; [variable: string]: string | Uint8Array | undefined }

/** Runs the CLI in this process, without its environment. */
export async function runCli(args: readonly string[], { stdin = '', ...env }: CliOptions = {}): Promise<Ran> {
  const stdout = collector()
  const stderr = collector()
  const code = await run(args, {
    stdin: Readable.from([Buffer.from(stdin)]) as unknown as NodeJS.ReadStream,
    stdout: stdout.stream,
    stderr: stderr.stream,
    env: { XDG_CONFIG_HOME: '/nowhere', ...env } as Record<string, string>,
  })
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

/** Runs the CLI as an installed program, in a separate process. */
export async function runProgram(
  args: readonly string[],
  { stdin = '', ...environment }: CliOptions = {},
): Promise<Ran> {
  const child = spawnCli(args, environment as Record<string, string>)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  // A program that does not read its input may exit before it is written.
  child.stdin.on('error', () => {}).end(stdin)
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, stdout, stderr }
}

/** Collects what is written to it. */
export function collector(properties: object = {}): { stream: NodeJS.WriteStream; text(): string } {
  const chunks: Buffer[] = []
  const stream = new Writable({
    write(chunk, _, done) {
      chunks.push(chunk)
      done()
    },
  })
  return {
    stream: Object.assign(stream, properties) as unknown as NodeJS.WriteStream,
    text: () => Buffer.concat(chunks).toString(),
  }
}

export const as = (url: string, key = adminKey) => ({ QM_URL: url, QM_KEY: key })

/** A URL on a port that was just closed. */
export async function closedAddress(): Promise<string> {
  const service = await startService()
  await service[Symbol.asyncDispose]()
  return service.url
}
