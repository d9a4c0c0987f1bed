import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { allow, register, Visitor } from './oauth-kit.ts'
import { temporaryFolder } from './process.ts'

const suite = new URL('../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url).pathname

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

/** Runs the authorization server scenarios, and plays the person when the suite asks for a browser. */
async function runScenarios(args: readonly string[], onUrl: (url: string) => Promise<unknown>): Promise<Check[]> {
  await using folder = await temporaryFolder()
  const all = [suite, 'authorization', ...args, '--output-dir', folder.path]
  await new Promise<void>((resolve) => {
    const child = execFile(process.execPath, all, { timeout: 60_000 }, () => resolve())
    let said = ''
    let isAsked = false
    const hear = (chunk: string) => {
      said += chunk
      const url = /(http:\/\/127\.0\.0\.1:\d+\/oauth\/authorize\?\S+)/.exec(said)?.[1]
      if (!url || isAsked) return
      isAsked = true
      void onUrl(url)
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
  })
  const files = (await readdir(folder.path, { recursive: true })).filter((name) => name.endsWith('checks.json'))
  const checks = await Promise.all(
    files.map(async (name) => JSON.parse(await readFile(join(folder.path, name), 'utf8'))),
  )
  return checks.flat()
}

test.each(['2025-11-25', '2026-07-28'])(
  'the authorization server passes the scenarios of the conformance suite for %s',
  { timeout: 90_000 },
  async (version) => {
    await using platform = await startListening()
    await platform.post('/servers', { slug: 'desk' })
    const port = await freePort()
    const { client_id: clientId = '' } = await register(platform.url, {
      redirect_uris: [`http://127.0.0.1:${port}/callback`],
    })
    const args = ['--url', platform.url, '--client-id', clientId, '--resource', `${platform.url}/mcp/desk`]

    const checks = await runScenarios([...args, '--port', String(port), '--spec-version', version], async (url) => {
      const { back } = await allow(new Visitor(), url, platform.url)
      await fetch(back)
    })

    const ids = checks.map(({ id }) => id)
    expect(ids).toEqual(expect.arrayContaining(['authorization-server-metadata', 'authorization-code-grant']))
    expect(checks.filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO')).toEqual([])
  },
)
