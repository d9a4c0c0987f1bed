import { describe, expect, test } from 'vitest'
import { city } from './approving.ts'
import { engines, freshDatabase } from './engines.ts'
import { startPlatform, startService, type TestPlatform } from './kit.ts'

/** A key with all permissions, created with another key. */
async function keyMadeBy(platform: TestPlatform, maker: string | undefined, name: string) {
  const body = { name, access_policy_ids: ['pol_administrator'] }
  const made = await platform.post('/api-keys', body, maker === undefined ? {} : { key: maker })
  if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  return { id: made.body.id as string, key: made.body.key as string, created_by: made.body.created_by }
}

async function gatedTool(platform: TestPlatform, url: string, people: 1 | 2 = 1) {
  const tool = { name: 'pay', parameters: city, execute: { url }, auto_approve: people === 2 }
  const { id } = (await platform.post('/tools', tool)).body
  if (people === 2) await platform.post('/approval-rules', { name: 'two', expression: 'true', two_people: true })
  return {
    ask: async (key?: string) => {
      const options = key === undefined ? {} : { key }
      const body = { input: { city: 'Recife' }, wait: false }
      return (await platform.post(`/tools/${id}/call`, body, options)).body.approval_id as string
    },
    approve: async (approval: string, key: string) => {
      const { status, body } = await platform.post(`/approvals/${approval}/approve`, {}, { key })
      return body.error?.code ?? `${status} ${body.status}`
    },
  }
}

describe.each(engines)('API keys on %s', (engine) => {
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

  test('record which key created them', async () => {
    await using started = await start()
    const { platform } = started
    const first = await keyMadeBy(platform, undefined, 'first')
    const second = await keyMadeBy(platform, first.key, 'second')

    const one = await platform.get(`/api-keys/${second.id}`)
    const { data } = (await platform.get('/api-keys')).body

    expect(one.body.created_by).toBe(first.id)
    expect(Object.fromEntries(data.map((key: Record<string, string>) => [key.id, key.created_by]))).toEqual({
      key_environment: null,
      [first.id]: 'key_environment',
      [second.id]: first.id,
    })
  })

  test('that the requester created, directly or indirectly, cannot approve its call', async () => {
    await using service = await startService()
    await using started = await start()
    const { platform } = started
    const { ask, approve } = await gatedTool(platform, service.url)
    const requester = await keyMadeBy(platform, undefined, 'requester')
    const child = await keyMadeBy(platform, requester.key, 'child')
    const grandchild = await keyMadeBy(platform, child.key, 'grandchild')
    const approval = await ask(requester.key)

    const answers = [await approve(approval, child.key), await approve(approval, grandchild.key)]
    await platform.delete(`/api-keys/${child.id}`)
    answers.push(await approve(approval, grandchild.key))
    const reject = await platform.post(`/approvals/${approval}/reject`, {}, { key: grandchild.key })

    expect(answers).toEqual(['SELF_APPROVAL', 'SELF_APPROVAL', 'SELF_APPROVAL'])
    expect(reject.body.error).toMatchObject({
      code: 'SELF_APPROVAL',
      message: expect.stringMatching(/created by the key that made the call/),
    })
    expect(service.received).toEqual([])
  })

  test('of one creator chain count as one person if two must approve', async () => {
    await using service = await startService()
    await using started = await start()
    const { platform } = started
    const { ask, approve } = await gatedTool(platform, service.url, 2)
    const requester = await keyMadeBy(platform, undefined, 'requester')
    const rita = await keyMadeBy(platform, undefined, 'Rita')
    const other = await keyMadeBy(platform, rita.key, 'other of Rita')
    const sam = await keyMadeBy(platform, undefined, 'Sam')
    const approval = await ask(requester.key)

    const answers = [
      await approve(approval, other.key),
      await approve(approval, rita.key),
      await approve(approval, sam.key),
    ]

    expect(answers).toEqual(['200 pending', 'SECOND_PERSON_REQUIRED', '200 approved'])
  })
})

test('the creator of an application’s key can approve its calls, and so can another key of that creator', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const { ask, approve } = await gatedTool(platform, service.url)
  const admin = await keyMadeBy(platform, undefined, 'admin')
  const [agent, second] = [
    await keyMadeBy(platform, admin.key, 'agent'),
    await keyMadeBy(platform, admin.key, 'agent 2'),
  ]
  const reviewer = await keyMadeBy(platform, admin.key, 'reviewer')

  const answers = [await approve(await ask(agent.key), admin.key), await approve(await ask(second.key), reviewer.key)]

  expect(answers).toEqual(['200 approved', '200 approved'])
})

test('a reviewer can decide on a call of the operator who created the reviewer’s key', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const { ask, approve } = await gatedTool(platform, service.url)
  const reviewer = await keyMadeBy(platform, undefined, 'reviewer')

  const answer = await approve(await ask(), reviewer.key)

  expect(answer).toBe('200 approved')
})

test('an approval by a key that was revoked afterwards does not count towards two approvals', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const { ask, approve } = await gatedTool(platform, service.url, 2)
  const requester = await keyMadeBy(platform, undefined, 'requester')
  const [rita, sam, ana] = [
    await keyMadeBy(platform, undefined, 'Rita'),
    await keyMadeBy(platform, undefined, 'Sam'),
    await keyMadeBy(platform, undefined, 'Ana'),
  ]
  const approval = await ask(requester.key)

  const first = await approve(approval, rita.key)
  await platform.delete(`/api-keys/${rita.id}`)
  const rest = [await approve(approval, sam.key), await approve(approval, ana.key)]

  expect([first, ...rest]).toEqual(['200 pending', '200 pending', '200 approved'])
})

test('a creator chain of API keys has at most 20 levels', async () => {
  await using platform = await startPlatform()
  let maker = await keyMadeBy(platform, undefined, 'first')
  for (let level = 2; level <= 20; level++) maker = await keyMadeBy(platform, maker.key, `level ${level}`)

  const { status, body } = await platform.post('/api-keys', { name: 'one more' }, { key: maker.key })

  expect(status).toBe(400)
  expect(body.error.message).toMatch(/20 levels/)
})
