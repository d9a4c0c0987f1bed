import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { listen } from '../src/server/listen.ts'
import { adminKey, startPlatform, startService, type TestPlatform } from './kit.ts'

/** A platform on a port of this machine, for clients that need a real connection. */
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

/** The command line in a process of its own, with nothing of this one's environment. */
export const spawnCli = (args: readonly string[], environment: Record<string, string> = {}) =>
  spawn(process.execPath, [bin, ...args], { env: { PATH: process.env.PATH, ...environment } })

export async function runCli(
  args: readonly string[],
  {
    stdin = '',
    ...environment
  }: { stdin?: string | Uint8Array; [variable: string]: string | Uint8Array | undefined } = {},
): Promise<Ran> {
  const child = spawnCli(args, environment as Record<string, string>)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  // Whoever does not read its input may be gone before it is written.
  child.stdin.on('error', () => {}).end(stdin)
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, stdout, stderr }
}

export const as = (url: string, key = adminKey) => ({ QM_URL: url, QM_KEY: key })

/** An address where nothing answers any more. */
export async function closedAddress(): Promise<string> {
  const service = await startService()
  await service[Symbol.asyncDispose]()
  return service.url
}
