import { spawn } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { startPlatform, startService } from './kit.ts'
import { run, startProcess, temporaryFolder } from './process.ts'

const call = (url: string, path: string, key: string, init: RequestInit = {}) =>
  fetch(`${url}/api/v1${path}`, {
    ...init,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })

describe('a first start', () => {
  test('makes a project and an admin key, prints the key once, and is healthy', async () => {
    await using folder = await temporaryFolder()
    const first = await startProcess(folder.path)
    const key = /sk_[A-Za-z0-9]+/.exec(first.output())?.[0] ?? ''

    const health = await fetch(`${first.url}/health`)
    const projects = await (await call(first.url, '/projects', key)).json()
    const ended = await first.stop('SIGTERM')
    await using second = await startProcess(folder.path)

    expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }])
    expect(projects).toMatchObject({ total: 1, data: [{ name: 'default' }] })
    expect(ended).toBe(0)
    expect(second.output()).not.toMatch(/sk_/)
    expect((await call(second.url, '/projects', key)).status).toBe(200)
    expect((await stat(folder.path)).mode & 0o077).toBe(0)
  })

  test('takes the operator’s admin key, and another one replaces it', async () => {
    await using folder = await temporaryFolder()
    const first = await startProcess(folder.path, { QM_ADMIN_KEY: 'sk_first' })
    expect((await call(first.url, '/projects', 'sk_first')).status).toBe(200)
    expect(first.output()).not.toContain('sk_')
    await first.stop('SIGTERM')

    await using second = await startProcess(folder.path, { QM_ADMIN_KEY: 'sk_second' })

    expect((await call(second.url, '/projects', 'sk_second')).status).toBe(200)
    expect((await call(second.url, '/projects', 'sk_first')).status).toBe(401)
  })
})

describe('a start that cannot be', () => {
  test('on a folder that another process has is refused, in one line', async () => {
    await using folder = await temporaryFolder()
    await using first = await startProcess(folder.path)

    const second = await run(['up', '--port', '0', '--data', folder.path])

    expect(second.code).toBe(1)
    expect(second.output.trim().split('\n')).toHaveLength(1)
    expect(second.output).toContain(`in use by another Quartermaster (process ${first.child.pid})`)
    expect((await fetch(`${first.url}/health`)).status).toBe(200)
  })

  test('on a folder that a newer version wrote is refused, and changes nothing', async () => {
    await using folder = await temporaryFolder()
    await (await startProcess(folder.path)).stop('SIGTERM')
    const database = new DatabaseSync(`${folder.path}/quartermaster.db`)
    database.exec(`insert into kysely_migration (name, timestamp) values ('2099-01-01-later', '')`)
    database.close()

    const { code, output } = await run(['up', '--port', '0', '--data', folder.path])

    expect(code).toBe(1)
    expect(output).toContain('written by a newer version')
    expect(output).not.toMatch(/\n\s+at /)
  })

  test.each([
    [['up', '--port', 'many'], {}, '--port'],
    [['up', '--prot', '1'], {}, '--prot'],
    [['up', '--port', '0', '--host', '203.0.113.5'], {}, 'Cannot listen on 203.0.113.5'],
    [['up', '--port', '0', '--data', '/dev/null'], {}, '/dev/null'],
    [['up'], { QM_BODY_LIMIT: 'big' }, 'QM_BODY_LIMIT'],
    [['up', '--port', '0'], { QM_EGRESS_ALLOW: 'everything' }, 'everything'],
    [['up', '--port', '0'], { DATABASE_URL: 'postgres://127.0.0.1:1/none' }, 'PostgreSQL'],
  ])('%j %j says what is wrong', async (args, environment, word) => {
    await using folder = await temporaryFolder()

    const { code, output } = await run(args, { QM_DATA: folder.path, ...(environment as Record<string, string>) })

    expect(code).toBe(1)
    expect(output).toContain(word)
    expect(output).not.toMatch(/\n\s+at /)
  })
})

describe('stopping', () => {
  test('lets calls in flight finish, takes no new work, and exits with 0', async () => {
    let release = () => {}
    await using service = await startService(() => new Promise((resolve) => (release = () => resolve(undefined))))
    await using folder = await temporaryFolder()
    await using running = await startProcess(folder.path, { QM_ADMIN_KEY: 'sk_test' })
    const tool = { name: 'slow', execute: { url: service.url }, parameters: {} }
    const { id } = (await (
      await call(running.url, '/tools', 'sk_test', { method: 'POST', body: JSON.stringify(tool) })
    ).json()) as { id: string }
    const inFlight = call(running.url, `/tools/${id}/call`, 'sk_test', { method: 'POST', body: '{}' })
    while (service.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))

    const ended = running.stop('SIGTERM')
    await new Promise((resolve) => setTimeout(resolve, 100))
    const late = await call(running.url, '/tools', 'sk_test').catch(() => 'refused')
    release()

    expect(late === 'refused' || (late as Response).status === 503).toBe(true)
    expect((await inFlight).status).toBe(200)
    expect(await ended).toBe(0)
  })
})

test('a platform that npm started stops when npm is stopped', async () => {
  await using folder = await temporaryFolder()
  const npm = spawn('npm', ['start'], {
    cwd: new URL('..', import.meta.url).pathname,
    env: { ...process.env, QM_DATA: folder.path, QM_PORT: '0', QM_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const url = await new Promise<string>((resolve) => {
    let output = ''
    npm.stdout.on('data', (chunk) => {
      output += chunk
      const ready = /ready at (http:\S+)/.exec(output)?.[1]
      if (ready) resolve(ready)
    })
  })
  const isUp = () =>
    fetch(`${url}/health`).then(
      () => true,
      () => false,
    )
  expect(await isUp()).toBe(true)

  npm.kill('SIGTERM')

  await expect.poll(isUp, { timeout: 10_000 }).toBe(false)
})

describe('watching over it', () => {
  test('/ready says whether it takes work, /metrics counts what it did', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id } = (await platform.post('/tools', { name: 'a', execute: { url: service.url }, parameters: {} })).body
    await platform.post(`/tools/${id}/call`, {})

    const metrics = await (await platform.fetch('/metrics')).text()

    expect((await platform.fetch('/ready')).status).toBe(200)
    expect(metrics).toContain('quartermaster_calls_total{type="http",status="success"} 1')
    expect(metrics).toContain('quartermaster_http_requests_total{operation="call-tool",status="200"} 1')
    expect(metrics).toContain('quartermaster_call_duration_seconds_bucket')
    platform.platform.drain()
    expect((await platform.fetch('/ready')).status).toBe(503)
    expect((await platform.get('/tools')).status).toBe(503)
    expect((await platform.fetch('/health')).status).toBe(200)
  })
})
