import type { CallRow } from '../src/db/tables.ts'
import { newId } from '../src/model/ids.ts'
import { Quartermaster } from '../src/sdk/index.ts'
import { openStore } from '../src/store/store.ts'
import { adminKey, type Service, startService } from './kit.ts'
import { type Running, startProcess, temporaryFolder } from './process.ts'
import { startUpstream, type TestUpstream } from './upstream.ts'

export interface LivedIn extends AsyncDisposable {
  readonly platform: Running
  readonly qm: Quartermaster
  readonly service: Service
  readonly upstream: TestUpstream
  readonly projectId: string
  readonly tools: Readonly<Record<'weather' | 'order' | 'page' | 'tracker', string>>
  readonly serverId: string
  readonly skillId: string
  /** One of the recorded calls. */
  readonly callId: string
  readonly calls: number
}

const markup = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'

const environment = { QM_ADMIN_KEY: adminKey, QM_EMBEDDINGS: 'off' }

/** A platform as it looks after some days of use: tools of several types, a server, a skill, and a log of calls. */
export async function startLivedIn(calls: number): Promise<LivedIn> {
  const folder = await temporaryFolder()
  const upstream = await startUpstream([
    {
      name: 'create_issue',
      description: 'Opens an issue in a project of the tracker',
      inputSchema: {
        type: 'object',
        properties: {
          project: { type: 'string' },
          title: { type: 'string' },
          labels: { type: 'array', items: { type: 'string' } },
        },
        required: ['project', 'title'],
      },
    },
    {
      name: 'search_issues',
      description: 'Finds issues by the words in them, newest first',
      inputSchema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
    },
    {
      name: 'close_issue',
      description: 'Closes an issue, with a reason',
      inputSchema: {
        type: 'object',
        properties: { id: { type: 'integer' }, reason: { enum: ['done', 'duplicate', 'wontfix'] } },
      },
    },
  ])
  const service = await startService(({ url }) => {
    const headers = { 'content-type': 'application/json' }
    if (url.startsWith('/page')) return { headers: { 'content-type': 'text/html' }, body: markup }
    if (url.startsWith('/large')) return { headers, body: JSON.stringify('x'.repeat(5 * 1024 * 1024)) }
    if (url.startsWith('/weather')) return { headers, body: '{"city":"Recife","temperature":29,"sky":"clear"}' }
    return undefined
  })

  const first = await startProcess(folder.path, environment)
  const seeded = await seed(new Quartermaster({ baseUrl: first.url, token: adminKey }), service.url, upstream.url)
  await first.stop('SIGTERM')
  const callId = await recordCalls(folder.path, seeded, calls)
  const platform = await startProcess(folder.path, environment)
  return {
    ...seeded,
    platform,
    service,
    upstream,
    calls,
    callId,
    qm: new Quartermaster({ baseUrl: platform.url, token: adminKey }),
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

async function made<Data>(outcome: Promise<{ data: Data | undefined; error: unknown }>): Promise<Data> {
  const { data, error } = await outcome
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

async function seed(qm: Quartermaster, service: string, upstream: string) {
  const [project] = (await made(qm.projects.listProjects())).data
  const weather = await made(
    qm.tools.createTool({
      body: {
        name: 'get-weather',
        description: 'The weather in a city, now',
        parameters: {
          type: 'object',
          properties: { city: { type: 'string', description: 'A city, by its name' } },
          required: ['city'],
        },
        execute: { url: `${service}/weather/{city}`, method: 'GET' },
      },
    }),
  )
  const order = await made(
    qm.tools.createTool({
      body: {
        name: 'place-order',
        app: 'shop',
        description: 'Places an order in the shop, for a customer who is known there',
        level: 'restricted',
        auto_approve: true,
        parameters: {
          type: 'object',
          properties: {
            account: { type: 'string' },
            customer: {
              type: 'object',
              description: 'Who orders',
              properties: { name: { type: 'string' }, email: { type: 'string', format: 'email' } },
              required: ['name'],
            },
            items: {
              type: 'array',
              description: 'What is ordered',
              items: {
                type: 'object',
                properties: { sku: { type: 'string' }, quantity: { type: 'integer', minimum: 1, default: 1 } },
                required: ['sku'],
              },
            },
            priority: { enum: ['normal', 'urgent'], description: 'How soon it is wanted' },
            gift: { type: 'boolean' },
          },
          required: ['customer', 'items'],
        },
        preset_parameters: { account: 'acme' },
        execute: { url: `${service}/orders`, method: 'POST' },
      },
    }),
  )
  const page = await made(
    qm.tools.createTool({
      body: {
        name: 'read-page',
        description: `Reads a page. ${markup}`,
        parameters: { type: 'object', properties: {} },
        execute: { url: `${service}/page`, method: 'GET' },
      },
    }),
  )
  const large = {
    name: 'read-large',
    description: 'Answers five megabytes',
    parameters: { type: 'object', properties: {} },
  }
  await made(qm.tools.createTool({ body: { ...large, execute: { url: `${service}/large`, method: 'GET' } } }))
  const tracker = await made(
    qm.tools.createTool({
      body: { name: 'tracker', type: 'mcp', description: 'The issue tracker', mcp: { url: upstream } },
    }),
  )
  await made(
    qm.tools.createTool({
      body: {
        name: 'library',
        type: 'platform',
        description: 'Documents of the project',
        actions: ['search-documents', 'get-document'],
      },
    }),
  )
  await made(
    qm.tools.createTool({
      body: {
        name: 'ask-user',
        type: 'client',
        description: 'Asks the person in front of the application',
        parameters: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
      },
    }),
  )
  const server = await made(
    qm.servers.createServer({
      body: {
        slug: 'support',
        name: 'Support desk',
        description: 'For the agents of the support desk',
        retrieve_skill: true,
      },
    }),
  )
  await made(qm.servers.createServer({ body: { slug: 'everything', name: 'Everything', agent_mode: true } }))
  const skill = await made(
    qm.skills.createSkill({
      body: {
        name: 'Refund an order',
        summary: 'How to refund a customer: what to check first, whom to tell, and what to write down.',
        apps: ['shop'],
        content: `# Before\n\nFind the order with \`search_issues\` and see that it was **paid**.\n\n# Steps\n\n1. Ask for the *reason*.\n2. Refund at most what was paid.\n3. Write it into the ticket.\n\n> Above 500, a human decides.\n\n| amount | who |\n|---|---|\n| to 50 | anyone |\n| above | the lead |\n\n${markup}\n\n[policy](https://example.com/refunds) and [not a link](javascript:window.hacked=1)\n`,
      },
    }),
  )
  await made(
    qm.accessPolicies.createAccessPolicy({
      body: {
        name: 'support agents',
        description: 'May use the support server, and nothing of the shop’s administration.',
        document: {
          statement: [{ effect: 'Allow', action: ['servers:UseServer', 'tools:CallTool'], resource: ['*'] }],
        },
      },
    }),
  )
  for (const name of ['cursor on ada’s laptop', 'support bot', 'nightly reports']) {
    await made(qm.apiKeys.createApiKey({ body: { name, access_policy_ids: ['pol_caller'] } }))
  }
  return {
    projectId: project?.id ?? '',
    tools: { weather: weather.id, order: order.id, page: page.id, tracker: tracker.id },
    serverId: server.id,
    skillId: skill.id,
  }
}

type Seeded = Awaited<ReturnType<typeof seed>>

/** A pseudorandom generator with a fixed seed. */
function* chances(): Generator<number> {
  for (let state = 42; ; ) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    yield state / 2 ** 31
  }
}

/** Calls of the last days, every fiftieth of them within the last hour. */
async function recordCalls(data: string, { projectId, tools }: Seeded, count: number): Promise<string> {
  const store = await openStore({ data })
  const chance = chances()
  const next = () => chance.next().value as number
  const now = Date.now()
  const kinds = [
    ['get-weather', 'tools', 'tools:get-weather', tools.weather, 40],
    ['place-order', 'shop', 'shop:place-order', tools.order, 180],
    ['tracker', 'tracker', 'tracker:search_issues', tools.tracker, 90],
    ['tracker', 'tracker', 'tracker:create_issue', tools.tracker, 140],
  ] as const
  const people = ['support bot', 'cursor on ada’s laptop', 'nightly reports']
  const recent = Math.min(count, Math.max(Math.floor(count / 50), 600))
  const age = (n: number) =>
    n < count - recent ? 3_600_000 + (1 - n / count) * 5 * 86_400_000 : (1 - (n - count + recent) / recent) * 3_500_000
  let last = ''
  for (let start = 0; start < count; start += 2000) {
    const rows: CallRow[] = []
    for (let n = start; n < Math.min(start + 2000, count); n++) {
      const at = Math.floor(now - 5000 - age(n) * (0.98 + next() * 0.02))
      const [tool, app, action, toolId, usual] = kinds[Math.floor(next() * kinds.length)] as (typeof kinds)[number]
      const luck = next()
      const status =
        luck < 0.955
          ? 'success'
          : luck < 0.975
            ? 'execution_error'
            : luck < 0.99
              ? 'validation_error'
              : 'permission_denied'
      const took = usual * (0.4 + next() ** 4 * 8)
      const person = people[Math.floor(next() * people.length)] as string
      const error =
        status === 'execution_error'
          ? { code: 'TOOL_TIMEOUT', message: 'The tool did not respond within 60 s.', details: { seconds: 60 } }
          : null
      rows.push({
        ...{ id: newId('call', at), project_id: projectId, parent_call_id: null, generation_id: null, agent_id: null },
        ...{
          tool_id: toolId,
          tool,
          app,
          action,
          status,
          principal_kind: 'api_key',
          principal_id: `key_${person.length}`,
        },
        ...{
          principal_name: person,
          surface: next() < 0.8 ? 'mcp' : 'rest',
          server_id: null,
          client_name: 'cursor',
          client_version: '3.2',
        },
        ...{ request: JSON.stringify({ city: 'Recife', n }), request_truncated: 0, preset_keys: null },
        ...{ response: status === 'success' ? '{"ok":true}' : null, response_truncated: 0 },
        ...{
          error: error && JSON.stringify(error),
          duration_ms: took,
          waited_ms: null,
          mode: null,
          created_at: at,
          completed_at: at + Math.round(took),
        },
      })
    }
    last = rows.findLast(({ status }) => status === 'success')?.id ?? last
    await store.engine.writeCalls(rows, [])
  }
  await store.close()
  return last
}
