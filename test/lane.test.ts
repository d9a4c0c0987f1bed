import { expect, test } from 'vitest'
import { listen } from '../src/surfaces/server.ts'
import { adminKey, startPlatform, startService } from './kit.ts'

/** The same request by the short way and by the long one, which a content type with a parameter leads to. */
const ways = { short: 'application/json', long: 'application/json; charset=utf-8' }

test('a call is answered the same by the short way and by the long one, whatever is sent', async () => {
  await using service = await startService(({ url }) => (url === '/bad' ? { status: 500, body: '"no"' } : undefined))
  await using platform = await startPlatform({ QM_BODY_LIMIT: '20000' })
  const server = await listen(platform.platform, '127.0.0.1', 0)
  const make = async (tool: object) => (await platform.post('/tools', tool)).body.id
  const good = await make({
    name: 'good',
    execute: { url: service.url },
    parameters: { type: 'object', required: ['city'] },
  })
  const bad = await make({ name: 'bad', execute: { url: `${service.url}/bad` }, parameters: {} })
  const docs = await make({ name: 'docs', type: 'platform', actions: ['list-documents'] })
  const local = await make({ name: 'local', type: 'client', parameters: {} })
  const limited = await platform.keyFor([{ effect: 'Allow', action: ['tools:CallTool'] }], { rate_limit: 1 })

  const send = async (contentType: string, id: string, body: string, key: string | undefined) => {
    const response = await fetch(`${server.url}/api/v1/tools/${id}/call`, {
      method: 'POST',
      headers: { 'content-type': contentType, ...(key && { authorization: `Bearer ${key}` }) },
      body,
    })
    const { headers, status } = response
    const kept = ['content-type', 'www-authenticate', 'ratelimit-limit', 'retry-after']
    return { status, headers: kept.map((name) => headers.get(name) !== null), body: await response.json() }
  }

  const requests: [id: string, body: string, key?: string | undefined][] = [
    [good, '{"input":{"city":"Recife"}}'],
    [good, '{"input":{"city":"São Paulo"},"action":"good"}'],
    [good, '{"input":{}}'],
    [good, '{"input":null}'],
    [good, '{"input":[]}'],
    [good, '{"input":"{\\"city\\":\\"Recife\\"}"}'],
    [good, '{"input":{"city":"x"},"extra":1}'],
    [good, '{"id":"tool_other","input":{"city":"x"}}'],
    [good, '{"action":7}'],
    [good, '{}'],
    [good, '[]'],
    [good, '7'],
    [good, '{"input":'],
    [good, `{"input":${'['.repeat(200)}${']'.repeat(200)}}`],
    [good, JSON.stringify({ input: { city: 'x'.repeat(30_000) } })],
    [good, '{"input":{"city":"x"}}', undefined],
    [good, '{"input":{"city":"x"}}', 'sk_wrong'],
    [bad, '{"input":{}}'],
    [docs, '{"input":{}}'],
    [docs, '{"action":"list-documents"}'],
    [docs, '{"action":"list-documents","input":{"limit":0}}'],
    [local, '{"input":{}}'],
    ['tool_none', '{"input":{}}'],
  ]
  for (const [id, body, ...keys] of requests) {
    const key = keys.length > 0 ? keys[0] : adminKey
    const [short, long] = [await send(ways.short, id, body, key), await send(ways.long, id, body, key)]
    expect(short, `${id} ${body.slice(0, 80)}`).toEqual(long)
  }
  const first = await send(ways.short, good, '{"input":{"city":"x"}}', limited)
  const over = [await send(ways.short, good, '{}', limited), await send(ways.long, good, '{}', limited)]

  expect([first.status, over[0]?.status]).toEqual([200, 429])
  expect(over[0]).toEqual(over[1])
  platform.platform.drain()
  expect(await send(ways.short, good, '{}', adminKey)).toEqual(await send(ways.long, good, '{}', adminKey))
  await server.close(1)
})
