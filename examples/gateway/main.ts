import { readFile } from 'node:fs/promises'
import { type Outcome, Quartermaster } from 'quartermaster/sdk'

const { QM_URL = 'http://127.0.0.1:4600', QM_KEY = '' } = process.env
const qm = new Quartermaster({ baseUrl: QM_URL, token: QM_KEY })

function must<Data>(outcome: Outcome<Data>): Data {
  if (outcome.error) throw new Error(outcome.error.message)
  return outcome.data as Data
}

// Import the three servers of the file as tools.
const file = JSON.parse(await readFile(new URL('mcp.json', import.meta.url), 'utf8'))
must(await qm.tools.importMcpServers({ body: file }))

// One endpoint for them: all actions of two servers, and only the read actions of the third.
const server = must(
  await qm.servers.createServer({
    body: {
      slug: 'gateway',
      name: 'Gateway',
      apps: [
        { slug: 'everything' },
        { slug: 'memory' },
        { slug: 'files', actions: ['read_text_file', 'list_directory', 'list_allowed_directories'] },
      ],
    },
  }),
)

const tools = must(await qm.servers.tools(server.slug))
const of = (app: string) => tools.list.filter(({ name }) => name.startsWith(`${app}_`)).length
console.log(`everything: ${of('everything')}, memory: ${of('memory')}, files: ${of('files')}`)
const echo = await tools.call('everything_echo_action', { message: 'Hello' })
console.log(echo.content[0]?.text)
const entities = [{ name: 'Ada', entityType: 'person', observations: ['prefers e-mail'] }]
await tools.call('memory_create_entities_action', { entities })
console.log(JSON.stringify((await tools.call('memory_search_nodes_action', { query: 'Ada' })).structuredContent))

// The call log contains every call.
const { data } = must(await qm.calls.listCalls({ query: { limit: 3 } }))
for (const { action, status } of data) console.log(`${action} ${status}`)
