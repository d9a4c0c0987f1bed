import { describe, expect, test } from 'vitest'
import { engines, freshDatabase } from './engines.ts'
import { startPlatform, type TestPlatform } from './kit.ts'
import { person } from './signing-in.ts'

const allow = (...action: string[]) => ({ effect: 'Allow', action, resource: ['*'] })
const soon = () => new Date(Date.now() + 60_000).toISOString()
const only = async (platform: TestPlatform) => `/api-keys/${(await platform.get('/api-keys')).body.data[0].id}`
const admin = async (platform: TestPlatform, fields: object = {}, options = {}) => {
  const key = { name: 'another admin', access_policy_ids: ['pol_administrator'], ...fields }
  return (await platform.post('/api-keys', key, options)).body
}

const refused = {
  status: 409,
  body: { error: { code: 'LAST_ADMIN_KEY', message: expect.stringContaining('Create another admin key first') } },
}

describe('the last admin key', () => {
  test('cannot be deleted, lose its policy or get an expiry date, and keeps working', async () => {
    await using platform = await startPlatform()
    const key = await only(platform)

    const answers = [
      await platform.delete(key),
      await platform.patch(key, { access_policy_ids: [] }),
      await platform.patch(key, { access_policy_ids: ['pol_editor'] }),
      await platform.patch(key, { expires_at: soon() }),
      await platform.patch('/access-policies/pol_administrator', {
        document: { statement: [allow('tools:*', 'access-policies:*')] },
      }),
    ]

    for (const answer of answers) expect(answer).toMatchObject(refused)
    expect((await platform.get(key)).body).toMatchObject({
      access_policy_ids: ['pol_administrator'],
      expires_at: null,
    })
    expect((await platform.patch(key, { name: 'renamed', rate_limit: 100_000 })).status).toBe(200)
    expect((await platform.delete(await platform.keyFor([allow('tools:*')]).then(idOf(platform)))).status).toBe(204)
  })

  test('is protected even if there are keys that are bound to a project, expired, or unable to grant permissions', async () => {
    await using platform = await startPlatform()
    const key = await only(platform)
    await admin(platform, { project_id: platform.projectId })
    await admin(platform, { access_policy_ids: ['pol_editor'] })
    await platform.keyFor([allow('api-keys:*', 'tools:*')])
    const expired = await admin(platform, { expires_at: new Date(Date.now() + 300).toISOString() })
    await expect.poll(async () => (await platform.get('/projects', { key: expired.key })).status).toBe(401)

    expect(await platform.delete(key)).toMatchObject(refused)
  })

  test('can be deleted once there is another one', async () => {
    await using platform = await startPlatform()
    const key = await only(platform)
    const other = await admin(platform)

    expect((await platform.delete(key)).status).toBe(204)
    expect(await platform.delete(`/api-keys/${other.id}`, { key: other.key })).toMatchObject(refused)
    expect((await platform.get('/projects', { key: other.key })).status).toBe(200)
  })

  test.each(engines)('remains if the last two are deleted at the same moment (%s)', async (engine) => {
    await using database = await freshDatabase(engine)
    const environment = { DATABASE_URL: database.options.databaseUrl ?? '' }
    await using one = await startPlatform(engine === 'postgres' ? environment : {})
    await using two = engine === 'postgres' ? await startPlatform(environment) : undefined
    const first = await only(one)
    let mine = await admin(one)
    await one.delete(first)

    for (let round = 0; round < 10; round++) {
      const other = await admin(one, {}, { key: mine.key })
      const answers = await Promise.all([
        one.delete(`/api-keys/${other.id}`, { key: mine.key }),
        (two ?? one).delete(`/api-keys/${mine.id}`, { key: other.key }),
      ])

      expect(answers.filter(({ status }) => status === 204)).toHaveLength(1)
      if (answers[1]?.status === 204) mine = other
      expect((await one.get('/projects', { key: mine.key })).status).toBe(200)
    }
  })
})

test.each(engines)(
  'of the last admin key and the last owner, one remains if both are removed at the same moment (%s)',
  async (engine) => {
    await using database = await freshDatabase(engine)
    await using platform = await startPlatform({ DATABASE_URL: database.options.databaseUrl ?? '' })
    const key = await only(platform)
    const owner = await person(platform, 'rita@example.com', { role: 'owner' })

    const answers = await Promise.all([
      platform.delete(key, owner.session),
      platform.patch(`/users/${owner.id}`, { status: 'disabled' }),
    ])

    expect(answers.map(({ status }) => status).sort()).toContain(409)
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1)
  },
)

/** The path of the key with this value. */
const idOf = (platform: TestPlatform) => async (value: string) => {
  const { data } = (await platform.get('/api-keys?limit=100')).body
  return `/api-keys/${data.find(({ key_prefix }: { key_prefix: string }) => value.startsWith(key_prefix)).id}`
}
