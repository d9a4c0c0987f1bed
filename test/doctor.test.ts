import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkDashboard, checkNode } from '../src/cli/doctor/machine.ts'
import { as, closedAddress, runCli, runProgram, startListening } from './clients.ts'
import { startService } from './kit.ts'
import { startProcess } from './process.ts'
import { runOnTerminal } from './terminal.ts'
import { startUpstream } from './upstream.ts'

interface Finding {
  check: string
  state: string
  what: string
  advice?: string
}

async function folder() {
  const path = await mkdtemp(join(tmpdir(), 'quartermaster-doctor-'))
  return {
    path,
    at: (name: string) => join(path, name),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}

/** The problems that doctor finds, independent of the rest of this machine. */
async function examine(environment: Record<string, string>, execute = runCli) {
  const { code, stdout, stderr } = await execute(['doctor'], {
    QM_EMBEDDINGS: 'off',
    QM_PORT: String(new URL(await closedAddress()).port),
    QM_DATA: join(tmpdir(), 'quartermaster-nowhere'),
    XDG_CONFIG_HOME: join(tmpdir(), 'quartermaster-nowhere'),
    ...environment,
  })
  expect(stderr).toBe('')
  const { findings } = JSON.parse(stdout) as { findings: Finding[] }
  const wrong = findings.filter(({ state }) => state === 'wrong')
  for (const { advice } of wrong) expect(advice).toMatch(/\.$|pol_caller$/)
  return { code, findings, wrong }
}

const found = (check: string, what: RegExp) => ({
  code: 1,
  wrong: [expect.objectContaining({ check, what: expect.stringMatching(what) })],
})

describe('doctor finds', () => {
  test('no problems, and exits with 0', async () => {
    await using platform = await startListening()
    await using home = await folder()

    const { code, wrong, findings } = await examine({ ...as(platform.url), QM_DATA: home.path })

    expect([code, wrong]).toEqual([0, []])
    expect(findings.map(({ check }) => check)).toEqual(
      expect.arrayContaining(['node', 'port', 'clock', 'keys', 'MCP servers']),
    )
  })

  test('a port that another program uses', async () => {
    await using other = await startService()

    expect(await examine({ QM_PORT: new URL(other.url).port })).toMatchObject(found('port', /used by another program/))
  })

  test('a data folder that is a file', async () => {
    await using home = await folder()
    await writeFile(home.at('data'), 'a file')

    expect(await examine({ QM_DATA: home.at('data') })).toMatchObject(found('data folder', /not a folder/))
    expect(await examine({ QM_DATA: home.at('data/inside') })).toMatchObject(found('data folder', /cannot be/))
  })

  test('a data folder that a platform on another port uses, without disturbing it', async () => {
    await using home = await folder()
    await using running = await startProcess(home.path, { QM_EMBEDDINGS: 'off' })

    const elsewhere = await examine({ QM_DATA: home.path })
    const here = await examine({ QM_DATA: home.path, QM_PORT: new URL(running.url).port })

    const byUrl = await examine({ QM_DATA: home.path, QM_PORT: '', QM_URL: running.url })
    const localhost = running.url.replace('127.0.0.1', 'localhost')
    const byLocalhost = await examine({ QM_DATA: home.path, QM_PORT: '', QM_URL: localhost })

    expect([byUrl, byLocalhost]).toMatchObject([
      { code: 0, wrong: [] },
      { code: 0, wrong: [] },
    ])
    expect(elsewhere).toMatchObject(found('data folder', new RegExp(`process ${running.child.pid}`)))
    expect(here).toMatchObject({ code: 0, wrong: [] })
    expect((await fetch(`${running.url}/ready`)).status).toBe(200)
  })

  test('a damaged database', async () => {
    await using home = await folder()
    await writeFile(home.at('quartermaster.db'), 'this is no database, but long enough to be looked at'.repeat(100))

    expect(await examine({ QM_DATA: home.path })).toMatchObject(found('database', /cannot be read/))
  })

  test('an unreachable PostgreSQL, without printing its password', async () => {
    const { port } = new URL(await closedAddress())
    const result = await examine({ DATABASE_URL: `postgres://quartermaster:hush@127.0.0.1:${port}/qm` })

    expect(result).toMatchObject(found('database', new RegExp(`127.0.0.1:${port}/qm cannot be used`)))
    expect(JSON.stringify(result)).not.toContain('hush')
  })

  test('a secret key that cannot decrypt the stored secrets', async () => {
    await using home = await folder()
    const key = (letter: string) => letter.repeat(64)
    {
      await using running = await startProcess(home.path, {
        QM_EMBEDDINGS: 'off',
        QM_SECRET_KEY: key('a'),
        QM_ADMIN_KEY: 'sk_doctor',
      })
      const body = JSON.stringify({ name: 'openai', type: 'openai', api_key: 'sk-test' })
      const headers = { authorization: 'Bearer sk_doctor', 'content-type': 'application/json' }
      const made = await fetch(`${running.url}/api/v1/ai-providers`, { method: 'POST', headers, body })
      expect(made.status).toBe(201)
      await running.stop('SIGTERM')
    }

    expect(await examine({ QM_DATA: home.path, QM_SECRET_KEY: key('b') })).toMatchObject(found('secret key', /key/))
    expect(await examine({ QM_DATA: home.path, QM_SECRET_KEY: key('a') })).toMatchObject({ code: 0 })
    const both = { QM_SECRET_KEY: key('b'), QM_SECRET_KEY_PREVIOUS: key('a') }
    expect(await examine({ QM_DATA: home.path, ...both })).toMatchObject({ code: 0 })
  })

  test('an invalid setting', async () => {
    expect(await examine({ QM_PORT: 'many' })).toMatchObject(found('settings', /QM_PORT/))
  })

  test('a missing search model', async () => {
    await using home = await folder()

    const result = await examine({ QM_EMBEDDINGS: 'embedded', QM_EMBEDDINGS_FOLDER: home.path })

    expect(result).toMatchObject(found('search', /built-in model cannot be used/))
  })

  test('an unreachable platform, and another server in its place', async () => {
    await using other = await startService(() => ({ body: 'hello', headers: { 'content-type': 'text/plain' } }))

    expect(await examine(as(await closedAddress()))).toMatchObject(found('platform', /No response from/))
    expect(await examine(as(other.url))).toMatchObject(found('platform', /not a Quartermaster/))
  })

  test('an unknown API key', async () => {
    await using platform = await startListening()

    expect(await examine(as(platform.url, 'sk_wrong'))).toMatchObject(found('key', /not valid/))
  })

  test('clocks that differ', async () => {
    await using platform = await startListening()
    const later = 'const now = Date.now; Date.now = () => now() + 600000'

    const options = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(later)}` }
    const result = await examine({ ...as(platform.url), ...options }, runProgram)

    expect(result).toMatchObject(found('clock', /differ by (59\d|60\d) s/))
  })

  test('one reachable MCP server, without a plural', async () => {
    await using platform = await startListening()
    await using upstream = await startUpstream()
    await platform.post('/tools', { name: 'echo', type: 'mcp', mcp: { url: upstream.url } })

    const { wrong, findings } = await examine(as(platform.url))

    expect(wrong).toEqual([])
    expect(findings.find(({ check }) => check === 'MCP servers')?.what).toBe('The only one is reachable.')
  })

  test('an unreachable MCP server', async () => {
    await using platform = await startListening()
    await platform.post('/tools', { name: 'crm', type: 'mcp', mcp: { url: `${await closedAddress()}/mcp` } })

    expect(await examine(as(platform.url))).toMatchObject(found('MCP servers', /1 of 1 cannot be reached: crm/))
  })

  test('an HTTP tool with a blocked address', async () => {
    await using platform = await startListening()
    await platform.post('/tools', { name: 'inside', execute: { url: 'http://10.1.2.3/x' }, parameters: {} })

    expect(await examine(as(platform.url))).toMatchObject(
      found('http tools', /inside calls 10\.1\.2\.3, a private address/),
    )
  })

  test('API keys without permissions, and expired ones', async () => {
    await using platform = await startListening()
    const made = await platform.post('/api-keys', { name: 'idle' })
    const expires_at = new Date(Date.now() + 300).toISOString()
    const old = await platform.post('/api-keys', { name: 'old', access_policy_ids: ['pol_caller'], expires_at })
    expect(old.status).toBe(201)
    await new Promise((resolve) => setTimeout(resolve, 400))

    const { wrong } = await examine(as(platform.url))

    expect(wrong.map(({ what }) => what)).toEqual(
      expect.arrayContaining([
        expect.stringContaining(`idle (${made.body.id})`),
        expect.stringContaining(`Expired: old (${old.body.id})`),
      ]),
    )
  })

  test('an old Node, and a dashboard that is not built', async () => {
    await using home = await folder()
    await mkdir(home.at('dashboard'))

    const old = await runProgram(['doctor'], {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent("Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } })")}`,
    })

    expect(old).toMatchObject({ code: 1, stderr: expect.stringMatching(/needs Node 22.18.*npx quartermaster/s) })
    expect(checkNode('22.17.0').state).toBe('wrong')
    expect(await checkDashboard(home.path)).toMatchObject({ state: 'wrong', advice: expect.stringContaining('build') })
  })
})

test('on a terminal, doctor prints a line for each check, and advice below it', async () => {
  await using other = await startService()
  const environment = { QM_EMBEDDINGS: 'off', QM_PORT: new URL(other.url).port, XDG_CONFIG_HOME: '/nowhere' }

  const { code, text } = await runOnTerminal(['doctor'], environment)

  expect(code).toBe(1)
  expect(text).toMatch(/✗ port: .* is used by another program\.\n {2}→ Stop that program/)
  expect(text).toContain('1 problem found.')
})
