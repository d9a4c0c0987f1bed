import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { gated, pending } from './approving.ts'
import { startListening } from './clients.ts'
import { startService } from './kit.ts'

const modes = { '2025': 'legacy', '2026': 'auto' } as const
type Era = keyof typeof modes
const eras = Object.keys(modes) as Era[]

interface Shown {
  readonly mode?: string
  readonly url?: string
  readonly message?: string
}

/** A client of either era that can show links, and records them. */
async function connect(url: string, key: string, era: Era, capabilities: object = {}) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities, versionNegotiation: { mode: modes[era] } })
  const shown: Shown[] = []
  if ('elicitation' in capabilities) {
    client.setRequestHandler('elicitation/create', ({ params }) => {
      shown.push(params as Shown)
      return { action: 'accept' }
    })
  }
  const headers = { authorization: `Bearer ${key}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  return { client, shown, [Symbol.asyncDispose]: () => client.close() }
}

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? ''
const pay = { name: 'tools_pay_action', arguments: { city: 'Recife' } }

describe.each(eras)('an MCP client of the %s era', (era) => {
  test('waits for the decision, gets progress messages, and then the result (S4.22) (S4.25)', async () => {
    await using service = await startService()
    await using platform = await startListening()
    const { caller, reviewer } = await gated(platform, service.url)
    await platform.post('/servers', { slug: 'desk' })
    await using one = await connect(`${platform.url}/mcp/desk`, caller, era)
    const progress: { progress: number; message?: string }[] = []

    const call = one.client.callTool(pay, { onprogress: (update) => progress.push(update) })
    const asked = await pending(platform)
    await platform.post(`/approvals/${asked.id}/approve`, {}, { key: reviewer })
    const result = await call

    expect(result.isError).not.toBe(true)
    expect(textOf(result)).toBe('{"ok":true}')
    expect(progress[0]?.message).toContain(`Waiting for approval ${asked.id} until ${asked.expires_at}`)
    expect(asked).toMatchObject({ surface: 'mcp', server_id: expect.stringMatching(/^srv_/) })
    expect(service.received).toHaveLength(1)
  })

  test('gets a rejection as an error result with the reason, in both modes (S4.26)', async () => {
    await using service = await startService()
    await using platform = await startListening()
    const { caller, reviewer } = await gated(platform, service.url)
    await platform.post('/servers', { slug: 'desk' })
    await platform.post('/servers', { slug: 'agents', agent_mode: true })
    await using direct = await connect(`${platform.url}/mcp/desk`, caller, era)
    await using agent = await connect(`${platform.url}/mcp/agents`, caller, era)
    const reject = async () => {
      const { id } = await pending(platform)
      await platform.post(`/approvals/${id}/reject`, { reason: 'Not on Mondays' }, { key: reviewer })
    }

    const [plain] = await Promise.all([direct.client.callTool(pay), reject()])
    const execute = { application_slug: 'tools', action_id: 'pay', input_payload: { city: 'Olinda' }, type: 'action' }
    const [executed] = await Promise.all([
      agent.client.callTool({ name: 'EXECUTE_ACTION', arguments: execute }),
      reject(),
    ])

    expect(plain.isError).toBe(true)
    expect(JSON.parse(textOf(plain)).error).toMatchObject({ code: 'APPROVAL_REJECTED' })
    expect(textOf(plain)).toContain('Not on Mondays')
    expect(executed.isError).toBe(true)
    expect(JSON.parse(textOf(executed))).toEqual({ success: false, error: expect.stringContaining('Not on Mondays') })
    expect(service.received).toEqual([])
  })

  test('that supports URL elicitation is shown the link to the approval', async () => {
    await using service = await startService()
    await using platform = await startListening()
    const { caller, reviewer } = await gated(platform, service.url)
    await platform.post('/servers', { slug: 'desk' })
    await using one = await connect(`${platform.url}/mcp/desk`, caller, era, { elicitation: { url: {} } })

    const call = one.client.callTool(pay)
    const asked = await pending(platform)
    await expect.poll(() => one.shown).toHaveLength(1)
    await platform.post(`/approvals/${asked.id}/approve`, {}, { key: reviewer })
    const result = await call

    expect(one.shown[0]).toMatchObject({ mode: 'url', url: `${platform.url}/approvals/${asked.id}` })
    expect(textOf(result)).toBe('{"ok":true}')
    expect((await platform.get('/approvals')).body.total).toBe(1)
    expect(service.received).toHaveLength(1)
  })

  test('with too many pending approvals gets an error result', async () => {
    await using service = await startService()
    await using platform = await startListening({ QM_PENDING_APPROVALS: '1' })
    const { id, caller } = await gated(platform, service.url)
    await platform.post('/servers', { slug: 'desk' })
    await using one = await connect(`${platform.url}/mcp/desk`, caller, era)
    await platform.post(`/tools/${id}/call`, { input: { city: 'Olinda' }, wait: false }, { key: caller })

    const result = await one.client.callTool(pay)

    expect(result.isError).toBe(true)
    expect(JSON.parse(textOf(result))).toMatchObject({ error: { code: 'TOO_MANY_APPROVALS' } })
    expect(service.received).toEqual([])
  })

  test('that disconnects and calls again uses the approval given in the meantime, once', async () => {
    await using service = await startService()
    await using platform = await startListening()
    const { caller, reviewer } = await gated(platform, service.url)
    await platform.post('/servers', { slug: 'desk' })
    await using one = await connect(`${platform.url}/mcp/desk`, caller, era)

    await expect(one.client.callTool(pay, { timeout: 200 })).rejects.toThrow()
    const asked = await pending(platform)
    await new Promise((resolve) => setTimeout(resolve, 100))
    await platform.post(`/approvals/${asked.id}/approve`, {}, { key: reviewer })
    const again = await one.client.callTool(pay)
    const third = one.client.callTool(pay, { timeout: 300 }).catch(() => 'asks again')

    expect(textOf(again)).toBe('{"ok":true}')
    expect(await third).toBe('asks again')
    expect(service.received).toHaveLength(1)
    expect((await platform.get(`/approvals/${asked.id}`)).body.status).toBe('used')
  })
})

test('the management MCP server offers no tool to decide on approvals', async () => {
  await using service = await startService()
  await using platform = await startListening()
  const { reviewer } = await gated(platform, service.url)
  await using one = await connect(`${platform.url}/mcp`, reviewer, '2025')

  const { tools } = await one.client.listTools()

  const names = tools.map(({ name }) => name)
  expect(names).toContain('list-approvals')
  expect(names).not.toContain('approve-call')
  expect(names).not.toContain('reject-call')
})
