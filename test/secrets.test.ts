import { mkdir, mkdtempDisposable, rename, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { startListening } from './clients.ts'
import { engines, freshDatabase } from './engines.ts'
import { type Received, startPlatform, startService, type TestPlatform } from './kit.ts'
import { echo, startUpstream } from './upstream.ts'

const value = 'correct-horse-battery-staple'
const next = 'tr0ub4dor-and-three-more'

/** A service that returns everything it was sent. */
const mirror = ({ headers, url }: Received) => ({
  status: url.includes('fail') ? 400 : 200,
  body: JSON.stringify({ headers, url }),
})

async function create(platform: TestPlatform, path: string, body: object) {
  const response = await platform.post(path, { project_id: platform.projectId, ...body })
  expect(response.status, JSON.stringify(response.body)).toBe(201)
  return response.body
}

const httpTool = (url: string, headers: object = { authorization: 'Bearer ${{ secrets.TOKEN }}' }) => ({
  name: 'crm',
  parameters: {},
  execute: { url, method: 'GET', headers },
})

describe.each(engines)('a secret on %s', (engine) => {
  test('is sent by the tools that reference it, and its value is encrypted and never returned', async () => {
    await using database = await freshDatabase(engine)
    await using service = await startService(mirror)
    await using platform = await startPlatform(
      database.options.databaseUrl ? { DATABASE_URL: database.options.databaseUrl } : {},
    )
    const secret = await create(platform, '/secrets', { name: 'TOKEN', value, description: 'CRM' })
    const tool = await create(platform, '/tools', httpTool(`${service.url}/ok?key=\${{ secrets.TOKEN }}`))

    const { status, body } = await platform.post(`/tools/${tool.id}/call`, { input: {} })
    const read = await platform.get(`/secrets/${secret.id}`)
    const listed = await platform.get('/secrets')
    const calls = await platform.get('/calls')
    const record = await platform.get(`/calls/${calls.body.data[0].id}`)
    const [row] = await platform.platform.store.secrets.named(platform.projectId, ['TOKEN'])

    expect(status).toBe(200)
    expect(service.received[0]?.headers.authorization).toBe(`Bearer ${value}`)
    expect(service.received[0]?.url).toBe(`/ok?key=${value}`)
    expect(body).toMatchObject({ url: '/ok?key=[redacted]', headers: { authorization: '[redacted]' } })
    expect(read.body).toMatchObject({ name: 'TOKEN', description: 'CRM', source: 'stored', env: null })
    expect(JSON.stringify([secret, read.body, listed.body, record.body])).not.toContain(value)
    expect(row?.value).toMatch(/^v1\./)
  })

  test('can be rotated: the next call sends the new value, without the line break at its end', async () => {
    await using database = await freshDatabase(engine)
    await using service = await startService(mirror)
    await using platform = await startPlatform(
      database.options.databaseUrl ? { DATABASE_URL: database.options.databaseUrl } : {},
    )
    const { id, rotated_at } = await create(platform, '/secrets', { name: 'TOKEN', value })
    const tool = await create(platform, '/tools', httpTool(service.url))

    await platform.post(`/tools/${tool.id}/call`, { input: {} })
    const rotated = await platform.patch(`/secrets/${id}`, { value: `${next}\n` })
    const { body } = await platform.post(`/tools/${tool.id}/call`, { input: {} })

    expect(service.received.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${value}`, `Bearer ${next}`])
    expect(rotated.body.rotated_at >= rotated_at).toBe(true)
    expect(body.headers.authorization).toBe('[redacted]')
  })
})

test('a tool whose secret is missing is listed, and its calls fail with SECRET_NOT_FOUND before anything is sent', async () => {
  await using service = await startService(mirror)
  await using platform = await startPlatform()
  const tool = await create(platform, '/tools', { ...httpTool(service.url), level: 'restricted' })

  const actions = await platform.get(`/tools/${tool.id}/actions`)
  const { status, body } = await platform.post(`/tools/${tool.id}/call`, { input: {} })
  await create(platform, '/secrets', { name: 'TOKEN', value })
  await platform.patch(`/tools/${tool.id}`, { level: 'open' })
  const after = await platform.post(`/tools/${tool.id}/call`, { input: {} })

  expect(actions.body.total).toBe(1)
  expect(status).toBe(422)
  expect(body.error).toMatchObject({ code: 'SECRET_NOT_FOUND', details: { secret: 'TOKEN' } })
  expect((await platform.get('/approvals')).body.total).toBe(0)
  expect(after.status).toBe(200)
  expect(service.received).toHaveLength(1)
})

test('an MCP server receives secrets in its headers and URL, and again after a rotation', async () => {
  await using upstream = await startUpstream([echo])
  await using platform = await startListening()
  const { id } = await create(platform, '/secrets', { name: 'TOKEN', value })
  const mcp = { url: upstream.url, headers: { 'x-api-key': '${{ secrets.TOKEN }}' } }
  const tool = await create(platform, '/tools', { name: 'up', type: 'mcp', mcp })
  const call = () => platform.post(`/tools/${tool.id}/call`, { action: 'echo', input: { text: 'hi' } })

  const first = await call()
  await platform.patch(`/secrets/${id}`, { value: next })
  const second = await call()
  await platform.delete(`/secrets/${id}?force=true`)
  const third = await call()

  expect([first.status, second.status, third.status]).toEqual([200, 200, 422])
  const sent = new Set(upstream.headers.map((headers) => headers['x-api-key']))
  expect([...sent]).toEqual([value, next])
})

test('a secret of another project is not found, and a name can be used in each project', async () => {
  await using service = await startService(mirror)
  await using platform = await startPlatform()
  const other = (await platform.post('/projects', { name: 'Other' })).body.id
  await platform.post('/secrets', { project_id: other, name: 'TOKEN', value: next })
  const tool = await create(platform, '/tools', httpTool(service.url))

  const missing = await platform.post(`/tools/${tool.id}/call`, { input: {} })
  await create(platform, '/secrets', { name: 'TOKEN', value })
  await platform.post(`/tools/${tool.id}/call`, { input: {} })

  expect(missing.body.error.code).toBe('SECRET_NOT_FOUND')
  expect(service.received.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${value}`])
})

test('a tool that references a secret can be registered and changed only with secrets:UseSecret', async () => {
  await using platform = await startPlatform()
  await create(platform, '/secrets', { name: 'TOKEN', value })
  const statement = (action: string[]) => platform.keyFor([{ effect: 'Allow', action }])
  const builder = await statement(['tools:*'])
  const trusted = await statement(['tools:*', 'secrets:UseSecret'])
  const as = (key: string) => ({ key })
  const tool = { ...httpTool('https://crm.example.com'), project_id: platform.projectId }

  const refused = await platform.post('/tools', tool, as(builder))
  const made = await platform.post('/tools', tool, as(trusted))
  const path = `/tools/${made.body.id}`
  const moved = await platform.patch(
    path,
    { execute: { ...tool.execute, url: 'https://evil.example.com' } },
    as(builder),
  )
  const described = await platform.patch(path, { description: 'CRM' }, as(builder))

  expect(refused.body.error).toMatchObject({ code: 'FORBIDDEN', details: { permission: 'secrets:UseSecret' } })
  expect(made.status).toBe(201)
  expect(moved.body.error?.code).toBe('FORBIDDEN')
  expect(described.status).toBe(200)
})

test('a secret that tools reference is deleted only with force, and its name tells which', async () => {
  await using platform = await startPlatform()
  const { id } = await create(platform, '/secrets', { name: 'TOKEN', value })
  await create(platform, '/tools', httpTool('https://crm.example.com'))
  await create(platform, '/tools', {
    ...httpTool('https://x.example.com', { a: '${{ secrets.TOKEN2 }}' }),
    name: 'other',
  })

  const refused = await platform.delete(`/secrets/${id}`)
  const byName = await platform.get('/secrets/TOKEN')
  const deleted = await platform.delete('/secrets/TOKEN?force=true')

  expect(refused.body.error).toMatchObject({ code: 'HAS_DEPENDENTS', details: { dependents: ['the tool "crm"'] } })
  expect(byName.body.id).toBe(id)
  expect(deleted.status).toBe(204)
})

test('an operator can keep the value in an environment variable that QM_SECRET_VARIABLES lists', async () => {
  process.env.TEST_CRM_TOKEN = value
  await using service = await startService(mirror)
  await using platform = await startPlatform({ QM_SECRET_VARIABLES: 'TEST_CRM_TOKEN, TEST_UNSET' })
  const bound = await platform.keyFor([{ effect: 'Allow', action: ['secrets:*'] }], { project_id: platform.projectId })
  const send = (body: object, key?: string) =>
    platform.post('/secrets', { project_id: platform.projectId, ...body }, key ? { key } : {})

  const made = await send({ name: 'TOKEN', env: 'TEST_CRM_TOKEN' })
  const answers = [
    await send({ name: 'A', env: 'PATH' }),
    await send({ name: 'B', env: 'TEST_CRM_TOKEN' }, bound),
    await send({ name: 'C', env: 'TEST_CRM_TOKEN', value }),
    await send({ name: 'D' }),
    await send({ name: 'E', value: 'short' }),
    await send({ name: 'E', value: 'shorter\n' }),
    await send({ name: 'not a name', value }),
  ]
  const tool = await create(platform, '/tools', httpTool(service.url))
  await platform.post(`/tools/${tool.id}/call`, { input: {} })
  await platform.patch(`/secrets/${made.body.id}`, { env: 'TEST_UNSET' })
  const unset = await platform.post(`/tools/${tool.id}/call`, { input: {} })
  delete process.env.TEST_CRM_TOKEN

  expect(made.body).toMatchObject({ source: 'env', env: 'TEST_CRM_TOKEN' })
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 400, 400])
  expect(answers.map(({ body }) => body.error.details.errors[0].message)).toEqual([
    expect.stringContaining('QM_SECRET_VARIABLES'),
    expect.stringContaining('not bound to a project'),
    expect.stringContaining('cannot be combined'),
    expect.stringContaining('is missing'),
    expect.stringContaining('at least 8 characters'),
    expect.stringContaining('at least 8 characters'),
    expect.stringContaining('letters, digits and underscores'),
  ])
  expect(service.received.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${value}`])
  expect(unset.body.error.code).toBe('SECRET_VARIABLE_NOT_SET')
})

test('an operator can keep the value in a file of the folder QM_SECRET_FILES, which is read again when it changes', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'quartermaster-'))
  const files = join(folder.path, 'secrets')
  // Kubernetes mounts secrets like this, and swaps the link when they change.
  const mount = async (version: string, content: string) => {
    await mkdir(join(files, `..${version}`), { recursive: true })
    await writeFile(join(files, `..${version}`, 'crm-token'), content)
    await symlink(`..${version}`, join(files, '..new'))
    await rename(join(files, '..new'), join(files, '..data'))
  }
  await mount('1', `${value}\n`)
  await symlink('..data/crm-token', join(files, 'crm-token'))
  await writeFile(join(folder.path, 'outside'), next)
  await symlink('../outside', join(files, 'escaped'))
  await using service = await startService(mirror)
  await using platform = await startPlatform({ QM_SECRET_FILES: files })
  const made = await create(platform, '/secrets', { name: 'TOKEN', file: 'crm-token' })
  const tool = await create(platform, '/tools', httpTool(service.url))
  const call = () => platform.post(`/tools/${tool.id}/call`, { input: {} })
  const sent = () => service.received.at(-1)?.headers.authorization

  const first = await call()
  await mount('2', next)
  await vi.waitFor(async () => {
    await call()
    expect(sent()).toBe(`Bearer ${next}`)
  }, 20_000)
  const count = service.received.length
  const reasons: string[] = []
  for (const file of ['escaped', 'none']) {
    await platform.patch(`/secrets/${made.id}`, { file })
    const { status, body } = await call()
    reasons.push(`${status} ${body.error.code} ${body.error.details.reason}`)
  }

  expect(first.body.headers.authorization).toBe('[redacted]')
  expect(made).toMatchObject({ source: 'file', file: 'crm-token', env: null })
  expect(service.received[0]?.headers.authorization).toBe(`Bearer ${value}`)
  expect(reasons).toEqual(Array(2).fill('422 SECRET_FILE_UNREADABLE is missing'))
  expect(service.received).toHaveLength(count)
})

test('a secret file has a plain name, an unbound key and a folder that the operator has set', async () => {
  await using platform = await startPlatform({ QM_SECRET_FILES: tmpdir() })
  await using without = await startPlatform()
  const key = await platform.keyFor([{ effect: 'Allow', action: ['secrets:*'] }], { project_id: platform.projectId })
  const send = (file: string, at = platform, options = {}) =>
    at.post('/secrets', { project_id: at.projectId, name: 'A', file }, options)

  const names = ['..', '.', '../passwd', '/etc/passwd', 'a/b', 'a\\b', '.hidden', '..data', 'a\0b', '']
  const answers = await Promise.all(names.map((name) => send(name)))
  const bound = await send('token', platform, { key })
  const unset = await send('token', without)
  const both = await platform.post('/secrets', { project_id: platform.projectId, name: 'A', file: 'a', value })

  expect(answers.map(({ status }) => status)).toEqual(names.map(() => 400))
  expect(bound.body.error.message).toContain('not bound to a project')
  expect(unset.body.error.message).toContain('QM_SECRET_FILES')
  expect(both.body.error.message).toContain('cannot be combined with value')
})

test('models cannot create or rotate secrets through platform tools', async () => {
  await using platform = await startPlatform()

  const { status, body } = await platform.post('/tools', {
    project_id: platform.projectId,
    ...{ name: 'admin', type: 'platform', actions: ['create-secret', 'list-secrets'] },
  })

  expect(status).toBe(400)
  expect(body.error.details.errors).toHaveLength(1)
  expect(body.error.details.errors[0].path).toBe('actions[0]')
})
