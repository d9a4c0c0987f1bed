import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { stringify } from 'yaml'
import type { TestPlatform } from './kit.ts'
import { TestSession } from './sessions-kit.ts'

/** An MCP server in another process. */
export interface McpProcess extends AsyncDisposable {
  readonly port: number
  readonly calls: { call: string; input: Record<string, unknown> }[]
  /** The Authorization header of each request; null if it has none. */
  readonly authorizations: (string | null)[]
  /** Closes its port, and opens it again. */
  goAway(): Promise<void>
  comeBack(): Promise<void>
}

const program = fileURLToPath(new URL('mcp-program.ts', import.meta.url))

export async function startMcpProcess(name = 'mcp'): Promise<McpProcess> {
  const child: ChildProcess = spawn(process.execPath, [program], {
    env: { PATH: process.env.PATH, MCP_NAME: name },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const calls: McpProcess['calls'] = []
  const authorizations: McpProcess['authorizations'] = []
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  let done = Promise.withResolvers<void>()
  const tell = async (line: string) => {
    done = Promise.withResolvers()
    child.stdin?.write(`${line}\n`)
    await done.promise
  }
  const url = await new Promise<string>((resolve, reject) => {
    void ended.then(() => reject(new Error('the MCP server ended')))
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const said = JSON.parse(line)
      if (said.url) resolve(said.url)
      else if (said.done) done.resolve()
      else if (said.call) calls.push(said)
      else authorizations.push(said.authorization)
    })
  })
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
  }
  return {
    port: Number(new URL(url).port),
    calls,
    authorizations,
    goAway: () => tell('stop'),
    comeBack: () => tell('restart'),
    [Symbol.asyncDispose]: stop,
  }
}

/** The kinds of questions that the guide asks, as scripts recognise them. */
export const asks = {
  match: '[match-policies]',
  matchLow: '[match-ids]',
  route: '[choose-transition]',
  review: '[check-reply]',
} as const

/** A step of a script: the answer to a matching question about these policies. */
export const matching = (applies: readonly string[], when: object = {}) => ({
  when: { last_user: { contains: asks.match, ...when } },
  answer: {
    text: JSON.stringify({ checks: applies.map((id) => ({ id, applies: true, reason: `because of ${id}` })) }),
  },
})

let count = 0

export interface ManifestParts {
  readonly script: readonly object[]
  readonly mcps?: readonly { readonly id: string; readonly port: number; readonly api_key?: string }[]
  readonly context?: object
  readonly runtime?: object
  readonly [field: string]: unknown
}

/** A manifest whose model plays a script, and whose servers are on loopback. */
export function manifestOf({ script, mcps = [], context = {}, runtime = {}, ...rest }: ManifestParts): {
  id: string
  text: string
} {
  const id = `guided-${++count}`
  const text = stringify({
    id,
    ...rest,
    agent_config: {
      runtime,
      llms: { generation: { provider: 'replay', script: { steps: script } } },
      mcps: mcps.map((one) => ({ hostname: 'http://127.0.0.1', ...one })),
      context,
    },
  })
  return { id, text }
}

/** Applies a manifest, and returns the name of its agent. */
export async function applied(platform: TestPlatform, parts: ManifestParts, secrets: object = {}): Promise<string> {
  const { id, text } = manifestOf(parts)
  const done = await platform.post('/manifests', { manifest: text, secrets })
  expect(done.status, JSON.stringify(done.body)).toBe(200)
  return id
}

/** A session with an agent from a manifest. */
export const guided = async (platform: TestPlatform, parts: ManifestParts, fields: object = {}): Promise<TestSession> =>
  TestSession.start(platform, await applied(platform, parts), fields)
