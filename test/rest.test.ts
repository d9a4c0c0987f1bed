import SwaggerParser from '@apidevtools/swagger-parser'
import { describe, expect, test } from 'vitest'
import { operations } from '../src/operations/index.ts'
import { adminKey, startPlatform, startService } from './kit.ts'
import { person } from './signing-in.ts'

const tool = { name: 'a', type: 'client', parameters: {} }

describe('invalid input', () => {
  test('gets a response in the error format that names every failing path (S3.22)', async () => {
    await using platform = await startPlatform()

    const { status, body } = await platform.post('/tools', {
      name: 7,
      type: 'http',
      extra: 1,
      execute: { url: 1, verb: 'x' },
    })

    expect(status).toBe(400)
    expect(Object.keys(body)).toEqual(['error'])
    expect(body.error.code).toBe('VALIDATION_FAILED')
    expect(body.error.details.errors).toEqual(
      expect.arrayContaining([
        { path: 'name', message: 'must be of type string, not number' },
        { path: 'extra', message: 'is not a known field' },
        { path: 'execute.url', message: 'must be of type string, not number' },
        { path: 'execute.verb', message: 'is not a known field' },
      ]),
    )
    for (const { path } of body.error.details.errors) expect(body.error.message).toContain(path)
  })

  test('that is not JSON, not an object, or not declared as JSON gets its own error', async () => {
    await using platform = await startPlatform()
    const post = (body: string, headers = {}) => platform.request('POST', '/tools', body, { headers })

    expect(await post('{"name":')).toMatchObject({ status: 400, body: { error: { code: 'INVALID_JSON' } } })
    expect(await post('{"name": sk_secret}')).toMatchObject({ status: 400 })
    expect(JSON.stringify((await post('{"name": sk_secret}')).body)).not.toContain('sk_secret')
    expect(await post('[]')).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_FAILED' } } })
    expect(await post('"text"')).toMatchObject({ status: 400 })
    expect(await post('null')).toMatchObject({ status: 400 })
    expect(await post('')).toMatchObject({ status: 400 })
    expect(await post('{}', { 'content-type': 'text/plain' })).toMatchObject({
      status: 415,
      body: { error: { code: 'UNSUPPORTED_MEDIA_TYPE' } },
    })
    expect(await post('['.repeat(100_000))).toMatchObject({ status: 400, body: { error: { code: 'INVALID_JSON' } } })
    expect(
      await post(`{"name":"a","type":"client","parameters":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`),
    ).toMatchObject({ status: 400 })
  })

  test('larger than the limit is refused with 413, with or without Content-Length', async () => {
    await using platform = await startPlatform({ QM_BODY_LIMIT: '2000' })
    const large = JSON.stringify({ ...tool, description: 'x'.repeat(3000) })

    const declared = await platform.request('POST', '/tools', large, {
      headers: { 'content-length': String(large.length) },
    })
    const streamed = await platform.fetch('/api/v1/tools', {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: ReadableStream.from([Buffer.from(large)]) as unknown as ReadableStream<Uint8Array<ArrayBuffer>>,
      duplex: 'half',
    } as RequestInit)

    expect(declared).toMatchObject({
      status: 413,
      body: {
        error: { code: 'BODY_TOO_LARGE', details: { limit: 2000 }, message: expect.stringContaining('QM_BODY_LIMIT') },
      },
    })
    expect(streamed.status).toBe(413)
  })

  test('in a query is refused in the same way', async () => {
    await using platform = await startPlatform()
    const status = async (query: string) => (await platform.get(`/tools?${query}`)).status

    for (const query of [
      'limit=0',
      'limit=-1',
      'limit=501',
      'limit=ten',
      'limit=1e9',
      'limit=1.5',
      'offset=-1',
      'offset=99999999999999',
      'limit=1&limit=2',
      'limit=',
      'colour=red',
      'type=odd',
    ]) {
      expect(await status(query), query).toBe(400)
    }
    expect((await platform.get('/tools?limit=2&offset=10000000')).body).toEqual({
      data: [],
      total: 0,
      limit: 2,
      offset: 10_000_000,
    })
    expect((await platform.request('POST', '/tools?name=b', tool)).status).toBe(400)
  })

  test('in a path always gets 404 or 400', async () => {
    await using platform = await startPlatform()

    for (const id of ['none', '%00', '%ff', '%E0%A4%A', '..%2f..', '%20', 'x'.repeat(300), "'%20OR%201=1--", '*']) {
      expect([400, 404], id).toContain((await platform.get(`/tools/${id}`)).status)
    }
    expect(await platform.get('/tolls')).toMatchObject({
      status: 404,
      body: { error: { code: 'ROUTE_NOT_FOUND', details: { nearest: ['/api/v1/tools'] } } },
    })
    const wrong = await platform.request('PUT', '/tools')
    expect(wrong).toMatchObject({ status: 405, body: { error: { code: 'METHOD_NOT_ALLOWED' } } })
    expect(wrong.headers.get('allow')).toBe('POST, GET')
    expect((await platform.patch('/tools/none', { id: 'other' })).status).toBe(400)
  })
})

describe('an Idempotency-Key', () => {
  const once = (key: string) => ({ headers: { 'idempotency-key': key } })

  test('makes repeated requests return the first response, and create one record', async () => {
    await using platform = await startPlatform()

    const first = await platform.post('/tools', tool, once('k1'))
    const again = await platform.post('/tools', tool, once('k1'))

    expect(again).toMatchObject({ status: 201, body: first.body })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect((await platform.get('/tools')).body.total).toBe(1)
    expect(await platform.post('/tools', { ...tool, name: 'b' }, once('k1'))).toMatchObject({
      status: 422,
      body: { error: { code: 'IDEMPOTENCY_KEY_REUSED' } },
    })
    expect((await platform.post('/tools', tool, once(''))).status).toBe(400)
  })

  test('makes ten simultaneous requests create one record, and the others get its response or 409', async () => {
    await using platform = await startPlatform()

    const answers = await Promise.all(Array.from({ length: 10 }, () => platform.post('/tools', tool, once('k'))))

    expect(new Set(answers.map(({ status }) => status))).toEqual(
      new Set(answers.some(({ status }) => status === 409) ? [201, 409] : [201]),
    )
    expect((await platform.get('/tools')).body.total).toBe(1)
  })

  test('makes repeated requests call a tool once, even if the tool failed', async () => {
    await using service = await startService(() => ({ status: 500 }))
    await using platform = await startPlatform()
    const { id } = (await platform.post('/tools', { name: 'pay', execute: { url: service.url }, parameters: {} })).body

    const statuses = []
    for (let count = 0; count < 3; count++)
      statuses.push((await platform.post(`/tools/${id}/call`, { input: { amount: 1 } }, once('pay-1'))).status)

    expect(statuses).toEqual([502, 502, 502])
    expect(service.received).toHaveLength(1)
  })

  test('can be reused after a validation error, and belongs to the API key that sent it', async () => {
    await using platform = await startPlatform()
    const key = await platform.keyFor([{ effect: 'Allow', action: ['*'] }])

    expect((await platform.post('/tools', { name: '!' }, once('k'))).status).toBe(400)
    expect((await platform.post('/tools', tool, once('k'))).status).toBe(201)
    expect((await platform.post('/tools', { ...tool, name: 'b' }, { key, ...once('k') })).status).toBe(201)
  })

  test('does not store secrets that are shown once', async () => {
    await using platform = await startPlatform()

    const first = await platform.post('/api-keys', { name: 'k' }, once('k'))
    const again = await platform.post('/api-keys', { name: 'k' }, once('k'))

    expect(first.body.key).toMatch(/^sk_/)
    expect(again.body).toMatchObject({ id: first.body.id })
    expect(again.body).not.toHaveProperty('key')
    const kept = await platform.platform.store.engine.db.selectFrom('idempotency_keys').selectAll().execute()
    expect(JSON.stringify(kept)).not.toContain(first.body.key)
  })
})

/** Operations whose examples refer to made-up addresses or states. Only their input can be checked. */
const reachesOut = new Set([
  'call-tool',
  'test-ai-provider',
  'test-sign-in-provider',
  'create-agent-generation',
  'submit-tool-outputs',
  'cancel-generation',
  // They need an auth config, or somebody who opens a connect link.
  ...['create-connect-link', 'confirm-connect-flow', 'diagnose-connection'],
])

const pickFields = (ids: Record<string, string>, example: object = {}) =>
  Object.fromEntries(Object.entries(ids).filter(([field]) => field in example))

describe('the API description', () => {
  test('is a valid OpenAPI 3.1 document with every operation', async () => {
    await using platform = await startPlatform()

    const spec = (await platform.get('/openapi.json', { key: null })).body

    expect(spec.openapi).toBe('3.1.0')
    await expect(SwaggerParser.validate(structuredClone(spec))).resolves.toBeDefined()
    const described = Object.entries(spec.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(described.sort()).toEqual(operations.map(({ route }) => route).sort())
  })

  test('lists every permission for access policies, including those without an operation', async () => {
    await using platform = await startPlatform()
    const named = (await platform.get('/openapi.json')).body['x-permissions']

    expect(named).toEqual(expect.arrayContaining(operations.map(({ permission }) => permission)))
    expect(named).toEqual(expect.arrayContaining(['servers:UseServer', 'tools:RunProgram']))
  })

  test('has examples that can be sent unchanged', async () => {
    await using platform = await startPlatform()
    // A routine of the manifest in the example of apply-manifest.
    const ids: Record<string, string> = { routine_id: 'summary' }
    const bodies = operations.filter(({ route }) => /^(POST|PATCH)/.test(route))
    // With a second project, requests must name a project. So it is created last.
    const isProject = ({ name }: { name: string }) => Number(name === 'create-project')
    const makers = bodies.filter(({ route }) => !route.includes('{')).sort((a, b) => isProject(a) - isProject(b))
    const answers = []
    const caller = await platform.keyFor([{ effect: 'Allow', action: ['tools:CallTool'] }])
    const gated = {
      ...operations.find(({ name }) => name === 'create-tool')?.example,
      name: 'gated',
      auto_approve: false,
      project_id: platform.projectId,
    }
    const { id: gatedId } = (await platform.post('/tools', gated)).body
    // Connections are for apps with tools.
    await platform.post('/tools', { ...gated, name: 'find-contact', app: 'crm' })
    const waits = [{ seconds: 3600 }, { event: 'payment_received' }]
    const workflow = { steps: waits.map((wait_for, index) => ({ id: ['charge', 'paid'][index], wait_for })) }
    const flow = await platform.post('/tools', {
      name: 'flow',
      type: 'workflow',
      workflow,
      project_id: platform.projectId,
    })
    const started = async (isOver: boolean) => {
      const { id } = (await platform.post('/workflow-runs', { tool_id: flow.body.id })).body
      if (isOver) await platform.post(`/workflow-runs/${id}/cancel`, {})
      return id
    }
    const pages = { name: 'pages', type: 'platform', actions: ['list-documents'], project_id: platform.projectId }
    const { id: pagesId } = (await platform.post('/tools', pages)).body
    const succeeded = async () => {
      await platform.post(`/tools/${pagesId}/call`, { action: 'list-documents', input: {} })
      return (await platform.get(`/calls?status=success&tool_id=${pagesId}`)).body.data[0].id
    }
    let count = 0
    const asked = async () => {
      const call = { input: { city: String(count++) }, wait: false }
      return (await platform.post(`/tools/${gatedId}/call`, call, { key: caller })).body.approval_id
    }
    for (const { name, route, example } of [...makers, ...bodies.filter((one) => !makers.includes(one))]) {
      const [method = '', path = ''] = route.split(' ')
      if (path.includes('{approval_id}')) ids.approval_id = await asked()
      if (path.includes('{workflow_run_id}')) ids.workflow_run_id = await started(!/\/(cancel|events)$/.test(path))
      const own =
        name === 'start-workflow-run'
          ? { tool_id: flow.body.id }
          : name === 'draft-workflow'
            ? { call_ids: [await succeeded()] }
            : {}
      const made = path.includes('{delivery_id}') && (await platform.post(`/webhooks/${ids.webhook_id}/test`))
      if (made) ids.delivery_id = made.body.id
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => ids[parameter] ?? '')
      // References in an example are replaced by records that other examples created.
      const { status, body } = await platform.request(method, filled, {
        ...example,
        ...pickFields(ids, example),
        ...own,
      })
      if (status === 201) ids[`${name.replace(/^(create|invite)-/, '').replaceAll('-', '_')}_id`] = body.id
      if (!reachesOut.has(name)) answers.push([name, status, status < 300 ? '' : body])
    }

    expect(answers.filter(([, status]) => Number(status) >= 300)).toEqual([])
    expect(bodies.filter(({ example }) => !example).map(({ name }) => name)).toEqual([])
    expect(await (await platform.fetch('/api/docs')).text()).not.toMatch(/<pre>curl[^<]*…/)
  })

  test('is a page at /api/docs that loads nothing from other hosts', async () => {
    await using platform = await startPlatform()

    const response = await platform.fetch('/api/docs')
    const page = await response.text()

    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
    for (const { summary } of operations) expect(page).toContain(summary.replaceAll('"', '&quot;'))
    expect(page).not.toMatch(/(src|href)="https?:/)
  })

  test('matches the responses of operations', async () => {
    await using platform = await startPlatform()
    const { id } = (await platform.post('/tools', tool)).body
    await platform.post(`/tools/${id}/call`, {})
    await platform.post('/documents', { path: '/a', content: 'x' })
    const file = (await platform.post('/files', { path: '/a', content: 'x' })).body.id
    const { session } = await person(platform, 'rita@example.com', { role: 'owner' })

    for (const operation of operations) {
      if (!operation.route.startsWith('GET ') || operation.answers || /\{(?!tool|file)/.test(operation.route)) continue
      const path = (operation.route.split(' ')[1] as string).replace('{tool_id}', id).replace('{file_id}', file)
      const { status, body } = await platform.get(path, path === '/users/current' ? session : {})
      expect(status, path).toBe(200)
      expect(operation.output.safeParse(body).error?.issues, path).toBeUndefined()
    }
  })
})
