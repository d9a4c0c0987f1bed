import { describe, expect, test } from 'vitest'
import { DashboardSessions } from '../src/access/dashboard-sessions.ts'
import { People } from '../src/access/people.ts'
import { findSignedIn } from '../src/server/browser-session.ts'
import { engines, freshDatabase } from './engines.ts'
import { adminKey, startPlatform, type TestPlatform } from './kit.ts'
import { accept, ownPage, password, person, sessionFrom, signInAs, tokenOf } from './signing-in.ts'

const session = '/api/v1/dashboard/session'
const email = 'rita@example.com'
const status = async (platform: TestPlatform, options: object) => (await platform.get('/users/current', options)).status

describe.each(engines)('a person on %s', (engine) => {
  const start = async () => {
    const database = await freshDatabase(engine)
    const platform = await startPlatform({ DATABASE_URL: database.options.databaseUrl ?? '' })
    return {
      platform,
      async [Symbol.asyncDispose]() {
        await platform[Symbol.asyncDispose]()
        await database.remove()
      },
    }
  }

  test('accepts the invitation with a password, is signed in, and signs in again with it', async () => {
    await using started = await start()
    const { platform } = started
    const invited = (await platform.post('/users', { email, role: 'viewer' })).body

    const shown = await platform.post(
      '/api/v1/dashboard/invitation',
      { token: tokenOf(invited) },
      { key: null, headers: ownPage },
    )
    const { answer, session } = await accept(platform, tokenOf(invited))
    const again = await signInAs(platform, ' Rita@example.com')

    expect(shown.body).toEqual({ email, name: 'rita', has_password: false })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('set-cookie')).toMatch(/HttpOnly; SameSite=Strict/)
    expect(answer.body.principal).toEqual({
      kind: 'user',
      id: invited.id,
      name: 'rita',
      project_id: null,
      email,
      role: 'viewer',
      has_password: true,
    })
    expect(again.session.headers.cookie).not.toBe(session.headers.cookie)
    const current = await platform.get('/users/current', again.session)
    expect(current.body).toMatchObject({
      id: invited.id,
      status: 'active',
      has_password: true,
      invitation_expires_at: null,
    })
    expect(current.body.access_policies).toEqual([{ id: 'pol_viewer', name: 'viewer' }])
    expect((await platform.get('/tools', session)).status).toBe(200)
    expect((await platform.post('/skills', { name: 'x', content: 'x' }, session)).status).toBe(403)
    const [row] = await platform.platform.store.engine.db.selectFrom('users').selectAll().execute()
    expect(row?.password_hash).toMatch(/^scrypt\$32768\$8\$3\$[\w-]{22}\$[\w-]{43}$/)
  })

  test('is signed out everywhere when disabled, deleted, or given a new password', async () => {
    await using started = await start()
    const { platform } = started
    const rita = await person(platform, email, { role: 'viewer' })
    const sam = await person(platform, 'sam@example.com', { role: 'viewer' })
    const ana = await person(platform, 'ana@example.com', { role: 'viewer' })
    const second = (await signInAs(platform, email)).session

    await platform.patch(`/users/${rita.id}`, { status: 'disabled' })
    const disabled = [await status(platform, rita.session), await status(platform, second)]
    await platform.delete(`/users/${sam.id}`)
    const deleted = await status(platform, sam.session)
    const reset = (await platform.post(`/users/${ana.id}/invitation`, {})).body
    const before = await status(platform, ana.session)
    const fresh = await accept(platform, tokenOf(reset), 'another long password')

    expect(disabled).toEqual([401, 401])
    expect((await signInAs(platform, email)).answer.status).toBe(401)
    expect(deleted).toBe(401)
    expect([before, await status(platform, ana.session), await status(platform, fresh.session)]).toEqual([
      200, 401, 200,
    ])
    expect((await signInAs(platform, 'ana@example.com')).answer.status).toBe(401)
    expect(await platform.platform.store.engine.db.selectFrom('web_sessions').selectAll().execute()).toHaveLength(1)

    await platform.patch(`/users/${rita.id}`, { status: 'active' })
    expect(await status(platform, rita.session)).toBe(401)
    expect((await signInAs(platform, email)).answer.status).toBe(201)
  })

  test('has the new permissions of a changed role immediately', async () => {
    await using started = await start()
    const { platform } = started
    const rita = await person(platform, email, { role: 'viewer' })
    const write = async () => (await platform.post('/skills', { name: 'x', content: 'x' }, rita.session)).status

    const before = await write()
    await platform.patch(`/users/${rita.id}`, { role: 'editor' })

    expect([before, await write()]).toEqual([403, 201])
  })
})

test('a session works in every process on the database, and ends in all of them when the person is disabled', async () => {
  await using database = await freshDatabase('postgres')
  const environment = { DATABASE_URL: database.options.databaseUrl ?? '', QM_SECRET_KEY: 'a passphrase of the tests' }
  await using one = await startPlatform(environment)
  await using two = await startPlatform(environment)
  const rita = await person(one, email, { role: 'viewer' })
  const before = [await status(one, rita.session), await status(two, rita.session)]

  await one.patch(`/users/${rita.id}`, { status: 'disabled' })

  expect(before).toEqual([200, 200])
  await expect.poll(() => status(two, rita.session)).toBe(401)
})

describe('an invitation link', () => {
  test('works once, even if it is used twice at the same moment', async () => {
    await using platform = await startPlatform()
    const token = tokenOf((await platform.post('/users', { email, role: 'viewer' })).body)

    const both = await Promise.all([accept(platform, token), accept(platform, token, 'another long password')])
    const later = await accept(platform, token)

    expect(both.map(({ answer }) => answer.status).sort()).toEqual([201, 403])
    expect(later.answer).toMatchObject({ status: 403, body: { error: { code: 'INVITATION_NOT_VALID' } } })
  })

  test('stops working when it expires, is replaced, or the person is disabled', async () => {
    await using platform = await startPlatform()
    const invited = (await platform.post('/users', { email, role: 'viewer' })).body
    const replaced = (await platform.post(`/users/${invited.id}/invitation`, {})).body
    const old = await accept(platform, tokenOf(invited))
    await platform.patch(`/users/${invited.id}`, { status: 'disabled' })
    const disabled = await accept(platform, tokenOf(replaced))
    await platform.patch(`/users/${invited.id}`, { status: 'active' })
    const { db } = platform.platform.store.engine
    await db
      .updateTable('users')
      .set({ invitation_expires_at: Date.now() - 1 })
      .execute()
    const expired = await accept(platform, tokenOf(replaced))
    const forDisabled = await platform.post(`/users/${invited.id}/invitation`, {})

    expect([old, disabled, expired].map(({ answer }) => answer.body.error.code)).toEqual(
      Array(3).fill('INVITATION_NOT_VALID'),
    )
    expect(forDisabled.status).toBe(201)
  })

  test.each(['short', '12345678901', ' '.repeat(11)])('does not accept the password %j', async (given) => {
    await using platform = await startPlatform()
    const token = tokenOf((await platform.post('/users', { email, role: 'viewer' })).body)

    const { answer } = await accept(platform, token, given)

    expect(answer.status).toBe(400)
    expect(answer.body.error.message).toMatch(/password: must have at least 12 characters/)
    expect(JSON.stringify(answer.body)).not.toContain(given)
  })
})

describe('signing in with a password', () => {
  test('gives the same answer for an unknown address, a wrong password, and a person without one', async () => {
    await using platform = await startPlatform()
    await person(platform, email, { role: 'viewer' })
    await platform.post('/users', { email: 'invited@example.com', role: 'viewer' })

    const answers = [
      await signInAs(platform, 'nobody@example.com'),
      await signInAs(platform, email, 'a wrong password'),
      await signInAs(platform, 'invited@example.com'),
    ]

    for (const { answer } of answers) expect(answer.status).toBe(401)
    expect(new Set(answers.map(({ answer }) => JSON.stringify(answer.body))).size).toBe(1)
    expect(answers[0]?.answer.body.error.message).toBe('The email address or the password is not correct.')
  })

  test('is rate limited together with keys, also for attempts in parallel', async () => {
    await using platform = await startPlatform()
    await person(platform, email, { role: 'viewer' })

    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        n % 2 === 0
          ? platform.post(session, { key: `sk_${n}` }, { key: null, headers: ownPage })
          : signInAs(platform, email, `wrong password ${n}`).then(({ answer }) => answer),
      ),
    )
    const right = await signInAs(platform, email)

    expect(answers.filter(({ status }) => status === 429)).toHaveLength(10)
    expect(right.answer).toMatchObject({ status: 429, body: { error: { code: 'TOO_MANY_SIGN_INS' } } })
  })

  test('replaces the token that the browser had, so that a planted one is worth nothing', async () => {
    await using platform = await startPlatform()
    await person(platform, email, { role: 'viewer' })
    const planted = (await sessionFrom(platform, 'session', { key: adminKey })).session

    const headers = { ...ownPage, cookie: planted.headers.cookie as string }
    const { session } = await sessionFrom(platform, 'session', { email, password }, headers)

    expect(session.headers.cookie).not.toBe(planted.headers.cookie)
    expect((await platform.get('/tools', planted)).status).toBe(401)
  })

  test('accepts Unicode passwords however they are composed', async () => {
    await using platform = await startPlatform()
    const token = tokenOf((await platform.post('/users', { email, role: 'viewer' })).body)
    await accept(platform, token, 'pässword with é'.normalize('NFD'))

    const { answer } = await signInAs(platform, email, 'pässword with é'.normalize('NFC'))

    expect(answer.status).toBe(201)
  })

  test('is only possible for our own pages', async () => {
    await using platform = await startPlatform()
    await person(platform, email, { role: 'viewer' })

    const headers = { 'sec-fetch-site': 'cross-site' }
    const answer = await platform.post(session, { email, password }, { key: null, headers })

    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'FORGED_REQUEST' } } })
  })
})

test('another surface finds out who is signed in from the cookie, and nobody once the session has ended', async () => {
  await using platform = await startPlatform()
  const rita = await person(platform, email, { role: 'viewer' })
  const { store } = platform.platform
  const sessions = new DashboardSessions(store, new People(store))
  const request = { method: 'GET', headers: { ...rita.session.headers, host: 'platform.test' } }

  const found = await findSignedIn(request, sessions)
  await platform.post(`/users/${rita.id}/sign-out`, {})
  const gone = await findSignedIn(request, sessions)
  const none = await findSignedIn({ method: 'GET', headers: {} }, sessions)

  expect(found?.principal).toMatchObject({ kind: 'user', id: rita.id, endUserId: rita.id })
  expect([gone, none]).toEqual([undefined, undefined])
})

describe('a signed-in person', () => {
  test('changes the password with the current one, which ends all other sessions', async () => {
    await using platform = await startPlatform()
    const rita = await person(platform, email, { role: 'viewer' })
    const other = (await signInAs(platform, email)).session
    const change = (current_password: string, new_password: string, headers = rita.session.headers) =>
      sessionFrom(platform, 'password', { current_password, new_password }, headers as typeof ownPage)

    const wrong = await change('not my password', 'another long password')
    const short = await change(password, 'short')
    const forged = await change(password, 'another long password', {
      ...ownPage,
      cookie: rita.session.headers.cookie ?? '',
    })
    const right = await change(password, 'another long password')

    expect(wrong.answer).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringMatching(/current_password: is not correct/) } },
    })
    expect([short.answer.status, forged.answer.status, right.answer.status]).toEqual([400, 403, 201])
    expect([
      await status(platform, rita.session),
      await status(platform, other),
      await status(platform, right.session),
    ]).toEqual([401, 401, 200])
    expect((await signInAs(platform, email)).answer.status).toBe(401)
  })

  test('signs out everywhere', async () => {
    await using platform = await startPlatform()
    const rita = await person(platform, email, { role: 'viewer' })
    const other = (await signInAs(platform, email)).session

    const left = await platform.delete('/api/v1/dashboard/sessions', rita.session)

    expect(left.status).toBe(204)
    expect([await status(platform, rita.session), await status(platform, other)]).toEqual([401, 401])
  })

  test('is signed out by an administrator', async () => {
    await using platform = await startPlatform()
    const rita = await person(platform, email, { role: 'viewer' })

    const answer = await platform.post(`/users/${rita.id}/sign-out`, {})

    expect([answer.status, await status(platform, rita.session)]).toEqual([204, 401])
  })

  test('is not an API key, and an id is not a token', async () => {
    await using platform = await startPlatform()
    const rita = await person(platform, email, { role: 'owner' })

    expect((await platform.get('/api-keys/current', rita.session)).status).toBe(404)
    expect((await platform.get('/users/current')).status).toBe(404)
    expect((await platform.get('/users/current', { key: rita.id })).status).toBe(401)
  })

  test('who is an owner counts as an administrator, so the last admin key can be revoked, and then not the owner', async () => {
    await using platform = await startPlatform()
    const [key] = (await platform.get('/api-keys')).body.data
    const invited = (await platform.post('/users', { email: 'i@example.com', role: 'owner' })).body
    const early = await platform.delete(`/api-keys/${key.id}`)
    const owner = await person(platform, email, { role: 'owner' })

    const revoked = await platform.delete(`/api-keys/${key.id}`, owner.session)
    const refused = [
      await platform.delete(`/users/${owner.id}`, owner.session),
      await platform.patch(`/users/${owner.id}`, { role: 'editor' }, owner.session),
      await platform.patch(`/users/${owner.id}`, { status: 'disabled' }, owner.session),
    ]

    expect(early).toMatchObject({ status: 409, body: { error: { code: 'LAST_ADMIN_KEY' } } })
    expect(revoked.status).toBe(204)
    for (const answer of refused)
      expect(answer).toMatchObject({ status: 409, body: { error: { code: 'LAST_ADMIN_KEY' } } })
    expect((await platform.delete(`/users/${invited.id}`, owner.session)).status).toBe(204)
  })
})
