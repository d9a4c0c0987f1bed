// The client that the official conformance suite runs, with the address of its server as the last argument: a platform
// that has that server as a tool, and calls what the scenario wants called.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { startListening } from './clients.ts'
import { adminKey } from './kit.ts'

interface Offered {
  readonly name: string
  readonly input_schema: { readonly properties?: Record<string, { readonly type?: string }> }
}

const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
const version = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION
const { toolCalls } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as {
  toolCalls?: { name: string; arguments: Record<string, unknown> }[]
}

await using platform = await startListening()
const mcp = { url: process.argv.at(-1) }
const { body: tool } = await platform.post('/tools', { name: 'suite', type: 'mcp', mcp })
await platform.post('/servers', { slug: 's', tool_names: 'original' })
const offered: Offered[] = (await platform.get(`/tools/${tool.id}/actions?limit=500`)).body.data ?? []
const call = (action: string, input: object) => platform.post(`/tools/${tool.id}/call`, { action, input })

/** A null is no boolean, so the door would not let it through; for the headers it is as good as left out. */
const withoutNulls = (input: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null))

/** A value for each field, of its type. */
const inputFor = ({ input_schema: { properties = {} } }: Offered) =>
  Object.fromEntries(
    Object.entries(properties).map(([key, { type }]) => [key, type === 'number' || type === 'integer' ? 1 : 'x']),
  )

/** A person, who agrees to everything, at a client of the platform's. */
async function callAsPerson(names: readonly string[]): Promise<void> {
  const mode = version === '2026-07-28' ? ('auto' as const) : ('legacy' as const)
  const client = new Client(
    { name: 'person', version: '1' },
    { capabilities: { elicitation: { form: { applyDefaults: true } } }, versionNegotiation: { mode } },
  )
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }))
  const headers = { authorization: `Bearer ${adminKey}` }
  const transport = new StreamableHTTPClientTransport(new URL(`${platform.url}/mcp/s`), { requestInit: { headers } })
  await client.connect(transport)
  await Promise.allSettled(names.map((name) => client.callTool({ name, arguments: {} })))
  await client.close()
}

if (toolCalls) for (const { name, arguments: input } of toolCalls) await call(name, withoutNulls(input))
else if (scenario === 'json-schema-2020-12-preservation') {
  const schema = offered.find(({ name }) => name === 'json_schema_2020_12_tool')?.input_schema
  await call('json_schema_echo', { schema: schema ?? {} })
} else if (scenario.startsWith('elicitation') || scenario.startsWith('sep-2322'))
  await callAsPerson(offered.map(({ name }) => name))
else for (const one of offered) await call(one.name, inputFor(one))
