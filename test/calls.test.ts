import { describe, expect, test } from 'vitest'
import { engines, freshDatabase } from './engines.ts'
import { adminKey, startPlatform, startService, type TestPlatform } from './kit.ts'
import { startUpstream } from './upstream.ts'

const anything = { type: 'object' }

const register = async (platform: TestPlatform, url: string, fields: object = {}): Promise<string> =>
  (await platform.post('/tools', { name: 'echo', execute: { url }, parameters: anything, ...fields })).body.id

const onlyCall = async (platform: TestPlatform) => {
  const { data, total } = (await platform.get('/calls')).body
  expect(total).toBe(1)
  return (await platform.get(`/calls/${data[0].id}`)).body
}

describe('the call log', () => {
  test('records who called what, through which surface and client, with input, output and duration', async () => {
    await using service = await startService(() => ({ body: '{"temp":21}' }))
    await using platform = await startPlatform()
    const id = await register(platform, service.url)

    await platform.post(
      `/tools/${id}/call`,
      { input: { city: 'Recife' } },
      { headers: { 'user-agent': 'acme/1.2 (x)' } },
    )

    expect(await onlyCall(platform)).toMatchObject({
      id: expect.stringMatching(/^call_/),
      project_id: platform.projectId,
      parent_call_id: null,
      generation_id: null,
      agent_id: null,
      tool_id: id,
      tool: 'echo',
      app: 'tools',
      action: 'tools:echo',
      status: 'success',
      principal: { kind: 'api_key', id: 'key_environment' },
      surface: 'rest',
      client: { name: 'acme', version: '1.2' },
      request: { city: 'Recife' },
      request_truncated: false,
      response: { temp: 21 },
      response_truncated: false,
      error: null,
      duration_ms: expect.any(Number),
      completed_at: expect.any(String),
    })
  })

  test.each(['true', 'false'])(
    'is written before the tool runs, QM_SYNC_CALLS=%s: a tool finds its own call pending',
    async (sync) => {
      let seen: unknown
      const platformHolder: { platform?: TestPlatform } = {}
      await using service = await startService(async () => {
        seen = (await platformHolder.platform?.get('/calls'))?.body.data
        return undefined
      })
      await using platform = await startPlatform({ QM_SYNC_CALLS: sync })
      platformHolder.platform = platform
      const id = await register(platform, service.url)

      await platform.post(`/tools/${id}/call`, { input: {} })

      expect(seen).toMatchObject([{ tool_id: id, status: 'pending', completed_at: null }])
      expect((await onlyCall(platform)).status).toBe('success')
    },
  )

  test('distinguishes how calls end', async () => {
    await using service = await startService(() => ({ status: 500, body: 'no' }))
    await using platform = await startPlatform()
    const id = await register(platform, service.url, { parameters: { type: 'object', required: ['city'] } })
    const gated = await register(platform, service.url, {
      name: 'gated',
      auto_approve: false,
      approval_timeout_seconds: 1,
    })
    const local = (await platform.post('/tools', { name: 'local', type: 'client', parameters: anything })).body.id
    const stranger = await platform.keyFor([{ effect: 'Allow', action: ['tools:ListTools'] }])

    await platform.post(`/tools/${id}/call`, { input: { city: 'x' } })
    await platform.post(`/tools/${id}/call`, { input: {} })
    await platform.post(`/tools/${id}/call`, { input: { city: 'x' } }, { key: stranger })
    await platform.post(`/tools/${gated}/call`, { input: {} })
    await platform.post(`/tools/${local}/call`, { input: {} })
    await platform.post('/tools/tool_none/call', { input: {} })

    const { data } = (await platform.get('/calls')).body
    expect(
      data.map(({ status, error }: { status: string; error: { code: string } }) => [status, error.code]).reverse(),
    ).toEqual([
      ['execution_error', 'TOOL_HTTP_ERROR'],
      ['validation_error', 'VALIDATION_FAILED'],
      ['permission_denied', 'FORBIDDEN'],
      ['rejected', 'APPROVAL_EXPIRED'],
      ['validation_error', 'TOOL_CALL_NOT_SUPPORTED'],
      ['validation_error', 'RESOURCE_NOT_FOUND'],
    ])
    expect(service.received).toHaveLength(1)
  })

  test('includes attempts with an unknown tool or action, or invalid input (S0.47)', async () => {
    await using upstream = await startUpstream()
    await using platform = await startPlatform()
    const id = (await platform.post('/tools', { name: 'up', type: 'mcp', mcp: { url: upstream.url } })).body.id
    const key = await platform.keyFor([{ effect: 'Allow', action: ['tools:CallTool'] }], {
      project_id: platform.projectId,
    })
    const theirs = (await platform.post('/projects', { name: 'theirs' })).body.id
    const secret = { name: 'hush', project_id: theirs, execute: { url: 'http://127.0.0.1:1' }, parameters: anything }
    const foreign = (await platform.post('/tools', secret)).body.id

    const answers = [
      await platform.post(`/tools/${id}/call`, { action: 'no_such', input: { a: 1 } }, { key }),
      await platform.post(`/tools/${id}/call`, { action: 'echo', input: 'not JSON' }, { key }),
      await platform.post(`/tools/${id}/call`, { action: 'echo', input: [1] }, { key }),
      await platform.post('/tools/tool_none/call', { input: { b: 2 } }, { key }),
      await platform.post(`/tools/${foreign}/call`, { input: 'not JSON' }, { key }),
    ]

    const { data } = (await platform.get(`/calls?project_id=${platform.projectId}`)).body
    const whole = data.map(async (call: { id: string }) => (await platform.get(`/calls/${call.id}`)).body)
    const records = (await Promise.all(whole)).reverse()
    expect(records.map(({ error }) => error.message)).toEqual(answers.map(({ body }) => body.error.message))
    const known = { tool_id: id, tool: 'up', app: 'up', action: null, status: 'validation_error', surface: 'rest' }
    const unknown = { tool: null, app: 'quartermaster', action: 'quartermaster:UNKNOWN_TOOL' }
    expect(records).toMatchObject([
      { ...known, request: { a: 1 } },
      { ...known, request: 'not JSON' },
      { ...known, request: [1] },
      { tool_id: 'tool_none', tool: null, request: { b: 2 }, error: { code: 'RESOURCE_NOT_FOUND' } },
      { ...unknown, tool_id: null, request: 'not JSON' },
    ])
    expect((await platform.get(`/calls?project_id=${theirs}`)).body.total).toBe(0)
    expect(upstream.calls).toEqual([])
  })

  test('keeps at most 32 KB of the request and 64 KB of the response, and marks truncation', async () => {
    await using service = await startService(() => ({ body: JSON.stringify('é'.repeat(50_000)) }))
    await using platform = await startPlatform()
    const id = await register(platform, service.url)

    const { body } = await platform.post(`/tools/${id}/call`, { input: { text: 'é'.repeat(20_000) } })

    const call = await onlyCall(platform)
    expect(body).toHaveLength(50_000)
    expect(call).toMatchObject({ request_truncated: true, response_truncated: true })
    expect(Buffer.byteLength(call.request)).toBeGreaterThan(32 * 1024 - 4)
    expect(Buffer.byteLength(call.request)).toBeLessThanOrEqual(32 * 1024)
    expect(Buffer.byteLength(call.response)).toBeLessThanOrEqual(64 * 1024)
    expect(call.request).not.toContain('\uFFFD')
  })

  test('contains no secrets: no secret-sounding fields, API keys or header values of the tool', async () => {
    await using service = await startService(({ headers }) => ({
      body: JSON.stringify({
        echo: headers.authorization,
        access_token: 'tok-1',
        nested: { Password: 'p' },
        text: `key ${adminKey}0123456789abcdefghij`,
      }),
    }))
    await using platform = await startPlatform()
    const id = await register(platform, service.url, {
      execute: { url: service.url, headers: { Authorization: 'Bearer the-tools-own' } },
    })

    const { body } = await platform.post(`/tools/${id}/call`, {
      input: { api_key: 'k-1', user: 'ana', 'Set-Cookie': 'c' },
    })

    const call = await onlyCall(platform)
    expect(body.echo).toBe('[redacted]')
    expect(call.request).toEqual({ api_key: '[redacted]', user: 'ana', 'Set-Cookie': '[redacted]' })
    expect(JSON.stringify(call)).not.toMatch(/the-tools-own|tok-1|"p"|k-1/)
  })

  test('links a nested call to its parent', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const inner = await register(platform, service.url)
    const outer = (await platform.post('/tools', { name: 'outer', type: 'platform', actions: ['call-tool'] })).body.id

    const { body } = await platform.post(`/tools/${outer}/call`, {
      action: 'call-tool',
      input: { tool_id: inner, input: { a: 1 } },
    })

    const [second, first] = (await platform.get('/calls')).body.data
    expect(body).toEqual({ ok: true })
    expect(first).toMatchObject({ tool: 'outer', action: 'outer:call-tool', parent_call_id: null })
    expect(second).toMatchObject({ tool: 'echo', parent_call_id: first.id })
  })

  test('can be filtered by status, app, tool, action, principal, surface and time', async () => {
    await using service = await startService(({ url }) => (url === '/bad' ? { status: 500 } : undefined))
    await using platform = await startPlatform()
    const good = await register(platform, service.url, { name: 'good', app: 'crm' })
    const bad = await register(platform, `${service.url}/bad`, { name: 'bad' })
    const key = await platform.keyFor([{ effect: 'Allow', action: ['*'] }])
    const principal = (await platform.get('/api-keys')).body.data.find(
      ({ name }: { name: string }) => name === 'of a test',
    ).id
    const before = new Date().toISOString()
    await new Promise((resolve) => setTimeout(resolve, 5))
    await platform.post(`/tools/${good}/call`, {}, { headers: { 'x-quartermaster-surface': 'cli' } })
    await platform.post(`/tools/${bad}/call`, {}, { key })
    await new Promise((resolve) => setTimeout(resolve, 5))
    const after = new Date().toISOString()
    const tools = async (query: string) =>
      (await platform.get(`/calls?${query}`)).body.data.map(({ tool }: { tool: string }) => tool)

    expect(await tools('status=success')).toEqual(['good'])
    expect(await tools('app=crm')).toEqual(['good'])
    expect(await tools(`tool_id=${bad}`)).toEqual(['bad'])
    expect(await tools('tool=good')).toEqual(['good'])
    expect(await tools('action=tools:bad')).toEqual(['bad'])
    expect(await tools(`principal_id=${principal}`)).toEqual(['bad'])
    expect(await tools('surface=cli')).toEqual(['good'])
    expect(await tools(`from=${before}&to=${after}`)).toEqual(['bad', 'good'])
    expect(await tools(`to=${before}`)).toEqual([])
    expect(await tools(`from=${after}`)).toEqual([])
    expect(await tools('limit=1&offset=1')).toEqual(['good'])
    expect((await platform.get('/calls?status=odd')).status).toBe(400)
    const vague = await platform.get('/calls?from=yesterday')
    expect(vague.status).toBe(400)
    expect(vague.body.error.message).toContain('from: must be a time such as 2026-01-31T09:30:00Z')
  })

  test('can be streamed by keys with permission, and includes only the calls they may see', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const id = await register(platform, service.url)
    const other = await register(platform, service.url, { name: 'other' })
    const blind = await platform.keyFor([{ effect: 'Allow', action: ['tools:*'] }])
    const open = async (key: string, query = '') => {
      const response = await platform.fetch(`/api/v1/calls/stream${query}`, {
        headers: { authorization: `Bearer ${key}` },
      })
      expect(response.headers.get('content-type')).toBe('text/event-stream')
      const reader = (response.body as ReadableStream<Uint8Array>).getReader()
      let text = ''
      return {
        cancel: () => reader.cancel(),
        async until(pattern: RegExp) {
          while (!pattern.test(text)) {
            const { value, done } = await reader.read()
            if (done) break
            text += Buffer.from(value).toString()
          }
          return text
        },
        get text() {
          return text
        },
      }
    }
    const watcher = await open(adminKey, `?tool_id=${id}`)
    const stranger = await open(blind)
    await Promise.all([watcher.until(/listening/), stranger.until(/listening/)])

    await platform.post(`/tools/${other}/call`, {})
    await platform.post(`/tools/${id}/call`, { input: { a: 1 } })

    const text = await watcher.until(/call\.ended/)
    const events = [...text.matchAll(/event: (.*)\ndata: (.*)\n/g)].map(([, name, data]) => [
      name,
      JSON.parse(data ?? '').status,
    ])
    expect(events).toEqual([
      ['call.begun', 'pending'],
      ['call.ended', 'success'],
    ])
    expect(text).not.toContain('other')
    expect(stranger.text).not.toContain('call_')
    await Promise.all([watcher.cancel(), stranger.cancel()])
  })

  test('can be streamed and disconnected while a call is in progress', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const id = await register(platform, service.url)

    for (let round = 0; round < 10; round++) {
      const response = await platform.fetch('/api/v1/calls/stream', {
        headers: { authorization: `Bearer ${adminKey}` },
      })
      const call = platform.post(`/tools/${id}/call`, {})
      await new Promise((resolve) => setTimeout(resolve, round % 4))
      await response.body?.cancel()
      expect((await call).status).toBe(200)
    }
  })

  test('accepts a response of any depth', async () => {
    const body = `${'['.repeat(20_000)}{"token":1}${']'.repeat(20_000)}`
    await using service = await startService(() => ({ body }))
    await using platform = await startPlatform()
    const id = await register(platform, service.url)

    expect((await platform.post(`/tools/${id}/call`, {})).status).toBe(200)
  })

  test('keeps the calls of a deleted tool', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const id = await register(platform, service.url)
    await platform.post(`/tools/${id}/call`, {})

    await platform.delete(`/tools/${id}`)

    expect(await onlyCall(platform)).toMatchObject({ tool: 'echo', status: 'success' })
    expect((await platform.post(`/tools/${id}/call`, {})).status).toBe(404)
  })
})

test('a caller can identify itself as the CLI or the SDK, and as no other surface', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const id = await register(platform, service.url)
  const surfaces = []
  for (const named of ['cli', 'sdk', 'mcp', 'agent', 'workflow', 'web']) {
    await platform.post(`/tools/${id}/call`, {}, { headers: { 'x-quartermaster-surface': named } })
    surfaces.push((await platform.get('/calls?limit=1')).body.data[0].surface)
  }

  expect(surfaces).toEqual(['cli', 'sdk', 'rest', 'rest', 'rest', 'rest'])
})

describe.each(engines)('a stream of calls on %s', (engine) => {
  const start = async () => {
    const { options, remove } = await freshDatabase(engine)
    const environment = { ...(options.databaseUrl && { DATABASE_URL: options.databaseUrl }) }
    const here = await startPlatform(environment)
    // On an engine that several processes can share, another process makes the change.
    const there = options.databaseUrl ? await startPlatform(environment) : here
    return {
      here,
      there,
      async [Symbol.asyncDispose]() {
        await here[Symbol.asyncDispose]()
        if (there !== here) await there[Symbol.asyncDispose]()
        await remove()
      },
    }
  }
  const watch = async (platform: TestPlatform, key: string) => {
    const response = await platform.fetch('/api/v1/calls/stream', { headers: { authorization: `Bearer ${key}` } })
    expect(response.status).toBe(200)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    return async () => {
      for (;;) if ((await reader.read()).done) return 'ended'
    }
  }
  const allowCalls = [{ effect: 'Allow', action: ['calls:*'] }]

  test('ends when the key is revoked', async () => {
    await using platforms = await start()
    const { here, there } = platforms
    const key = await here.keyFor(allowCalls)
    const { id } = (await here.get('/api-keys')).body.data.find((one: { name: string }) => one.name === 'of a test')
    const ended = await watch(here, key)

    await there.delete(`/api-keys/${id}`)

    expect(await ended()).toBe('ended')
  })

  test('ends when the policies of the key change, so that permissions are checked again', async () => {
    await using platforms = await start()
    const { here, there } = platforms
    const key = await here.keyFor(allowCalls)
    const { id } = (await here.get('/access-policies')).body.data.find(
      (one: { name: string }) => one.name === 'of a test',
    )
    const ended = await watch(here, key)

    await there.patch(`/access-policies/${id}`, { document: { statement: [{ effect: 'Deny', action: ['*'] }] } })

    expect(await ended()).toBe('ended')
  })

  test('ends when the key expires', async () => {
    await using platforms = await start()
    const { here } = platforms
    const key = await here.keyFor(allowCalls, { expires_at: new Date(Date.now() + 1500).toISOString() })

    const ended = await watch(here, key)

    expect(await ended()).toBe('ended')
  })
})
