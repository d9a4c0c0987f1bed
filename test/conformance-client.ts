import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { startListening } from './clients.ts'
import { TestBrowser } from './connect-peers.ts'
import { type Answer, adminKey } from './kit.ts'

/** What the official conformance suite passes to the client under test. */
export interface Scenario {
  /** The URL of the suite's server. */
  readonly server: string
  readonly name: string
  readonly version: string
  /** What an operator would know, such as a registered client. */
  readonly context?: Readonly<Record<string, string>>
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

/** The client that an operator has registered, if the scenario has one, and the identity provider of its user. */
const connectionOf = (context: Record<string, string>) => {
  const { idp_issuer, idp_token_endpoint, idp_client_id, idp_id_token: subject_token } = context
  if (subject_token === undefined) return clientOf(context)
  const identity = { idp_issuer, idp_token_endpoint, idp_client_id, subject_token }
  return { ...clientOf(context), type: 'oauth2_enterprise_managed', ...identity }
}

const clientOf = ({ client_id, client_secret, private_key_pem, signing_algorithm }: Record<string, string>) => ({
  type: private_key_pem || signing_algorithm ? 'oauth2_client_credentials' : 'oauth2_authorization_code',
  ...(client_id && { client_id }),
  ...(client_secret && { client_secret }),
  ...(private_key_pem && { private_key: private_key_pem, signing_algorithm }),
})

/** Connects whenever the platform asks for it, and calls again, as a person would. */
async function playConnected({ server, name, context = {} }: Scenario): Promise<void> {
  await using platform = await startListening(
    name.includes('cimd') ? { QM_CLIENT_METADATA_URL: 'https://conformance-test.local/client-metadata.json' } : {},
  )
  const { body: tool } = await platform.post('/tools', { name: 'suite', type: 'mcp', mcp: { url: server } })
  const { type, ...client } = connectionOf(context)
  const isService = name.includes('client-credentials')
  if (Object.keys(client).length > 0) {
    const chosen = isService ? 'oauth2_client_credentials' : type
    await platform.post('/connections', { tool_id: tool.id, type: chosen, ...client })
  }
  const connected = async (request: () => Promise<Answer>): Promise<Answer> => {
    for (let attempts = 0; ; attempts++) {
      const answer = await request()
      const link = answer.body.error?.details?.connect_url
      if (!link || attempts === maxConnects) return answer
      await new TestBrowser().connect(link)
    }
  }
  const { body } = await connected(() => platform.get(`/tools/${tool.id}/actions`))
  const offered: Offered[] = body.data ?? []
  for (const one of offered) {
    const sent = { action: one.name, input: inputFor(one) }
    await connected(() => platform.post(`/tools/${tool.id}/call`, sent))
  }
}

const maxConnects = 5

/** The client under test is a platform with the suite's server as a tool. It makes the calls of the scenario. */
export async function playClient(all: Scenario): Promise<void> {
  const { server, name: scenario, version, toolCalls } = all
  if (scenario.startsWith('auth/')) return playConnected(all)
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
