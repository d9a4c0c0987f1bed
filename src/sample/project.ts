import { type Outcome, Quartermaster } from '../sdk/index.ts'

/** What the commands printed at the first start need. */
export interface Sample {
  /** A key that can only call tools. It is not the admin key, because nobody can approve their own call. */
  readonly callerKey: string
  readonly rateTool: string
  readonly refundTool: string
}

function must<Data>({ data, error }: Outcome<Data>): Data {
  if (error) throw new Error(`the sample project could not be created: ${error.message}`)
  return data as Data
}

/** Creates the sample project on an empty platform, through its API. */
export async function createSample(baseUrl: string, token: string): Promise<Sample> {
  const qm = new Quartermaster({ baseUrl, token })
  const base = `${baseUrl}/sample`
  const rate = must(
    await qm.tools.createTool({
      body: {
        name: 'exchange-rate',
        app: 'finance',
        description:
          'Get how much of a currency one euro buys today. Returns {currency, per_euro}. Fails with 404 and the list of known currencies if there is no rate.',
        execute: { url: `${base}/rates/{currency}`, method: 'GET' },
        parameters: {
          type: 'object',
          properties: { currency: { type: 'string', description: 'ISO 4217 code: three letters', examples: ['USD'] } },
          required: ['currency'],
        },
      },
    }),
  )
  const refund = must(
    await qm.tools.createTool({
      body: {
        name: 'refund-order',
        app: 'finance',
        description:
          'Refund an order to the customer. A person approves each refund, so it can take some minutes. Ask for the order number and the amount first. Returns a reference for the customer. It cannot be undone.',
        execute: { url: `${base}/refunds` },
        parameters: {
          type: 'object',
          properties: {
            order: { type: 'string', description: 'Order number', examples: ['1042'] },
            amount: { type: 'number', exclusiveMinimum: 0, description: 'Amount in euros, such as 20.50' },
          },
          required: ['order', 'amount'],
        },
        auto_approve: false,
      },
    }),
  )
  const crm = must(
    await qm.tools.createTool({ body: { name: 'crm', type: 'mcp', app: 'crm', mcp: { url: `${base}/crm/mcp` } } }),
  )
  const ask = must(
    await qm.tools.createTool({
      body: {
        name: 'ask_person',
        type: 'client',
        description: 'Ask the user a question and return the answer. Use it when no other tool has the information.',
        parameters: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
      },
    }),
  )
  const skills = [
    {
      name: 'Refund an order',
      summary: 'Use when a customer wants a refund',
      apps: ['finance', 'crm'],
      content:
        '1. Find the customer with `find_contacts`.\n2. Ask for the number of the order and the amount.\n3. Call `refund-order`; a person approves it.\n4. Write a note about it with `add_note`.\n',
    },
    {
      name: 'Welcome a new customer',
      summary: 'Use when somebody buys for the first time',
      apps: ['crm'],
      content:
        '1. Check with `find_contacts` whether the customer exists.\n2. If not, add the contact with `create_contact`.\n3. Note what they bought with `add_note`.\n',
    },
  ]
  for (const body of skills) must(await qm.skills.createSkill({ body }))
  const everything = { apps: [{ slug: 'crm' }, { slug: 'finance' }], retrieve_skill: true }
  must(
    await qm.servers.createServer({
      body: { slug: 'sales', name: 'Sales', description: 'Customers, rates and refunds', ...everything },
    }),
  )
  must(
    await qm.servers.createServer({
      body: {
        slug: 'assistant',
        name: 'Assistant',
        description: 'The same tools in agent mode',
        agent_mode: true,
        ...everything,
      },
    }),
  )
  const script = {
    steps: [
      {
        when: { turn_step: 1 },
        answer: {
          text: 'Let me look that up.',
          tool_calls: [
            { name: 'crm_find_contacts', args: { query: 'Ada' } },
            { name: 'exchange-rate', args: { currency: 'BRL' } },
          ],
        },
      },
      {
        when: { turn_step: 2 },
        answer: { tool_calls: [{ name: 'ask_person', args: { question: 'Which order is it about?' } }] },
      },
      {
        when: { turn_step: 3 },
        answer:
          'Thank you. This sample agent answers from a script, not from a model. Give it your own AI provider to ask anything.',
      },
    ],
  }
  const provider = must(
    await qm.aiProviders.createAiProvider({ body: { name: 'sample script', type: 'replay', script } }),
  )
  must(
    await qm.agents.createAgent({
      body: {
        name: 'sample assistant',
        ai_provider_id: provider.id,
        instructions: 'You help the sales team of a small company.',
        tool_ids: [crm.id, rate.id, refund.id, ask.id],
      },
    }),
  )
  const policy = must(
    await qm.accessPolicies.createAccessPolicy({
      body: {
        name: 'sample caller',
        description: 'Can call tools, use servers and run agents, and nothing else',
        document: {
          statement: [
            {
              effect: 'Allow',
              action: ['tools:CallTool', 'servers:UseServer', 'agents:CreateAgentGeneration'],
              resource: ['*'],
            },
          ],
        },
      },
    }),
  )
  const { key } = must(
    await qm.apiKeys.createApiKey({ body: { name: 'sample caller', access_policy_ids: [policy.id] } }),
  )
  return { callerKey: key, rateTool: rate.id, refundTool: refund.id }
}
