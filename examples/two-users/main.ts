import { readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Outcome, Quartermaster } from 'quartermaster/sdk'
import { startApp } from './app.ts'
import { Browser } from './browser.ts'
import { startNotes } from './notes.ts'

const { QM_URL = 'http://127.0.0.1:4600', QM_KEY = '' } = process.env
const qm = new Quartermaster({ baseUrl: QM_URL, token: QM_KEY })

/** Returns the data, or throws the error of the platform. */
function must<Data>(outcome: Outcome<Data>): Data {
  if (outcome.error) throw new Error(outcome.error.message)
  return outcome.data as Data
}

const notes = await startNotes()
const app = await startApp(qm)
const people = ['ada', 'ben'] as const

// One tool and one server for everybody. The application confirms who opens a connect link.
const tool = must(await qm.tools.createTool({ body: { name: 'notes', type: 'mcp', mcp: { url: notes.url } } }))
const server = must(await qm.servers.createServer({ body: { name: 'Team', slug: 'team', apps: [{ slug: 'notes' }] } }))
const project = { project_id: tool.project_id }
must(await qm.projects.updateProject({ path: project, body: { verifier_url: `${app.url}/confirm` } }))

// Each person connects their own account, with a link from the application.
const browsers = new Map(people.map((person) => [person, new Browser({ account: person })]))
for (const [person, browser] of browsers) {
  browser.setCookie(app.url, 'user', person)
  const link = must(await qm.connections.createConnectLink({ body: { tool_id: tool.id, end_user_id: person } }))
  await browser.visit(link.connect_url)
}

// A key for each person. Both see the same tools, and the platform uses the account of the key's user.
const keys = []
for (const person of people) {
  const body = { name: `mcp of ${person}`, access_policy_ids: ['pol_caller'], end_user_id: person }
  const key = must(await qm.apiKeys.createApiKey({ body }))
  keys.push(key.id)
  console.log(`${person} via MCP: ${await addNote(key.key, `Note of ${person}`)}`)
}

async function addNote(key: string, text: string): Promise<string> {
  const client = new Client({ name: 'example', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${QM_URL}/mcp/team`), { requestInit }))
  const { tools } = await client.listTools()
  const name = tools.find((one) => one.name.includes('add'))?.name ?? ''
  const result = await client.callTool({ name, arguments: { text } })
  await client.close()
  return `${tools.length} tools, ${(result as { content: { text: string }[] }).content[0]?.text}`
}

// An agent with a tool in this program, which asks the user.
const script = await readFile(new URL('script.yaml', import.meta.url), 'utf8')
const provider = must(
  await qm.aiProviders.createAiProvider({
    body: { name: `two users ${Date.now()}`, type: 'replay', default_model: 'script', script },
  }),
)
const parameters = { type: 'object', properties: { question: { type: 'string' } } }
const confirm = must(await qm.tools.createTool({ body: { name: 'confirm', type: 'client', parameters } }))
const agent = must(
  await qm.agents.createAgent({
    body: { name: `two users ${Date.now()}`, ai_provider_id: provider.id, tool_ids: [tool.id, confirm.id] },
  }),
)

const runFor = (person: string, onQuestion: () => Promise<void>) =>
  qm.agents.run(agent.id, {
    prompt: 'Look at my notes.',
    end_user_id: person,
    tools: {
      confirm: async () => {
        await onQuestion()
        return 'yes'
      },
    },
  })

// While Ada's run waits for her answer, she removes the access at the service. Its next call needs her account again.
const paused = must(await runFor('ada', () => notes.removeAccess('ada')))
const [wait] = paused.required_action?.connections ?? []
console.log(`ada's run: ${paused.status}, ${wait?.tool_name} is ${wait?.reason}`)

// Ben opens Ada's link, and is refused. His own account still works.
const refused = await browsers.get('ben')?.visit(wait?.connect_url ?? '')
console.log(`ben opens ada's link: ${refused}`)
const other = must(await runFor('ben', async () => {}))
console.log(`ben's run: ${other.status}, ${other.output?.content}`)

// Ada connects again, and her run continues by itself.
await browsers.get('ada')?.visit(wait?.connect_url ?? '')
const done = await ended(paused.id)
console.log(`ada's run: ${done.status}, ${done.output?.content}`)

/** Asks every 200 ms, for half a minute. A webhook for `generation.completed` saves the asking. */
async function ended(id: string) {
  for (let round = 0; round < 150; round++) {
    const run = must(await qm.agents.getGeneration({ path: { generation_id: id } }))
    if (run.status === 'completed' || run.status === 'failed') return run
    await setTimeout(200)
  }
  throw new Error('The run did not continue.')
}

// Clean up, so that you can run the example again.
await qm.agents.deleteAgent({ path: { agent_id: agent.id } })
await qm.aiProviders.deleteAiProvider({ path: { ai_provider_id: provider.id } })
await qm.servers.deleteServer({ path: { server_id: server.id } })
for (const { id } of must(await qm.connections.listConnections({ query: { tool_id: tool.id } })).data) {
  await qm.connections.deleteConnection({ path: { connection_id: id } })
}
for (const id of keys) await qm.apiKeys.deleteApiKey({ path: { api_key_id: id } })
for (const { id } of [tool, confirm]) await qm.tools.deleteTool({ path: { tool_id: id } })
await qm.projects.updateProject({ path: project, body: { verifier_url: null } })
await Promise.all([notes.close(), app.close()])
