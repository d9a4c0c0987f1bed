import { describe, expect, test } from 'vitest'
import { operations } from '../src/operations/index.ts'
import { engines, freshDatabase } from './engines.ts'
import { startPlatform, type TestPlatform } from './kit.ts'

const rita = { email: 'Rita@Example.com', name: 'Rita', role: 'reviewer' }

describe('a person', () => {
  test('is invited with a role and a link that is shown once, and only its hash is stored', async () => {
    await using platform = await startPlatform({ QM_PUBLIC_URL: 'https://qm.example.com/' })

    const invited = await platform.post('/users', rita)

    expect(invited.status).toBe(201)
    expect(invited.body).toMatchObject({
      id: expect.stringMatching(/^usr_/),
      email: 'rita@example.com',
      name: 'Rita',
      role: 'reviewer',
      access_policy_ids: ['pol_reviewer'],
      status: 'invited',
      has_password: false,
      project_id: null,
      created_by: 'key_environment',
      invitation_url: expect.stringMatching(/^https:\/\/qm\.example\.com\/invitation#inv_[\w-]{43}$/),
    })
    const read = await platform.get(`/users/${invited.body.id}`)
    expect(read.body).not.toHaveProperty('invitation_url')
    const rows = await platform.platform.store.engine.db.selectFrom('users').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(invited.body.invitation_url.split('#')[1])
  })

  test('is listed, found by name, changed and deleted', async () => {
    await using platform = await startPlatform()
    const { id } = (await platform.post('/users', rita)).body

    const changed = await platform.patch(`/users/${id}`, { role: 'editor', name: 'Rita R.' })
    const custom = await platform.patch(`/users/${id}`, { access_policy_ids: ['pol_reviewer', 'pol_caller'] })
    const byName = await platform.get('/users/Rita R.')
    const listed = await platform.get('/users')
    const deleted = await platform.delete(`/users/${id}`)

    expect(changed.body).toMatchObject({ role: 'editor', access_policy_ids: ['pol_editor'], name: 'Rita R.' })
    expect(custom.body.role).toBe(null)
    expect(byName.body.id).toBe(id)
    expect(listed.body).toMatchObject({ total: 1, data: [{ id }] })
    expect([deleted.status, (await platform.get(`/users/${id}`)).status]).toEqual([204, 404])
  })

  test.each([
    [{ name: 'x', role: 'viewer' }, /email/],
    [{ email: 'not an address', role: 'viewer' }, /email: must be an email address/],
    [{ email: 'a@example.com' }, /role: is missing/],
    [{ email: 'a@example.com', role: 'king' }, /role/],
    [{ email: 'a@example.com', role: 'viewer', access_policy_ids: ['pol_caller'] }, /cannot be combined with role/],
    [{ email: 'a@example.com', access_policy_ids: ['pol_missing'] }, /no access policy "pol_missing"/],
  ])('is not invited with %j', async (body, message) => {
    await using platform = await startPlatform()

    const answer = await platform.post('/users', body)

    expect(answer).toMatchObject({ status: 400, body: { error: { message: expect.stringMatching(message) } } })
  })

  test('has one account per email address, regardless of case', async () => {
    await using platform = await startPlatform()
    await platform.post('/users', rita)

    const again = await platform.post('/users', { ...rita, email: 'rita@EXAMPLE.com' })

    expect(again).toMatchObject({ status: 409, body: { error: { code: 'NAME_TAKEN' } } })
  })

  test('keeps a policy from being deleted', async () => {
    await using platform = await startPlatform()
    const { id } = (await platform.post('/users', rita)).body

    const answer = await platform.delete('/access-policies/pol_reviewer')

    expect(answer).toMatchObject({ status: 409, body: { error: { details: { dependents: [id] } } } })
  })
})

describe('an invitation', () => {
  const inviter = (platform: TestPlatform, more: unknown[] = [], options = {}) =>
    platform.keyFor(
      [{ effect: 'Allow', action: ['users:*'], resource: ['*'] }, ...more] as { effect: string; action: string[] }[],
      options,
    )

  test('cannot give more access than the inviter has, nor reset the account of someone who has more', async () => {
    await using platform = await startPlatform()
    const owner = (await platform.post('/users', { email: 'o@example.com', role: 'owner' })).body
    const key = await inviter(platform)

    const answers = [
      await platform.post('/users', rita, { key }),
      await platform.post(`/users/${owner.id}/invitation`, {}, { key }),
      await platform.patch(`/users/${owner.id}`, { access_policy_ids: ['pol_administrator', 'pol_editor'] }, { key }),
    ]

    for (const answer of answers) expect(answer).toMatchObject({ status: 403, body: { error: { code: 'FORBIDDEN' } } })
    expect((await platform.post('/users', { ...rita, role: undefined, access_policy_ids: [] }, { key })).status).toBe(
      201,
    )
  })

  test('needs the Deny policies of the inviter, and a key without limits', async () => {
    await using platform = await startPlatform()
    const denied = await inviter(platform, [
      { effect: 'Allow', action: ['access-policies:AttachAccessPolicy'] },
      { effect: 'Deny', action: ['secrets:*'] },
    ])
    const brief = await platform.post('/api-keys', {
      name: 'brief',
      access_policy_ids: ['pol_administrator'],
      expires_at: new Date(Date.now() + 60_000).toISOString(),
    })

    const answers = [
      await platform.post('/users', rita, { key: denied }),
      await platform.post('/users', rita, { key: brief.body.key }),
    ]

    expect(answers.map(({ status, body }) => [status, body.error.message])).toEqual([
      [403, expect.stringMatching(/restricts you/)],
      [403, expect.stringMatching(/rate limit or an expiry date/)],
    ])
  })

  test('of a key that is bound to a project is for that project, whose people the key can see', async () => {
    await using platform = await startPlatform()
    const other = (await platform.post('/projects', { name: 'other' })).body
    const admin = { name: 'a', access_policy_ids: ['pol_administrator'] }
    const { key } = (await platform.post('/api-keys', { ...admin, project_id: platform.projectId })).body
    const elsewhere = (await platform.post('/users', { email: 'e@example.com', role: 'viewer', project_id: other.id }))
      .body

    const mine = await platform.post('/users', rita, { key })
    const foreign = await platform.post('/users', { ...rita, email: 'x@example.com', project_id: other.id }, { key })
    const listed = await platform.get('/users', { key })
    const reached = [
      await platform.get(`/users/${elsewhere.id}`, { key }),
      await platform.patch(`/users/${elsewhere.id}`, { role: 'owner' }, { key }),
      await platform.post(`/users/${elsewhere.id}/invitation`, {}, { key }),
      await platform.delete(`/users/${elsewhere.id}`, { key }),
    ]

    expect(mine.body.project_id).toBe(platform.projectId)
    expect(foreign.status).toBe(403)
    expect(listed.body.data.map(({ id }: { id: string }) => id)).toEqual([mine.body.id])
    expect(reached.map(({ status }) => status)).toEqual([404, 403, 403, 403])
  })

  test('is replaced by the next one', async () => {
    await using platform = await startPlatform()
    const first = (await platform.post('/users', rita)).body

    const second = await platform.post(`/users/${first.id}/invitation`, {})

    expect(second.status).toBe(201)
    expect(second.body.invitation_url).not.toBe(first.invitation_url)
  })
})

test('the role viewer can read everything, and nothing else', async () => {
  await using platform = await startPlatform()
  const policy = (await platform.get('/access-policies/pol_viewer')).body
  const permissions = (isGet: boolean) =>
    new Set(
      operations
        // Changes nothing, but takes too many ids for a query.
        .filter(({ name }) => name !== 'draft-workflow')
        .filter(({ route }) => route.startsWith('GET ') === isGet)
        .map(({ permission }) => permission),
    )

  expect(new Set(policy.document.statement[0].action)).toEqual(permissions(true).difference(permissions(false)))
})

test('editors cannot manage people', async () => {
  await using platform = await startPlatform()
  const { key } = (await platform.post('/api-keys', { name: 'e', access_policy_ids: ['pol_editor'] })).body

  expect((await platform.post('/users', rita, { key })).status).toBe(403)
  expect((await platform.get('/users', { key })).body.data).toEqual([])
})

test.each(engines)(
  'policies that deny managing keys before the upgrade also deny managing people (%s)',
  async (engine) => {
    await using database = await freshDatabase(engine)
    const { openStore } = await import('../src/store/store.ts')
    const { up } = await import('../src/db/migrations/2026-11-27-users.ts')
    const store = await openStore(database.options)
    const { db } = store.engine
    try {
      await db.schema.dropTable('users').execute()
      await db.schema.dropTable('sign_in_providers').execute()
      await db.schema.dropIndex('web_sessions_principal').execute()
      await db.schema.alterTable('web_sessions').renameColumn('principal_id', 'api_key_id').execute()
      const session = { token_hash: 'h', api_key_id: 'key_1', created_at: 1, expires_at: 2 }
      await db
        .insertInto('web_sessions')
        .values(session as never)
        .execute()
      const statement = [
        { effect: 'Allow' as const, action: ['*'], resource: ['*'] },
        { effect: 'Deny' as const, action: ['api-keys:*'], resource: ['*'] },
      ]
      const base = { project_id: null, description: null }
      const editor = await store.accessPolicies.create({ ...base, name: 'editor', document: { statement } })
      const plain = await store.accessPolicies.create({
        ...base,
        name: 'plain',
        document: { statement: statement.slice(0, 1) },
      })

      await up(db as never)

      expect((await store.accessPolicies.find(editor.id))?.document.statement[1]?.action).toEqual([
        'api-keys:*',
        'users:*',
        'sign-in-providers:*',
      ])
      expect((await store.accessPolicies.find(plain.id))?.document).toEqual(plain.document)
      expect(await store.webSessions.find('h')).toMatchObject({ principal_id: 'key_1' })
    } finally {
      await store.close()
    }
  },
)
