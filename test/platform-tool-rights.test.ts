import { describe, expect, test } from 'vitest'
import { startPlatform, type TestPlatform } from './kit.ts'

const everything = { effect: 'Allow', action: ['*'], resource: ['*'] }

async function keys(platform: TestPlatform) {
  const make = async (policy: string) =>
    (await platform.post('/api-keys', { name: policy, project_id: platform.projectId, access_policy_ids: [policy] }))
      .body
  return { editor: await make('pol_editor'), administrator: await make('pol_administrator') }
}

describe('registering a platform tool', () => {
  test('requires the permission of each of its actions', async () => {
    await using platform = await startPlatform()
    const { editor } = await keys(platform)
    const tool = {
      name: 'grow',
      type: 'platform',
      actions: ['list-documents', 'update-api-key'],
      preset_parameters: { id: editor.id, access_policy_ids: ['pol_administrator'] },
    }

    const { status, body } = await platform.post('/tools', tool, { key: editor.key })

    expect({ status, code: body.error.code }).toEqual({ status: 403, code: 'FORBIDDEN' })
    expect(body.error.details.permission).toBe('api-keys:UpdateApiKey')
    expect(body.error.message).toContain('"update-api-key"')
    expect((await platform.get('/tools')).body.total).toBe(0)
  })

  test('requires it for actions and presets that are added later', async () => {
    await using platform = await startPlatform()
    const { editor } = await keys(platform)
    const own = { name: 'docs', type: 'platform', actions: ['list-documents'] }
    const docs = await platform.post('/tools', own, { key: editor.key })
    const grow = await platform.post('/tools', { name: 'grow', type: 'platform', actions: ['update-api-key'] })
    const preset_parameters = { id: editor.id, access_policy_ids: ['pol_administrator'] }

    const added = await platform.patch(`/tools/${docs.body.id}`, { actions: ['delete-api-key'] }, { key: editor.key })
    const preset = await platform.patch(`/tools/${grow.body.id}`, { preset_parameters }, { key: editor.key })
    const open = await platform.patch(`/tools/${grow.body.id}`, { auto_approve: true }, { key: editor.key })

    expect(docs.status).toBe(201)
    expect([added.status, preset.status, open.status]).toEqual([403, 403, 403])
    expect((await platform.get(`/tools/${grow.body.id}`)).body.preset_parameters).toBeNull()
  })

  test('requires it on the whole project, because a preset could name any record', async () => {
    await using platform = await startPlatform()
    const secret = (await platform.post('/documents', { path: '/board/pay.md', content: '1' })).body.id
    const tool = { project_id: platform.projectId, name: 'a', type: 'platform', actions: ['get-document'] }
    const partly = await platform.keyFor([
      { effect: 'Allow', action: ['tools:*'], resource: ['*'] },
      { effect: 'Allow', action: ['documents:*'], resource: [`qm:${platform.projectId}:document:/notes/*`] },
    ])
    const except = await platform.keyFor([
      everything,
      { effect: 'Deny', action: ['documents:GetDocument'], resource: [`qm:*:document:${secret}`] },
    ])
    const whole = await platform.keyFor([
      { effect: 'Allow', action: ['tools:*'], resource: ['*'] },
      { effect: 'Allow', action: ['documents:GetDocument'], resource: [`qm:${platform.projectId}:document:*`] },
    ])

    const statuses = []
    for (const key of [partly, except, whole]) statuses.push((await platform.post('/tools', tool, { key })).status)

    expect(statuses).toEqual([403, 403, 201])
  })
})

describe('actions on API keys, access policies and projects', () => {
  test('are administrative, so calls need approval', async () => {
    await using platform = await startPlatform()
    const { editor, administrator } = await keys(platform)
    const actions = ['update-api-key', 'list-documents', 'update-project', 'delete-access-policy']
    const tool = (await platform.post('/tools', { name: 'admin', type: 'platform', actions })).body
    const input = { id: editor.id, access_policy_ids: ['pol_administrator'] }

    const called = await platform.post(
      `/tools/${tool.id}/call`,
      { action: 'update-api-key', input, wait: false },
      { key: administrator.key },
    )
    const views = (await platform.get(`/tools/${tool.id}/actions`)).body.data
    const approval = (await platform.get(`/approvals/${called.body.approval_id}`)).body

    expect(
      views.map(({ level, auto_approve }: { level: string; auto_approve: boolean }) => [level, auto_approve]),
    ).toEqual([
      ['administrative', false],
      ['open', true],
      ['administrative', false],
      ['administrative', false],
    ])
    expect(tool.auto_approve).toBe(false)
    expect(called.status).toBe(202)
    expect(approval.why).toMatchObject([{ gate: 'level', reason: 'its level is administrative' }])
    expect((await platform.get(`/api-keys/${editor.id}`)).body.access_policy_ids).toEqual(['pol_editor'])
  })

  test('run without approval if someone with the permission sets auto_approve', async () => {
    await using platform = await startPlatform()
    const { editor } = await keys(platform)
    const tool = { name: 'admin', type: 'platform', actions: ['update-api-key'], auto_approve: true }
    const id = (await platform.post('/tools', tool)).body.id

    const called = await platform.post(`/tools/${id}/call`, {
      action: 'update-api-key',
      input: { id: editor.id, name: 'renamed' },
    })

    expect(called).toMatchObject({ status: 200, body: { name: 'renamed' } })
  })
})
