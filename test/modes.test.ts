import { describe, expect, test } from 'vitest'
import { pending } from './approving.ts'
import { startPlatform, startService, type TestPlatform } from './kit.ts'
import { startUpstream } from './upstream.ts'

const parameters = { type: 'object' }

async function toolAt(platform: TestPlatform, url: string, fields: object) {
  const { body } = await platform.post('/tools', { name: 'look', parameters, execute: { url }, ...fields })
  return body.id as string
}

/** A key whose calls have these modes, the default first. */
async function keyIn(platform: TestPlatform, ...modes: string[]): Promise<string> {
  const fields = { name: 'k', access_policy_ids: ['pol_caller'], modes }
  const { body } = await platform.post('/api-keys', fields)
  if (!body.key) throw new Error(JSON.stringify(body))
  return body.key
}

describe('an action', () => {
  test.each(['quiet', 'support'])('of level open is available in every mode, here %s (S3.16)', async (slug) => {
    await using service = await startService()
    await using platform = await startPlatform()
    await platform.post('/modes', { slug: 'quiet', name: 'Quiet' })
    await platform.post('/modes', { slug: 'support', name: 'Support', levels: ['restricted'] })
    const id = await toolAt(platform, service.url, { level: 'open' })

    const { status } = await platform.post(`/tools/${id}/call`, {}, { key: await keyIn(platform, slug) })

    expect(status).toBe(200)
  })

  test('of level restricted needs a mode that includes it, and runs there without approval (S3.15) (S3.17)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    await platform.post('/modes', { slug: 'quiet', name: 'Quiet' })
    await platform.post('/modes', { slug: 'support', name: 'Support', levels: ['restricted'] })
    const id = await toolAt(platform, service.url, { level: 'restricted' })
    const call = (key: string) => platform.post(`/tools/${id}/call`, {}, { key })

    const quiet = await call(await keyIn(platform, 'quiet'))
    const support = await call(await keyIn(platform, 'support'))

    expect(quiet).toMatchObject({
      status: 403,
      body: { error: { code: 'MODE_RESTRICTED', details: { mode: 'quiet', reason: 'its level is restricted' } } },
    })
    expect(support.status).toBe(200)
    expect(service.received).toHaveLength(1)
  })

  test('of level administrative is the highest: a mode for restricted ones does not include it (S3.18)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    await platform.post('/modes', { slug: 'support', name: 'Support', levels: ['restricted'] })
    await platform.post('/modes', { slug: 'admin', name: 'Admin', levels: ['restricted', 'administrative'] })
    const id = await toolAt(platform, service.url, { level: 'administrative' })
    const call = (key: string) => platform.post(`/tools/${id}/call`, {}, { key })

    expect((await call(await keyIn(platform, 'support'))).body.error.code).toBe('MODE_RESTRICTED')
    expect((await call(await keyIn(platform, 'admin'))).status).toBe(200)
  })

  test('above open never runs by itself without a mode: it waits for a person (S3.25)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const id = await toolAt(platform, service.url, { level: 'restricted' })

    const { status } = await platform.post(`/tools/${id}/call`, { wait: false }, { key: await keyIn(platform) })

    expect(status).toBe(202)
    expect((await pending(platform)).why).toMatchObject([{ gate: 'level' }])
    expect(service.received).toEqual([])
  })

  test('of an MCP server has the level of the server, or a higher one from its own definition (S3.13) (S3.14)', async () => {
    const schema = { type: 'object' as const }
    const meta = { 'quartermaster/level': 'administrative' }
    await using upstream = await startUpstream([
      { name: 'read', inputSchema: schema },
      { name: 'wipe', inputSchema: schema, _meta: meta },
    ])
    await using platform = await startPlatform()
    const mcp = { url: upstream.url }
    const { body: tool } = await platform.post('/tools', { name: 'disk', type: 'mcp', mcp, level: 'restricted' })

    const { body } = await platform.get(`/tools/${tool.id}/actions`)

    const levels = body.data.map(({ name, level }: Record<string, string>) => [name, level])
    expect(levels).toEqual([
      ['read', 'restricted'],
      ['wipe', 'administrative'],
    ])
  })
})

describe('a mode', () => {
  test('limits the tools and the servers that its calls can use', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const look = await toolAt(platform, service.url, { app: 'crm' })
    const other = await toolAt(platform, service.url, { name: 'other', app: 'mail' })
    await platform.post('/servers', { slug: 'desk', name: 'Desk', tool_names: 'original' })
    await platform.post('/modes', { slug: 'crm', name: 'CRM', tools: ['crm:*'], servers: ['front'] })
    const key = await keyIn(platform, 'crm')
    const block = `<use_mcp_tool><server_name>desk</server_name><tool_name>look</tool_name><arguments>{}</arguments></use_mcp_tool>`

    const mine = await platform.post(`/tools/${look}/call`, {}, { key })
    const others = await platform.post(`/tools/${other}/call`, {}, { key })
    const throughServer = await platform.post('/xml/execute', { text: block }, { key })

    expect(mine.status).toBe(200)
    expect(others.body.error).toMatchObject({ code: 'MODE_RESTRICTED' })
    expect(throughServer.body.results).toMatchObject([
      { status: 'denied', error_class: 'permission', error: { code: 'MODE_RESTRICTED' } },
    ])
  })

  test('is the first of the key, or the one that the request chooses, and is in the record', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    await platform.post('/modes', { slug: 'quiet', name: 'Quiet' })
    await platform.post('/modes', { slug: 'support', name: 'Support', levels: ['restricted'] })
    const id = await toolAt(platform, service.url, { level: 'restricted' })
    const key = await keyIn(platform, 'quiet', 'support')
    const call = (headers: Record<string, string> = {}) => platform.post(`/tools/${id}/call`, {}, { key, headers })

    const byDefault = await call()
    const chosen = await call({ 'x-quartermaster-mode': 'support' })
    const foreign = await call({ 'x-quartermaster-mode': 'admin' })

    expect([byDefault.status, chosen.status]).toEqual([403, 200])
    expect(foreign.body.error).toMatchObject({ code: 'MODE_NOT_ALLOWED', details: { modes: ['quiet', 'support'] } })
    const { body } = await platform.get('/calls')
    expect(body.data.map(({ mode, status }: Record<string, string>) => [mode, status])).toEqual([
      ['support', 'success'],
      ['quiet', 'permission_denied'],
    ])
  })

  test('that was changed or deleted counts for the next call', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { body: mode } = await platform.post('/modes', { slug: 'support', name: 'Support', levels: ['restricted'] })
    const id = await toolAt(platform, service.url, { level: 'restricted' })
    const key = await keyIn(platform, 'support')
    const call = async () => (await platform.post(`/tools/${id}/call`, {}, { key })).status

    const before = await call()
    await platform.patch(`/modes/${mode.id}`, { levels: [] })
    const narrowed = await call()
    await platform.delete(`/modes/${mode.id}`)
    const gone = await call()

    expect([before, narrowed, gone]).toEqual([200, 403, 403])
  })

  test('cannot be given to a new key without permission, nor escaped by creating a key without it', async () => {
    await using platform = await startPlatform()
    await platform.post('/modes', { slug: 'support', name: 'Support', levels: ['restricted'] })
    await platform.post('/modes', { slug: 'other', name: 'Other' })
    const statement = [{ effect: 'Allow', action: ['api-keys:CreateApiKey'] }]
    const plain = await platform.keyFor(statement as never)
    const { body: policy } = await platform.post('/access-policies', {
      name: 'keys',
      document: { statement: [...statement, { effect: 'Allow', action: ['modes:UseMode'] }] },
    })
    const within = await platform.post('/api-keys', { name: 'w', access_policy_ids: [policy.id], modes: ['support'] })
    const create = (modes: string[], key: string) => platform.post('/api-keys', { name: 'n', modes }, { key })

    expect((await create(['support'], plain)).status).toBe(403)
    expect((await create([], within.body.key)).status).toBe(400)
    expect((await create(['other'], within.body.key)).status).toBe(400)
    expect((await create(['support'], within.body.key)).status).toBe(201)
  })
})
