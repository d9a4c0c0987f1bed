import { type Outcome, Quartermaster } from '../sdk/index.ts'

/** What the first lines to try are made of. */
export interface Sample {
  /** A key that may call tools and no more. Whoever asks for an approval cannot give it, so it is not the admin's. */
  readonly callerKey: string
  readonly rateTool: string
  readonly refundTool: string
}

function must<Data>({ data, error }: Outcome<Data>): Data {
  if (error) throw new Error(`the sample project could not be made: ${error.message}`)
  return data as Data
}

/** Fills an empty platform with something to look at, the way anyone would: over its API. */
export async function createSample(baseUrl: string, token: string): Promise<Sample> {
  const qm = new Quartermaster({ baseUrl, token })
  const base = `${baseUrl}/sample`
  const rate = must(
    await qm.tools.createTool({
      body: {
        name: 'exchange-rate',
        app: 'finance',
        description: 'How much of a currency one euro buys today',
        execute: { url: `${base}/rates/{currency}`, method: 'GET' },
        parameters: {
          type: 'object',
          properties: { currency: { type: 'string', description: 'Three letters, such as USD' } },
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
        description: 'Pays an order back to the customer. A person approves each refund.',
        execute: { url: `${base}/refunds` },
        parameters: {
          type: 'object',
          properties: {
            order: { type: 'string', description: 'The number of the order' },
            amount: { type: 'number', exclusiveMinimum: 0, description: 'In euros' },
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
        description: 'Asks the person at the other end, and gives the answer',
        parameters: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
      },
    }),
  )
  const skills = [
    {
      name: 'Refund an order',
      summary: 'When a customer wants money back',
      apps: ['finance', 'crm'],
      content:
        '1. Find the customer with `find_contacts`.\n2. Ask for the number of the order and the amount.\n3. Call `refund-order`; a person approves it.\n4. Write a note about it with `add_note`.\n',
    },
    {
      name: 'Welcome a new customer',
      summary: 'When somebody buys for the first time',
      apps: ['crm'],
      content: '1. Look whether the customer is there already.\n2. Add the contact.\n3. Write down what they bought.\n',
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
        description: 'The same, found by what is wanted',
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
          'Thank you. This is a sample: a script answers, not a model. Give the agent an AI provider of your own, and ask what you like.',
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
        description: 'May call tools, use servers and run agents, and nothing else',
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
