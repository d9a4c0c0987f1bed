import { describe, expect, test, vi } from 'vitest'
import { startPlatform, type TestPlatform } from './kit.ts'

const allow = (...action: string[]) => ({ effect: 'Allow', action, resource: ['*'] })
const deny = (action: string[], resource = ['*']) => ({ effect: 'Deny', action, resource })
const tool = (name: string, project_id?: string) => ({
  name,
  type: 'client',
  parameters: {},
  ...(project_id && { project_id }),
})

describe('an API key', () => {
  test('is required as a bearer token for everything under /api/v1 (S2.56)', async () => {
    await using platform = await startPlatform()

    const without = await platform.get('/tools', { key: null })
    const wrong = await platform.get('/tools', { key: 'sk_wrong' })
    const basic = await platform.get('/tools', { key: null, headers: { authorization: 'Basic abc' } })

    for (const answer of [without, wrong, basic]) {
      expect(answer).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHENTICATED' } } })
      expect(answer.headers.get('www-authenticate')).toContain('Bearer')
    }
    expect(JSON.stringify(wrong.body)).not.toContain('sk_wrong')
  })

  test('starts with sk_, is shown once, and is stored as a hash', async () => {
    await using platform = await startPlatform()

    const { status, body } = await platform.post('/api-keys', { name: 'ci', access_policy_ids: ['pol_caller'] })

    expect(status).toBe(201)
    expect(body.key).toMatch(/^sk_[A-Za-z0-9]{40}$/)
    expect(body.key_prefix).toBe(body.key.slice(0, 8))
    expect((await platform.get(`/api-keys/${body.id}`)).body).not.toHaveProperty('key')
    expect(JSON.stringify((await platform.get('/api-keys')).body)).not.toContain(body.key)
    const rows = await platform.platform.store.engine.db.selectFrom('api_keys').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(body.key)
  })

  test('stops working as soon as it is revoked or expires', async () => {
    const hour = 3_600_000
    await using platform = await startPlatform()
    const create = (fields: object) =>
      platform.post('/api-keys', { name: 'k', access_policy_ids: ['pol_editor'], ...fields })
    const revoked = (await create({})).body
    const expiring = (await create({ expires_at: new Date(Date.now() + hour).toISOString() })).body
    const status = async (key: string) => (await platform.get('/tools', { key })).status

    expect([await status(revoked.key), await status(expiring.key)]).toEqual([200, 200])
    await platform.delete(`/api-keys/${revoked.id}`)
    expect(await status(revoked.key)).toBe(401)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hour })
    const expired = await platform.get('/tools', { key: expiring.key }).finally(() => vi.useRealTimers())
    expect(expired).toMatchObject({ status: 401, body: { error: { details: { reason: 'expired' } } } })
    expect((await create({ expires_at: '2020-01-01T00:00:00Z' })).status).toBe(400)
  })

  test('cannot grant more permissions than it has', async () => {
    await using platform = await startPlatform()
    const key = await platform.keyFor([allow('api-keys:*', 'tools:ListTools')], { project_id: platform.projectId })
    const create = (fields: object) => platform.post('/api-keys', { name: 'more', ...fields }, { key })

    expect(await create({ access_policy_ids: ['pol_administrator'] })).toMatchObject({
      status: 403,
      body: { error: { details: { permission: 'access-policies:AttachAccessPolicy' } } },
    })
    expect((await create({ project_id: null })).body.project_id).toBe(platform.projectId)
    const own = (await platform.get('/api-keys', { key })).body.data[0].access_policy_ids
    expect((await create({ access_policy_ids: own })).status).toBe(201)
  })

  test('cannot create or change a key to bypass what it is denied', async () => {
    await using platform = await startPlatform()
    const policy = (document: object) => platform.post('/access-policies', { name: 'p', document })
    const denies = (await policy({ statement: [deny(['documents:*'])] })).body.id
    const maker = await platform.post('/api-keys', { name: 'maker', access_policy_ids: ['pol_administrator', denies] })
    const { id, key } = maker.body
    const make = (access_policy_ids: string[]) => platform.post('/api-keys', { name: 'k', access_policy_ids }, { key })

    expect((await make(['pol_administrator'])).status).toBe(403)
    expect((await make(['pol_administrator', denies])).status).toBe(201)
    expect((await make([])).status).toBe(201)
    expect(
      (await platform.patch(`/api-keys/${id}`, { access_policy_ids: ['pol_administrator'] }, { key })).status,
    ).toBe(403)
  })

  test('cannot create keys that expire later or have a higher rate limit than its own', async () => {
    await using platform = await startPlatform()
    const soon = new Date(Date.now() + 3_600_000).toISOString()
    const later = new Date(Date.now() + 7_200_000).toISOString()
    const key = await platform.keyFor([allow('*')], { rate_limit: 100, expires_at: soon })
    const make = async (fields: object) => platform.post('/api-keys', { name: 'x', ...fields }, { key })

    const inherited = await make({})
    const tighter = await make({ rate_limit: 5 })
    const looser = await make({ rate_limit: 101, expires_at: later })
    const loosened = await platform.patch(`/api-keys/${tighter.body.id}`, { rate_limit: null }, { key })
    const byAdmin = await platform.patch(`/api-keys/${tighter.body.id}`, { rate_limit: null, expires_at: null })

    expect(inherited.body).toMatchObject({ rate_limit: 100, expires_at: soon })
    expect(tighter).toMatchObject({ status: 201, body: { rate_limit: 5, expires_at: soon } })
    expect(looser.status).toBe(400)
    expect(looser.body.error.details.errors.map(({ path }: { path: string }) => path)).toEqual([
      'rate_limit',
      'expires_at',
    ])
    expect(loosened.status).toBe(400)
    expect(byAdmin).toMatchObject({ status: 200, body: { rate_limit: null, expires_at: null } })
  })

  test('has a rate limit per minute, reports the remaining requests, and gets 429 beyond the limit', async () => {
    await using platform = await startPlatform()
    const key = await platform.keyFor([allow('*')], { rate_limit: 3 })

    const answers = []
    for (let count = 0; count < 4; count++)
      answers.push(await platform.get(count === 1 ? '/tools/none' : '/tools', { key }))

    expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 429])
    expect(answers.map(({ headers }) => headers.get('ratelimit-remaining'))).toEqual(['2', '1', '0', '0'])
    expect(answers[0]?.headers.get('ratelimit-limit')).toBe('3')
    expect(Number(answers[3]?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(answers[3]?.body.error.code).toBe('RATE_LIMITED')
    expect((await platform.get('/tools')).status).toBe(200)
  })
})

describe('an access policy', () => {
  test('is required: without an Allow statement, reading gives 404, writing 403, and lists are empty', async () => {
    await using platform = await startPlatform()
    const { id } = (await platform.post('/tools', tool('a'))).body
    const key = await platform.keyFor([allow('calls:ListCalls')])

    expect(await platform.get('/tools', { key })).toMatchObject({
      status: 200,
      body: { data: [], total: 0, limit: 50, offset: 0 },
    })
    expect((await platform.get(`/tools/${id}`, { key })).status).toBe(404)
    expect((await platform.post('/tools', tool('b'), { key })).status).toBe(403)
    expect((await platform.patch(`/tools/${id}`, { name: 'b' }, { key })).status).toBe(403)
    expect((await platform.delete(`/tools/${id}`, { key })).status).toBe(403)
    expect(await platform.post(`/tools/${id}/call`, {}, { key })).toMatchObject({
      status: 403,
      body: { error: { code: 'FORBIDDEN', details: { layer: 'access policy', permission: 'tools:CallTool' } } },
    })
    expect((await platform.get(`/tools/${id}`)).body.name).toBe('a')
  })

  test('names permissions as module:Operation, and every operation has one (S2.60)', async () => {
    await using platform = await startPlatform()
    const key = await platform.keyFor([allow('tools:CreateTool')])
    const spec = (await platform.get('/openapi.json')).body

    expect((await platform.post('/tools', tool('a'), { key })).status).toBe(201)
    expect((await platform.get('/tools', { key })).body.total).toBe(0)
    for (const methods of Object.values(spec.paths) as Record<string, Record<string, string>>[]) {
      for (const operation of Object.values(methods))
        expect(operation['x-permission']).toMatch(/^[a-z-]+:[A-Z][A-Za-z]+$/)
    }
  })

  test('with a Deny statement overrides every Allow statement', async () => {
    await using platform = await startPlatform()
    const { id } = (await platform.post('/tools', tool('a'))).body
    const other = (await platform.post('/tools', tool('b'))).body.id
    const key = await platform.keyFor([allow('*'), deny(['tools:*'], [`qm:*:tool:${id}`])])

    expect((await platform.get(`/tools/${id}`, { key })).status).toBe(404)
    expect((await platform.delete(`/tools/${id}`, { key })).status).toBe(403)
    expect((await platform.get('/tools', { key })).body).toMatchObject({ total: 1, data: [{ id: other }] })
  })

  test('can be limited to one resource, a path, a type or a tag', async () => {
    await using platform = await startPlatform()
    const make = async (path: string, tags = {}) =>
      (await platform.post('/documents', { path, content: 'goose', tags })).body.id
    const report = await make('/reports/q3.md')
    const plan = await make('/plans/q3.md', { team: 'blue' })
    const secret = await make('/reportsecret.md', { team: 'red' })
    const seen = async (statement: object) => {
      const key = await platform.keyFor([{ effect: 'Allow', action: ['documents:*'], ...statement }])
      const listed = (await platform.get('/documents', { key })).body.data.map(({ id }: { id: string }) => id)
      const found = (await platform.post('/documents/search', { query: 'goose' }, { key })).body.data.map(
        ({ id }: { id: string }) => id,
      )
      expect(found.sort()).toEqual(listed.sort())
      return listed
    }

    expect(await seen({ resource: [`qm:*:document:${report}`] })).toEqual([report])
    expect(await seen({ resource: ['qm:*:document:/reports/*'] })).toEqual([report])
    expect(await seen({ resource: [`soat:${platform.projectId}:document:/plans/q3.md`] })).toEqual([plan])
    expect(await seen({ condition: { StringEquals: { 'qm:ResourceTag/team': ['blue', 'red'] } } })).toEqual([
      plan,
      secret,
    ])
    expect(await seen({ condition: { StringLike: { 'soat:ResourceTag/team': 'b*e' } } })).toEqual([plan])
    expect(await seen({ condition: { StringNotEquals: { 'qm:ResourceTag/team': 'red' } } })).toEqual([report, plan])
    expect(await seen({ condition: { StringEquals: { 'qm:ResourceType': 'file' } } })).toEqual([])
    expect(await seen({ resource: ['qm:*:tool:*'] })).toEqual([])
  })

  test('allows creating records only within its resources', async () => {
    await using platform = await startPlatform()
    const key = await platform.keyFor([
      { effect: 'Allow', action: ['documents:CreateDocument'], resource: ['qm:*:document:/drafts/*'] },
    ])
    const create = async (path: string) => (await platform.post('/documents', { path, content: '' }, { key })).status

    expect([await create('/drafts/a.md'), await create('/final/a.md')]).toEqual([201, 403])
  })

  test('does not allow moving a record to a path where the key may not create one', async () => {
    await using platform = await startPlatform()
    const reports = ['qm:*:document:/reports/*', 'qm:*:file:/reports/*']
    const key = await platform.keyFor([{ effect: 'Allow', action: ['documents:*', 'files:*'], resource: reports }])
    const document = (await platform.post('/documents', { path: '/reports/a', content: '' }, { key })).body.id
    const file = (await platform.post('/files', { path: '/reports/a' }, { key })).body.id

    for (const path of [`/documents/${document}`, `/files/${file}`]) {
      expect((await platform.patch(path, { path: '/policies/a' }, { key })).status).toBe(403)
      expect((await platform.patch(path, { path: '/reports/b' }, { key })).status).toBe(200)
    }
  })

  test('takes effect immediately when it changes, and cannot be deleted while a key uses it', async () => {
    await using platform = await startPlatform()
    const key = await platform.keyFor([allow('tools:ListTools')])
    const id = (await platform.get('/access-policies')).body.data.find(
      ({ name }: { name: string }) => name === 'of a test',
    ).id
    await platform.post('/tools', tool('a'))

    expect((await platform.get('/tools', { key })).body.total).toBe(1)
    await platform.patch(`/access-policies/${id}`, { document: { statement: [deny(['*'])] } })
    expect((await platform.get('/tools', { key })).body.total).toBe(0)
    expect(await platform.delete(`/access-policies/${id}`)).toMatchObject({
      status: 409,
      body: { error: { code: 'HAS_DEPENDENTS' } },
    })
  })

  test('is refused if it names an unknown action, effect, resource or condition', async () => {
    await using platform = await startPlatform()
    const errors = async (statement: object) =>
      (await platform.post('/access-policies', { name: 'p', document: { statement: [statement] } })).body.error?.details
        .errors

    expect(await errors({ effect: 'Deny', action: ['tools:DeleteTols'] })).toMatchObject([
      { path: 'document.statement[0].action[0]', message: expect.stringContaining('"tools:DeleteTool"') },
    ])
    expect(await errors({ effect: 'Maybe', action: ['*'] })).toMatchObject([{ path: 'document.statement[0].effect' }])
    expect(await errors({ effect: 'Allow', action: ['*'], resource: ['qm:*:tool:tool_a*'] })).toMatchObject([
      { path: 'document.statement[0].resource[0]' },
    ])
    expect(await errors({ effect: 'Allow', action: ['*'], condition: { NumberEquals: {} } })).toMatchObject([
      { path: 'document.statement[0].condition.NumberEquals' },
    ])
    expect(await errors({ effect: 'Allow', action: '*' })).toBeUndefined()
  })
})

describe('a key bound to a project', () => {
  const twoProjects = async (platform: TestPlatform) => {
    const theirs = (await platform.post('/projects', { name: 'theirs' })).body.id
    const key = await platform.keyFor([allow('*')], { project_id: platform.projectId })
    return { theirs, key }
  }

  test('has no access to another project: reading gives 404, writing 403, and lists are empty', async () => {
    await using platform = await startPlatform()
    const { theirs, key } = await twoProjects(platform)
    const { id } = (await platform.post('/tools', tool('a', theirs))).body
    const document = (await platform.post('/documents', { project_id: theirs, path: '/a', content: 'goose' })).body.id
    const file = (await platform.post('/files', { project_id: theirs, path: '/a', content: 'x' })).body.id

    for (const path of [
      `/tools/${id}`,
      `/tools/${id}/actions`,
      `/documents/${document}`,
      `/files/${file}`,
      `/files/${file}/content`,
      `/projects/${theirs}`,
    ]) {
      expect((await platform.get(path, { key })).status, path).toBe(404)
    }
    expect((await platform.patch(`/tools/${id}`, { name: 'b' }, { key })).status).toBe(403)
    expect((await platform.delete(`/documents/${document}`, { key })).status).toBe(403)
    expect((await platform.delete(`/projects/${theirs}`, { key })).status).toBe(403)
    expect(await platform.post('/tools', tool('c', theirs), { key })).toMatchObject({
      status: 403,
      body: { error: { details: { layer: 'project' } } },
    })
    expect((await platform.post(`/tools/${id}/call`, {}, { key })).status).toBe(403)
    expect((await platform.get(`/tools?project_id=${theirs}`, { key })).body).toMatchObject({ data: [], total: 0 })
    expect((await platform.get('/tools', { key })).body).toMatchObject({ data: [], total: 0 })
    expect((await platform.get('/projects', { key })).body).toMatchObject({
      total: 1,
      data: [{ id: platform.projectId }],
    })
    expect((await platform.post('/documents/search', { query: 'goose' }, { key })).body.data).toEqual([])
    expect((await platform.get('/calls', { key })).body.data).toEqual([])
    expect(
      (await platform.get('/access-policies', { key })).body.data.every(
        (policy: { project_id: string }) => policy.project_id === platform.projectId,
      ),
    ).toBe(true)
  })

  test('creates records in its project by default', async () => {
    await using platform = await startPlatform()
    const { key } = await twoProjects(platform)

    expect((await platform.post('/tools', tool('a'), { key })).body.project_id).toBe(platform.projectId)
    expect((await platform.post('/projects', { name: 'more' }, { key })).status).toBe(403)
  })

  test('differs from an unbound key, which must name a project if there are several', async () => {
    await using platform = await startPlatform()
    await twoProjects(platform)

    expect(await platform.post('/tools', tool('a'))).toMatchObject({
      status: 400,
      body: { error: { code: 'PROJECT_REQUIRED' } },
    })
    expect((await platform.post('/tools', tool('a', 'proj_none'))).status).toBe(404)
  })
})

test('every key can read its own record and permissions', async () => {
  await using platform = await startPlatform()
  const key = await platform.keyFor([{ effect: 'Allow', action: ['skills:ListSkills'] }], {
    project_id: platform.projectId,
    name: 'laptop',
  })

  const { status, body } = await platform.get('/api-keys/current', { key })

  expect(status).toBe(200)
  expect(body).toMatchObject({
    name: 'laptop',
    created_by: 'key_environment',
    project: { id: platform.projectId, name: 'default' },
    access_policies: [{ name: 'of a test' }],
  })
  expect(JSON.stringify(body)).not.toContain(key)
  expect((await platform.get('/api-keys/current', { key: null })).status).toBe(401)
})
