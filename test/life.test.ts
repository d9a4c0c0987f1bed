import { spawn } from 'node:child_process'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../src/config.ts'
import { createPlatform } from '../src/main.ts'
import { listen } from '../src/server/listen.ts'
import { openStore } from '../src/store/store.ts'
import { gated } from './approving.ts'
import { runCli } from './clients.ts'
import { adminKey, startPlatform, startService } from './kit.ts'
import { run, startProcess, temporaryFolder } from './process.ts'

const call = (url: string, path: string, key: string, init: RequestInit = {}) =>
  fetch(`${url}/api/v1${path}`, {
    ...init,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })

describe('a first start', () => {
  test('creates a project and an admin key, prints the key once, and reports healthy', async () => {
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

  test('uses the admin key from QM_ADMIN_KEY, and a different value replaces it', async () => {
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

describe('a first start that was interrupted', () => {
  const start = (data: string) => createPlatform(readConfig({}, { QM_DATA: data, QM_LOG_LEVEL: 'silent' }))

  test('before a key was created is completed by the next start', async () => {
    await using folder = await temporaryFolder()
    const store = await openStore({ data: folder.path })
    await store.settings.claim('first_start', new Date().toISOString())
    await store.close()

    const platform = await start(folder.path)
    const projects = await platform.store.projects.count()
    await platform.close()

    expect(platform.adminKey).toMatch(/^sk_/)
    expect(projects).toBe(1)
  })

  test('before the key was shown is followed by a new key, and not once it was shown', async () => {
    await using folder = await temporaryFolder()
    const unseen = await start(folder.path)
    await unseen.close()
    const seen = await start(folder.path)
    const authenticate = (key = '') =>
      seen.fetch('http://localhost/api/v1/projects', { headers: { authorization: `Bearer ${key}` } })
    const statuses = [(await authenticate(unseen.adminKey)).status, (await authenticate(seen.adminKey)).status]
    await seen.adminKeyShown()
    await seen.close()
    const third = await start(folder.path)
    await third.close()

    expect(statuses).toEqual([401, 200])
    expect(third.adminKey).toBeUndefined()
  })
})

describe('shutdown', () => {
  test.each([
    ['its headers', 'POST /api/v1/tools/tool_1/call HTTP/1.1\r\nHost: x\r\n'],
    [
      'its body',
      `POST /api/v1/tools/tool_1/call HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${adminKey}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"in`,
    ],
  ])('does not wait for a client that has sent only half of %s', async (_, half) => {
    await using platform = await startPlatform()
    const server = await listen(platform.platform, '127.0.0.1', 0)
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.on('error', () => {})
    await new Promise<void>((resolve) => socket.write(half, () => resolve()))

    const closed = server.close(600).then(() => 'closed')

    expect(await closed).toBe('closed')
  })
})

test('a client that disconnects in the middle of its body is not counted as a server error', async () => {
  await using platform = await startPlatform()
  const server = await listen(platform.platform, '127.0.0.1', 0)
  for (const type of ['application/json', 'application/json; way=long']) {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    const head = `POST /api/v1/tools/tool_1/call HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${adminKey}\r\nContent-Type: ${type}\r\nContent-Length: 100\r\n\r\n{"in`
    await new Promise<void>((resolve) => socket.write(head, () => resolve()))
    // Long enough for the platform to read the first half. Otherwise no request would be counted.
    await new Promise((resolve) => setTimeout(resolve, 200))
    socket.resetAndDestroy()
  }
  const answered = async () =>
    (await (await platform.fetch('/metrics')).text()).match(/.*call-tool.*/g)?.join('\n') ?? ''

  // The fast path counts a request only once its body is complete.
  await expect.poll(answered, { timeout: 10_000 }).toMatch(/400.* 1$/m)
  expect(await answered()).not.toContain('500')
  await server.close(0)
})

test('the URL of a platform that listens on all interfaces can be opened', async () => {
  await using platform = await startPlatform()
  const server = await listen(platform.platform, '0.0.0.0', 0)

  const { status } = await fetch(`${server.url}/health`)

  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(status).toBe(200)
  await server.close(0)
})

describe('a start that fails', () => {
  test.each(['quartermaster.db', 'lock.db'])(
    'because %s is damaged prints the reason, without a stack trace',
    async (name) => {
      await using folder = await temporaryFolder()
      await writeFile(`${folder.path}/${name}`, 'this is not a database, and never was one. '.repeat(100))

      const { code, output } = await run(['up', '--port', '0', '--data', folder.path])

      expect(code).toBe(1)
      expect(output).toContain(`${name} cannot be used: file is not a database`)
      expect(output).not.toMatch(/\n\s+at /)
    },
  )

  test('because tables are damaged prints the reason, without a stack trace', async () => {
    await using folder = await temporaryFolder()
    await (await startProcess(folder.path)).stop('SIGTERM')
    const file = `${folder.path}/quartermaster.db`
    const bytes = await readFile(file)
    await writeFile(file, bytes.fill(0x5a, 4096))

    const { code, output } = await run(['up', '--port', '0', '--data', folder.path])

    expect(code).toBe(1)
    expect(output).toContain('cannot be used: ')
    expect(output).not.toMatch(/\n\s+at /)
  })

  test('because another process uses the data folder prints one line', async () => {
    await using folder = await temporaryFolder()
    await using first = await startProcess(folder.path)

    const second = await run(['up', '--port', '0', '--data', folder.path])

    expect(second.code).toBe(1)
    expect(second.output.trim().split('\n')).toHaveLength(1)
    expect(second.output).toContain(`in use by another Quartermaster (process ${first.child.pid})`)
    expect((await fetch(`${first.url}/health`)).status).toBe(200)
  })

  test('because a newer version wrote the data folder prints the reason, without a stack trace', async () => {
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
    [['--port', 'many'], {}, '--port: must be a whole number from 0 to 65535.'],
    [['--port', '70000'], {}, '--port: must be a whole number from 0 to 65535.'],
    [['--port'], {}, '--port needs a value.'],
    [['--prot', '1'], {}, 'Unknown flag --prot. Did you mean --port?'],
    [['--sample=yes'], {}, '--sample does not take a value.'],
    [['now'], {}, 'Unexpected argument "now".'],
    [[], { QM_BODY_LIMIT: 'big' }, 'QM_BODY_LIMIT: must be a whole number'],
    [['--port', '0'], { QM_EGRESS_ALLOW: 'everything' }, 'QM_EGRESS_ALLOW: "everything" is not an address range'],
    [['--port', '0'], { DATABASE_URL: 'mysql://x' }, 'DATABASE_URL: must be a PostgreSQL URL'],
  ])('exits with 2 for an invalid setting: %j %j', async (args, environment, message) => {
    await using folder = await temporaryFolder()

    const { code, stderr } = await runCli(['up', ...args], { QM_DATA: folder.path, ...environment })

    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })

  test.each([
    [2, ['up', '--port', 'many'], {}, '--port: must be a whole number from 0 to 65535.'],
    [1, ['up', '--port', '0', '--host', '203.0.113.5'], {}, 'Cannot listen on 203.0.113.5'],
    [1, ['up', '--port', '0', '--data', '/dev/null'], {}, '/dev/null'],
    [1, ['up', '--port', '0'], { DATABASE_URL: 'postgres://127.0.0.1:1/none' }, 'PostgreSQL'],
  ])('exits with %i and prints the reason: %j %j', async (expected, args, environment, words) => {
    await using folder = await temporaryFolder()

    const { code, output } = await run(args, { QM_DATA: folder.path, ...(environment as Record<string, string>) })

    expect(code).toBe(expected)
    expect(output).toContain(words)
    expect(output).not.toMatch(/\n\s+at /)
  })
})

test('unknown environment variables with the prefix QM_ are reported at startup, with suggestions', async () => {
  await using folder = await temporaryFolder()
  const environment = { QM_TYPO: '1', QM_EGRES_ALLOW: 'private', QM_KEY: 'sk_x', QM_URL: 'http://127.0.0.1:1' }

  const { output } = await run(['up', '--port', '0', '--host', '203.0.113.5', '--data', folder.path], environment)

  expect(output.match(/is set, but there is no such setting/g)).toHaveLength(2)
  expect(output).toContain('QM_TYPO is set')
  expect(output).toMatch(/QM_EGRES_ALLOW is set, .* Did you mean QM_EGRESS_ALLOW\?/)
})

describe('SIGTERM', () => {
  test('lets calls in flight finish, refuses new requests, and exits with 0', async () => {
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
    const late = () =>
      call(running.url, '/tools', 'sk_test').then(
        ({ status }) => status,
        () => 'refused',
      )
    await expect.poll(late, { timeout: 5000 }).not.toBe(200)
    expect(['refused', 503]).toContain(await late())
    release()

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

describe('monitoring', () => {
  test('/ready reports whether requests are accepted, and /metrics counts them', async () => {
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

  test('/metrics counts pending approvals, decisions by verdict, and waiting times', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller, reviewer } = await gated(platform, service.url)
    const metrics = async () => (await platform.fetch('/metrics')).text()
    const ask = async (city: string) => {
      const { body } = await platform.post(`/tools/${id}/call`, { input: { city }, wait: false }, { key: caller })
      return `/approvals/${body.approval_id}`
    }
    const asked = [await ask('a'), await ask('b'), await ask('c'), await ask('d')]
    await platform.patch(`/tools/${id}`, { approval_timeout_seconds: 1 })
    await ask('e')

    await platform.post(`${asked[0]}/approve`, {}, { key: reviewer })
    await platform.post(`${asked[1]}/reject`, {}, { key: reviewer })
    await platform.post(`${asked[2]}/cancel`, {}, { key: caller })

    await expect
      .poll(metrics, { timeout: 10_000 })
      .toContain('quartermaster_approvals_decided_total{verdict="expired"} 1\n')
    const text = await metrics()
    expect(text).toContain('quartermaster_approvals_pending 1\n')
    for (const verdict of ['approved', 'rejected', 'cancelled']) {
      expect(text).toContain(`quartermaster_approvals_decided_total{verdict="${verdict}"} 1\n`)
      expect(text).toContain(`quartermaster_approval_wait_seconds_count{verdict="${verdict}"} 1\n`)
    }
  })

  test('/metrics counts delivered, failed and pending webhook deliveries', async () => {
    await using service = await startService(({ url }) =>
      url === '/gone' ? { status: 410 } : url === '/down' ? { status: 503 } : undefined,
    )
    await using platform = await startPlatform()
    const hook = async (path: string) => {
      const events = ['generation.completed']
      return (await platform.post('/webhooks', { name: path, url: service.url + path, events })).body.id
    }
    for (const path of ['/well', '/gone', '/down']) await hook(path)
    const metrics = async () => (await platform.fetch('/metrics')).text()

    await platform.platform.webhooks.publish(platform.projectId, 'generation.completed', {})

    const counted = ['_total{status="delivered"} 1', '_total{status="failed"} 1', '_pending 1']
    const missing = async () => {
      const text = await metrics()
      return counted.filter((line) => !text.includes(`quartermaster_webhook_deliveries${line}\n`))
    }
    await expect.poll(missing, { timeout: 10_000 }).toEqual([])
  })

  test('/metrics counts generations: started, ended by status, durations, token usage, running', async () => {
    await using platform = await startPlatform()
    const usage = { input_tokens: 30, output_tokens: 7 }
    const steps = [
      { when: { last_user: 'wait' }, answer: { text: 'late', delay_ms: 20_000 } },
      { when: { last_user: 'fail' }, error: { status: 401 } },
      { when: {}, answer: { text: 'hi', usage } },
    ]
    const provider = await platform.post('/ai-providers', { name: 'p', type: 'replay', script: { steps } })
    const agent = await platform.post('/agents', { name: 'a', ai_provider_id: provider.body.id })
    const generate = (prompt: string, more: object = {}) =>
      platform.post(`/agents/${agent.body.id}/generate`, { prompt, ...more })
    const metrics = async () => (await platform.fetch('/metrics')).text()

    await generate('hello')
    await generate('fail')
    const { id } = (await generate('wait', { async: true })).body
    await expect.poll(metrics, { timeout: 5000 }).toContain('quartermaster_generations_running 1\n')
    await platform.post(`/generations/${id}/cancel`)

    await expect.poll(metrics, { timeout: 5000 }).toContain('quartermaster_generations_running 0\n')
    const text = await metrics()
    expect(text).toContain('quartermaster_generations_started_total 3\n')
    for (const status of ['completed', 'failed', 'cancelled']) {
      expect(text).toContain(`quartermaster_generations_ended_total{status="${status}"} 1\n`)
      expect(text).toContain(`quartermaster_generation_duration_seconds_count{status="${status}"} 1\n`)
    }
    expect(text).toContain('quartermaster_generation_tokens_total{direction="input"} 30\n')
    expect(text).toContain('quartermaster_generation_tokens_total{direction="output"} 7\n')
  })
})
