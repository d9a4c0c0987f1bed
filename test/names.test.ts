import { describe, expect, test } from 'vitest'
import { listen } from '../src/server/listen.ts'
import { engines, freshDatabase } from './engines.ts'
import { adminKey, startPlatform, startService } from './kit.ts'

const script = { steps: [{ answer: 'Hello' }] }
const parameters = { type: 'object' }

describe.each(engines)('names in place of ids on %s', (engine) => {
  const start = async () => {
    const database = await freshDatabase(engine)
    const platform = await startPlatform({ DATABASE_URL: database.options.databaseUrl ?? '' })
    const service = await startService()
    const tool = async (name: string, fields: object = {}) =>
      (await platform.post('/tools', { name, parameters, execute: { url: service.url }, ...fields })).body.id as string
    return {
      platform,
      service,
      tool,
      async [Symbol.asyncDispose]() {
        await service[Symbol.asyncDispose]()
        await platform[Symbol.asyncDispose]()
        await database.remove()
      },
    }
  }

  test('work in REST paths and queries for tools, agents, skills and other records', async () => {
    await using started = await start()
    const { platform, tool } = started
    const id = await tool('exchange-rate')
    const provider = await platform.post('/ai-providers', { name: 'My provider', type: 'replay', script })
    const agent = await platform.post('/agents', { name: 'Support bot', ai_provider_id: provider.body.id })
    const skill = await platform.post('/skills', { name: 'refunds', content: 'Look up the order.' })
    const server = await platform.post('/servers', { slug: 'docs', name: 'The docs' })
    const webhook = await platform.post('/webhooks', {
      name: 'pager',
      url: 'https://pager.example/hook',
      events: ['*'],
    })
    const rule = await platform.post('/approval-rules', { name: 'Large ones', expression: 'false' })

    const found = [
      await platform.get('/tools/exchange-rate'),
      await platform.get('/agents/Support%20bot'),
      await platform.get('/ai-providers/My%20provider'),
      await platform.get('/skills/refunds'),
      await platform.get('/servers/docs'),
      await platform.get('/servers/The%20docs'),
      await platform.get('/approval-rules/Large%20ones'),
      await platform.get('/webhooks/pager'),
      await platform.get('/projects/default'),
      await platform.get('/access-policies/pol_administrator'),
    ]

    expect(found.map(({ body }) => body.id)).toEqual([
      ...[id, agent.body.id, provider.body.id, skill.body.id, server.body.id, server.body.id, rule.body.id],
      ...[webhook.body.id, platform.projectId, 'pol_administrator'],
    ])
    expect(await platform.post('/tools/exchange-rate/call', { input: {} })).toMatchObject({ status: 200 })
    expect(await platform.patch('/tools/exchange-rate', { description: 'x' })).toMatchObject({ body: { id } })
    expect((await platform.post('/agents/Support%20bot/generate', { prompt: 'Hi' })).body.status).toBe('completed')
    expect((await platform.get(`/calls?tool_id=${id}`)).body.total).toBe(1)
    expect((await platform.delete('/skills/refunds')).status).toBe(204)
  })

  test('can be prefixed with an app to distinguish tools', async () => {
    await using started = await start()
    const { platform, tool } = started
    const id = await tool('create_contact', { app: 'salesforce' })

    const found = [
      await platform.get('/tools/salesforce:create_contact'),
      await platform.get('/tools/salesforce%2Fcreate_contact'),
      await platform.get('/tools/hubspot:create_contact'),
    ]

    expect(found.map(({ status, body }) => body.id ?? status)).toEqual([id, id, 404])
  })

  test('are refused with the matching ids if several records have the name', async () => {
    await using started = await start()
    const { platform, tool } = started
    const one = await tool('report')
    const other = (await platform.post('/projects', { name: 'other' })).body.id
    const two = await tool('report', { project_id: other })
    const bound = await platform.keyFor([{ effect: 'Allow', action: ['*'] }], { project_id: other })

    const refused = await platform.get('/tools/report')
    const within = await platform.get('/tools/report', { key: bound })

    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'AMBIGUOUS_NAME' } } })
    expect(refused.body.error.details.candidates.map(({ id }: { id: string }) => id).sort()).toEqual([one, two].sort())
    expect(within.body.id).toBe(two)
  })

  test('are refused with a suggestion if unknown, without revealing names that the key cannot see', async () => {
    await using started = await start()
    const { platform, tool } = started
    await tool('exchange-rate')
    const caller = await platform.keyFor([{ effect: 'Allow', action: ['tools:CallTool'] }])
    const blind = await platform.keyFor([{ effect: 'Allow', action: ['skills:*'] }])

    const typo = await platform.post('/tools/exchange-rat/call', { input: {} })
    const calls = (await platform.get('/calls')).body
    const byCaller = await platform.post('/tools/exchange-rate/call', { input: {} }, { key: caller })
    const unseen = [
      await platform.post('/tools/exchange-rat/call', { input: {} }, { key: blind }),
      await platform.get('/tools/exchange-rate', { key: blind }),
      await platform.delete('/tools/exchange-rate', { key: blind }),
    ]

    expect(typo.status).toBe(404)
    expect(typo.body.error.message).toBe('There is no tool "exchange-rat". Did you mean "exchange-rate"?')
    expect(calls.data).toMatchObject([{ status: 'validation_error', tool: null }])
    expect(byCaller.status).toBe(200)
    for (const { status, body } of unseen) {
      expect(status).toBe(404)
      expect(JSON.stringify(body)).not.toMatch(/Did you mean|tool_/)
    }
  })
})

test('names work on the fast path for calls', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  await platform.post('/tools', { name: 'weather', parameters, execute: { url: service.url } })
  const server = await listen(platform.platform, '127.0.0.1', 0)

  const response = await fetch(`${server.url}/api/v1/tools/weather/call`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: '{"input":{}}',
  })
  const status = response.status
  await server.close(0)

  expect(status).toBe(200)
})

test('a reference that is neither a valid id nor a valid name is refused', async () => {
  await using platform = await startPlatform()

  const answers = [await platform.get('/tools/a%00b'), await platform.get(`/tools/${'x'.repeat(300)}`)]

  expect(answers.map(({ body }) => body.error.code)).toEqual(['VALIDATION_FAILED', 'VALIDATION_FAILED'])
})

test('ids take precedence over names', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const execute = { url: service.url }
  const first = await platform.post('/tools', { name: 'first', parameters, execute })
  await platform.post('/tools', { name: first.body.id, parameters, execute })

  expect((await platform.get(`/tools/${first.body.id}`)).body.name).toBe('first')
})
