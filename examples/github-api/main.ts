import { readFile } from 'node:fs/promises'
import { type Outcome, Quartermaster } from 'quartermaster/sdk'
import { startMock } from './mock.ts'

const { QM_URL = 'http://127.0.0.1:4600', QM_KEY = '', GITHUB_OPENAPI } = process.env
const qm = new Quartermaster({ baseUrl: QM_URL, token: QM_KEY })

function must<Data>(outcome: Outcome<Data>): Data {
  if (outcome.error) throw new Error(outcome.error.message)
  return outcome.data as Data
}

const token = 'ghp_of_the_example'
const mock = await startMock(token)
must(await qm.secrets.createSecret({ body: { name: 'GITHUB_TOKEN', value: token } }))

// GitHub's document becomes an app. All requests go to the mock, with the token.
const isUrl = GITHUB_OPENAPI?.startsWith('http') === true
const source = isUrl ? { url: GITHUB_OPENAPI } : { document: await documentIn(GITHUB_OPENAPI) }
const headers = { Authorization: 'Bearer ${{ secrets.GITHUB_TOKEN }}' }
const openapi = { ...source, server_url: mock.url, headers }
const tool = must(await qm.tools.createTool({ body: { name: 'github', type: 'openapi', openapi } }))
const app = must(await qm.tools.getApp({ path: { app: tool.app } }))
console.log(`github: ${app.actions.length} actions`)

// Agent mode: two tools instead of one for each action.
const body = { slug: 'github', name: 'GitHub', agent_mode: true, apps: [{ slug: 'github' }] }
const server = must(await qm.servers.createServer({ body }))
const tools = must(await qm.servers.tools(server.slug))

/** What a model would do: find the action, then run it with the fields of its json_schema. */
async function run(request: string, input: object): Promise<unknown> {
  const plan = await tools.call('RESOLVE_ACTIONS', { integration_query: [request] })
  const [action] = JSON.parse(plan.content[0]?.text ?? '[]')
  console.log(`${request}: ${action.identifier}`)
  const result = await tools.call('EXECUTE_ACTION', {
    application_slug: action.slug,
    action_id: action.identifier,
    type: action.type,
    input_payload: input,
  })
  return JSON.parse(result.content[0]?.text ?? '{}').data
}

// "Close the oldest open issue labelled bug."
const repo = { owner: 'octo', repo: 'demo' }
const oldest = { state: 'open', labels: 'bug', sort: 'created', direction: 'asc', per_page: 1 }
const [issue] = (await run('List repository issues GitHub', { ...repo, ...oldest, select: ['number', 'title'] })) as [
  { number: number; title: string },
]
console.log(`oldest: ${JSON.stringify(issue)}`)
const change = { ...repo, issue_number: issue.number, state: 'closed', select: ['number', 'state'] }
console.log(`closed: ${JSON.stringify(await run('Update an issue GitHub', change))}`)

const { direct, agent } = must(await qm.servers.getServerFootprint({ path: { server_id: server.id } }))
console.log(`tokens: ${agent.tokens} in agent mode, ${direct.tokens} in direct mode`)
mock.close()

/** A large document is stored as a file first, because a JSON request has a limit. */
async function documentIn(path: string | undefined): Promise<string> {
  const bytes = await readFile(path ?? new URL('github.yaml', import.meta.url))
  if (bytes.length < 2_000_000) return bytes.toString()
  const file = must(await qm.files.createFile({ body: { path: '/github.json' } }))
  must(await qm.files.uploadFile({ path: { file_id: file.id }, body: new Uint8Array(bytes) }))
  return file.id
}
