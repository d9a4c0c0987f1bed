/**
 * Compares code mode with agent mode for one task, examples/onboard-customer, with a scripted model that makes no mistakes: model
 * calls, tokens and time. A real model adds its own time to each model call. Independent calls are made in one step, so
 * agent mode is shown at its best.
 *
 *     npx node bench/code-mode.ts [rounds]
 */
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCompany } from '../examples/onboard-customer/company.ts'
import { programFor } from '../examples/onboard-customer/program.ts'
import { countTokens } from '../src/operations/tokens.ts'
import { Quartermaster } from '../src/sdk/index.ts'
import { end, launch, median, program } from './measure.ts'

const rounds = Number(process.argv[2] ?? 20)
const domain = 'ana.example'
const key = 'sk_of_the_benchmark'
const file = (path: string) => new URL(path, import.meta.url).pathname

const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
const company = await startCompany()
const platform = await launch([...program, 'up', '--port', '0', '--data', folder], {
  ...{ QM_ADMIN_KEY: key, QM_LOG_LEVEL: 'warn', QM_RATE_LIMIT: '0', QM_EMBEDDINGS: 'off' },
})
const qm = new Quartermaster({ baseUrl: platform.url, token: key })
execFileSync(
  process.execPath,
  [file('../bin/quartermaster.js'), 'apply', file('../examples/onboard-customer/quartermaster.yaml')],
  {
    env: { ...process.env, QM_URL: platform.url, QM_KEY: key, COMPANY_URL: company.url },
  },
)
// The bench is about models, not about people.
const [gated] = (await qm.tools.listTools({ query: { name: 'create_account' } })).data?.data ?? []
await qm.tools.updateTool({ path: { tool_id: gated?.id ?? '' }, body: { auto_approve: true } })

interface ToolCall {
  readonly name: string
  readonly arguments: object
}
// biome-ignore lint/suspicious/noExplicitAny: the scripts read results field by field
type Result = any
/** What the model does in each step, given the results of the steps before. */
type Script = readonly ((results: Result) => readonly ToolCall[])[]

const wants = ['Find a lead CRM', 'Create a contract Billing', 'Create an account Accounts', 'Invite a person Accounts']
const others = ['Start a subscription Billing', 'Send a mail Mail', 'Add a note CRM']
const resolve = { name: 'RESOLVE_ACTIONS', arguments: { integration_query: [...wants, ...others] } }
const execute = (slug: string, action: string, input_payload: object): ToolCall => ({
  name: 'EXECUTE_ACTION',
  arguments: { application_slug: slug, action_id: action, type: 'action', input_payload },
})

const inAgentMode: Script = [
  () => [resolve],
  () => [execute('crm', 'find_lead', { domain })],
  ([, [lead]]) => [
    execute('billing', 'create_contract', { company: lead.data.company, seats: lead.data.people.length }),
    execute('accounts', 'create_account', { company: lead.data.company }),
  ],
  ([, [lead], [contract, account]]) => [
    ...lead.data.people.map((email: string) => execute('accounts', 'invite', { account: account.data.id, email })),
    execute('billing', 'start_subscription', { contract: contract.data.id }),
  ],
  ([, [lead], [, account]]) => [
    execute('mail', 'send', { to: lead.data.people[0], text: `Welcome, ${lead.data.company}!` }),
    execute('crm', 'add_note', { domain, text: `Customer since account ${account.data.id}` }),
  ],
]
const inCodeMode: Script = [() => [resolve], () => [{ name: 'EXECUTE_CODE', arguments: { code: programFor(domain) } }]]

interface Played {
  readonly modelCalls: number
  readonly toolCalls: number
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly ms: number
}

/** One conversation. Each model call gets everything before it, as the APIs of models need it. */
async function play(slug: string, script: Script): Promise<Played> {
  const outcome = await qm.servers.tools(slug)
  if (!outcome.data) throw new Error(JSON.stringify(outcome.error))
  const tools = outcome.data
  const messages: object[] = [{ role: 'user', content: `Onboard the customer ${domain}.` }]
  const results: Result[][] = []
  const inputs: string[] = []
  const outputs: string[] = []
  let toolCalls = 0
  const began = performance.now()
  const think = (answer: object) => {
    inputs.push(JSON.stringify({ tools: tools.list, messages }))
    outputs.push(JSON.stringify(answer))
    messages.push({ role: 'assistant', ...answer })
  }
  for (const step of script) {
    const calls = step(results)
    think({ tool_calls: calls })
    toolCalls += calls.length
    const answers = await Promise.all(calls.map((call) => tools.call(call.name, call.arguments as never)))
    const texts = answers.map(({ content, isError }) => {
      if (isError) throw new Error(JSON.stringify(content))
      return content[0]?.text ?? ''
    })
    for (const content of texts) messages.push({ role: 'tool', content })
    results.push(texts.map((text) => JSON.parse(text)))
  }
  think({ content: 'The customer is onboarded.' })
  return { modelCalls: inputs.length, toolCalls, inputs, outputs, ms: performance.now() - began }
}

const make = (slug: string, code_mode: boolean) =>
  qm.servers.createServer({
    body: {
      ...{ slug, name: slug, agent_mode: true, code_mode },
      apps: ['crm', 'billing', 'accounts', 'mail'].map((app) => ({ slug: app })),
    },
  })
await make('agent', false)
await make('code', true)

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
const tokensOf = async (texts: readonly string[]) => sum(await countTokens(texts))
const times = new Map<string, number[]>([
  ['agent', []],
  ['code', []],
])
const last = new Map<string, Played>()
for (let round = 0; round < rounds; round++) {
  for (const [slug, script] of [
    ['agent', inAgentMode],
    ['code', inCodeMode],
  ] as const) {
    const played = await play(slug, script)
    times.get(slug)?.push(played.ms)
    last.set(slug, played)
  }
}
console.log('mode   model calls  tool calls  input tokens  output tokens  ms without the model')
for (const [slug, { modelCalls, toolCalls, inputs, outputs }] of last) {
  const figures = [modelCalls, toolCalls, await tokensOf(inputs), await tokensOf(outputs)]
  const ms = median(times.get(slug) ?? []).toFixed(1)
  console.log(slug.padEnd(5) + [...figures, ms].map((figure) => String(figure).padStart(13)).join(''))
}
company.close()
await end(platform.child)
await rm(folder, { recursive: true, force: true })
