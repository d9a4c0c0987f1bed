import { expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { startProtected, TestBrowser } from './connect-peers.ts'
import type { TestPlatform } from './kit.ts'
import { startAuthorizationServer } from './oauth-peers.ts'

async function create(platform: TestPlatform, path: string, body: object) {
  const response = await platform.post(path, { project_id: platform.projectId, ...body })
  expect(response.status, JSON.stringify(response.body)).toBe(201)
  return response.body
}

const register = (platform: TestPlatform, url: string) =>
  create(platform, '/tools', { name: 'notes', type: 'mcp', mcp: { url } })

const call = (platform: TestPlatform, id: string, action: string, more: object = {}) =>
  platform.post(`/tools/${id}/call`, { action, input: {}, ...more })

test('a protected MCP server needs no settings: the first call leads to a page, and then works (S4.12) (S4.13) (S4.14) (S4.15)', async () => {
  await using as = await startAuthorizationServer()
  await using server = await startProtected(as)
  await using platform = await startListening()
  const tool = await register(platform, server.url)

  const first = await call(platform, tool.id, 'read')
  const page = await new TestBrowser().connect(first.body.error.details.connect_url)
  const second = await call(platform, tool.id, 'read')
  const [connection] = (await platform.get('/connections')).body.data

  expect(first.status).toBe(409)
  expect(first.body.error.details).toMatchObject({ app: 'notes', reason: 'missing' })
  expect(page.status, page.text).toBe(200)
  expect(page.text).toContain('is connected')
  expect(second.body, JSON.stringify(second.body)).toMatchObject({ content: [{ text: 'notes of alice' }] })
  expect(connection).toMatchObject({
    ...{ tool_id: tool.id, type: 'oauth2_authorization_code', status: 'active', issuer: as.url, resource: server.url },
    ...{ scopes: ['notes:read'], owner: { kind: 'project', id: null } },
  })
})
