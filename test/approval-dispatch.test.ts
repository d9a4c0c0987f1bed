import { expect, test } from 'vitest'
import { ApprovalCoordinator } from '../src/approvals/coordinator.ts'
import { Catalogue } from '../src/catalogue/catalogue.ts'
import { Credentials } from '../src/credentials/credentials.ts'
import type { CallRequest } from '../src/dispatch/call.ts'
import type { DispatchDeps } from '../src/dispatch/deps.ts'
import { dispatch } from '../src/dispatch/dispatch.ts'
import { Lineage } from '../src/http/lineage.ts'
import { Outbound } from '../src/http/outbound.ts'
import { Schemas } from '../src/json-schema/schema.ts'
import { Upstreams } from '../src/mcp/client/upstreams.ts'
import { newId } from '../src/model/ids.ts'
import type { Outcome } from '../src/model/outcome.ts'
import type { Principal } from '../src/model/principal.ts'
import type { Store } from '../src/store/store.ts'
import { toolTypes } from '../src/tools/index.ts'
import { Apis } from '../src/tools/openapi/apis.ts'
import { ToolTypes } from '../src/tools/tool-types.ts'
import { freshStore } from './engines.ts'
import { startService } from './kit.ts'

const principal: Principal = {
  kind: 'api_key',
  endUserId: null,
  id: 'key_agent',
  name: 'agent',
  projectId: null,
  grants: [{ policyId: 'pol', statements: [{ effect: 'Allow', action: ['*'], resource: ['*'] }] }],
  rateLimit: null,
  expiresAt: null,
}

/** The dispatch pipeline with its dependencies, without a platform around it. */
function startDispatch(store: Store): DispatchDeps & AsyncDisposable {
  const outbound = new Outbound({ allowLoopback: true, allow: [], maxResponseBytes: 1e6 })
  const upstreams = new Upstreams(outbound)
  const reach = {
    outbound,
    upstreams,
    lineage: new Lineage('x'),
    schemas: new Schemas(),
    allowStdio: false,
    apis: new Apis(store.apiSnapshots),
    credentials: new Credentials({ secrets: store.secrets, vault: { open: (text) => text }, variables: {} }),
    platformActions: new Map(),
    actions: { findOwner: async () => undefined, findAction: async () => undefined, knownIds: async () => [] },
    runWorkflow: () => Promise.reject(new Error('not here')),
    perform: () => Promise.reject(new Error('not here')),
  }
  return {
    catalogue: new Catalogue(store, reach, new ToolTypes(toolTypes)),
    calls: store.calls,
    tools: reach,
    modes: store.modes,
    coordinator: new ApprovalCoordinator(store, { defaultSeconds: 300, maxPending: 500, publicUrl: undefined }),
    async [Symbol.asyncDispose]() {
      await upstreams.close()
      await outbound.close()
    },
  }
}

const requestFor = (id: string, toolId: string, more: Partial<CallRequest> = {}): CallRequest => ({
  id,
  principal,
  surface: 'agent',
  client: { name: null, version: null },
  toolId,
  action: undefined,
  input: { n: 1 },
  parentCallId: null,
  depth: 0,
  generation: { id: 'agt_gen_1', agentId: 'agt_1' },
  onWait: 'resume',
  ...more,
})

async function prepare(store: Store, url: string) {
  const { id: projectId } = await store.projects.create('default')
  const tool = await store.tools.create(projectId, newId('tool'), {
    name: 'pay',
    type: 'http',
    description: null,
    config: { parameters: {}, execute: { url, method: 'POST' } },
    secrets: '',
    many_actions: false,
    preset_parameters: null,
    app: null,
    pin_definitions: false,
    level: 'open',
    auto_approve: false,
    timeout_seconds: null,
    ask_destructive: false,
    approval_timeout_seconds: null,
  })
  const decide = async (approvalId: string, status: 'approved' | 'rejected') => {
    const seen = await store.approvals.find(approvalId)
    if (!seen) throw new Error('not found')
    const by = { id: 'key_reviewer', name: 'Rita' }
    const { args_hash, edited_input } = seen
    const decided = { status, decisions: [], by, at: Date.now(), reason: 'because', args_hash, edited_input }
    await store.approvals.decide(seen, { ...decided, expires_at: Date.now() + 60_000 })
  }
  return { toolId: tool.id, decide }
}

const suspension = async (call: Promise<Outcome>) => {
  const outcome = await call
  if (outcome.kind !== 'waiting' || outcome.on.kind !== 'approval')
    throw new Error(`the call is not waiting: ${outcome.kind}`)
  return outcome.on
}

test('a run is suspended while its call waits for approval, and resumes with the decision (S4.22) (S4.25) (S4.26)', async () => {
  await using service = await startService()
  await using fresh = await freshStore('sqlite')
  const { store } = fresh
  await using host = startDispatch(store)
  const { toolId, decide } = await prepare(store, service.url)
  const begunAt = Date.now()

  const first = await suspension(dispatch(requestFor('call_1', toolId), host))
  const still = await suspension(dispatch(requestFor('call_1', toolId, { begunAt }), host))
  const other = await suspension(dispatch(requestFor('call_2', toolId), host))
  await decide(first.id, 'approved')
  await decide(other.id, 'rejected')
  const output = await dispatch(requestFor('call_1', toolId, { begunAt }), host)
  const refused = dispatch(requestFor('call_2', toolId, { begunAt }), host)

  expect(still.id).toBe(first.id)
  expect(other.id).not.toBe(first.id)
  expect(output).toMatchObject({ kind: 'done', output: { value: { ok: true } } })
  expect(await refused).toMatchObject({ kind: 'refused', error: { code: 'APPROVAL_REJECTED' } })
  expect(service.received).toHaveLength(1)
  expect(await store.calls.find('call_1')).toMatchObject({ status: 'success', generation_id: 'agt_gen_1' })
  expect(await store.calls.find('call_2')).toMatchObject({ status: 'rejected' })
})

test('a run interrupted after its approval was used gets OUTCOME_UNKNOWN', async () => {
  await using service = await startService()
  await using fresh = await freshStore('sqlite')
  const { store } = fresh
  await using host = startDispatch(store)
  const { toolId, decide } = await prepare(store, service.url)
  const begunAt = Date.now()

  const { id } = await suspension(dispatch(requestFor('call_1', toolId), host))
  await decide(id, 'approved')
  await store.approvals.take(id)
  const again = dispatch(requestFor('call_1', toolId, { begunAt }), host)

  expect(await again).toMatchObject({ kind: 'refused', error: { code: 'OUTCOME_UNKNOWN' } })
  expect(service.received).toEqual([])
})

test('a run interrupted before it requested approval requests it when it resumes', async () => {
  await using service = await startService()
  await using fresh = await freshStore('sqlite')
  const { store } = fresh
  await using host = startDispatch(store)
  const { toolId } = await prepare(store, service.url)

  const awaits = await suspension(dispatch(requestFor('call_1', toolId, { begunAt: Date.now() }), host))

  expect(awaits.id).toMatch(/^apr_/)
  expect(service.received).toEqual([])
})

test('a nested call is found again when its run resumes', async () => {
  await using service = await startService()
  await using fresh = await freshStore('sqlite')
  const { store } = fresh
  await using host = startDispatch(store)
  const { toolId, decide } = await prepare(store, service.url)
  const inner = (id: string) => dispatch(requestFor(id, toolId, { parentCallId: 'call_outer', depth: 1 }), host)

  const { id } = await suspension(inner('call_a'))
  await decide(id, 'approved')
  const output = await inner('call_b')

  expect(output).toMatchObject({ kind: 'done', output: { value: { ok: true } } })
  expect(await store.calls.find('call_a')).toMatchObject({ status: 'success' })
  expect(await store.calls.find('call_b')).toBeUndefined()
})

test('cancelling the approvals of a run refuses its waiting call', async () => {
  await using service = await startService()
  await using fresh = await freshStore('sqlite')
  const { store } = fresh
  await using host = startDispatch(store)
  const { toolId } = await prepare(store, service.url)

  const { id } = await suspension(dispatch(requestFor('call_1', toolId), host))
  const cancelled = await store.approvals.cancel({ generation_id: 'agt_gen_1' })

  expect(cancelled).toEqual([id])
  expect(await dispatch(requestFor('call_1', toolId, { begunAt: Date.now() }), host)).toMatchObject({
    kind: 'refused',
    error: { code: 'APPROVAL_CANCELLED' },
  })
})

test('a call that needs no approval is checked against rules in memory, and requests none', async () => {
  await using service = await startService()
  await using fresh = await freshStore('sqlite')
  const { store } = fresh
  await using host = startDispatch(store)
  const { toolId } = await prepare(store, service.url)
  const tool = await store.tools.find(toolId)
  if (!tool) throw new Error('not found')
  await store.tools.update(toolId, { ...tool, secrets: '', auto_approve: true })

  await dispatch(requestFor('call_1', toolId), host)
  const known = host.coordinator.rules.peek(tool.project_id)

  expect(known).toEqual([])
  expect((await store.approvals.list({ limit: 1, offset: 0 }, undefined)).total).toBe(0)
})
