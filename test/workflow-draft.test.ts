import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { startPlatform, type TestPlatform } from './kit.ts'
import { received, register, startCrm } from './workflow-kit.ts'

async function callTool(platform: TestPlatform, name: string, input: object) {
  const [{ id }] = (await platform.get(`/tools?name=${name}`)).body.data
  await platform.post(`/tools/${id}/call`, { input })
  return (await platform.get(`/calls?limit=1`)).body.data[0].id as string
}

test('recorded calls become a workflow that runs as it is', async () => {
  await using platform = await startPlatform()
  await using service = await startCrm(platform)
  const found = await callTool(platform, 'find_contact', { email: 'ana@x.test' })
  const noted = await callTool(platform, 'create_note', { text: 'Ana', tag: 'vip' })

  const draft = await platform.post('/workflows/draft', { call_ids: [noted, found], name: 'greet' })
  const { workflow } = parse(draft.body.yaml).tools.greet
  const tool = await register(platform, 'greet', workflow)
  const answer = await platform.post(`/tools/${tool.id}/call`, { input: { email: 'eva@x.test', tag: 'new' } })

  expect(draft.status).toBe(200)
  expect(workflow).toEqual(draft.body.workflow)
  expect(workflow.steps).toEqual([
    { id: 'find_contact', call: 'crm:find_contact', input: { email: '${{ input.email }}' } },
    {
      ...{ id: 'create_note', call: 'crm:create_note' },
      input: { text: '${{ steps.find_contact.output.name }}', tag: '${{ input.tag }}' },
    },
  ])
  expect(draft.body.problems).toEqual([])
  expect(answer.body.got).toEqual({ text: 'Ana', tag: 'new' })
  expect(received(service, '/contacts').at(-1)?.url).toBe('/contacts?email=eva%40x.test')
})

test('calls that failed, do not exist or cannot be seen are refused by their place', async () => {
  await using platform = await startPlatform()
  await using _service = await startCrm(platform, ({ url }) =>
    url === '/charge' ? { status: 500, body: 'down' } : undefined,
  )
  const found = await callTool(platform, 'find_contact', { email: 'ana@x.test' })
  const failed = await callTool(platform, 'charge', { amount: 5 })
  const stranger = await platform.keyFor([{ effect: 'Allow', action: ['tools:*'] }])

  const refused = await platform.post('/workflows/draft', { call_ids: [found, failed, 'call_none'] })
  const hidden = await platform.post('/workflows/draft', { call_ids: [found] }, { key: stranger })
  const none = await platform.post('/workflows/draft', { call_ids: [] })

  expect(refused.body.error.details.errors).toEqual([
    {
      path: 'call_ids[1]',
      message: `the call ${failed} has the status execution_error: only successful calls can be repeated`,
    },
    { path: 'call_ids[2]', message: 'the call call_none does not exist' },
  ])
  expect(hidden.body.error.details.errors[0].message).toBe(`the call ${found} does not exist`)
  expect([refused.status, hidden.status, none.status]).toEqual([400, 400, 400])
})
