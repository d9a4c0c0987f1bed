import { expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { startService } from './kit.ts'
import { obtain } from './oauth-kit.ts'

const send = (url: string, token: string, method: string, params: object = {}) =>
  fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
const statusOf = async (url: string, token: string) => (await send(url, token, 'tools/list')).status
const ask = async (url: string, token: string, method: string, params: object = {}) => {
  const text = await (await send(url, token, method, params)).text()
  // The reply to a call that waits is an event stream.
  return JSON.parse(/^data: (\{.*"result".*\})$/m.exec(text)?.[1] ?? text)
}

test('people see the apps they have connected and can revoke them; administrators see and revoke all', async () => {
  await using platform = await startListening()
  await platform.post('/servers', { slug: 'desk' })
  const desk = `${platform.url}/mcp/desk`
  const caller = [{ effect: 'Allow', action: ['servers:UseServer', 'tools:*'], resource: ['*'] }]
  const [ada, bob] = [await platform.keyFor(caller, { name: 'Ada' }), await platform.keyFor(caller, { name: 'Bob' })]
  const forAda = await obtain(platform.url, desk, { key: ada, name: 'Editor' })
  const forBob = await obtain(platform.url, desk, { key: bob, name: 'Assistant' })
  await statusOf(desk, forAda.token)

  const seenByAda = (await platform.get('/oauth-grants', { key: ada })).body
  const seenByAdmin = (await platform.get('/oauth-grants')).body
  const ofBob = seenByAdmin.data.find((one: { granted_by: { name: string } }) => one.granted_by.name === 'Bob')
  const refused = await platform.delete(`/oauth-grants/${ofBob.id}`, { key: ada })
  const revoked = await platform.delete(`/oauth-grants/${seenByAda.data[0].id}`, { key: ada })

  expect(seenByAda).toMatchObject({
    total: 1,
    data: [
      {
        resource: desk,
        scopes: ['mcp'],
        granted_by: { name: 'Ada' },
        client: { name: 'Editor', host: null, redirect_host: 'an app on this computer (127.0.0.1:51234)' },
        last_used_at: expect.any(String),
      },
    ],
  })
  expect(seenByAdmin.total).toBe(2)
  expect([refused.status, revoked.status]).toEqual([404, 204])
  expect([await statusOf(desk, forAda.token), await statusOf(desk, forBob.token)]).toEqual([401, 200])
  expect((await platform.delete(`/oauth-grants/${ofBob.id}`)).status).toBe(204)
  expect(await statusOf(desk, forBob.token)).toBe(401)
  expect(JSON.stringify(seenByAdmin)).not.toContain(forAda.clientId)
})

test('people whose policies deny it still see and revoke their own, and editors cannot trust issuers', async () => {
  await using platform = await startListening()
  await platform.post('/servers', { slug: 'desk' })
  const statement = [
    { effect: 'Allow', action: ['*'], resource: ['*'] },
    { effect: 'Deny', action: ['oauth-grants:*'], resource: ['*'] },
  ]
  const key = await platform.keyFor(statement, { name: 'Ada' })
  await obtain(platform.url, `${platform.url}/mcp/desk`, { key })
  await obtain(platform.url, `${platform.url}/mcp/desk`)
  const editor = (await platform.post('/api-keys', { name: 'e', access_policy_ids: ['pol_editor'] })).body.key

  const seen = (await platform.get('/oauth-grants', { key })).body
  const revoked = await platform.delete(`/oauth-grants/${seen.data[0].id}`, { key })
  const trusted = await platform.post('/trusted-issuers', { name: 'x', issuer: 'https://x.test' }, { key: editor })

  expect(seen.total).toBe(1)
  expect([revoked.status, trusted.status]).toEqual([204, 403])
})

test('two people see the same tools at one server, and the record tells them apart', async () => {
  await using service = await startService()
  await using platform = await startListening()
  await platform.post('/servers', { slug: 'desk' })
  await platform.post('/tools', { name: 'echo', execute: { url: service.url }, parameters: { type: 'object' } })
  const desk = `${platform.url}/mcp/desk`
  const everything = [{ effect: 'Allow', action: ['*'], resource: ['*'] }]
  const keys = [await platform.keyFor(everything, { name: 'Ada' }), await platform.keyFor(everything, { name: 'Bob' })]
  const tokens = await Promise.all(keys.map((key) => obtain(platform.url, desk, { key, name: 'Editor' })))

  const lists = await Promise.all(tokens.map(async ({ token }) => (await ask(desk, token, 'tools/list')).result))
  const [{ name }] = lists[0].tools
  for (const { token } of tokens) await ask(desk, token, 'tools/call', { name, arguments: {} })
  const { data } = (await platform.get('/calls')).body

  expect(lists[1].tools).toEqual(lists[0].tools)
  expect(data.map((one: { principal: { name: string } }) => one.principal.name).sort()).toEqual([
    'Ada via Editor',
    'Bob via Editor',
  ])
})

test('a person can approve what their app asks for, and the app cannot', async () => {
  await using service = await startService()
  await using platform = await startListening()
  await platform.post('/servers', { slug: 'desk' })
  const parameters = { type: 'object' }
  await platform.post('/tools', { name: 'pay', execute: { url: service.url }, parameters, auto_approve: false })
  const desk = `${platform.url}/mcp/desk`
  const { token } = await obtain(platform.url, desk)
  const { token: managing } = await obtain(platform.url, `${platform.url}/mcp`)
  const pending = async () => (await platform.get('/approvals?status=pending')).body.data[0]

  const calling = ask(desk, token, 'tools/call', { name: 'tools_pay_action', arguments: {} })
  await expect.poll(pending).toBeDefined()
  const { id } = await pending()
  const byApp = await ask(`${platform.url}/mcp`, managing, 'tools/call', {
    name: 'approve-approval',
    arguments: { id },
  })
  const received = service.received.length
  const byPerson = await platform.post(`/approvals/${id}/approve`)

  expect(JSON.stringify(byApp)).toMatch(/There is no tool|PERSON_REQUIRED/)
  expect(received).toBe(0)
  expect(byPerson.status).toBe(200)
  expect((await calling).result.isError).toBeFalsy()
  expect(service.received).toHaveLength(1)
})
