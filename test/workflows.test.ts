import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { adminKey, startPlatform, type TestPlatform } from './kit.ts'
import { parameters, received, register, startCrm, text, until } from './workflow-kit.ts'

const sync = {
  input: parameters({ email: text }, ['email']),
  steps: [
    { id: 'contact', call: 'crm:find_contact', input: { email: '${{ input.email }}' } },
    { id: 'note', call: 'crm:create_note', input: { text: 'Synced ${{ steps.contact.output.name }}' } },
  ],
  output: { note: '${{ steps.note.output.got.text }}', tags: '${{ size(steps.contact.output.tags) }}' },
}

async function connect(platform: TestPlatform, slug: string) {
  const transport = new StreamableHTTPClientTransport(new URL(`http://platform.test/mcp/${slug}`), {
    requestInit: { headers: { authorization: `Bearer ${adminKey}` } },
    fetch: (url, init) => platform.platform.fetch(new Request(url, init)),
  })
  const client = new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(transport)
  return client
}

// biome-ignore lint/suspicious/noExplicitAny: tests read results field by field
const textOf = (result: any): string => result.content[0].text

test('in direct mode each workflow is a tool named {slug}_{name}_workflow that runs its steps (S0.3) (S0.8) (S0.9)', async () => {
  await using platform = await startPlatform()
  await using _service = await startCrm(platform)
  await register(platform, 'sync_leads', sync, { description: 'Syncs a lead.' })
  await platform.post('/servers', { slug: 'sales', name: 'Sales' })
  const client = await connect(platform, 'sales')

  const { tools } = await client.listTools()
  const result = await client.callTool({ name: 'hubspot_sync_leads_workflow', arguments: { email: 'ana@x.test' } })

  expect(tools.map(({ name }) => name).sort()).toEqual([
    'crm_charge_action',
    'crm_create_note_action',
    'crm_find_contact_action',
    'crm_refund_action',
    'hubspot_sync_leads_workflow',
  ])
  const [listed] = tools.filter(({ name }) => name === 'hubspot_sync_leads_workflow')
  expect(listed?.inputSchema).toMatchObject(sync.input)
  expect(listed?.annotations).toEqual({ readOnlyHint: false, idempotentHint: false, destructiveHint: true })
  expect(JSON.parse(textOf(result))).toEqual({ note: 'Synced Ana', tags: 3 })
})

test('in agent mode a workflow is resolved with its type, identifier and schema, and executed by them (S0.17) (S0.18) (S0.19) (S0.24) (S0.25) (S0.26) (S0.27)', async () => {
  await using platform = await startPlatform()
  await using service = await startCrm(platform)
  await register(platform, 'sync_leads', sync, { description: 'Synchronizes the leads of HubSpot.' })
  await register(
    platform,
    'ping',
    { steps: [{ id: 'n', call: 'crm:create_note', input: { text: 'x' } }] },
    { description: 'Writes a ping note.' },
  )
  await platform.post('/servers', { slug: 'sales', name: 'Sales', agent_mode: true })
  const client = await connect(platform, 'sales')

  const plan = await client.callTool({
    name: 'RESOLVE_ACTIONS',
    arguments: { integration_query: ['Sync leads HubSpot', 'Write a ping note HubSpot'] },
  })
  const entities = JSON.parse(textOf(plan))
  const execute = (more: object) =>
    client.callTool({
      name: 'EXECUTE_ACTION',
      arguments: {
        application_slug: 'hubspot',
        action_id: 'sync_leads',
        type: 'workflow',
        input_payload: { email: 'ana@x.test' },
        ...more,
      },
    })
  const asObject = await execute({})
  const asText = await execute({ input_payload: '{"email":"ana@x.test"}' })
  const asAction = await execute({ type: 'action' })

  expect(entities[0]).toMatchObject({
    slug: 'hubspot',
    type: 'workflow',
    identifier: 'sync_leads',
    json_schema: sync.input,
  })
  expect(entities[1]).toMatchObject({ slug: 'hubspot', type: 'workflow', identifier: 'ping', json_schema: {} })
  expect(JSON.parse(textOf(asObject))).toEqual({ success: true, data: { note: 'Synced Ana', tags: 3 } })
  expect(textOf(asText)).toBe(textOf(asObject))
  expect(JSON.parse(textOf(asAction)).error).toContain('"sync_leads" of "hubspot" is of type "workflow"')
  expect(received(service, '/create_note')).toHaveLength(2)
})

test('a server offers only the workflows that it lists for an app (S0.3)', async () => {
  await using platform = await startPlatform()
  await using _service = await startCrm(platform)
  await register(platform, 'sync_leads', sync)
  await register(platform, 'other', sync)
  await platform.post('/servers', {
    slug: 'sales',
    name: 'Sales',
    apps: [{ slug: 'hubspot', workflows: ['sync_leads'] }],
  })
  const client = await connect(platform, 'sales')

  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['hubspot_sync_leads_workflow'])
})

test('each step is a call with its own record, tied to the call of the workflow', async () => {
  await using platform = await startPlatform()
  await using _service = await startCrm(platform)
  const tool = await register(platform, 'sync_leads', sync)

  const answer = await platform.post(`/tools/${tool.id}/call`, { input: { email: 'ana@x.test' } })
  const calls = (await platform.get('/calls')).body.data
  const runs = (await platform.get('/workflow-runs')).body.data

  expect(answer.body).toEqual({ note: 'Synced Ana', tags: 3 })
  const [outer] = calls.filter((call: { tool_id: string }) => call.tool_id === tool.id)
  expect(outer).toMatchObject({ status: 'success', action: 'hubspot:sync_leads', surface: 'rest' })
  const steps = calls.filter((call: { parent_call_id: string }) => call.parent_call_id === outer.id)
  expect(steps.map((call: { action: string }) => call.action).sort()).toEqual(['crm:create_note', 'crm:find_contact'])
  expect(runs).toHaveLength(1)
  expect(runs[0]).toMatchObject({ status: 'completed', call_id: outer.id, name: 'sync_leads' })
  const run = (await platform.get(`/workflow-runs/${runs[0].id}`)).body
  expect(run.steps.map((step: { id: string; status: string }) => [step.id, step.status])).toEqual([
    ['contact', 'done'],
    ['note', 'done'],
  ])
})

test('the caller needs permission for every step, and the level is that of the least safe step', async () => {
  await using platform = await startPlatform()
  await using service = await startCrm(platform)
  const restricted = (await platform.get('/tools?name=create_note')).body.data[0]
  const tool = await register(platform, 'sync_leads', sync)
  const key = await platform.keyFor(
    [{ effect: 'Allow', action: ['tools:CallTool'], resource: [`qm:*:tool:${tool.id}`] }],
    { project_id: platform.projectId },
  )

  const denied = await platform.post(`/tools/${tool.id}/call`, { input: { email: 'a@x.test' } }, { key })
  expect(service.received).toEqual([])
  const before = (await platform.get(`/tools/${tool.id}/actions`)).body.data[0]
  await platform.patch(`/tools/${restricted.id}`, { level: 'restricted' })
  const after = (await platform.get(`/tools/${tool.id}/actions`)).body.data[0]
  await platform.delete(`/tools/${restricted.id}?force=true`)
  const missing = (await platform.get(`/tools/${tool.id}/actions`)).body.data[0]
  const failed = await platform.post(`/tools/${tool.id}/call`, { input: { email: 'a@x.test' } })

  expect(denied.body.error).toMatchObject({ code: 'WORKFLOW_FAILED', details: { step: 'contact', code: 'FORBIDDEN' } })
  expect([before.level, after.level, missing.level]).toEqual(['open', 'restricted', 'open'])
  // Nobody is asked to approve a step that cannot run.
  expect(failed.body.error.message).toContain('There is no action "crm:create_note"')
  expect(after.auto_approve).toBe(false)
})

test('if, for_each, retry and on_error decide what is called', async () => {
  await using platform = await startPlatform()
  let failures = 0
  await using service = await startCrm(platform, ({ url, body }) => {
    if (url === '/charge' && failures++ < 2) return { status: 503, body: 'busy' }
    return body.includes('"b"') && url === '/create_note' ? { status: 500, body: 'no b' } : undefined
  })
  const tool = await register(platform, 'many', {
    input: parameters({ email: text, vip: { type: 'boolean' } }),
    steps: [
      { id: 'contact', call: 'crm:find_contact', input: { email: '${{ input.email }}' } },
      { id: 'skipped', if: 'input.vip', call: 'crm:refund', input: { amount: 1 } },
      {
        ...{ id: 'notes', for_each: '${{ steps.contact.output.tags }}', concurrency: 2, call: 'crm:create_note' },
        input: { text: '${{ string(index) + ":" + item }}', tag: '${{ item }}' },
        on_error: { output: { failed: '${{ item }}', code: '${{ error.code }}' } },
      },
      {
        id: 'charge',
        call: 'crm:charge',
        input: { amount: '${{ 2 * 21.5 + 1 }}' },
        retry: { attempts: 3, delay_seconds: 0.01 },
      },
      { id: 'lost', call: 'crm:create_note', input: { text: 'b', tag: 'b' }, on_error: 'continue' },
      {
        id: 'told',
        if: '${{ steps.lost.error != null }}',
        call: 'crm:create_note',
        input: { text: '${{ steps.lost.error.code }}' },
      },
    ],
    output: {
      skipped: '${{ steps.skipped.status }}',
      notes: '${{ steps.notes.output.map(n, has(n.failed) ? n.failed : n.got.text) }}',
      charged: '${{ steps.charge.output.got.amount }}',
      told: '${{ steps.told.output.got.text }}',
    },
  })

  const answer = await platform.post(`/tools/${tool.id}/call`, { input: { email: 'ana@x.test', vip: false } })

  expect(answer.body).toEqual({ skipped: 'skipped', notes: ['0:a', 'b', '2:c'], charged: 44, told: 'TOOL_HTTP_ERROR' })
  expect(received(service, '/charge')).toHaveLength(3)
  expect(received(service, '/refund')).toEqual([])
})

test('a step that fails is compensated by its on_error call, and the error names the step', async () => {
  await using platform = await startPlatform()
  await using service = await startCrm(platform, ({ url }) =>
    url === '/create_note' ? { status: 500, body: 'broken' } : undefined,
  )
  const tool = await register(platform, 'pay', {
    steps: [
      { id: 'charge', call: 'crm:charge', input: { amount: 5 } },
      {
        id: 'note',
        call: 'crm:create_note',
        input: { text: 'paid' },
        on_error: { call: 'crm:refund', input: { amount: '${{ steps.charge.output.got.amount }}' } },
      },
      { id: 'never', call: 'crm:charge', input: { amount: 6 } },
    ],
  })

  const answer = await platform.post(`/tools/${tool.id}/call`, {})

  expect(answer.status).toBe(502)
  expect(answer.body.error).toMatchObject({
    code: 'WORKFLOW_FAILED',
    details: { step: 'note', code: 'TOOL_HTTP_ERROR', compensation: 'done' },
  })
  expect(answer.body.error.message).toMatch(/^The workflow "pay" failed at step "note": /)
  expect(received(service, '/refund').map(({ body }) => JSON.parse(body))).toEqual([{ amount: 5 }])
  expect(received(service, '/charge')).toHaveLength(1)
})

test('a run waits for the approval of a step, and goes on when it is decided', async () => {
  await using platform = await startPlatform()
  await using service = await startCrm(platform)
  const reviewer = await platform.keyFor([{ effect: 'Allow', action: ['approvals:*'] }])
  const tool = await register(platform, 'pay', {
    steps: [
      { id: 'charge', call: 'crm:charge', input: { amount: 5 }, wait_for: { approval: { reason: 'It is money.' } } },
      { id: 'note', call: 'crm:create_note', input: { text: 'paid ${{ steps.charge.output.got.amount }}' } },
    ],
  })

  const started = await platform.post('/workflow-runs', { tool_id: tool.id, input: {} })
  const waiting = await until(platform, started.body.id, 'waiting')
  const before = service.received.length
  const [pending] = waiting.pending_approvals
  const approval = (await platform.get(`/approvals/${pending.approval_id}`)).body
  await platform.post(`/approvals/${pending.approval_id}/approve`, {}, { key: reviewer })
  const run = await until(platform, started.body.id, 'completed')
  const call = (await platform.get(`/calls/${run.call_id}`)).body

  expect(started.status).toBe(201)
  expect(before).toBe(0)
  expect(approval.why).toEqual([{ gate: 'workflow', id: run.id, name: 'pay', reason: 'It is money.' }])
  expect(run.output).toMatchObject({ got: { text: 'paid 5' } })
  expect(call).toMatchObject({ status: 'success', response: run.output })
  expect(received(service, '/charge')).toHaveLength(1)
})

test('a failed run can be resumed at its step or run again from one', async () => {
  await using platform = await startPlatform()
  let broken = true
  await using service = await startCrm(platform, ({ url }) =>
    url === '/charge' && broken ? { status: 500, body: 'down' } : undefined,
  )
  const tool = await register(platform, 'pay', {
    steps: [
      { id: 'note', call: 'crm:create_note', input: { text: 'first' } },
      { id: 'charge', call: 'crm:charge', input: { amount: 5 } },
    ],
  })

  const { body: started } = await platform.post('/workflow-runs', { tool_id: tool.id })
  const failed = await until(platform, started.id, 'failed')
  broken = false
  const early = await platform.post(`/workflow-runs/${started.id}/rerun`, { from_step: 'nothing' })
  await platform.post(`/workflow-runs/${started.id}/resume`, {})
  const resumed = await until(platform, started.id, 'completed')
  const again = await platform.post(`/workflow-runs/${started.id}/resume`, {})
  const { body: rerun } = await platform.post(`/workflow-runs/${started.id}/rerun`, { from_step: 'charge' })
  const repeated = await until(platform, rerun.id, 'completed')

  expect(failed.error.details).toMatchObject({ step: 'charge' })
  expect(early.status).toBe(400)
  expect(resumed.steps[1].calls.map((call: { status: string }) => call.status)).toEqual(['failed', 'done'])
  expect(again.body.error.code).toBe('RUN_NOT_RESUMABLE')
  expect(repeated).toMatchObject({ rerun_of: started.id, output: { got: { amount: 5 } } })
  expect(received(service, '/create_note')).toHaveLength(1)
  expect(received(service, '/charge')).toHaveLength(3)
})

test('a run waits for a time, and can be cancelled', async () => {
  await using platform = await startPlatform()
  await using service = await startCrm(platform)
  const tool = await register(platform, 'later', {
    input: parameters({ seconds: { type: 'number' } }),
    steps: [
      { id: 'pause', wait_for: { seconds: '${{ input.seconds }}' } },
      { id: 'note', call: 'crm:create_note', input: { text: 'later' } },
    ],
  })

  const { body: long } = await platform.post('/workflow-runs', { tool_id: tool.id, input: { seconds: 3600 } })
  const waiting = await until(platform, long.id, 'waiting')
  const cancelled = await platform.post(`/workflow-runs/${long.id}/cancel`, {})
  const answer = await platform.post(`/tools/${tool.id}/call`, { input: { seconds: 0.2 } })

  expect(Date.parse(waiting.wakes_at)).toBeGreaterThan(Date.now() + 3_500_000)
  expect(cancelled.body).toMatchObject({ status: 'cancelled', error: { code: 'WORKFLOW_CANCELLED' } })
  expect((await platform.get(`/calls/${long.call_id}`)).body.error.code).toBe('WORKFLOW_CANCELLED')
  expect(answer.body).toMatchObject({ got: { text: 'later' } })
  expect(received(service, '/create_note')).toHaveLength(1)
})

test('a call that times out gets the id of its run, which continues', async () => {
  await using platform = await startPlatform()
  await using _service = await startCrm(platform)
  const reviewer = await platform.keyFor([{ effect: 'Allow', action: ['approvals:*'] }])
  const steps = [{ id: 'charge', call: 'crm:charge', input: { amount: 5 }, wait_for: { approval: true } }]
  const tool = await register(platform, 'pay', { steps }, { timeout_seconds: 0.3 })

  const { body, status } = await platform.post(`/tools/${tool.id}/call`, {})
  const { run_id, approval_ids } = body.error.details
  await platform.post(`/approvals/${approval_ids[0]}/approve`, {}, { key: reviewer })
  const run = await until(platform, run_id, 'completed')

  expect([status, body.error.code]).toEqual([504, 'WORKFLOW_RUNNING'])
  expect(run.output).toMatchObject({ got: { amount: 5 } })
})

test('a workflow can be a step of another one, and wait there', async () => {
  await using platform = await startPlatform()
  await using _service = await startCrm(platform)
  const reviewer = await platform.keyFor([{ effect: 'Allow', action: ['approvals:*'] }])
  await register(platform, 'inner', {
    input: parameters({ amount: { type: 'number' } }, ['amount']),
    steps: [
      { id: 'charge', call: 'crm:charge', input: { amount: '${{ input.amount }}' }, wait_for: { approval: true } },
    ],
    output: { paid: '${{ steps.charge.output.got.amount }}' },
  })
  const outer = await register(platform, 'outer', {
    steps: [{ id: 'pay', call: 'hubspot:inner', input: { amount: 7 } }],
    output: 'Paid ${{ steps.pay.output.paid }}',
  })

  const { body: started } = await platform.post('/workflow-runs', { tool_id: outer.id })
  const waiting = await until(platform, started.id, 'waiting')
  const inner = await until(platform, waiting.steps[0].calls[0].run_id, 'waiting')
  await platform.post(`/approvals/${inner.pending_approvals[0].approval_id}/approve`, {}, { key: reviewer })
  const run = await until(platform, started.id, 'completed')

  expect(run.output).toBe('Paid 7')
  expect((await platform.get(`/calls/${waiting.steps[0].calls[0].call_id}`)).body).toMatchObject({
    status: 'success',
    response: { paid: 7 },
  })
})

test('a dry run makes read-only calls for real and uses samples for the others', async () => {
  await using platform = await startPlatform()
  await using service = await startCrm(platform)
  const tool = await register(platform, 'sync_leads', { ...sync, output: '${{ steps.contact.output.name }}' })

  const { body: run } = await platform.post('/workflow-runs', {
    tool_id: tool.id,
    input: { email: 'a@x.test' },
    dry_run: true,
  })
  const refused = await platform.post('/workflow-runs', { tool_id: tool.id, input: {}, dry_run: true })

  expect(run).toMatchObject({ status: 'completed', dry_run: true, output: 'Ana' })
  expect(run.steps.map((step: { status: string }) => step.status)).toEqual(['done', 'simulated'])
  expect(service.received.map(({ url }) => url)).toEqual(['/contacts?email=a%40x.test'])
  expect(refused.body.error.code).toBe('VALIDATION_FAILED')
})

test('a tool that a workflow calls is not deleted without force', async () => {
  await using platform = await startPlatform()
  await using _service = await startCrm(platform)
  await register(platform, 'sync_leads', sync)
  const [{ id }] = (await platform.get('/tools?name=create_note')).body.data

  const refused = await platform.delete(`/tools/${id}`)

  expect(refused.body.error).toMatchObject({
    code: 'HAS_DEPENDENTS',
    details: { dependents: ['the workflow "sync_leads"'] },
  })
})

test('an action that disappears during a run, a failing expression and too many items name their place', async () => {
  await using platform = await startPlatform()
  await using _service = await startCrm(platform)
  const list = { type: 'array', items: { type: 'integer' } }
  // A workflow with an unknown action counts as administrative, so it would need approval.
  const flow = await register(
    platform,
    'flow',
    {
      input: parameters({ list, key: text }),
      steps: [
        {
          id: 'notes',
          for_each: '${{ input.list }}',
          concurrency: 50,
          call: 'crm:create_note',
          input: { text: '${{ string(item) }}' },
        },
        { id: 'refund', call: 'crm:refund', input: { amount: '${{ steps.notes.output[int(input.key)].nothing }}' } },
      ],
    },
    { auto_approve: true },
  )
  const run = (input: object) => platform.post(`/tools/${flow.id}/call`, { input })

  const many = await run({ list: Array.from({ length: 1001 }, (_, index) => index), key: '0' })
  const missing = await run({ list: [1], key: '0' })
  const [{ id }] = (await platform.get('/tools?name=create_note')).body.data
  await platform.delete(`/tools/${id}?force=true`)
  const gone = await run({ list: [1], key: '0' })

  expect(many.body.error.message).toContain('it returned 1001 items; the limit is 1000')
  expect(missing.body.error.details).toMatchObject({ step: 'refund', code: 'EXPRESSION_FAILED' })
  expect(missing.body.error.message).toContain('workflow.steps[1].input.amount failed: No such key: nothing')
  expect(gone.body.error.details).toMatchObject({ step: 'notes', item: 0, code: 'ACTION_NOT_FOUND' })
})

test('an agent calls a workflow as a tool, and waits for the approval inside it', async () => {
  await using platform = await startPlatform()
  await using service = await startCrm(platform)
  const reviewer = await platform.keyFor([{ effect: 'Allow', action: ['approvals:*'] }])
  const steps = [{ id: 'charge', call: 'crm:charge', input: { amount: 5 }, wait_for: { approval: true } }]
  const tool = await register(platform, 'pay', { steps })
  const script = { steps: [{ answer: { tool_calls: [{ name: 'pay', args: {} }] } }, { answer: 'Paid' }] }
  const { body: provider } = await platform.post('/ai-providers', { name: 'scripted', type: 'replay', script })
  const { body: agent } = await platform.post('/agents', {
    name: 'payer',
    ai_provider_id: provider.id,
    tool_ids: [tool.id],
  })

  const paused = await platform.post(`/agents/${agent.id}/generate`, { prompt: 'Pay' })
  const [approval] = (await platform.get('/approvals?status=pending')).body.data
  await platform.post(`/approvals/${approval.id}/approve`, {}, { key: reviewer })
  await expect
    .poll(async () => (await platform.get(`/generations/${paused.body.id}`)).body.status, { timeout: 20_000 })
    .toBe('completed')
  const generation = (await platform.get(`/generations/${paused.body.id}`)).body

  expect(paused.body.status).toBe('requires_action')
  expect(generation.step_list[0].calls[0]).toMatchObject({ status: 'done', output: { got: { amount: 5 } } })
  expect(generation.output.content).toBe('Paid')
  expect(received(service, '/charge')).toHaveLength(1)
})
