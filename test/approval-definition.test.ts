import { expect, test } from 'vitest'
import { people } from './approving.ts'
import { startPlatform, startService } from './kit.ts'

const parameters = { type: 'object', properties: { city: { type: 'string' }, amount: { type: 'number' } } }
const reference = ['$', '{{ secrets.OTHER }}'].join('')
const headers = { Authorization: 'Bearer first-secret', 'X-Tenant': 'acme' }

/** Makes a call that needs approval, changes the tool, approves, and makes the same call again. */
async function callAfterChange(changeOf: (url: string) => object) {
  await using service = await startService()
  await using platform = await startPlatform()
  const { caller, reviewer } = await people(platform)
  await platform.post('/secrets', { name: 'OTHER', value: 'second-secret' })
  const execute = { url: service.url, method: 'POST', headers }
  const tool = await platform.post('/tools', {
    name: 'pay',
    parameters,
    execute,
    auto_approve: false,
  })
  const call = () =>
    platform.post(`/tools/${tool.body.id}/call`, { input: { city: 'Recife' }, wait: false }, { key: caller })

  const { approval_id } = (await call()).body
  const changed = await platform.patch(`/tools/${tool.body.id}`, changeOf(service.url))
  await platform.post(`/approvals/${approval_id}/approve`, {}, { key: reviewer })
  const again = await call()

  if (changed.status !== 200) throw new Error(JSON.stringify(changed.body))
  return { again, received: service.received }
}

const withHeaders = (changed: Record<string, string>) => (url: string) => ({
  execute: { url, method: 'POST', headers: changed },
})

test.each([
  ['a header', withHeaders({ ...headers, Host: 'other.example.com' })],
  ['the method by a header', withHeaders({ ...headers, 'X-HTTP-Method-Override': 'DELETE' })],
  ['the value of a header', withHeaders({ ...headers, 'X-Tenant': 'other' })],
  ['which header holds the credential', withHeaders({ 'X-Api-Key': 'first-secret', 'X-Tenant': 'acme' })],
  ['which secret is used', withHeaders({ ...headers, Authorization: `Bearer ${reference}` })],
  ['the path', (url: string) => ({ execute: { url: `${url}/other`, method: 'POST', headers } })],
  ['the method', (url: string) => ({ execute: { url, method: 'PUT', headers } })],
  ['a preset', () => ({ preset_parameters: { amount: 1000 } })],
  ['the description', () => ({ description: 'Something else' })],
  ['the level', () => ({ level: 'administrative' })],
])('an approval is no longer valid after a change of %s', async (_, changeOf) => {
  const { again, received } = await callAfterChange(changeOf)

  expect(again).toMatchObject({ status: 409, body: { error: { code: 'APPROVAL_STALE' } } })
  expect(received).toEqual([])
})

test.each([
  ['the value of a credential', withHeaders({ ...headers, Authorization: 'Bearer second-secret' })],
  ['a time limit', () => ({ timeout_seconds: 5, approval_timeout_seconds: 60 })],
])('an approval stays valid after a change of %s', async (_, changeOf) => {
  const { again, received } = await callAfterChange(changeOf)

  expect(again.status).toBe(200)
  expect(received).toHaveLength(1)
})
