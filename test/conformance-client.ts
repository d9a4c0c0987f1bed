import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { startListening } from './clients.ts'
import { adminKey } from './kit.ts'

/** What the official conformance suite passes to the client under test. */
export interface Scenario {
  /** The URL of the suite's server. */
  readonly server: string
  readonly name: string
  readonly version: string
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Record<string, unknown> }[]
}

interface Offered {
  readonly name: string
  readonly input_schema: { readonly properties?: Record<string, { readonly type?: string }> }
}

/** Removes nulls, which would fail validation as booleans. For headers, null and absent are the same. */
const withoutNulls = (input: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null))

/** A value of the right type for each field. */
const inputFor = ({ input_schema: { properties = {} } }: Offered) =>
  Object.fromEntries(
    Object.entries(properties).map(([key, { type }]) => [key, type === 'number' || type === 'integer' ? 1 : 'x']),
  )

/** A client of the platform that accepts every client request. */
async function callAsPerson(url: string, version: string, names: readonly string[]): Promise<void> {
  const mode = version === '2026-07-28' ? ('auto' as const) : ('legacy' as const)
  const client = new Client(
    { name: 'person', version: '1' },
    { capabilities: { elicitation: { form: { applyDefaults: true } } }, versionNegotiation: { mode } },
  )
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }))
  const headers = { authorization: `Bearer ${adminKey}` }
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp/s`), { requestInit: { headers } })
  await client.connect(transport)
  await Promise.allSettled(names.map((name) => client.callTool({ name, arguments: {} })))
  await client.close()
}

/** The client under test is a platform with the suite's server as a tool. It makes the calls of the scenario. */
export async function playClient({ server, name: scenario, version, toolCalls }: Scenario): Promise<void> {
  await using platform = await startListening()
  const { body: tool } = await platform.post('/tools', { name: 'suite', type: 'mcp', mcp: { url: server } })
  await platform.post('/servers', { slug: 's', tool_names: 'original' })
  const offered: Offered[] = (await platform.get(`/tools/${tool.id}/actions?limit=500`)).body.data ?? []
  const call = (action: string, input: object) => platform.post(`/tools/${tool.id}/call`, { action, input })

  if (toolCalls) for (const { name, arguments: input } of toolCalls) await call(name, withoutNulls(input))
  else if (scenario === 'json-schema-2020-12-preservation') {
    const schema = offered.find(({ name }) => name === 'json_schema_2020_12_tool')?.input_schema
    await call('json_schema_echo', { schema: schema ?? {} })
  } else if (scenario.startsWith('elicitation') || scenario.startsWith('sep-2322'))
    await callAsPerson(
      platform.url,
      version,
      offered.map(({ name }) => name),
    )
  else for (const one of offered) await call(one.name, inputFor(one))
}
