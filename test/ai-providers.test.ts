import { expect, test } from 'vitest'
import { startPlatform } from './kit.ts'

const script = 'steps:\n  - answer: ready\n'

test('a provider is created, changed, listed and deleted, each name once in a project', async () => {
  await using platform = await startPlatform()

  const made = await platform.post('/ai-providers', { name: 'r', type: 'replay', script })
  const again = await platform.post('/ai-providers', { name: 'r', type: 'replay', script })
  const changed = await platform.patch(`/ai-providers/${made.body.id}`, { timeout_seconds: 5 })

  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({ type: 'replay', has_api_key: false, max_retries: 3, timeout_seconds: 120, script })
  expect(made.body.id).toMatch(/^aip_/)
  expect(again).toMatchObject({ status: 409, body: { error: { code: 'NAME_TAKEN' } } })
  expect(changed.body).toMatchObject({ name: 'r', timeout_seconds: 5 })
  expect((await platform.get('/ai-providers')).body.total).toBe(1)
  expect((await platform.delete(`/ai-providers/${made.body.id}`)).status).toBe(204)
  expect((await platform.get(`/ai-providers/${made.body.id}`)).status).toBe(404)
})
