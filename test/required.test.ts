import { describe, expect, test } from 'vitest'
import { adminKey, ask, startPlatform } from './kit.ts'
import { type Running, run, startProcess, temporaryFolder } from './process.ts'
import { echo, startUpstream } from './upstream.ts'

const settings = { QM_ADMIN_KEY: adminKey }

/** Registers a tool for each address, and stops the platform again. */
async function registerTools(data: string, addresses: Readonly<Record<string, object>>): Promise<void> {
  await using platform = await startProcess(data, settings)
  for (const [name, mcp] of Object.entries(addresses)) {
    await ask(platform, 'POST', '/tools', { name, type: 'mcp', mcp })
  }
  await platform.stop('SIGTERM')
}

interface Tool {
  readonly id: string
}

const toolsOf = async (platform: Running) => (await ask<{ data: Tool[] }>(platform, 'GET', '/tools')).data

const stateOf = async (platform: Running, { id }: Tool) =>
  (await ask<{ state: string }>(platform, 'GET', `/tools/${id}/health`)).state

const healthOf = async (platform: Running) =>
  Promise.all((await toolsOf(platform)).map((tool) => stateOf(platform, tool)))

describe('MCP servers that tools require', () => {
  test('are all contacted before the platform reports ready, and others are not (S1.14)', async () => {
    await using folder = await temporaryFolder()
    await using cars = await startUpstream([echo])
    await using fuel = await startUpstream([echo])
    await using idle = await startUpstream([echo])
    await registerTools(folder.path, {
      cars: { url: cars.url, required: true },
      fuel: { url: fuel.url, required: true },
      idle: { url: idle.url },
    })

    await using platform = await startProcess(folder.path, settings)

    expect(await healthOf(platform)).toEqual(['up', 'up', 'unknown'])
  })

  test('fail the start if one is unreachable, with its name and the reason (S1.15)', async () => {
    await using folder = await temporaryFolder()
    await using cars = await startUpstream([echo])
    const fuel = await startUpstream([echo])
    await registerTools(folder.path, {
      cars: { url: cars.url, required: true },
      fuel: { url: fuel.url, required: true },
    })
    await fuel[Symbol.asyncDispose]()

    const { code, output } = await run(['up', '--port', '0', '--data', folder.path], settings)

    expect(code).toBe(1)
    expect(output).toMatch(/A required tool cannot be used. Tool "fuel" \(tool_\w+\): .*127\.0\.0\.1/)
    expect(output).toContain('--ignore-required')
    expect(output).not.toMatch(/"cars"|ready at|\n {4}at /)
  })

  test('do not fail a start with QM_IGNORE_REQUIRED, so that the tool can be changed', async () => {
    await using folder = await temporaryFolder()
    const fuel = await startUpstream([echo])
    await registerTools(folder.path, { fuel: { url: fuel.url, required: true } })
    await fuel[Symbol.asyncDispose]()

    const platform = await startProcess(folder.path, { ...settings, QM_IGNORE_REQUIRED: 'true' })
    const [tool] = await toolsOf(platform)
    await ask(platform, 'PATCH', `/tools/${tool?.id}`, { mcp: { url: fuel.url, required: false } })
    await platform.stop('SIGTERM')
    await using next = await startProcess(folder.path, settings)

    expect(await healthOf(next)).toEqual(['unknown'])
  })
})

test('a key that is bound to a project cannot make its server required for the whole platform', async () => {
  await using platform = await startPlatform()
  const project = (await platform.get('/projects')).body.data[0].id
  const key = await platform.keyFor([{ effect: 'Allow', action: ['tools:*'] }], { project_id: project })
  const tool = (required: boolean) => ({
    name: 'fuel',
    type: 'mcp',
    mcp: { url: 'http://127.0.0.1:1024/mcp', required },
  })

  const refused = await platform.post('/tools', tool(true), { key })
  const taken = await platform.post('/tools', tool(false), { key })
  const changed = await platform.patch(`/tools/${taken.body.id}`, { mcp: tool(true).mcp }, { key })

  expect([refused.status, taken.status, changed.status]).toEqual([400, 201, 400])
  expect(refused.body.error.details.errors).toEqual([
    { path: 'mcp.required', message: expect.stringContaining('not bound to a project') },
  ])
})
