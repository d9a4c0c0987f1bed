import { describe, expect, test } from 'vitest'
import { startPlatform, startService } from './kit.ts'
import { scriptedAgent } from './sessions-kit.ts'

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

  expect(await may('tools:CallTool', `qm:${projectId}:tool:tool_1`)).toMatchObject({
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

describe('with an action', () => {
  test('the check agrees with what the call does, in every mode and at every level', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const execute = { url: service.url }
    await platform.post('/modes', { slug: 'quiet', name: 'Quiet' })
    await platform.post('/modes', { slug: 'support', name: 'Support', levels: ['restricted'], tools: ['tools:*'] })
    await platform.post('/modes', { slug: 'look', name: 'Look', levels: ['administrative'], groups: ['read'] })
    await platform.post('/modes', { slug: 'fresh', name: 'F', levels: ['restricted'], sign_in_within_seconds: 60 })
    const tools = await Promise.all(
      ['open', 'restricted', 'administrative'].map(async (level) => {
        const fields = { name: level, parameters: { type: 'object' }, execute, level }
        return (await platform.post('/tools', fields)).body
      }),
    )

    for (const modes of [[], ['quiet'], ['support'], ['look'], ['fresh']]) {
      const { body: key } = await platform.post('/api-keys', { name: 'k', access_policy_ids: ['pol_caller'], modes })
      for (const { id, name } of tools) {
        const resource = `qm:${platform.projectId}:tool:${id}`
        const question = { api_key_id: key.id, permission: 'tools:CallTool', resource, action: name }
        const { body: said } = await platform.post('/access/check', question)
        const { status } = await platform.post(`/tools/${id}/call`, { wait: false }, { key: key.key })

        const expected = said.allowed ? (said.needs_approval ? 202 : 200) : 403
        expect({ modes, name, status }).toEqual({ modes, name, status: expected })
        expect(said).toMatchObject({ level: name, modes })
      }
    }
  })

  test('the check names the mode that decides: of the key, of the agent, of the session, or the chosen one', async () => {
    await using platform = await startPlatform()
    await platform.post('/modes', { slug: 'quiet', name: 'Quiet' })
    await platform.post('/modes', { slug: 'support', name: 'Support', levels: ['restricted'], servers: ['desk'] })
    const { body: front } = await platform.post('/servers', { slug: 'front' })
    const { body: tool } = await platform.post('/tools', {
      ...{ name: 'refund', parameters: { type: 'object' }, level: 'restricted' },
      execute: { url: 'http://127.0.0.1:1' },
    })
    const agent_id = await scriptedAgent(platform, [{ answer: 'x' }], { tool_ids: [tool.id], mode: 'support' })
    const { body: session } = await platform.post('/sessions', { agent_id, mode: 'quiet' })
    const { body: key } = await platform.post('/api-keys', {
      ...{ name: 'k', access_policy_ids: ['pol_caller'], modes: ['support', 'quiet'] },
    })
    const { body: bare } = await platform.post('/api-keys', { name: 'bare' })
    const resource = `qm:${platform.projectId}:tool:${tool.id}`
    const ask = async (fields: object, api_key_id = key.id) =>
      (
        await platform.post('/access/check', {
          ...{ api_key_id, permission: 'tools:CallTool', resource, action: 'refund', ...fields },
        })
      ).body

    expect(await ask({})).toMatchObject({ allowed: true, modes: ['support'], needs_approval: false })
    expect(await ask({ mode: 'quiet' })).toMatchObject({
      allowed: false,
      layer: 'mode',
      reason: 'The mode "quiet" does not allow it: its level is restricted.',
    })
    expect(await ask({ mode: 'admin' })).toMatchObject({ reason: 'The mode "admin" is not one of its modes.' })
    expect(await ask({ server_id: front.id })).toMatchObject({
      reason: expect.stringContaining('"front" is not in it'),
    })
    expect(await ask({ agent_id, session_id: session.id })).toMatchObject({
      modes: ['support', 'quiet'],
      layer: 'mode',
    })
    expect(await ask({ agent_id }, bare.id)).toMatchObject({ allowed: true, layer: 'agent', modes: ['support'] })
    expect(await ask({}, bare.id)).toMatchObject({ allowed: false, layer: 'access policy' })
    expect((await ask({ action: 'refnd' })).error.message).toContain('refund')
    expect((await ask({ action: undefined, agent_id })).error.message).toContain('action')
    expect((await ask({ resource: `qm:proj_other:tool:${tool.id}` })).error.message).toContain('another project')
    expect(await ask({ resource: `qm:*:tool:${tool.id}` })).toMatchObject({ allowed: true, modes: ['support'] })
  })
})
