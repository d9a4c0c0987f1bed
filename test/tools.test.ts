import { describe, expect, test } from 'vitest'
import { lineageHeader } from '../src/http/lineage.ts'
import { listen } from '../src/server/listen.ts'
import { adminKey, startPlatform, startService, type TestPlatform } from './kit.ts'
import { type Running, startLegacyUpstream } from './legacy-upstream.ts'
import { startUpstream, type UpstreamTool } from './upstream.ts'

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

const weather = (url: string, fields: object = {}) => ({
  name: 'get-weather',
  type: 'http',
  description: 'Fetches current weather for a city',
  execute: { url: `${url}/v1/current?city={city}`, method: 'GET' },
  parameters: city,
  ...fields,
})

const register = async (platform: TestPlatform, tool: object): Promise<string> => {
  const { status, body } = await platform.post('/tools', tool)
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id
}

describe('a tool record', () => {
  test('has every field of the data model, in snake_case, with a tool_ id and ISO times (S2.3) (S2.4) (S2.17) (S2.18)', async () => {
    await using platform = await startPlatform()

    const { status, body } = await platform.post(
      '/tools',
      weather('http://127.0.0.1:1', { project_id: platform.projectId }),
    )

    expect(status).toBe(201)
    expect(body).toMatchObject({
      id: expect.stringMatching(/^tool_/),
      project_id: platform.projectId,
      name: 'get-weather',
      type: 'http',
      description: 'Fetches current weather for a city',
      parameters: city,
      execute: { url: 'http://127.0.0.1:1/v1/current?city={city}', method: 'GET' },
      mcp: null,
      actions: null,
      preset_parameters: null,
    })
    expect(new Date(body.created_at).toISOString()).toBe(body.created_at)
    expect(new Date(body.updated_at).toISOString()).toBe(body.updated_at)
  })

  test('belongs to a project and can be read, listed, changed and deleted (S2.1)', async () => {
    await using platform = await startPlatform()
    const id = await register(platform, weather('http://127.0.0.1:1'))

    expect((await platform.get(`/tools/${id}`)).body.name).toBe('get-weather')
    expect((await platform.get('/tools')).body).toMatchObject({ total: 1, limit: 50, offset: 0, data: [{ id }] })
    expect((await platform.patch(`/tools/${id}`, { description: null })).body.description).toBeNull()
    expect((await platform.delete(`/tools/${id}`)).status).toBe(204)
    expect((await platform.get(`/tools/${id}`)).status).toBe(404)
  })

  test('has the type http by default, and soat is an alias of platform (S2.2)', async () => {
    await using platform = await startPlatform()
    const { type: _, ...untyped } = weather('http://127.0.0.1:1')

    expect((await platform.post('/tools', untyped)).body.type).toBe('http')
    expect((await platform.post('/tools', { name: 'local', type: 'client', parameters: city })).body.type).toBe(
      'client',
    )
    expect((await platform.post('/tools', { name: 'odd', type: 'telnet' })).status).toBe(400)
  })

  test('is returned with the type that was sent, soat or platform, which are equivalent (S2.2)', async () => {
    await using platform = await startPlatform()
    const made = await platform.post('/tools', { name: 'docs', type: 'soat', actions: ['list-documents'] })
    await platform.post('/tools', { name: 'other', type: 'platform', actions: ['list-documents'] })
    const path = `/tools/${made.body.id}`
    const typesOf = async (filter: string) =>
      (await platform.get(`/tools?type=${filter}`)).body.data.map(({ type }: { type: string }) => type)

    expect(made.body).toMatchObject({ type: 'soat', app: 'docs' })
    expect(made.body).not.toHaveProperty('type_alias')
    expect((await platform.get(path)).body.type).toBe('soat')
    expect(await typesOf('soat')).toEqual(['soat', 'platform'])
    expect(await typesOf('platform')).toEqual(['soat', 'platform'])
    expect((await platform.patch(path, { description: 'Documents' })).body.type).toBe('soat')
    expect((await platform.post(`${path}/call`, { action: 'list-documents', input: {} })).status).toBe(200)
    expect((await platform.patch(path, { type: 'platform' })).body.type).toBe('platform')
    expect((await platform.patch(path, { type: 'soat' })).body.type).toBe('soat')
    const http = { type: 'http', actions: null, execute: { url: 'http://127.0.0.1:1' }, parameters: city }
    expect((await platform.patch(path, http)).body.type).toBe('http')
  })

  test('needs no description, but parameters and, for http, execute (S2.6) (S2.7) (S2.8)', async () => {
    await using platform = await startPlatform()
    const { description: _, ...undescribed } = weather('http://127.0.0.1:1')

    expect((await platform.post('/tools', undescribed)).body.description).toBeNull()
    const bare = await platform.post('/tools', { name: 'bare', type: 'http' })
    expect(bare.status).toBe(400)
    expect(bare.body.error.details.errors).toEqual([
      {
        path: 'parameters',
        message: 'is missing: http tools need it; for a tool without input, send {"type":"object","properties":{}}',
      },
      { path: 'execute', message: 'is missing: http tools need it' },
    ])
    expect((await platform.post('/tools', { name: 'bare', type: 'client' })).body.error.details.errors).toEqual([
      {
        path: 'parameters',
        message: 'is missing: client tools need it; for a tool without input, send {"type":"object","properties":{}}',
      },
    ])
  })

  test('of type platform needs actions that exist (S2.15) (S2.45)', async () => {
    await using platform = await startPlatform()

    const missing = await platform.post('/tools', { name: 'docs', type: 'soat' })
    const wrong = await platform.post('/tools', { name: 'docs', type: 'soat', actions: ['serch-documents'] })

    expect(missing.status).toBe(400)
    expect(wrong.status).toBe(400)
    expect(wrong.body.error.message).toContain('did you mean "search-documents"?')
    for (const action of ['get-document', 'search-documents', 'update-document', 'create-file']) {
      expect((await platform.post('/tools', { name: action, type: 'soat', actions: [action] })).status).toBe(201)
    }
  })

  test('accepts objects as JSON text, as the CLI sends them', async () => {
    await using platform = await startPlatform()

    const { status, body } = await platform.post('/tools', {
      name: 'as-text',
      parameters: JSON.stringify(city),
      execute: JSON.stringify({ url: 'http://127.0.0.1:1/' }),
      preset_parameters: '{"city":"Recife"}',
    })
    const broken = await platform.post('/tools', {
      name: 'broken',
      parameters: '{',
      execute: '{"url":"http://127.0.0.1:1/"}',
    })

    expect(status).toBe(201)
    expect(body).toMatchObject({ parameters: city, preset_parameters: { city: 'Recife' }, execute: { method: 'POST' } })
    expect(broken.status).toBe(400)
  })

  test('has a name that is unique in its app and accepted by all model providers', async () => {
    await using platform = await startPlatform()
    const other = await platform.post('/projects', { name: 'other' })
    const first = await register(platform, weather('http://127.0.0.1:1', { project_id: platform.projectId }))
    const second = await register(
      platform,
      weather('http://127.0.0.1:1', { project_id: platform.projectId, name: 'second' }),
    )

    const again = await platform.post('/tools', weather('http://127.0.0.1:1', { project_id: platform.projectId }))
    const renamed = await platform.patch(`/tools/${second}`, { name: 'get-weather' })
    const elsewhere = await platform.post('/tools', weather('http://127.0.0.1:1', { project_id: other.body.id }))

    expect(again).toMatchObject({ status: 409, body: { error: { code: 'NAME_TAKEN' } } })
    expect(renamed.status).toBe(409)
    expect(elsewhere.status).toBe(201)
    expect((await platform.patch(`/tools/${first}`, { name: 'get-weather' })).status).toBe(200)
    for (const name of ['', 'a b', 'é', 'x'.repeat(65), 'a/b']) {
      expect((await platform.post('/tools', weather('http://127.0.0.1:1', { name }))).status, name).toBe(400)
    }
  })

  test('is validated as a whole when it is changed', async () => {
    await using platform = await startPlatform()
    const id = await register(platform, weather('http://127.0.0.1:1'))

    const toClient = await platform.patch(`/tools/${id}`, { type: 'client' })
    const noSchema = await platform.patch(`/tools/${id}`, { parameters: null })
    const fine = await platform.patch(`/tools/${id}`, { type: 'client', execute: null })

    expect(toClient.body.error.details.errors).toEqual([
      { path: 'execute', message: 'is not used by client tools: leave it out' },
    ])
    expect(noSchema.status).toBe(400)
    expect(fine.body).toMatchObject({ type: 'client', execute: null, parameters: city })
  })

  test('is refused with an invalid schema, an invalid URL, or presets that do not match the schema', async () => {
    await using platform = await startPlatform()
    const errors = async (fields: object) =>
      (await platform.post('/tools', weather('http://127.0.0.1:1', fields))).body.error.details.errors

    expect(await errors({ parameters: { type: 'object', properties: { a: { type: 'strin' } } } })).toMatchObject([
      { path: 'parameters' },
    ])
    expect(await errors({ parameters: { type: 'string' } })).toMatchObject([{ path: 'parameters.type' }])
    expect(await errors({ parameters: { type: 'object', $ref: 'https://example.com/other.json' } })).toMatchObject([
      { path: 'parameters' },
    ])
    expect(await errors({ execute: { url: 'ftp://example.com/' } })).toMatchObject([{ path: 'execute.url' }])
    expect(await errors({ execute: { url: 'https://{city}.example.com/' } })).toMatchObject([{ path: 'execute.url' }])
    expect(await errors({ execute: { url: 'http:///{city}/x' } })).toMatchObject([{ path: 'execute.url' }])
    expect(await errors({ execute: { url: 'https://me:secret@example.com/' } })).toMatchObject([
      { path: 'execute.url' },
    ])
    expect(
      await errors({ execute: { url: 'https://example.com/', headers: { 'Content-Length': '3' } } }),
    ).toMatchObject([{ path: 'execute.headers.Content-Length' }])
    expect(await errors({ preset_parameters: { city: 7 } })).toMatchObject([{ path: 'preset_parameters.city' }])
  })
})

test('presets of a tool are visible only to keys that can change it, and its credentials to nobody', async () => {
  await using platform = await startPlatform()
  const execute = { url: 'http://127.0.0.1:1/', headers: { Authorization: 'Bearer of-the-tool' } }
  const id = await register(platform, weather('x', { execute, preset_parameters: { city: 'Recife' } }))
  const key = await platform.keyFor([{ effect: 'Allow', action: ['tools:GetTool', 'tools:ListTools'] }])

  const seen = [
    (await platform.get(`/tools/${id}`, { key })).body,
    (await platform.get('/tools', { key })).body.data[0],
  ]

  for (const tool of seen) {
    expect(tool).toMatchObject({ execute: { headers: { Authorization: '[hidden]' } }, preset_parameters: null })
  }
  expect((await platform.get(`/tools/${id}`)).body).toMatchObject({
    execute: { url: execute.url, headers: { Authorization: '[hidden]' } },
    preset_parameters: { city: 'Recife' },
  })
})

test('an asynchronous schema is refused, and a recursive one works', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const later = { type: 'object', $async: true, required: ['z'] }
  const tree = { type: 'object', properties: { child: { $ref: '#' }, n: { type: 'integer' } } }

  const refused = await platform.post('/tools', weather(service.url, { parameters: later }))
  const id = await register(platform, weather(service.url, { execute: { url: service.url }, parameters: tree }))
  const deep = await platform.post(`/tools/${id}/call`, { input: { child: { child: { n: 'x' } } } })

  expect(refused.status).toBe(400)
  expect(deep.body.error.details.errors).toEqual([{ path: 'child.child.n', message: 'must be of type integer' }])
})

describe('a tool that calls the platform recursively', () => {
  test('is stopped, and the call log has the parent of each call', async () => {
    await using platform = await startPlatform()
    const server = await listen(platform.platform, '127.0.0.1', 0)
    const id = await register(platform, {
      name: 'ouroboros',
      parameters: { type: 'object' },
      execute: { url: 'http://127.0.0.1:1', headers: { Authorization: `Bearer ${adminKey}` } },
    })
    const url = `${server.url}/api/v1/tools/${id}/call`
    await platform.patch(`/tools/${id}`, { execute: { url, headers: { Authorization: `Bearer ${adminKey}` } } })

    const outermost = await platform.post(`/tools/${id}/call`, { input: {} })
    const { data, total } = (await platform.get('/calls?limit=500')).body
    await server.close(0)

    expect(outermost.status).toBe(502)
    expect(total).toBe(12)
    const parents = new Set(data.map((call: { parent_call_id: string }) => call.parent_call_id))
    expect(parents.size).toBe(12)
    expect(data.filter((call: { error?: { code: string } }) => call.error?.code === 'CALL_TOO_DEEP')).toHaveLength(1)
  })

  test('is stopped if it calls an MCP endpoint', { timeout: 30_000 }, async () => {
    await using platform = await startPlatform()
    const server = await listen(platform.platform, '127.0.0.1', 0)
    const authorization = `Bearer ${adminKey}`
    const accept = 'application/json, text/event-stream'
    const payload = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ouroboros', arguments: {} } }
    await platform.post('/servers', { name: 'Direct', slug: 'direct', tool_names: 'original' })
    const id = await register(platform, {
      name: 'ouroboros',
      parameters: { type: 'object' },
      preset_parameters: payload,
      execute: { url: `${server.url}/mcp/direct`, headers: { authorization, accept } },
    })

    await platform.post(`/tools/${id}/call`, { input: {} })
    const { data, total } = (await platform.get('/calls?limit=500')).body
    await server.close(0)

    expect(total).toBe(12)
    expect(data.filter((call: { error?: { code: string } }) => call.error?.code === 'CALL_TOO_DEEP')).toHaveLength(1)
  })

  test('is stopped if its MCP server is the platform itself', { timeout: 30_000 }, async () => {
    await using platform = await startPlatform()
    const server = await listen(platform.platform, '127.0.0.1', 0)
    await platform.post('/servers', { name: 'Agent', slug: 'agent', agent_mode: true })
    const id = await register(platform, {
      name: 'mirror',
      type: 'mcp',
      mcp: { url: `${server.url}/mcp/agent`, headers: { Authorization: `Bearer ${adminKey}` } },
      preset_parameters: {
        application_slug: 'mirror',
        action_id: 'EXECUTE_ACTION',
        input_payload: {},
        type: 'action',
      },
    })

    await platform.post(`/tools/${id}/call`, { action: 'EXECUTE_ACTION', input: {} })
    const { data, total } = (await platform.get('/calls?limit=500')).body
    await server.close(0)

    expect(total).toBe(12)
    expect(data.filter((call: { error?: { code: string } }) => call.error?.code === 'CALL_TOO_DEEP')).toHaveLength(1)
  })

  test.each([
    ['the older SSE transport', 'again'],
    ['the newer protocol and a name that must be encoded', 'nochmals, für alle'],
  ])('is stopped if it goes through an MCP server with %s', { timeout: 30_000 }, async (way, action) => {
    await using platform = await startPlatform()
    const path = () => `/tools/${id}/call`
    // A server that forwards the lineage header of the call.
    const comeBack = async (lineage: unknown) => {
      const headers = { [lineageHeader]: String(lineage) }
      return JSON.stringify((await platform.post(path(), { action, input: {} }, { headers })).body)
    }
    const old = { name: action, run: (_: unknown, { headers }: Running) => comeBack(headers[lineageHeader]) }
    const modern: UpstreamTool = {
      name: action,
      inputSchema: { type: 'object' },
      run: async () => ({
        content: [{ type: 'text', text: await comeBack(upstream.headers.at(-1)?.[lineageHeader]) }],
      }),
    }
    await using sse = await startLegacyUpstream([old], 'sse')
    await using upstream = await startUpstream([modern], 'modern')
    const { url } = way === 'the older SSE transport' ? sse : upstream
    const id = await register(platform, { name: 'mirror', type: 'mcp', mcp: { url } })

    await platform.post(path(), { action, input: {} })
    const { data, total } = (await platform.get('/calls?limit=500')).body

    expect(total).toBe(12)
    expect(data.filter((call: { error?: { code: string } }) => call.error?.code === 'CALL_TOO_DEEP')).toHaveLength(1)
  })

  test('cannot be simulated with a forged lineage header', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const id = await register(platform, { name: 'plain', parameters: {}, execute: { url: service.url } })
    const forged = { 'x-quartermaster-call': `call_1.9.${'A'.repeat(22)}` }

    await platform.post(`/tools/${id}/call`, {}, { headers: forged })

    expect((await platform.get('/calls')).body.data[0].parent_call_id).toBe(null)
  })
})

describe('a fixed query parameter of an http tool', () => {
  test('is sent once, and arguments cannot override it', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const id = await register(platform, {
      name: 'reports',
      parameters: { type: 'object' },
      execute: { url: `${service.url}/reports?tenant=1&q={query}`, method: 'GET' },
    })

    await platform.post(`/tools/${id}/call`, { input: { tenant: '2', q: 'y', query: 'x', page: 3 } })

    expect(service.received[0]?.url).toBe('/reports?tenant=1&q=x&page=3')
  })

  test('is redacted in the call log if it is a secret', async () => {
    await using service = await startService(({ url }) => ({ body: JSON.stringify({ asked: url }) }))
    await using platform = await startPlatform()
    const id = await register(platform, {
      name: 'keyed',
      parameters: { type: 'object' },
      execute: {
        url: `${service.url}/?api_key=hunter2222`,
        method: 'GET',
        headers: { 'X-Shop': 'shpat_0a1b2c3d4e5f6a7b' },
      },
    })

    await platform.post(`/tools/${id}/call`, { input: { note: 'shpat_0a1b2c3d4e5f6a7b' } })
    const [{ id: call }] = (await platform.get('/calls')).body.data

    expect(JSON.stringify((await platform.get(`/calls/${call}`)).body)).not.toMatch(/hunter2222|shpat_0a/)
  })
})

describe('a pattern in the input schema of a tool', () => {
  test('cannot block the platform', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const parameters = { type: 'object', properties: { city: { type: 'string', pattern: '^(\\w+\\s?)*$' } } }
    const tool = await platform.post('/tools', weather(service.url, { parameters, preset_parameters: null }))

    const answer = await platform.post(`/tools/${tool.body.id}/call`, { input: { city: `${'word '.repeat(5000)}!` } })

    expect(answer.status).toBe(400)
    expect(answer.body.error.details.errors).toEqual([
      { path: 'city', message: expect.stringContaining('must match pattern') },
    ])
  })

  test('is refused with its path if it cannot be checked in bounded time', async () => {
    await using platform = await startPlatform()
    const parameters = { type: 'object', properties: { word: { type: 'string', pattern: '(.+)\\1' } } }

    const { status, body } = await platform.post('/tools', weather('http://127.0.0.1:1', { parameters }))

    expect(status).toBe(400)
    expect(body.error.details.errors).toEqual([
      { path: 'parameters.properties.word.pattern', message: expect.stringContaining('back-references') },
    ])
  })
})

describe('an http tool', () => {
  test('sends a request with the configured method and headers to its URL (S2.11) (S2.25)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const id = await register(
      platform,
      weather(service.url, {
        execute: {
          url: `${service.url}/v1?city={city}`,
          method: 'get',
          headers: { 'X-Team': 'blue', Authorization: 'Bearer abc-def' },
        },
      }),
    )

    const { status, body } = await platform.post(`/tools/${id}/call`, { input: { city: 'Recife' } })

    expect({ status, body }).toEqual({ status: 200, body: { ok: true } })
    expect(service.received).toHaveLength(1)
    expect(service.received[0]).toMatchObject({
      method: 'GET',
      headers: { 'x-team': 'blue', authorization: 'Bearer abc-def' },
    })
  })

  test('inserts an argument into the query, encoded and only once (S2.9) (S2.28) (S2.31)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const id = await register(platform, weather(service.url))

    await platform.post(`/tools/${id}/call`, { input: { city: 'São Paulo' } })

    expect(service.received[0]?.url).toBe(`/v1/current?city=${encodeURIComponent('São Paulo')}`)
  })

  test('uses POST by default, with the arguments as a JSON body (S2.10) (S2.26)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const id = await register(platform, weather(service.url, { execute: { url: `${service.url}/orders` } }))

    for (const method of ['POST', 'PUT', 'PATCH']) {
      await platform.patch(`/tools/${id}`, { execute: { url: `${service.url}/orders`, method } })
      await platform.post(`/tools/${id}/call`, { input: { city: 'Recife', extra: [1, { a: null }] } })
    }

    expect((await platform.get(`/tools/${id}`)).body.execute.method).toBe('PATCH')
    expect(service.received.map(({ method, url, body }) => [method, url, JSON.parse(body)])).toEqual(
      ['POST', 'PUT', 'PATCH'].map((method) => [method, '/orders', { city: 'Recife', extra: [1, { a: null }] }]),
    )
    expect(service.received[0]?.headers['content-type']).toBe('application/json')
  })

  test('sends arguments as a query with GET, HEAD and DELETE, without a body (S2.27)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const id = await register(platform, weather(service.url, { execute: { url: `${service.url}/find?v=1` } }))

    for (const method of ['GET', 'HEAD', 'DELETE']) {
      await platform.patch(`/tools/${id}`, { execute: { url: `${service.url}/find?v=1`, method } })
      const { status } = await platform.post(`/tools/${id}/call`, {
        input: { city: 'a&b=c', tags: ['x', 'y'], deep: { a: 1 }, none: null },
      })
      expect(status).toBe(200)
    }

    const query = `/find?v=1&city=a%26b%3Dc&tags=x&tags=y&deep=${encodeURIComponent('{"a":1}')}`
    expect(service.received.map(({ method, url, body }) => [method, url, body])).toEqual(
      ['GET', 'HEAD', 'DELETE'].map((method) => [method, query, '']),
    )
  })

  test('leaves arguments of the path out of the body and the query, as in DELETE /users/123/posts/456 (S2.29) (S2.30)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const strings = {
      type: 'object',
      properties: { user_id: { type: 'string' }, post_id: { type: 'string' } },
      required: ['user_id', 'post_id'],
    }
    const url = `${service.url}/users/{user_id}/posts/{post_id}`
    const remove = await register(platform, {
      name: 'delete-post',
      execute: { url, method: 'DELETE' },
      parameters: strings,
    })
    const write = await register(platform, { name: 'write-post', execute: { url }, parameters: strings })

    await platform.post(`/tools/${remove}/call`, { input: { user_id: '123', post_id: '456' } })
    await platform.post(`/tools/${write}/call`, { input: { user_id: 'a/b', post_id: '?', text: 'hi' } })

    expect(service.received[0]).toMatchObject({ method: 'DELETE', url: '/users/123/posts/456', body: '' })
    expect(service.received[1]).toMatchObject({ method: 'POST', url: '/users/a%2Fb/posts/%3F', body: '{"text":"hi"}' })
  })

  test('prevents path traversal by arguments, and requires the arguments of the path', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const id = await register(platform, {
      name: 'user',
      execute: { url: `${service.url}/users/{id}/private`, method: 'GET' },
      parameters: { type: 'object', properties: { id: {} } },
    })

    for (const input of [{ id: '..' }, { id: '.' }, {}, { id: null }]) {
      const { status, body } = await platform.post(`/tools/${id}/call`, { input })
      expect({ status, code: body.error.code }).toEqual({ status: 400, code: 'VALIDATION_FAILED' })
    }
    expect((await platform.post(`/tools/${id}/call`, { input: { id: '%2e%2e' } })).status).toBe(200)

    expect(service.received.map(({ url }) => url)).toEqual(['/users/%252e%252e/private'])
  })

  test('refuses a placeholder in the path that is no field of the input', async () => {
    await using platform = await startPlatform()
    const tool = (more: object) => ({
      name: 'user',
      execute: { url: 'https://example.com/{team}/users/{id}?page={page}', method: 'GET' },
      parameters: { type: 'object', properties: { id: { type: 'string' } } },
      ...more,
    })

    const refused = await platform.post('/tools', tool({}))
    const preset = await platform.post('/tools', tool({ preset_parameters: { team: 'a' } }))

    expect(refused.body.error.details.errors).toEqual([
      {
        path: 'execute.url',
        message: 'contains {team}, but the input has no field of that name: add it to parameters.properties',
      },
    ])
    expect(preset.status).toBe(201)
  })

  test('leaves a missing optional argument out of the query', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const url = `${service.url}/find?q={q}&page={page}&v=2`
    const id = await register(platform, {
      name: 'find',
      execute: { url, method: 'GET' },
      parameters: { type: 'object', properties: { q: { type: 'string' }, page: { type: 'integer' } } },
    })

    await platform.post(`/tools/${id}/call`, { input: { q: 'x' } })

    expect(service.received[0]?.url).toBe('/find?q=x&v=2')
  })

  test('returns JSON responses unchanged, text as text, bytes as base64, and empty ones as null', async () => {
    const replies: Record<string, object> = {
      '/json': { body: '{"n":12345678901234567890,"a":[1]}' },
      '/text': { headers: { 'content-type': 'text/plain' }, body: 'plain' },
      '/bytes': { headers: { 'content-type': 'image/png' }, body: Buffer.from([1, 2, 255]) },
      '/nothing': { status: 204, headers: {}, body: '' },
      '/untyped': { headers: {}, body: '[1,2]' },
    }
    await using service = await startService(({ url }) => replies[url])
    await using platform = await startPlatform()
    const call = async (path: string) => {
      const id = await register(platform, {
        name: path.slice(1),
        execute: { url: service.url + path, method: 'GET' },
        parameters: {},
      })
      const response = await platform.fetch(`/api/v1/tools/${id}/call`, {
        method: 'POST',
        headers: { authorization: 'Bearer sk_admin_of_the_tests' },
      })
      return response.text()
    }

    expect(await call('/json')).toBe('{"n":12345678901234567890,"a":[1]}')
    expect(await call('/text')).toBe('"plain"')
    expect(JSON.parse(await call('/bytes'))).toEqual({ content_type: 'image/png', size: 3, base64: 'AQL/' })
    expect(await call('/nothing')).toBe('null')
    expect(await call('/untyped')).toBe('[1,2]')
  })

  test('returns 502 with the status code if its URL returns an error', async () => {
    await using service = await startService(() => ({ status: 422, body: '{"reason":"no such city"}' }))
    await using platform = await startPlatform()
    const id = await register(platform, weather(service.url))
    const caller = await platform.keyFor([{ effect: 'Allow', action: ['tools:CallTool'], resource: ['*'] }])

    const asAdmin = await platform.post(`/tools/${id}/call`, { input: { city: 'Nowhere' } })
    const asCaller = await platform.post(`/tools/${id}/call`, { input: { city: 'Nowhere' } }, { key: caller })

    expect(asAdmin.status).toBe(502)
    expect(asAdmin.body.error).toMatchObject({
      code: 'TOOL_HTTP_ERROR',
      details: { tool_status_code: 422, tool_method: 'GET', tool_response_body: { reason: 'no such city' } },
    })
    expect(asCaller.body.error.details).not.toHaveProperty('tool_response_body')
  })

  test('returns 504 after its timeout, and 502 if its URL is unreachable', async () => {
    await using service = await startService(() => new Promise(() => {}))
    await using platform = await startPlatform()
    const slow = await register(platform, weather(service.url, { timeout_seconds: 0.2 }))
    const gone = await register(platform, weather('http://127.0.0.1:1', { name: 'gone' }))

    const late = await platform.post(`/tools/${slow}/call`, { input: { city: 'Recife' } })
    const away = await platform.post(`/tools/${gone}/call`, { input: { city: 'Recife' } })

    expect(late).toMatchObject({ status: 504, body: { error: { code: 'TOOL_TIMEOUT', details: { seconds: 0.2 } } } })
    expect(away).toMatchObject({ status: 502, body: { error: { code: 'TOOL_UNREACHABLE' } } })
    expect(
      (await platform.post('/tools', weather(service.url, { name: 'slower', timeout_seconds: 3601 }))).status,
    ).toBe(400)
  })

  test('reports an unknown secret instead of sending its placeholder', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const id = await register(
      platform,
      weather(service.url, {
        execute: { url: service.url, headers: { Authorization: 'Bearer ${{ secrets.TOKEN }}' } },
      }),
    )

    const { status, body } = await platform.post(`/tools/${id}/call`, { input: { city: 'Recife' } })

    expect({ status, code: body.error.code }).toEqual({ status: 422, code: 'SECRET_NOT_FOUND' })
    expect(service.received).toEqual([])
  })
})

describe('a client tool', () => {
  test('cannot run on the server, so a direct call is refused with 422 (S2.32)', async () => {
    await using platform = await startPlatform()
    const id = await register(platform, {
      name: 'read_local_file',
      type: 'client',
      parameters: { type: 'object', properties: { path: { type: 'string' } } },
    })

    const { status, body } = await platform.post(`/tools/${id}/call`, { input: { path: '/tmp/data.csv' } })

    expect({ status, code: body.error.code }).toEqual({ status: 422, code: 'TOOL_CALL_NOT_SUPPORTED' })
  })
})

describe('a platform tool', () => {
  test('times out, and cancels the call that it made', async () => {
    const { promise: never, resolve: letGo } = Promise.withResolvers<undefined>()
    await using service = await startService(() => never)
    await using platform = await startPlatform()
    const slow = await register(platform, { name: 'slow', parameters: {}, execute: { url: service.url } })
    const caller = await register(platform, {
      name: 'caller',
      type: 'platform',
      actions: ['call-tool'],
      timeout_seconds: 0.3,
    })

    const answer = await platform.post(`/tools/${caller}/call`, { action: 'call-tool', input: { id: slow, input: {} } })
    const inner = async () => (await platform.get(`/calls?tool_id=${slow}`)).body.data[0]

    expect(answer).toMatchObject({ status: 504, body: { error: { code: 'TOOL_TIMEOUT' } } })
    await expect.poll(async () => (await inner()).error?.code).toBe('CALL_CANCELLED')
    letGo(undefined)
  })

  const document = async (platform: TestPlatform, path: string, content: string): Promise<string> =>
    (await platform.post('/documents', { path, content })).body.id

  test('has only the actions it lists, and a call must name one (S2.44) (S2.54)', async () => {
    await using platform = await startPlatform()
    const doc = await document(platform, '/a.md', 'Hello')
    const id = await register(platform, { name: 'docs', type: 'soat', actions: ['get-document'] })

    expect(
      (await platform.post(`/tools/${id}/call`, { action: 'get-document', input: { id: doc } })).body.content,
    ).toBe('Hello')
    for (const body of [
      { input: { id: doc } },
      { action: 'delete-document', input: { id: doc } },
      { action: 'nothing', input: {} },
    ]) {
      expect(await platform.post(`/tools/${id}/call`, body)).toMatchObject({
        status: 400,
        body: { error: { code: 'VALIDATION_FAILED' } },
      })
    }
    expect((await platform.get(`/documents/${doc}`)).status).toBe(200)
  })

  test('runs inside the platform, with the same effect as the operation (S2.46)', async () => {
    await using platform = await startPlatform()
    const id = await register(platform, {
      name: 'docs',
      type: 'platform',
      actions: ['create-document', 'search-documents'],
    })

    const made = await platform.post(`/tools/${id}/call`, {
      action: 'create-document',
      input: { path: '/notes/goose.md', content: 'Geese fly south' },
    })
    const found = await platform.post(`/tools/${id}/call`, {
      action: 'search_documents',
      input: { query: 'goose flying' },
    })

    expect((await platform.get(`/documents/${made.body.id}`)).body.content).toBe('Geese fly south')
    expect(found.body.data).toMatchObject([{ id: made.body.id, path: '/notes/goose.md' }])
  })

  test('makes the same permission checks as REST (S2.47)', async () => {
    await using platform = await startPlatform()
    const doc = await document(platform, '/a.md', 'Hello')
    const id = await register(platform, {
      name: 'docs',
      type: 'soat',
      actions: ['get-document', 'update-document', 'list-documents'],
    })
    const key = await platform.keyFor([{ effect: 'Allow', action: ['tools:CallTool'], resource: ['*'] }])
    const call = (action: string, input: object) => platform.post(`/tools/${id}/call`, { action, input }, { key })

    expect((await call('get-document', { id: doc })).status).toBe(404)
    expect((await call('update-document', { id: doc, content: 'Bye' })).status).toBe(403)
    expect((await call('list-documents', {})).body).toMatchObject({ data: [], total: 0 })
    expect((await platform.get(`/documents/${doc}`, { key })).status).toBe(404)
    expect((await platform.patch(`/documents/${doc}`, { content: 'Bye' }, { key })).status).toBe(403)
  })

  test('has access to its own project only, even if the key can see every project', async () => {
    await using platform = await startPlatform()
    const other = (await platform.post('/projects', { name: 'other' })).body.id
    const theirs = (await platform.post('/documents', { project_id: other, path: '/theirs.md', content: 'goose' })).body
      .id
    const id = await register(platform, {
      project_id: platform.projectId,
      name: 'docs',
      type: 'soat',
      actions: ['get-document', 'search-documents', 'create-document'],
    })
    const call = (action: string, input: object) => platform.post(`/tools/${id}/call`, { action, input })

    expect((await call('get-document', { id: theirs })).status).toBe(404)
    expect((await call('search-documents', { query: 'goose' })).body.data).toEqual([])
    expect((await call('create-document', { path: '/mine.md', content: '' })).body.project_id).toBe(platform.projectId)
    expect((await call('create-document', { path: '/x.md', content: '', project_id: other })).status).toBe(400)
  })

  test('that calls itself is stopped at the depth limit', async () => {
    await using platform = await startPlatform()
    const id = await register(platform, { name: 'mirror', type: 'platform', actions: ['call-tool'] })
    await platform.patch(`/tools/${id}`, { preset_parameters: { id, action: 'call-tool' } })

    const { status, body } = await platform.post(`/tools/${id}/call`, { action: 'call-tool', input: {} })

    expect({ status, code: body.error.code }).toEqual({ status: 422, code: 'CALL_TOO_DEEP' })
  })
})

describe('preset parameters', () => {
  test('work for every type: they are hidden from schemas, and sent with every call (S2.16) (S2.48) (S2.49) (S2.50)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string' }, units: { type: 'string' } },
      required: ['city', 'units'],
      additionalProperties: false,
    }
    const id = await register(platform, {
      name: 'weather',
      execute: { url: `${service.url}/` },
      parameters,
      preset_parameters: { units: 'metric' },
    })
    const local = await register(platform, {
      name: 'local',
      type: 'client',
      parameters,
      preset_parameters: { units: 'metric' },
    })

    const [shown] = (await platform.get(`/tools/${id}/actions`)).body.data
    const [shownLocal] = (await platform.get(`/tools/${local}/actions`)).body.data
    await platform.post(`/tools/${id}/call`, { input: { city: 'Recife' } })

    const visible = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    }
    expect(shown.input_schema).toEqual(visible)
    expect(shownLocal.input_schema).toEqual(visible)
    expect(JSON.parse(service.received[0]?.body ?? '')).toEqual({ city: 'Recife', units: 'metric' })
  })

  test('always override what the caller sends', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const id = await register(platform, weather(service.url, { preset_parameters: { city: 'Recife' } }))

    await platform.post(`/tools/${id}/call`, { input: { city: 'Natal' } })

    expect(service.received[0]?.url).toBe('/v1/current?city=Recife')
  })

  test('can bind two tools with the same action to two documents, and no spelling of the field bypasses them (S2.51) (S2.52)', async () => {
    await using platform = await startPlatform()
    const open = (await platform.post('/documents', { path: '/public.md', content: 'p' })).body.id
    const secret = (await platform.post('/documents', { path: '/private.md', content: 's' })).body.id
    const publicDoc = await register(platform, {
      name: 'public_doc',
      type: 'soat',
      actions: ['update-document'],
      preset_parameters: { id: open },
    })
    await register(platform, {
      name: 'private_doc',
      type: 'soat',
      actions: ['update-document'],
      preset_parameters: { document_id: secret },
    })
    const [seen] = (await platform.get(`/tools/${publicDoc}/actions`)).body.data

    for (const input of [{}, { id: secret }, { document_id: secret }, { documentId: secret }]) {
      const { status } = await platform.post(`/tools/${publicDoc}/call`, {
        action: 'update-document',
        input: { content: 'new', ...input },
      })
      expect(status).toBe(200)
    }

    expect(seen.tool_name).toBe('public_doc_update-document')
    expect(Object.keys(seen.input_schema.properties)).toEqual(['path', 'content', 'tags'])
    expect(seen.input_schema).not.toHaveProperty('required')
    expect((await platform.get(`/documents/${open}`)).body.content).toBe('new')
    expect((await platform.get(`/documents/${secret}`)).body.content).toBe('s')
  })

  test('apply only to actions that have the field', async () => {
    await using platform = await startPlatform()
    const doc = (await platform.post('/documents', { path: '/a.md', content: 'goose' })).body.id
    const id = await register(platform, {
      name: 'docs',
      type: 'soat',
      actions: ['get-document', 'search-documents'],
      preset_parameters: { id: doc },
    })

    expect((await platform.post(`/tools/${id}/call`, { action: 'get-document' })).body.content).toBe('goose')
    expect(
      (await platform.post(`/tools/${id}/call`, { action: 'search-documents', input: { query: 'goose' } })).body.total,
    ).toBe(1)
  })
})

describe('names', () => {
  test('are the tool’s own for http and client tools, and one per action for platform tools (S2.5) (S2.21) (S2.23)', async () => {
    await using platform = await startPlatform()
    const http = await register(platform, weather('http://127.0.0.1:1'))
    const client = await register(platform, { name: 'read_local_file', type: 'client', parameters: {} })
    const docs = await register(platform, {
      name: 'platform',
      type: 'soat',
      actions: ['get-document', 'search-documents'],
    })
    const names = async (id: string) =>
      (await platform.get(`/tools/${id}/actions`)).body.data.map((action: { tool_name: string }) => action.tool_name)

    expect(await names(http)).toEqual(['get-weather'])
    expect(await names(client)).toEqual(['read_local_file'])
    expect(await names(docs)).toEqual(['platform_get-document', 'platform_search-documents'])
  })
})

describe('a direct call', () => {
  test('takes an optional action and the input, and returns the output of the tool (S2.53) (S2.55)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const id = await register(platform, weather(service.url))

    expect(await platform.post(`/tools/${id}/call`, { input: { city: 'Recife' } })).toMatchObject({
      status: 200,
      body: { ok: true },
    })
    expect(
      await platform.post(`/tools/${id}/call`, { action: 'get_weather', input: { city: 'Recife' } }),
    ).toMatchObject({ status: 200 })
    expect(await platform.post(`/tools/${id}/call`, { input: {} })).toMatchObject({ status: 400 })
    expect(await platform.post('/tools/tool_nothing/call', { input: {} })).toMatchObject({
      status: 404,
      body: { error: { code: 'RESOURCE_NOT_FOUND' } },
    })
  })

  test('is validated against the schema, and the error names every failing path', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const parameters = {
      type: 'object',
      properties: {
        rows: {
          type: 'array',
          items: { type: 'object', properties: { amount: { type: 'number' } }, required: ['date'] },
        },
        kind: { enum: ['a', 'b'] },
      },
      required: ['name'],
      additionalProperties: false,
    }
    const id = await register(platform, { name: 'rows', execute: { url: service.url }, parameters })

    const { status, body } = await platform.post(`/tools/${id}/call`, {
      input: { rows: [{ date: 'x' }, { amount: 'much' }], kind: 'c', more: 1 },
    })

    expect(status).toBe(400)
    expect(body.error.details.errors).toEqual(
      expect.arrayContaining([
        { path: 'name', message: 'is missing' },
        { path: 'more', message: 'is not a known field' },
        { path: 'rows[1].date', message: 'is missing' },
        { path: 'rows[1].amount', message: 'must be of type number' },
        { path: 'kind', message: 'must be one of "a", "b"' },
      ]),
    )
    expect(service.received).toEqual([])
  })

  test('of a tool that needs approval is not made before the approval', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const gated = await register(platform, weather(service.url, { auto_approve: false }))
    const restricted = await register(platform, weather(service.url, { name: 'restricted', level: 'restricted' }))
    const trusted = await register(
      platform,
      weather(service.url, { name: 'trusted', level: 'restricted', auto_approve: true }),
    )
    const call = async (id: string) =>
      (await platform.post(`/tools/${id}/call`, { input: { city: 'Recife' }, wait: false })).status

    expect([await call(gated), await call(restricted), await call(trusted)]).toEqual([202, 202, 200])
    expect(service.received).toHaveLength(1)
  })
})
