import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { adminKey, ask, startPlatform } from './kit.ts'
import { type Running, startProcess, temporaryFolder } from './process.ts'

const settings = { QM_ADMIN_KEY: adminKey, QM_ALLOW_STDIO: 'true' }
const stubborn = new URL('stubborn-program.ts', import.meta.url).pathname

const register = (platform: Running, script: string) =>
  ask<{ id: string }>(platform, 'POST', '/tools', {
    name: 'program',
    type: 'mcp',
    mcp: { command: 'sh', args: ['-c', script] },
  })

const behindShell = (pids: string) => `"${process.execPath}" "${stubborn}" "${pids}"; true`

const pidsIn = async (file: string) => (await readFile(file, 'utf8')).trim().split('\n').map(Number)

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

// Concurrent, because they wait for processes to exit.
describe.concurrent('a stdio server with child processes that do not exit by themselves', () => {
  test('ends when the platform stops, and does not block the stop', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'pids')
    await using platform = await startProcess(join(folder.path, 'data'), settings)
    const { id } = await register(platform, behindShell(file))
    const answer = await ask(platform, 'POST', `/tools/${id}/call`, { action: 'hello' })
    const pids = await pidsIn(file)

    const code = await platform.stop('SIGTERM')

    expect(answer).toMatchObject({ content: [{ text: 'hello' }] })
    expect(code).toBe(0)
    expect(pids.filter(isAlive)).toEqual([])
  })

  test('ends when its tool is deleted', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'pids')
    await using platform = await startProcess(join(folder.path, 'data'), settings)
    const { id } = await register(platform, behindShell(file))
    await ask(platform, 'POST', `/tools/${id}/call`, { action: 'hello' })
    const pids = await pidsIn(file)
    const before = pids.filter(isAlive)

    await ask(platform, 'DELETE', `/tools/${id}`)

    expect(before).toHaveLength(1)
    await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), { timeout: 10_000, interval: 100 })
  })
})

test.concurrent('the log has the stderr output of a failing stdio server, and says when it is considered down', async () => {
  await using folder = await temporaryFolder()
  await using platform = await startProcess(join(folder.path, 'data'), settings)
  const { id } = await register(platform, 'echo no token was given >&2; exit 1')

  for (let count = 0; count < 3; count++) await ask(platform, 'GET', `/tools/${id}/actions`)

  await vi.waitFor(() => expect(platform.output()).toContain('an MCP server is down'), { timeout: 5000 })
  expect(platform.output()).toContain('"said":"no token was given')
  expect(platform.output()).toContain(id)
})

describe('a stdio server', () => {
  const program = { command: process.execPath, args: ['-e', ''] }
  const mayRegister = { effect: 'Allow', action: ['tools:CreateTool', 'tools:UpdateTool', 'tools:ImportMcpServers'] }

  test('can be registered or changed only with the permission tools:RunProgram', async () => {
    await using platform = await startPlatform({ QM_ALLOW_STDIO: 'true' })
    const key = await platform.keyFor([mayRegister])
    const runner = await platform.keyFor([mayRegister, { effect: 'Allow', action: ['tools:RunProgram'] }])
    const { body: known } = await platform.post('/tools', { name: 'known', type: 'mcp', mcp: program })
    const { body: away } = await platform.post('/tools', {
      name: 'away',
      type: 'mcp',
      mcp: { url: 'http://127.0.0.1:9/mcp' },
    })

    const created = await platform.post('/tools', { name: 'new', type: 'mcp', mcp: program }, { key })
    const imported = await platform.post('/tools/import', { mcpServers: { other: program } }, { key })
    const turned = await platform.patch(`/tools/${away.id}`, { mcp: program }, { key })
    const changed = await platform.patch(`/tools/${known.id}`, { mcp: { ...program, args: ['-e', '1'] } }, { key })
    const renamed = await platform.patch(`/tools/${known.id}`, { description: 'Known', mcp: program }, { key })
    const allowed = await platform.post('/tools', { name: 'new', type: 'mcp', mcp: program }, { key: runner })

    for (const { status, body } of [created, turned, changed]) {
      expect(status).toBe(403)
      expect(body.error.message).toContain('tools:RunProgram')
    }
    expect(imported.body.skipped).toMatchObject([
      { name: 'other', reason: expect.stringContaining('tools:RunProgram') },
    ])
    expect(renamed.status).toBe(200)
    expect(allowed.status).toBe(201)
  })
})
