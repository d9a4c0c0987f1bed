import { describe, expect, test } from 'vitest'
import { engines, freshDatabase } from './engines.ts'
import { startPlatform } from './kit.ts'

const execute = { url: 'http://127.0.0.1:9/' }
const parameters = { type: 'object' }

describe.each(engines)('deleting a tool on %s', (engine) => {
  const start = async () => {
    const database = await freshDatabase(engine)
    const platform = await startPlatform({ DATABASE_URL: database.options.databaseUrl ?? '' })
    const tool = async (name: string, fields: object = {}) =>
      (await platform.post('/tools', { name, parameters, execute, ...fields })).body.id as string
    const agent = async (name: string, tool_ids: string[]) => {
      const script = { steps: [{ answer: 'x' }] }
      const provider = await platform.post('/ai-providers', { name: `${name}-p`, type: 'replay', script })
      return (await platform.post('/agents', { name, ai_provider_id: provider.body.id, tool_ids })).body.id as string
    }
    return {
      platform,
      tool,
      agent,
      async [Symbol.asyncDispose]() {
        await platform[Symbol.asyncDispose]()
        await database.remove()
      },
    }
  }

  test('is refused if agents and servers use it, with their names', async () => {
    await using started = await start()
    const { platform, tool, agent } = started
    const files = await tool('files', { app: 'files' })
    await agent('support', [files])
    await platform.post('/servers', { slug: 'docs', apps: [{ slug: 'files' }] })

    const refused = await platform.delete(`/tools/${files}`)

    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'HAS_DEPENDENTS' } } })
    expect(refused.body.error.details.dependents).toEqual(['the agent "support"', 'the server "docs"'])
    expect(refused.body.error.message).toMatch(/the agent "support", the server "docs".*force=true/)
    expect((await platform.get(`/tools/${files}`)).status).toBe(200)
  })

  test('can be forced', async () => {
    await using started = await start()
    const { platform, tool, agent } = started
    const files = await tool('files', { app: 'files' })
    const id = await agent('support', [files])

    const forced = await platform.delete(`/tools/${files}?force=true`)

    expect(forced.status).toBe(204)
    expect((await platform.get(`/tools/${files}`)).status).toBe(404)
    expect((await platform.post(`/agents/${id}/generate`, { prompt: 'Hello' })).body).toMatchObject({
      status: 'completed',
    })
  })

  test('counts a server as a user only if it lists the action, or an app that would become empty', async () => {
    await using started = await start()
    const { platform, tool } = started
    const [one, two] = [await tool('one', { app: 'crm' }), await tool('two', { app: 'crm' })]
    const [plain, other] = [await tool('plain'), await tool('other')]
    await platform.post('/servers', { slug: 'all' })
    await platform.post('/servers', { slug: 'whole-app', apps: [{ slug: 'crm' }, { slug: 'tools' }] })
    await platform.post('/servers', { slug: 'some', apps: [{ slug: 'crm', actions: ['two'] }] })
    const remove = async (id: string) => {
      const { status, body } = await platform.delete(`/tools/${id}`)
      return status === 409 ? body.error.details.dependents : status
    }

    const answers = [await remove(plain), await remove(other), await remove(one), await remove(two)]

    expect(answers).toEqual([204, 204, 204, ['the server "some"', 'the server "whole-app"']])
  })
})
