import { describe, expect, test } from 'vitest'
import { engines, freshDatabase } from './engines.ts'
import { type Received, startPlatform, startService, type TestPlatform } from './kit.ts'

const key = 'crm-live-correct-horse-battery'
const other = 'crm-live-tr0ub4dor-and-three'

/** A service that returns everything it was sent. */
const mirror = ({ headers, url }: Received) => ({ body: JSON.stringify({ headers, url }) })

async function create(platform: TestPlatform, path: string, body: object) {
  const response = await platform.post(path, { project_id: platform.projectId, ...body })
  expect(response.status, JSON.stringify(response.body)).toBe(201)
  return response.body
}

const crmTool = (url: string, more: object = {}) => ({
  name: 'contacts',
  app: 'crm',
  parameters: {},
  execute: { url: `${url}/contacts`, method: 'GET' },
  ...more,
})

const call = (platform: TestPlatform, id: string, more: object = {}, as?: string) =>
  platform.post(`/tools/${id}/call`, { input: {}, ...more }, as === undefined ? {} : { key: as })

describe.each(engines)('a connection on %s', (engine) => {
  test('is used by the tools of its app, and its credentials are encrypted and never returned', async () => {
    await using database = await freshDatabase(engine)
    await using service = await startService(mirror)
    await using platform = await startPlatform(
      database.options.databaseUrl ? { DATABASE_URL: database.options.databaseUrl } : {},
    )
    const tool = await create(platform, '/tools', crmTool(service.url))
    const made = await create(platform, '/connections', {
      app: 'crm',
      type: 'api_key',
      header: 'X-Crm-Key',
      value: key,
    })

    const { status, body } = await call(platform, tool.id)
    const read = await platform.get(`/connections/${made.id}`)
    const listed = await platform.get('/connections?app=crm')
    const record = await platform.get(`/calls/${(await platform.get('/calls')).body.data[0].id}`)
    const row = await platform.platform.store.connections.findRow(made.id)

    expect(status).toBe(200)
    expect(service.received[0]?.headers['x-crm-key']).toBe(key)
    expect(body.headers['x-crm-key']).toBe('[redacted]')
    expect(read.body).toMatchObject({
      ...{ app: 'crm', tool_id: null, type: 'api_key', owner: { kind: 'project', id: null }, status: 'active' },
      ...{ origins: [service.url], header: 'X-Crm-Key' },
    })
    expect(listed.body.total).toBe(1)
    expect(JSON.stringify([made, read.body, listed.body, record.body, row])).not.toContain(key)
    expect(row?.secrets).toMatch(/^v1\./)
  })

  test('of the end user comes before that of the project, and each user has their own', async () => {
    await using database = await freshDatabase(engine)
    await using service = await startService(mirror)
    await using platform = await startPlatform(
      database.options.databaseUrl ? { DATABASE_URL: database.options.databaseUrl } : {},
    )
    const tool = await create(platform, '/tools', crmTool(service.url))
    const owned = (id: string, value: string) =>
      create(platform, '/connections', { app: 'crm', type: 'bearer', value, owner: { kind: 'user', id } })
    await owned('alice', 'token-of-alice-1234')
    await owned('bob', 'token-of-bob-123456')
    await create(platform, '/connections', { app: 'crm', type: 'bearer', value: 'token-of-project-1' })
    const alice = await platform.keyFor([{ effect: 'Allow', action: ['*'] }], { end_user_id: 'alice' })

    await call(platform, tool.id, {}, alice)
    await call(platform, tool.id, { end_user_id: 'bob' })
    await call(platform, tool.id, { end_user_id: 'carol' })
    await call(platform, tool.id)
    const asBob = await call(platform, tool.id, { end_user_id: 'bob' }, alice)

    expect(service.received.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer token-of-alice-1234',
      'Bearer token-of-bob-123456',
      'Bearer token-of-project-1',
      'Bearer token-of-project-1',
    ])
    expect(asBob.status).toBe(403)
  })
})

test('each type puts its credentials where the service expects them', async () => {
  await using service = await startService(mirror)
  await using platform = await startPlatform()
  const tool = await create(platform, '/tools', crmTool(service.url))
  const types = [
    { type: 'api_key', value: key },
    { type: 'api_key', query: 'api_key', value: 'a key/with+signs' },
    { type: 'bearer', token: other },
    { type: 'basic', username: 'ana', password: 'correct-horse' },
  ]

  for (const one of types) {
    const { id } = await create(platform, '/connections', { app: 'crm', ...one })
    await call(platform, tool.id)
    await platform.delete(`/connections/${id}`)
  }

  const [header, query, bearer, basic] = service.received
  expect(header?.headers['x-api-key']).toBe(key)
  expect(new URL(`http://x${query?.url}`).searchParams.get('api_key')).toBe('a key/with+signs')
  expect(bearer?.headers.authorization).toBe(`Bearer ${other}`)
  expect(basic?.headers.authorization).toBe(`Basic ${btoa('ana:correct-horse')}`)
})

test('a call without a connection is refused before anything is sent, and the record says so (S0.42)', async () => {
  await using service = await startService(mirror)
  await using platform = await startPlatform()
  const tool = await create(platform, '/tools', { ...crmTool(service.url), level: 'restricted' })
  await create(platform, '/auth-configs', { app: 'crm', type: 'api_key', header: 'x-crm-key' })

  const { status, body } = await call(platform, tool.id, { end_user_id: 'alice' })
  const record = (await platform.get('/calls')).body.data[0]

  expect(status).toBe(409)
  expect(body.error.code).toBe('CONNECTION_REQUIRED')
  expect(body.error.details).toEqual({
    app: 'crm',
    reason: 'missing',
    connect_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{43}$/),
    expires_at: expect.any(String),
  })
  expect(record).toMatchObject({ status: 'permission_denied', error: { code: 'CONNECTION_REQUIRED' } })
  expect((await platform.get('/approvals')).body.total).toBe(0)
  expect(service.received).toEqual([])
})

test('credentials are not sent to another host, even if a tool of the app is changed', async () => {
  await using service = await startService(mirror)
  await using evil = await startService(mirror)
  await using platform = await startPlatform()
  const tool = await create(platform, '/tools', crmTool(service.url))
  await create(platform, '/connections', { app: 'crm', type: 'api_key', value: key })

  await platform.patch(`/tools/${tool.id}`, { execute: { url: `${evil.url}/contacts`, method: 'GET' } })
  const { status, body } = await call(platform, tool.id)

  expect(status).toBe(409)
  expect(body.error.details).toMatchObject({ reason: 'missing' })
  expect(evil.received).toEqual([])
})

test('credentials that the service rejects must be replaced first, and its owner is told once', async () => {
  let accepted = key
  await using hooks = await startService()
  await using service = await startService(({ headers }) => ({ status: headers['x-api-key'] === accepted ? 200 : 401 }))
  await using platform = await startPlatform()
  const tool = await create(platform, '/tools', crmTool(service.url))
  const { id } = await create(platform, '/connections', { app: 'crm', type: 'api_key', value: key })
  await create(platform, '/webhooks', { name: 'w', url: hooks.url, events: ['*'] })
  const events = () => hooks.received.map(({ body }) => JSON.parse(body).type)

  await call(platform, tool.id)
  accepted = other
  const rejected = await Promise.all([call(platform, tool.id), call(platform, tool.id)])
  const sent = service.received.length
  const blocked = await call(platform, tool.id)
  await platform.patch(`/connections/${id}`, { value: other })
  const works = await call(platform, tool.id)
  await platform.patch(`/connections/${id}`, { status: 'revoked' })
  const revoked = await call(platform, tool.id)

  expect(rejected.map(({ status }) => status)).toEqual([409, 409])
  expect(blocked.body.error.details.reason).toBe('expired')
  expect(works.status).toBe(200)
  expect(service.received.length).toBe(sent + 1)
  expect(revoked.body.error.details.reason).toBe('revoked')
  await expect
    .poll(() => events().sort())
    .toEqual(['connection.reauth_required', 'connection.restored', 'connection.revoked'])
})

test('a model cannot choose whose connection is used', async () => {
  await using service = await startService(mirror)
  await using platform = await startPlatform()
  const tool = await create(platform, '/tools', { ...crmTool(service.url), parameters: { type: 'object' } })
  await create(platform, '/connections', {
    ...{ app: 'crm', type: 'bearer', value: 'token-of-alice-1234', owner: { kind: 'user', id: 'alice' } },
  })
  await create(platform, '/connections', { app: 'crm', type: 'bearer', value: 'token-of-project-1' })
  const nested = await create(platform, '/tools', {
    ...{ name: 'platform', type: 'platform', actions: ['call-tool'] },
  })

  await call(platform, tool.id, { input: { end_user_id: 'alice', authorization: 'x' } })
  const named = await platform.post(`/tools/${nested.id}/call`, {
    action: 'call-tool',
    input: { tool_id: tool.id, end_user_id: 'alice' },
  })

  expect(service.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-of-project-1'])
  expect(named.body.error.code).toBe('FORBIDDEN')
})

test('invalid connections are refused with the reason', async () => {
  await using platform = await startPlatform()
  const tool = await create(platform, '/tools', crmTool('https://crm.example.com'))
  const attempt = async (body: object) => {
    const response = await platform.post('/connections', { project_id: platform.projectId, ...body })
    return [response.status, response.body.error?.message]
  }

  expect(await attempt({ app: 'crm', type: 'api_key' })).toEqual([400, expect.stringContaining('value')])
  expect(await attempt({ app: 'none', type: 'bearer', value: key })).toEqual([400, expect.stringContaining('no tools')])
  expect(await attempt({ type: 'bearer', value: key })).toEqual([400, expect.stringContaining('app or tool_id')])
  expect(await attempt({ app: 'crm', type: 'basic', username: 'a', value: key })).toEqual([
    400,
    expect.stringContaining('password'),
  ])
  expect(await attempt({ app: 'crm', type: 'bearer', value: key, header: 'x' })).toEqual([
    400,
    expect.stringContaining('does not apply'),
  ])
  expect(await attempt({ app: 'crm', type: 'bearer', value: key, owner: { kind: 'user' } })).toEqual([
    400,
    expect.stringContaining('owner'),
  ])
  expect((await attempt({ tool_id: tool.id, type: 'bearer', value: key }))[0]).toBe(201)
  expect((await attempt({ tool_id: tool.id, type: 'bearer', value: key }))[0]).toBe(409)
})

test('connections of another project or user are not found', async () => {
  await using platform = await startPlatform()
  const elsewhere = (await platform.post('/projects', { name: 'Other' })).body.id
  await create(platform, '/tools', crmTool('https://crm.example.com'))
  const owner = { kind: 'user', id: 'alice' }
  const { id } = await create(platform, '/connections', { app: 'crm', type: 'bearer', value: key, owner })
  const allow = [{ effect: 'Allow', action: ['*'] }]
  const foreign = await platform.keyFor(allow, { project_id: elsewhere })
  const bob = await platform.keyFor(allow, { end_user_id: 'bob' })
  const alice = await platform.keyFor(allow, { end_user_id: 'alice' })

  const get = async (as: string) => (await platform.get(`/connections/${id}`, { key: as })).status
  const count = async (as: string) => (await platform.get('/connections', { key: as })).body.total

  expect([await get(foreign), await get(bob), await get(alice)]).toEqual([404, 404, 200])
  expect([await count(foreign), await count(bob), await count(alice)]).toEqual([0, 0, 1])
  expect((await platform.delete(`/connections/${id}`, { key: bob })).status).toBe(403)
})

test('deleting a tool deletes its own connections', async () => {
  await using platform = await startPlatform()
  const tool = await create(platform, '/tools', crmTool('https://crm.example.com'))
  await create(platform, '/connections', { tool_id: tool.id, type: 'bearer', value: key })

  await platform.delete(`/tools/${tool.id}`)

  expect((await platform.get('/connections')).body.total).toBe(0)
})
