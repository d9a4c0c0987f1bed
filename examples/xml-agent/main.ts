import { setTimeout } from 'node:timers/promises'
import { type NewTool, type Outcome, Quartermaster } from 'quartermaster/sdk'
import { runAgent } from './loop.ts'
import { scriptedModel } from './model.ts'
import { startServices } from './services.ts'

const { QM_URL = 'http://127.0.0.1:4600', QM_KEY = '' } = process.env
const admin = new Quartermaster({ baseUrl: QM_URL, token: QM_KEY })

/** Returns the data, or throws the error of the platform. */
function must<Data>(outcome: Outcome<Data>): Data {
  if (outcome.error) throw new Error(outcome.error.message)
  return outcome.data as Data
}

const services = await startServices()

/** A tool of a server that posts its input to one of the services. */
const tool = (app: string, name: string, path: string, field: string, more: Partial<NewTool> = {}): NewTool => ({
  name,
  app,
  execute: { url: `${services.url}${path}` },
  parameters: {
    type: 'object',
    properties: { [field]: { type: field === 'amount' ? 'number' : 'string' } },
    required: [field],
  },
  ...more,
})

// Three servers. Refunds need approval, and paying out is for administrators.
const tools = [
  tool('shop', 'get_order', '/orders', 'number'),
  tool('bank', 'refund', '/refund', 'order', { level: 'restricted', auto_approve: false }),
  tool('bank', 'pay_out', '/pay-out', 'amount', { level: 'administrative' }),
  tool('mail', 'send', '/mail', 'to'),
]
const toolIds = []
for (const body of tools) toolIds.push(must(await admin.tools.createTool({ body })).id)
const servers = ['shop', 'bank', 'mail']
for (const slug of servers) {
  must(await admin.servers.createServer({ body: { slug, apps: [{ slug }], tool_names: 'original' } }))
}

// The agent's key has a mode for restricted actions, so it cannot use administrative ones.
const mode = must(await admin.modes.createMode({ body: { slug: 'support', name: 'Support', levels: ['restricted'] } }))
const keyFor = async (name: string, policy: string, modes: string[] = []) =>
  must(await admin.apiKeys.createApiKey({ body: { name, access_policy_ids: [policy], modes } }))
const own = await keyFor('xml agent', 'pol_caller', ['support'])
const reviewer = await keyFor('reviewer', 'pol_reviewer')

/** A person who approves the first call that waits. */
async function approveNext(qm: Quartermaster): Promise<void> {
  for (;;) {
    const [waiting] = must(await qm.approvals.listApprovals({ query: { status: 'pending' } })).data
    if (waiting) {
      console.log(`  a person approves ${waiting.action}`)
      must(await qm.approvals.approveCall({ path: { approval_id: waiting.id }, body: {} }))
      return
    }
    await setTimeout(100)
  }
}

const approving = approveNext(new Quartermaster({ baseUrl: QM_URL, token: reviewer.key }))
await runAgent(
  {
    qm: new Quartermaster({ baseUrl: QM_URL, token: own.key }),
    model: scriptedModel,
    servers,
    onText: (text) => console.log(`model: ${text.split('\n')[0]}`),
    onResult: ({ server_name, tool_name, status, error }) =>
      console.log(`  ${server_name} ${tool_name}: ${status}${error ? ` (${error.code})` : ''}`),
  },
  'Order 1042 arrived broken. Please give the customer her money back.',
)
await approving

for (const { id } of [own, reviewer]) await admin.apiKeys.deleteApiKey({ path: { api_key_id: id } })
await admin.modes.deleteMode({ path: { mode_id: mode.id } })
for (const slug of servers) await admin.servers.deleteServer({ path: { server_id: slug } })
for (const id of toolIds) await admin.tools.deleteTool({ path: { tool_id: id }, query: { force: true } })
await services.close()
