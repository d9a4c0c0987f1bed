import { expect, test } from 'vitest'
import { adminKey, startPlatform, startService, type TestPlatform } from './kit.ts'

/** A small API with the shapes that matter: parameters in four places, a body, files, lists, credentials. */
const shop = (server = '/v1') => ({
  openapi: '3.0.3',
  info: { title: 'Shop', version: '1' },
  servers: [{ url: server }],
  security: [{ key: [] }],
  components: {
    securitySchemes: {
      key: { type: 'apiKey', in: 'header', name: 'X-Shop-Key' },
      login: { type: 'http', scheme: 'basic' },
    },
    schemas: {
      Category: {
        type: 'object',
        properties: { name: { type: 'string' }, parent: { $ref: '#/components/schemas/Category' } },
      },
      Item: {
        type: 'object',
        required: ['name', 'id'],
        properties: {
          id: { type: 'string', readOnly: true },
          name: { type: 'string' },
          category: { $ref: '#/components/schemas/Category' },
        },
      },
    },
  },
  paths: {
    '/items': {
      get: {
        operationId: 'items/list',
        summary: 'List items',
        tags: ['items'],
        parameters: [
          { name: 'page', in: 'query', schema: { type: 'integer' } },
          {
            name: 'tags',
            in: 'query',
            style: 'pipeDelimited',
            explode: false,
            schema: { type: 'array', items: { type: 'string' } },
          },
          { name: 'filter', in: 'query', style: 'deepObject', schema: { type: 'object' } },
          { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
        ],
        responses: {
          200: {
            description: 'ok',
            content: {
              'application/json': { schema: { type: 'array', items: { $ref: '#/components/schemas/Item' } } },
            },
          },
        },
      },
      post: {
        operationId: 'items/create',
        tags: ['items'],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Item' } } },
        },
        responses: { 201: { description: 'created', content: { 'application/json': {} } } },
      },
    },
    '/items/{id}': {
      delete: { tags: ['items'], responses: { 204: { description: 'gone' } } },
    },
    '/items/{id}/photo': {
      put: {
        operationId: 'setPhoto',
        tags: ['photos'],
        requestBody: {
          required: true,
          content: {
            'multipart/form-data': {
              schema: {
                type: 'object',
                required: ['photo'],
                properties: { photo: { type: 'string', format: 'binary' }, id: { type: 'string' } },
              },
            },
          },
        },
        responses: { 204: { description: 'ok' } },
      },
      get: {
        operationId: 'getPhoto',
        tags: ['photos'],
        responses: { 200: { description: 'ok', content: { 'image/png': {} } } },
      },
    },
  },
})

const startShop = () =>
  startService(({ url, method }) => {
    if (url === '/openapi.json')
      return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(shop()) }
    if (method === 'GET' && url.startsWith('/v1/items?') && url.includes('page=1')) {
      const next = url.replace('page=1', 'page=2')
      const headers = { 'content-type': 'application/json', link: `<http://shop.test${next}>; rel="next"` }
      return {
        headers,
        body: JSON.stringify([
          { id: '1', name: 'Lamp', category: { name: 'Light' } },
          { id: '2', name: 'Bed' },
        ]),
      }
    }
    if (method === 'GET' && url.endsWith('/photo')) {
      return { headers: { 'content-type': 'image/png' }, body: Buffer.from([1, 2, 3]) }
    }
    return method === 'DELETE' ? { status: 204, body: '' } : undefined
  })

async function register(platform: TestPlatform, openapi: object, more: object = {}) {
  const { status, body } = await platform.post('/tools', { name: 'shop', type: 'openapi', openapi, ...more })
  expect(status, JSON.stringify(body)).toBe(201)
  return body
}

const call = (platform: TestPlatform, id: string, action: string, input: object) =>
  platform.post(`/tools/${id}/call`, { action, input })

test('an OpenAPI document by URL becomes an app with one action for each operation', async () => {
  await using service = await startShop()
  await using platform = await startPlatform()

  const tool = await register(platform, { url: `${service.url}/openapi.json` })
  const { body } = await platform.get(`/tools/${tool.id}/actions`)

  expect(tool).toMatchObject({ app: 'shop', openapi: { url: `${service.url}/openapi.json` } })
  expect(tool.openapi.document).toBeUndefined()
  expect(body.data.map(({ id }: { id: string }) => id).sort()).toEqual(
    ['delete_items_id', 'getPhoto', 'items_create', 'items_list', 'setPhoto'].map((name) => `shop:${name}`),
  )
})

test('the input of an action is one flat object, without fields of responses, and recursion stays a reference', async () => {
  await using platform = await startPlatform()
  const tool = await register(platform, { document: shop('https://shop.example') })

  const { body } = await platform.get(`/tools/${tool.id}/actions`)

  const create = body.data.find(({ name }: { name: string }) => name === 'items_create')
  expect(create.input_schema).toMatchObject({
    type: 'object',
    properties: { name: { type: 'string' }, category: { $ref: '#/$defs/Category' } },
    required: ['name'],
    $defs: { Category: { properties: { parent: { $ref: '#/$defs/Category' } } } },
  })
  expect(create.input_schema.properties.id).toBeUndefined()
})

test('each operation is a tool of a server, with its title and annotations (S0.3) (S0.8) (S0.9)', async () => {
  await using platform = await startPlatform()
  await register(platform, { document: shop('https://shop.example') })
  await platform.post('/servers', { slug: 'all' })

  const response = await platform.fetch('/mcp/all', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${adminKey}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  })
  const { result } = (await response.json()) as {
    result: { tools: { name: string; title?: string; annotations: object }[] }
  }
  const annotationsOf = (name: string) => result.tools.find((one) => one.name === name)?.annotations

  expect(result.tools.map(({ name }) => name).sort()).toEqual(
    ['delete_items_id', 'getphoto', 'items_create', 'items_list', 'setphoto'].map((name) => `shop_${name}_action`),
  )
  expect(result.tools.find(({ name }) => name === 'shop_items_list_action')?.title).toBe('List items')
  expect(annotationsOf('shop_items_list_action')).toMatchObject({
    readOnlyHint: true,
    idempotentHint: true,
    destructiveHint: false,
  })
  expect(annotationsOf('shop_delete_items_id_action')).toMatchObject({ readOnlyHint: false, destructiveHint: true })
  expect(result.tools.every((one) => !('outputSchema' in one))).toBe(true)
})

test('requests are made as the document says, with the credentials where it wants them', async () => {
  await using service = await startShop()
  await using platform = await startPlatform()
  await platform.post('/secrets', { name: 'SHOP_KEY', value: 'the-key-of-the-shop' })
  const credentials = { key: '${{ secrets.SHOP_KEY }}' }
  const { id } = await register(platform, { url: `${service.url}/openapi.json`, credentials })
  service.received.length = 0

  await call(platform, id, 'items_list', { page: 3, tags: ['a', 'b c'], filter: { color: 'red' }, 'X-Trace': 't' })
  await call(platform, id, 'items_create', { name: 'Lamp', category: { name: 'Light' } })
  const removed = await call(platform, id, 'delete_items_id', { id: 'a/b' })

  const [list, create, remove] = service.received
  expect(list?.url).toBe('/v1/items?page=3&tags=a%7Cb%20c&filter[color]=red')
  expect(list?.headers).toMatchObject({ 'x-trace': 't', 'x-shop-key': 'the-key-of-the-shop' })
  expect(JSON.parse(create?.body ?? '')).toEqual({ name: 'Lamp', category: { name: 'Light' } })
  expect(remove).toMatchObject({ method: 'DELETE', url: '/v1/items/a%2Fb' })
  expect(removed).toMatchObject({ status: 200, body: null })
})

test('files are sent by content or by id, and a body field named like a parameter gets a prefix', async () => {
  await using service = await startShop()
  await using platform = await startPlatform()
  const { id } = await register(platform, { url: `${service.url}/openapi.json` })
  const { body: file } = await platform.post('/files', { path: '/lamp.txt', content: 'a stored lamp' })
  service.received.length = 0

  const one = { content_base64: Buffer.from('a new lamp').toString('base64'), filename: 'new.png' }
  await call(platform, id, 'setPhoto', { id: '7', body_id: 'eight', photo: one })
  await call(platform, id, 'setPhoto', { id: '7', photo: { file_id: file.id } })

  const [byContent, byId] = service.received
  expect(byContent?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/)
  expect(byContent?.body).toContain('name="photo"; filename="new.png"')
  expect(byContent?.body).toContain('a new lamp')
  expect(byContent?.body).toMatch(/name="id"\r\n\r\neight/)
  expect(byId?.body).toContain('filename="lamp.txt"')
  expect(byId?.body).toContain('a stored lamp')
})

test('a result says how to get the next page, and only selected fields are returned', async () => {
  await using service = await startShop()
  await using platform = await startPlatform()
  const { id } = await register(platform, { url: `${service.url}/openapi.json` })
  await platform.post('/servers', { slug: 'all' })

  const selected = await call(platform, id, 'items_list', { page: 1, select: ['id', 'category.name'] })
  const over = await callOverMcp(platform, 'shop_items_list_action', { page: 1 })
  await platform.patch('/servers/all', { agent_mode: true })
  const inAgentMode = await callOverMcp(platform, 'EXECUTE_ACTION', {
    ...{ application_slug: 'shop', action_id: 'items_list', type: 'action' },
    input_payload: { page: 1, select: ['id'] },
  })

  expect(selected.headers.get('quartermaster-note')).toBe(over.at(-1))
  expect(JSON.parse(inAgentMode[0] ?? '')).toEqual({
    ...{ success: true, data: [{ id: '1' }, { id: '2' }], note: over.at(-1) },
  })
  expect(selected.body).toEqual([{ id: '1', category: { name: 'Light' } }, { id: '2' }])
  expect(over.at(-1)).toBe('There are more results. For the next page, call this again with {"page":2}.')
})

test('a list over the result limit loses whole items at its end, says how many, and the rest can be read', async () => {
  const items = Array.from({ length: 100 }, (_, index) => ({ id: String(index), name: `Item ${index}` }))
  await using service = await startService(() => ({
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ total: 1000, items }, null, 2),
  }))
  await using platform = await startPlatform()
  await register(platform, { document: shop(service.url) })
  await platform.post('/servers', { slug: 'all', result_limit: 2000 })

  const [said = '', list = ''] = await callOverMcp(platform, 'shop_items_list_action', {})
  const { items: shown } = JSON.parse(list)
  const { result_id, offset } = JSON.parse(/\{"result_id.*?\}/.exec(said)?.[0] ?? '{}')
  const [rest = ''] = await callOverMcp(platform, 'READ_RESULT', { result_id, offset })

  expect(shown).toEqual(items.slice(0, shown.length))
  expect(said).toContain(`These are the first ${shown.length} of 100 items; ${100 - shown.length} are left out`)
  expect(rest.startsWith(JSON.stringify(items[shown.length]))).toBe(true)
})

test('a binary result becomes a file of the project', async () => {
  await using service = await startShop()
  await using platform = await startPlatform()
  const { id } = await register(platform, { url: `${service.url}/openapi.json` })

  const { body } = await call(platform, id, 'getPhoto', { id: '7' })
  const file = await platform.fetch(`/api/v1/files/${body.file_id}/content`, {
    headers: { authorization: `Bearer ${adminKey}` },
  })

  expect(body).toMatchObject({ content_type: 'image/png', size: 3 })
  expect([...new Uint8Array(await file.arrayBuffer())]).toEqual([1, 2, 3])
})

test('operations are included and excluded by tag, path and method, and renamed and described', async () => {
  await using platform = await startPlatform()
  const document = shop('https://shop.example')
  const actions = { items_list: { name: 'find_items', description: 'Finds items.', level: 'restricted' } }

  const tool = await register(platform, {
    document,
    include: [{ tag: 'items' }],
    exclude: [{ method: 'delete' }],
    actions,
  })
  const first = await platform.get(`/tools/${tool.id}/actions`)
  await platform.patch(`/tools/${tool.id}`, {
    openapi: { ...tool.openapi, include: [{ path: '/items/*/photo' }], actions: {} },
  })
  const second = await platform.get(`/tools/${tool.id}/actions`)

  expect(first.body.data).toMatchObject([
    { name: 'find_items', description: 'Finds items.', level: 'restricted', auto_approve: false },
    { name: 'items_create' },
  ])
  expect(second.body.data.map(({ name }: { name: string }) => name)).toEqual(['getPhoto', 'setPhoto'])
})

test('refreshing a tool imports its document again and reports what was added, changed and removed', async () => {
  let document: ReturnType<typeof shop> & { paths: Record<string, unknown> } = shop()
  await using service = await startService(() => ({ body: JSON.stringify(document) }))
  await using platform = await startPlatform()
  const { id } = await register(platform, { url: service.url })
  const { '/items/{id}': removed, ...rest } = shop().paths
  rest['/items'].get.summary = 'List all items'
  rest['/items'].get.operationId = 'another-name'
  const added = { get: { operationId: 'ping', responses: { 200: { description: 'ok' } } } }
  document = { ...shop(), paths: { ...rest, '/ping': added } } as never

  const { body } = await platform.post(`/tools/${id}/refresh`, {})
  const again = await platform.post(`/tools/${id}/refresh`, {})

  expect(body).toMatchObject({ actions: 5, added: ['ping'], changed: ['items_list'], removed: ['delete_items_id'] })
  expect(again.body).toMatchObject({ actions: 5, added: [], changed: [], removed: [] })
})

test('a document that sends requests to another host after a refresh is refused, and the tool stays as it is', async () => {
  let document = shop('https://shop.example')
  await using service = await startService(() => ({ body: JSON.stringify(document) }))
  await using platform = await startPlatform()
  const { id, openapi } = await register(platform, { url: service.url })
  document = shop('https://evil.example')

  const { status, body } = await platform.post(`/tools/${id}/refresh`, {})

  expect(status).toBe(400)
  expect(body.error.message).toContain('openapi.server_url: the document now sends requests to https://evil.example')
  expect((await platform.get(`/tools/${id}`)).body.openapi).toEqual(openapi)
})

test.each([
  ['is neither JSON nor YAML', '{ "openapi": ', 'openapi.document: is not valid JSON'],
  ['is broken YAML', 'openapi: 3.0.0\npaths: [', 'openapi.document: line'],
  ['is something else', '{"hello":1}', 'is not an OpenAPI document'],
  ['has an unknown version', '{"openapi":"4.0.0"}', '/openapi: has the version 4.0.0'],
  ['has no operations', '{"openapi":"3.1.0","paths":{}}', 'has no operation that can be called'],
  ['has paths that are no object', '{"openapi":"3.1.0","paths":[]}', '/paths: must be an object'],
  ['is a page', '<!DOCTYPE html><html><body>API</body></html>', 'is an HTML page, not an OpenAPI document'],
  ['is a YAML bomb', yamlBomb(), 'is not valid YAML: Excessive alias count'],
  [
    'is nested too deeply',
    `{"openapi":"3.1.0","paths":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`,
    'is nested more than',
  ],
  ['names a private server', JSON.stringify(shop('http://10.1.2.3')), 'http://10.1.2.3 cannot be called'],
  ['names a relative server', JSON.stringify(shop()), 'openapi.server_url: is needed'],
  ['names a server of another protocol', JSON.stringify(shop('mqtt://shop.example')), 'openapi.server_url: is needed'],
])('a document that %s is refused, and nothing is imported', async (_, document, message) => {
  await using platform = await startPlatform()

  const { status, body } = await platform.post('/tools', { name: 'shop', type: 'openapi', openapi: { document } })

  expect(status, JSON.stringify(body)).toBe(400)
  expect(body.error.message).toContain(message)
  expect((await platform.get('/tools')).body.total).toBe(0)
})

function yamlBomb() {
  const levels = 'abcdefghij'.split('').map((name, index, all) => {
    const before = all[index - 1]
    return `${name}: &${name} [${Array.from({ length: 20 }, () => (before ? `*${before}` : 'lol')).join(',')}]`
  })
  return `openapi: 3.0.0\n${levels.join('\n')}`
}

test('a schema over 32 KB is reduced, and RESOLVE_ACTIONS returns the whole of it on request', async () => {
  await using platform = await startPlatform()
  const text = 'It says what the field is for. '.repeat(50)
  const field = { type: 'object', description: text, properties: { code: { type: 'string', enum: manyValues() } } }
  const fields = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`field${index}`, field]))
  const schema = { type: 'object', properties: fields }
  const post = {
    operationId: 'create-order',
    summary: 'Create an order',
    requestBody: { content: { 'application/json': { schema } } },
  }
  const document = { openapi: '3.1.0', servers: [{ url: 'https://shop.example' }], paths: { '/orders': { post } } }
  const tool = await register(platform, { document })
  await platform.post('/servers', { slug: 'all', agent_mode: true })
  const resolve = async (more: object) => {
    const [found = ''] = await callOverMcp(platform, 'RESOLVE_ACTIONS', {
      integration_query: ['create an order shop'],
      ...more,
    })
    return JSON.parse(found)[0]
  }

  const { body } = await platform.get(`/tools/${tool.id}/actions`)
  const reduced = await resolve({})
  const whole = await resolve({ full_schema: true })

  const [{ input_schema: listed }] = body.data
  expect(JSON.stringify(listed).length).toBeLessThan(32 * 1024)
  expect(listed.properties.field0.properties.code).toEqual({
    type: 'string',
    description: expect.stringContaining('One of 200 values'),
  })
  expect(reduced.note).toContain('full_schema')
  expect(whole.json_schema.properties.field0.properties.code.enum).toHaveLength(200)
})

const manyValues = () => Array.from({ length: 200 }, (_, index) => `value-${index}`)

test('a document is inspected before it becomes a tool: its operations with sizes, credentials, and what is left out', async () => {
  await using platform = await startPlatform()
  const paths = { ...shop().paths, '/echo': { trace: { operationId: 'echo' } } }

  const { body } = await platform.post('/tools/inspect-openapi', {
    document: { ...shop('https://shop.example'), paths },
  })
  const tool = await register(platform, { snapshot: body.snapshot, include: [{ operation: 'items_list' }] })
  const { body: actions } = await platform.get(`/tools/${tool.id}/actions`)

  expect(body).toMatchObject({ title: 'Shop', version: '3.0.3', server_url: 'https://shop.example' })
  expect(body.operations).toHaveLength(5)
  expect(body.operations[0]).toMatchObject({ name: 'items_list', method: 'GET', path: '/items', tags: ['items'] })
  expect(body.operations[0].size).toBeGreaterThan(100)
  expect(body.credentials).toMatchObject([
    { scheme: 'key', type: 'api_key', in: 'header', name: 'X-Shop-Key', actions: 5 },
  ])
  expect(body.left_out).toEqual([{ operation: 'TRACE /echo', reason: 'TRACE requests are not supported' }])
  expect(actions.data).toMatchObject([{ name: 'items_list', output_schema: { type: 'array' } }])
})

test('a snapshot of another project cannot be used', async () => {
  await using platform = await startPlatform()
  const other = (await platform.post('/projects', { name: 'Other' })).body.id
  const { body } = await platform.post('/tools/inspect-openapi', {
    project_id: other,
    document: shop('https://shop.example'),
  })

  const made = await platform.post('/tools', {
    ...{ project_id: platform.projectId, name: 'shop', type: 'openapi' },
    openapi: { snapshot: body.snapshot },
  })

  expect(made.status).toBe(400)
  expect(made.body.error.message).toContain('openapi.snapshot: is not known here')
})

test('an app shows its tools, actions and the credentials that they need', async () => {
  await using platform = await startPlatform()
  await register(platform, { document: shop('https://shop.example'), credentials: { key: 'k' } })
  const blind = await platform.keyFor([{ effect: 'Allow', action: ['calls:ListCalls'] }])

  const { body: apps } = await platform.get('/apps')
  const { body: app } = await platform.get('/apps/shop')

  expect(apps).toMatchObject({
    total: 1,
    data: [{ slug: 'shop', action_count: 5, auth: [{ scheme: 'key', configured: true }] }],
  })
  expect(app.actions).toContainEqual(
    expect.objectContaining({ id: 'shop:items_list', title: 'List items', read_only: true }),
  )
  expect((await platform.get('/apps/nothing')).status).toBe(404)
  expect((await platform.get('/apps', { key: blind })).body.total).toBe(0)
  expect((await platform.get('/apps/shop', { key: blind })).status).toBe(404)
})

test('an app is up after a response, and down while its service fails or cannot be reached', async () => {
  let status = 200
  await using platform = await startPlatform()
  const states: string[] = []
  const look = async () => {
    const { body } = await platform.get('/apps/shop')
    states.push(body.health[0].state)
  }
  await using service = await startService(() => ({ status }))
  const { id } = await register(platform, { document: shop(service.url) })

  await look()
  for (status of [503, 404, 200]) {
    await call(platform, id, 'items_list', {})
    await look()
  }
  await service[Symbol.asyncDispose]()
  await call(platform, id, 'items_list', {})
  await look()

  expect(states).toEqual(['unknown', 'down', 'up', 'up', 'down'])
})

test('duplicate and very long operation ids get different names of at most 64 characters', async () => {
  await using platform = await startPlatform()
  const id = 'a'.repeat(200)
  const operation = { operationId: id, responses: {} }
  const document = {
    openapi: '3.1.0',
    servers: [{ url: 'https://shop.example' }],
    paths: {
      '/one': { get: operation, post: operation },
      '/two': { get: { operationId: 'x' }, put: { operationId: 'x' } },
    },
  }

  const tool = await register(platform, { document })
  const { body } = await platform.get(`/tools/${tool.id}/actions`)

  const names: string[] = body.data.map(({ name }: { name: string }) => name)
  expect(new Set(names).size).toBe(4)
  expect(names.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name))).toBe(true)
})

test('a document that declares 100 MB is refused before it is read', async () => {
  await using service = await startService(() => ({
    headers: { 'content-length': String(100 * 1024 * 1024) },
    body: '',
  }))
  await using platform = await startPlatform()

  const { status, body } = await platform.post('/tools', {
    name: 'shop',
    type: 'openapi',
    openapi: { url: service.url },
  })

  expect(status).toBe(502)
  expect(body.error.code).toBe('RESPONSE_TOO_LARGE')
  expect((await platform.get('/tools')).body.total).toBe(0)
})

test('references to other documents are followed if the tool says so, through the egress guard', async () => {
  const files: Record<string, object> = {
    '/api/openapi.json': {
      openapi: '3.1.0',
      servers: [{ url: 'https://shop.example' }],
      paths: { '/items': { $ref: 'paths/items.json' } },
      components: { schemas: { Id: { type: 'integer' } } },
    },
    '/api/paths/items.json': {
      post: {
        operationId: 'add',
        requestBody: { content: { 'application/json': { schema: { $ref: '../schemas.json#/Item' } } } },
      },
    },
    '/api/schemas.json': {
      Item: {
        type: 'object',
        properties: { id: { $ref: 'openapi.json#/components/schemas/Id' }, parent: { $ref: '#/Item' } },
      },
      Evil: { $ref: 'http://10.1.2.3/secret.json' },
    },
  }
  await using service = await startService(({ url }) => ({ body: JSON.stringify(files[url] ?? {}) }))
  await using platform = await startPlatform()
  const openapi = { url: `${service.url}/api/openapi.json`, follow_references: true }

  const blocked = await platform.post('/tools', { name: 'shop', type: 'openapi', openapi })
  delete (files['/api/schemas.json'] as { Evil?: object }).Evil
  const tool = await register(platform, openapi)
  const { body } = await platform.get(`/tools/${tool.id}/actions`)

  expect(blocked.body.error.code).toBe('EGRESS_BLOCKED')
  expect(body.data[0].input_schema).toMatchObject({
    properties: { id: { $ref: '#/$defs/Id' }, parent: { $ref: '#/$defs/schemas_Item' } },
    $defs: { Id: { type: 'integer' }, schemas_Item: { properties: { parent: { $ref: '#/$defs/schemas_Item' } } } },
  })
})

test('references to other documents are not fetched', async () => {
  await using other = await startService()
  await using platform = await startPlatform()
  const document = {
    openapi: '3.1.0',
    servers: [{ url: 'https://shop.example' }],
    paths: {
      '/one': { get: { operationId: 'one', parameters: [{ $ref: `${other.url}/p.json` }] } },
      '/two': {
        post: {
          operationId: 'two',
          requestBody: { content: { 'application/json': { schema: { $ref: `${other.url}/s.json` } } } },
        },
      },
    },
  }

  const tool = await register(platform, { document })
  const { body } = await platform.get(`/tools/${tool.id}/actions`)

  expect(other.received).toEqual([])
  expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['two'])
})

test('a secret in the credentials of a tool is hidden from readers and never echoed', async () => {
  await using service = await startService(({ headers }) => ({
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ you_sent: headers['x-shop-key'] ?? null }),
  }))
  await using platform = await startPlatform()
  const { id } = await register(platform, {
    document: shop(service.url),
    credentials: { key: 'a-key-that-nobody-may-see' },
  })
  const reader = await platform.keyFor([{ effect: 'Allow', action: ['tools:GetTool', 'tools:CallTool'] }])

  const read = await platform.get(`/tools/${id}`, { key: reader })
  const called = await call(platform, id, 'items_list', {})

  expect(read.body.openapi.credentials).toEqual({ key: '[hidden]' })
  expect(called.body).toEqual({ you_sent: '[redacted]' })
})

/** Calls a tool like an MCP client, and returns the texts of the result. */
async function callOverMcp(platform: TestPlatform, name: string, input: object): Promise<string[]> {
  const response = await platform.fetch('/mcp/all', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${adminKey}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }),
  })
  const { result } = (await response.json()) as { result: { content: { text: string }[] } }
  return result.content.map(({ text }) => text)
}

test('a connection is used without server_url, because the tool knows where its document sends requests', async () => {
  await using service = await startShop()
  await using platform = await startPlatform()
  const tool = await register(platform, { url: `${service.url}/openapi.json` })
  const connection = { tool_id: tool.id, type: 'api_key', header: 'X-Shop-Key', owner: { kind: 'user', id: 'ana' } }
  const made = await platform.post('/connections', { ...connection, value: 'ana-key-123456' })
  const calls = (user: string) =>
    platform.post(`/tools/${tool.id}/call`, { action: 'items_list', input: { page: 1 }, end_user_id: user })

  const ana = await calls('ana')
  const bob = await calls('bob')

  expect(tool.openapi.servers).toEqual([`${service.url}/v1`])
  expect(made.body.origins).toEqual([service.url])
  expect(ana.status).toBe(200)
  expect(service.received.at(-1)?.headers['x-shop-key']).toBe('ana-key-123456')
  expect(bob.body.error.code).toBe('CONNECTION_REQUIRED')
})

test('a connection is not used for a server that its owner did not agree to', async () => {
  await using service = await startShop()
  await using elsewhere = await startShop()
  await using platform = await startPlatform()
  const tool = await register(platform, { document: shop(service.url) })
  await platform.post('/connections', { tool_id: tool.id, type: 'bearer', value: 'token-123456' })
  const two = shop(service.url)
  Object.assign(two.paths['/items/{id}'], { servers: [{ url: elsewhere.url }] })
  await platform.patch(`/tools/${tool.id}`, { openapi: { document: two } })

  const { body } = await call(platform, tool.id, 'items_list', {})

  expect(body.error.code).toBe('CONNECTION_REQUIRED')
  expect([...service.received, ...elsewhere.received]).toEqual([])
})

test('a hidden credential does not follow the tool to the server of another document', async () => {
  await using service = await startShop()
  await using elsewhere = await startShop()
  await using platform = await startPlatform()
  const tool = await register(platform, { document: shop(service.url), credentials: { key: 'shop-key-123456' } })
  const hidden = (await platform.get(`/tools/${tool.id}`)).body.openapi.credentials
  const change = (server: string) =>
    platform.patch(`/tools/${tool.id}`, { openapi: { document: shop(server), credentials: hidden } })

  const moved = await change(elsewhere.url)
  const same = await change(service.url)

  expect(hidden).toEqual({ key: '[hidden]' })
  expect(moved.status).toBe(400)
  expect(JSON.stringify(moved.body)).toContain('must be sent again')
  expect(same.status).toBe(200)
})

test('a user connects with a link, and the document says where the key goes', async () => {
  await using service = await startShop()
  await using platform = await startPlatform()
  const tool = await register(platform, { url: `${service.url}/openapi.json` })

  const link = await platform.post('/connections/link', { tool_id: tool.id, end_user_id: 'ana' })
  const made = await platform.post('/connections', { tool_id: tool.id, type: 'api_key', value: 'project-key-123456' })
  await call(platform, tool.id, 'items_list', {})

  expect(link.status).toBe(201)
  expect(link.body.connect_url).toContain('/connect/')
  expect(made.body).toMatchObject({ type: 'api_key', header: 'X-Shop-Key' })
  expect(service.received.at(-1)?.headers['x-shop-key']).toBe('project-key-123456')
})
