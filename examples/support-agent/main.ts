import { readFile } from 'node:fs/promises'
import { type Outcome, Quartermaster } from 'quartermaster/sdk'
import { startShop } from './shop.ts'

const { QM_URL = 'http://127.0.0.1:4600', QM_KEY = '', OPENAI_API_KEY } = process.env
const qm = new Quartermaster({ baseUrl: QM_URL, token: QM_KEY })
const shop = await startShop()

/** Returns the data, or throws the error of the platform. */
function must<Data>(outcome: Outcome<Data>): Data {
  if (outcome.error) throw new Error(outcome.error.message)
  return outcome.data as Data
}

// The model: a script, or a real one if there is a key.
const script = await readFile(new URL('script.yaml', import.meta.url), 'utf8')
const provider = must(
  await qm.aiProviders.createAiProvider({
    body: OPENAI_API_KEY
      ? { name: `openai ${Date.now()}`, type: 'openai', api_key: OPENAI_API_KEY, default_model: 'gpt-5-mini' }
      : { name: `script ${Date.now()}`, type: 'replay', default_model: 'script', script },
  }),
)

// The tools. The platform calls the first two itself.
const order = must(
  await qm.tools.createTool({
    body: {
      name: `get_order`,
      description: 'Looks up an order by its number',
      execute: { url: `${shop.ordersUrl}/orders/{number}`, method: 'GET' },
      parameters: { type: 'object', properties: { number: { type: 'string' } }, required: ['number'] },
    },
  }),
)
const help = must(await qm.tools.createTool({ body: { name: 'help', type: 'mcp', mcp: { url: shop.helpUrl } } }))
const ask = must(
  await qm.tools.createTool({
    body: {
      name: 'ask_customer',
      type: 'client',
      description: 'Asks the customer a question and returns the answer',
      parameters: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
    },
  }),
)
const agent = must(
  await qm.agents.createAgent({
    body: {
      name: `support ${Date.now()}`,
      ai_provider_id: provider.id,
      instructions: 'You help the customers of a shop. Look things up before you answer.',
      tool_ids: [order.id, help.id, ask.id],
    },
  }),
)

// Run the agent. When it asks the customer, this function answers, and the run continues.
const events = must(
  await qm.agents.stream(agent.id, {
    prompt: 'Where is my parcel?',
    tools: {
      ask_customer: ({ question }: { question: string }) => {
        console.log(`agent asks: ${question}`)
        return 'It is order 1042.'
      },
    },
  }),
)
for await (const event of events) {
  if (event.type === 'call.ended') console.log(`${event.tool_name}: ${JSON.stringify(event.output)}`)
  if (event.type === 'generation.completed') console.log(`agent says: ${event.result.output?.content}`)
  if (event.type === 'generation.failed') throw new Error(event.result.error?.message)
}

// Clean up, so that you can run the example again.
await qm.agents.deleteAgent({ path: { agent_id: agent.id } })
for (const { id } of [order, help, ask]) await qm.tools.deleteTool({ path: { tool_id: id } })
await qm.aiProviders.deleteAiProvider({ path: { ai_provider_id: provider.id } })
await shop.close()
