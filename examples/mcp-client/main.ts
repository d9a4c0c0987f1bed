import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

const { QM_URL = 'http://127.0.0.1:4600', QM_KEY = '' } = process.env

async function connect(server: string): Promise<Client> {
  const client = new Client({ name: 'example', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
  const requestInit = { headers: { authorization: `Bearer ${QM_KEY}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${QM_URL}/mcp/${server}`), { requestInit }))
  return client
}

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? ''

// Direct mode: the model gets the list of all tools and calls them by name.
const direct = await connect('sales')
const { tools } = await direct.listTools()
console.log(`direct mode: ${tools.length} tools`)
const found = await direct.callTool({ name: 'crm_find_contacts_action', arguments: { query: 'Ada' } })
console.log(`found: ${textOf(found)}`)
await direct.close()

// Agent mode: the model describes what it needs, gets matching actions and runs one of them.
const agent = await connect('assistant')
const offered = (await agent.listTools()).tools.map(({ name }) => name)
console.log(`agent mode: ${offered.join(', ')}`)
const resolved = await agent.callTool({
  name: 'RESOLVE_ACTIONS',
  arguments: { integration_query: ['how much is a euro in Brazilian reais'] },
})
const [best] = JSON.parse(textOf(resolved)) as { slug: string; identifier: string }[]
console.log(`best: ${best?.slug} ${best?.identifier}`)
const rate = await agent.callTool({
  name: 'EXECUTE_ACTION',
  arguments: {
    application_slug: best?.slug,
    action_id: best?.identifier,
    type: 'action',
    input_payload: { currency: 'BRL' },
  },
})
console.log(`rate: ${textOf(rate)}`)
await agent.close()
