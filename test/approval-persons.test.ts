import { expect, test } from 'vitest'
import { city } from './approving.ts'
import { startPlatform, startService, type TestPlatform } from './kit.ts'
import { accept, type PersonSession, person, tokenOf } from './signing-in.ts'

type As = PersonSession | { readonly key: string }

async function gatedTool(platform: TestPlatform, url: string, people: 1 | 2 = 1) {
  const tool = { name: 'pay', parameters: city, execute: { url }, auto_approve: people === 2 }
  const { id } = (await platform.post('/tools', tool)).body
  if (people === 2) await platform.post('/approval-rules', { name: 'two', expression: 'true', two_people: true })
  return {
    id,
    ask: async (as: As) =>
      (await platform.post(`/tools/${id}/call`, { input: { city: 'Recife' }, wait: false }, as)).body
        .approval_id as string,
    approve: async (approval: string, as: As) => {
      const { status, body } = await platform.post(`/approvals/${approval}/approve`, {}, as)
      return body.error?.code ?? `${status} ${body.status}`
    },
  }
}

const keyOf = async (platform: TestPlatform, as: As, policy = 'pol_administrator') => {
  const { body } = await platform.post('/api-keys', { name: 'a key', access_policy_ids: [policy] }, as)
  return { id: body.id as string, key: body.key as string, created_by: body.created_by }
}

test('a reviewer who signs in decides on a call, and the approval and the call log name the people', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const { id, ask } = await gatedTool(platform, service.url)
  const ana = await person(platform, 'ana@example.com', { name: 'Ana', role: 'editor' })
  const rita = await person(platform, 'rita@example.com', { name: 'Rita', role: 'reviewer' })
  const approval = await ask(ana.session)

  const inbox = await platform.get('/approvals?status=pending', rita.session)
  const decided = await platform.post(`/approvals/${approval}/approve`, { reason: 'Checked.' }, rita.session)
  const called = await platform.post(`/tools/${id}/call`, { input: { city: 'Recife' } }, ana.session)

  expect(inbox.body.data).toMatchObject([{ id: approval, principal: { id: ana.id, name: 'Ana' } }])
  expect(decided.body).toMatchObject({
    status: 'approved',
    decided_by: { id: rita.id, name: 'Rita' },
    decisions: [{ by: { id: rita.id, name: 'Rita' }, reason: 'Checked.' }],
  })
  expect(called.status).toBe(200)
  const [call] = (await platform.get('/calls')).body.data
  expect(call).toMatchObject({ principal: { kind: 'user', id: ana.id, name: 'Ana' }, surface: 'web' })
  const mine = await platform.get(`/calls?principal_id=${ana.id}`)
  expect(mine.body.total).toBeGreaterThan(0)
})

test('a person cannot decide on their own call, neither directly nor with a key they created', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const { ask, approve } = await gatedTool(platform, service.url)
  const ana = await person(platform, 'ana@example.com', { role: 'owner' })
  const approval = await ask(ana.session)
  const key = await keyOf(platform, ana.session)
  const child = await keyOf(platform, key)

  const answers = [await approve(approval, ana.session), await approve(approval, key), await approve(approval, child)]

  expect(key.created_by).toBe(ana.id)
  expect(answers).toEqual(['SELF_APPROVAL', 'SELF_APPROVAL', 'SELF_APPROVAL'])
  expect(service.received).toEqual([])
})

test('a person and all keys they created count as one person if two must approve', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const { ask, approve } = await gatedTool(platform, service.url, 2)
  const ana = await person(platform, 'ana@example.com', { role: 'owner' })
  const sam = await person(platform, 'sam@example.com', { role: 'reviewer' }, ana.session)
  const [one, two] = [await keyOf(platform, ana.session), await keyOf(platform, ana.session)]
  const approval = await ask(await keyOf(platform, { key: 'sk_admin_of_the_tests' }))

  const answers = [
    await approve(approval, one),
    await approve(approval, two),
    await approve(approval, ana.session),
    await approve(approval, sam.session),
  ]

  expect(answers).toEqual(['200 pending', 'SECOND_PERSON_REQUIRED', 'SECOND_PERSON_REQUIRED', '200 approved'])
})

test('the approval of a person who was disabled afterwards does not count towards two approvals', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const { ask, approve } = await gatedTool(platform, service.url, 2)
  const [rita, sam, ana] = [
    await person(platform, 'rita@example.com', { role: 'reviewer' }),
    await person(platform, 'sam@example.com', { role: 'reviewer' }),
    await person(platform, 'ana@example.com', { role: 'reviewer' }),
  ]
  const approval = await ask({ key: 'sk_admin_of_the_tests' })

  const first = await approve(approval, rita.session)
  await platform.patch(`/users/${rita.id}`, { status: 'disabled' })
  const rest = [await approve(approval, sam.session), await approve(approval, ana.session)]

  expect([first, ...rest]).toEqual(['200 pending', '200 pending', '200 approved'])
})

test('someone who is not an administrator cannot approve their own call as a person they invited', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const { ask, approve } = await gatedTool(platform, service.url)
  const action = ['users:InviteUser', 'users:GetUser', 'tools:*', 'approvals:*']
  const key = await platform.keyFor([{ effect: 'Allow', action }])
  const policy = (await platform.get('/access-policies?limit=100')).body.data.find(
    (one: { name: string }) => one.name === 'of a test',
  )
  const invited = await platform.post('/users', { email: 'x@example.com', access_policy_ids: [policy.id] }, { key })
  const again = await platform.post(`/users/${invited.body.id}/invitation`, {})
  const { session } = await accept(platform, tokenOf(again.body))

  const answer = await approve(await ask({ key }), session)

  expect(answer).toBe('SELF_APPROVAL')
})
