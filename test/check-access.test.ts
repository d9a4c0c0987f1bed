import { expect, test } from 'vitest'
import { startPlatform } from './kit.ts'

test('an access check says whether a key may do something, and names the policy that decides', async () => {
  await using platform = await startPlatform()
  const { projectId } = platform
  const policy = await platform.post('/access-policies', {
    name: 'no deleting',
    document: {
      statement: [
        { effect: 'Allow', action: ['tools:*'] },
        { effect: 'Deny', action: ['tools:DeleteTool'] },
      ],
    },
  })
  const key = await platform.post('/api-keys', {
    name: 'bound',
    project_id: projectId,
    access_policy_ids: [policy.body.id],
  })
  const may = async (permission: string, resource: string) =>
    (await platform.post('/access/check', { api_key_id: key.body.id, permission, resource })).body

  expect(await may('tools:CallTool', `qm:${projectId}:tool:tool_1`)).toEqual({
    allowed: true,
    layer: 'access policy',
    access_policy_id: policy.body.id,
    reason: '"no deleting" allows it.',
  })
  expect(await may('tools:DeleteTool', `qm:${projectId}:tool:tool_1`)).toMatchObject({
    allowed: false,
    access_policy_id: policy.body.id,
    reason: '"no deleting" denies it.',
  })
  expect(await may('skills:CreateSkill', `qm:${projectId}:skill:*`)).toMatchObject({
    allowed: false,
    access_policy_id: null,
    reason: 'No access policy of the key allows it.',
  })
  expect(await may('tools:CallTool', 'qm:proj_other:tool:tool_1')).toMatchObject({ allowed: false, layer: 'project' })
})

test('an invalid access check is refused, and unknown or invisible keys give 404', async () => {
  await using platform = await startPlatform()
  const ask = (body: object, key?: string) => platform.post('/access/check', body, key ? { key } : {})
  const good = { api_key_id: 'key_environment', permission: 'tools:CallTool', resource: 'qm:*:tool:*' }
  const reader = await platform.keyFor([{ effect: 'Allow', action: ['api-keys:GetApiKey'] }])
  const nobody = await platform.keyFor([{ effect: 'Allow', action: ['access-policies:*'] }])

  expect((await ask(good)).body).toMatchObject({ allowed: true, access_policy_id: 'pol_administrator' })
  expect((await ask({ ...good, permission: 'tools:CalTool' })).body.error.message).toMatch(
    /did you mean "tools:CallTool"/,
  )
  expect((await ask({ ...good, resource: 'tool_1' })).status).toBe(400)
  expect((await ask({ ...good, api_key_id: 'key_gone' })).status).toBe(404)
  expect((await ask(good, nobody)).status).toBe(404)
  expect((await ask(good, reader)).status).toBe(403)
})

test('the access of a person is checked like that of a key', async () => {
  await using platform = await startPlatform()
  const { id } = (await platform.post('/users', { email: 'rita@example.com', role: 'reviewer' })).body
  const ask = (permission: string, fields: object = { user_id: id }) =>
    platform.post('/access/check', { permission, resource: 'qm:*:tool:tool_1', ...fields })

  const allowed = await ask('approvals:ListApprovals')
  const denied = await ask('tools:CallTool')
  const both = await ask('tools:CallTool', { user_id: id, api_key_id: 'key_environment' })
  const unknown = await ask('tools:CallTool', { user_id: 'usr_none' })

  expect(allowed.body).toMatchObject({ allowed: true, access_policy_id: 'pol_reviewer' })
  expect(denied.body).toMatchObject({ allowed: false, reason: 'No access policy of the person allows it.' })
  expect([both.status, unknown.status]).toEqual([400, 404])
})
