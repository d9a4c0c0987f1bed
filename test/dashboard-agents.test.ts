import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, vi } from 'vitest'
import { Quartermaster } from '../src/sdk/index.ts'
import { until } from './approving.ts'
import { checkPages, faultsOf } from './axe.ts'
import { launchBrowser, soon, Tabs, browserTest as test } from './browser.ts'
import { type LivedIn, startLivedIn } from './lived-in.ts'
import { picture } from './screenshots.ts'

// Browsers are slow while other test files run.
vi.setConfig({ testTimeout: 90_000 })

const markup = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
const words = (text: string, delay_ms: number) => text.split(/(?<= )/).map((piece) => ({ text: piece, delay_ms }))

const script = {
  name: 'support',
  model: 'scripted-1',
  steps: [
    {
      when: { last_user: 'parcel', last_tool: null },
      answer: {
        text: words('Let me look at the **weather** on its way, and then ask you. ', 25),
        reasoning: 'A storm may have held it up.',
        tool_calls: [{ name: 'get-weather', args: { city: 'Recife' } }],
        usage: { input_tokens: 412, output_tokens: 38 },
      },
    },
    {
      when: { last_tool: 'get-weather' },
      answer: {
        tool_calls: [{ name: 'ask-user', args: { question: 'What is the number of the order?' } }],
        usage: { input_tokens: 530, output_tokens: 21 },
      },
    },
    {
      when: { last_tool: { name: 'ask-user', is_error: true } },
      answer: 'Then I cannot look it up.',
    },
    {
      when: { last_tool: 'ask-user' },
      answer: {
        text: 'Order {{last_tool_output}} can be paid back.',
        tool_calls: [{ name: 'refund', args: { order: '1042', amount: 25 } }],
        usage: { input_tokens: 601, output_tokens: 44 },
      },
    },
    {
      when: { last_tool: 'refund' },
      answer: {
        text: words('It is done:\n\n- the weather was **clear**\n- 25.00 are on their way\n', 15),
        usage: { input_tokens: 702, output_tokens: 40 },
      },
    },
    { when: { last_user: 'thanks' }, answer: 'You are welcome. This was answer {{step}}.' },
    { when: { last_user: 'slow' }, answer: { text: words('one by one '.repeat(400), 50) } },
    { when: { last_user: 'locked' }, error: { status: 401 } },
    { when: { last_user: 'page', last_tool: null }, answer: { tool_calls: [{ name: 'read-page' }] } },
    {
      when: { last_tool: 'read-page' },
      answer: { text: `# Found\n\n${markup} [x](javascript:window.hacked=1)`, literal: true },
    },
    { when: { last_user: 'large', last_tool: null }, answer: { tool_calls: [{ name: 'read-large' }] } },
    { when: { last_tool: 'read-large' }, answer: `Much: ${'words and words '.repeat(20_000)}` },
    { when: { last_user: 'fails', last_tool: null }, answer: { tool_calls: [{ name: 'get-weather', args: {} }] } },
  ],
}

let tabs: Tabs
let here: LivedIn
let qm: Quartermaster
let reviewer: Quartermaster
let agentId: string
let leadId: string

async function made<Data>(outcome: Promise<{ data: Data | undefined; error: unknown }>): Promise<Data> {
  const { data, error } = await outcome
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

beforeAll(async () => {
  tabs = new Tabs(await launchBrowser())
  here = await startLivedIn(200)
  qm = here.qm
  await made(
    qm.tools.createTool({
      body: {
        name: 'refund',
        app: 'shop',
        description: 'Pays an order back',
        auto_approve: false,
        parameters: { type: 'object', properties: { order: { type: 'string' }, amount: { type: 'number' } } },
        execute: { url: `${here.service.url}/refunds`, method: 'POST' },
      },
    }),
  )
  const { data: tools } = await made(qm.tools.listTools({ query: { limit: 100 } }))
  const idOf = (name: string) => tools.find((tool) => tool.name === name)?.id ?? name
  const provider = await made(
    qm.aiProviders.createAiProvider({
      body: { name: 'Scripted', type: 'replay', script, prices: { '*': { input: 2.5, output: 10 } } },
    }),
  )
  const agent = await made(
    qm.agents.createAgent({
      body: {
        name: 'Support desk',
        ai_provider_id: provider.id,
        instructions: 'You help the customers of a shop. Look things up before you answer.',
        tool_ids: ['get-weather', 'ask-user', 'refund', 'read-page', 'read-large'].map(idOf),
      },
    }),
  )
  agentId = agent.id
  const crew = await made(
    qm.tools.createTool({ body: { name: 'crew', type: 'platform', actions: ['create-agent-generation'] } }),
  )
  const helper = await made(
    qm.aiProviders.createAiProvider({
      body: {
        name: 'Lead’s script',
        type: 'replay',
        script: {
          steps: [
            {
              when: { last_tool: null },
              answer: {
                text: 'I shall have it looked at.',
                tool_calls: [
                  { name: 'crew_create-agent-generation', args: { agent_id: agent.id, prompt: 'thanks' } },
                  { name: 'get-weather', args: { city: 'Olinda' } },
                ],
              },
            },
            { when: {}, answer: 'Both are done.' },
          ],
        },
      },
    }),
  )
  const lead = await made(
    qm.agents.createAgent({
      body: { name: 'Lead', ai_provider_id: helper.id, tool_ids: [crew.id, idOf('get-weather')] },
    }),
  )
  leadId = lead.id
  const key = await made(qm.apiKeys.createApiKey({ body: { name: 'Rita', access_policy_ids: ['pol_reviewer'] } }))
  reviewer = new Quartermaster({ baseUrl: here.platform.url, token: key.key })
}, 120_000)
afterAll(async () => {
  await tabs?.[Symbol.asyncDispose]()
  await here?.[Symbol.asyncDispose]()
})

/** A signed-in tab at a page. */
const at = (path: string, { key }: { key?: string } = {}) => tabs.open(`${here.platform.url}${path}`, key)

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text)
  await page.keyboard.press('Enter')
}

const card = (page: Page, name: string) => page.getByRole('group', { name: `Call of ${name}` }).last()

test('an AI provider and an agent are created with forms that show errors at their fields, and work', async () => {
  await using visitor = await at('/ai-providers/new')
  const { page, complaints } = visitor

  await page.getByText('Replay', { exact: true }).click()
  await page.getByLabel('Name', { exact: true }).fill('By form')
  await page.getByLabel('Script (YAML').fill('steps: [{ wen: {}, answer: hi }]')
  await page.getByRole('button', { name: 'Create AI provider' }).click()
  await soon(() => page.getByRole('alert').textContent()).toMatch(/VALIDATION_FAILED.*script.*wen/)
  await page.getByLabel('Script (YAML').fill('steps: [{ when: {}, answer: "ready: {{last_user}}" }]')
  await page.getByRole('button', { name: 'Add a price' }).click()
  await page.getByLabel('Price 1: model').fill('*')
  await page.getByLabel('Price 1: input').fill('3')
  await page.getByLabel('Price 1: output').fill('15')
  await page.getByLabel('Record').click()
  await page.getByRole('button', { name: 'Create AI provider' }).click()
  await page.getByRole('heading', { name: 'By form' }).waitFor()
  await page.getByRole('button', { name: 'Send test request' }).click()
  await page.getByText('working', { exact: true }).waitFor()

  await page.goto(`${here.platform.url}/agents/new`)
  await page.getByLabel('Name', { exact: true }).fill('Made by form')
  await page.getByLabel('AI provider').selectOption({ label: 'By form (replay)' })
  await page.getByLabel('Instructions').fill('Say what you are told.')
  await page.getByLabel('Search tools').fill('tracker')
  await page.getByRole('checkbox', { name: 'tracker' }).check()
  await page.getByText('tracker_create_issue').first().waitFor()
  await page.getByLabel('Tool choice').selectOption({ label: 'Required: tracker_close_issue' })
  await page.getByRole('button', { name: 'Add a stop condition' }).click()
  await page.getByLabel('Step rules').fill('[{ "step": 99, "tool_choice": "none" }]')
  await page.getByRole('button', { name: 'Create agent' }).click()
  await soon(() => page.getByRole('alert').textContent()).toMatch(/step_rules\[0\]\.step.*99/)
  await page.getByText('[0].step: is 99').waitFor()
  await page.getByLabel('Step rules').fill('')
  await page.getByLabel('Tool choice').selectOption('auto')
  await page.getByRole('button', { name: 'Create agent' }).click()

  await page.getByRole('heading', { name: 'Made by form', level: 1 }).waitFor()
  await say(page, 'anyone there?')
  await page.getByText('ready: anyone there?').waitFor()
  const { data: agents } = await made(qm.agents.listAgents({ query: { name: 'Made by form' } }))
  expect(agents[0]).toMatchObject({
    tool_choice: 'auto',
    stop_conditions: [{ type: 'hasToolCall', tool_name: 'tracker_close_issue' }],
    step_rules: [],
    max_steps: 20,
  })

  await page.getByRole('link', { name: 'By form' }).click()
  await page.getByRole('tab', { name: 'Recording' }).click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: /Download/ }).click(),
  ])
  expect(readFileSync(await download.path(), 'utf8')).toContain('ready: anyone there?')
  expect(complaints).toEqual([])
})

test('an API key is never shown again, and a failing provider says what to do', async () => {
  await using visitor = await at('/ai-providers/new')
  const { page } = visitor

  await page.getByText('OpenAI-compatible', { exact: true }).click()
  await page.getByLabel('Name', { exact: true }).fill('Nowhere')
  await page.getByLabel('Base URL').fill('http://127.0.0.1:9/v1')
  await page.getByLabel('Default model').fill('some-model')
  await page.getByRole('textbox', { name: 'API key' }).fill('sk-very-secret-4711')
  await page.getByRole('button', { name: 'Create AI provider' }).click()
  await page.getByRole('heading', { name: 'Nowhere' }).waitFor()

  await page.getByRole('button', { name: 'Send test request' }).click()
  await page.getByText('MODEL_UNAVAILABLE').waitFor()
  expect(await page.getByRole('textbox', { name: 'API key' }).getAttribute('placeholder')).toContain('4711')
  expect(await page.content()).not.toContain('very-secret')
  await page.getByLabel('Base URL').fill('http://127.0.0.1:10/v1')
  await page.getByRole('button', { name: 'Save' }).click()
  await soon(() => page.getByRole('alert').textContent()).toMatch(/api_key must be sent again/)
  await page.getByLabel('Remove key').check()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved').waitFor()
})

describe('a chat', () => {
  test('streams text and calls, pauses for client tools and approval, continues by itself, and keeps its history', async () => {
    await using visitor = await at(`/agents/${agentId}`)
    const { page, complaints } = visitor

    await say(page, 'Where is my parcel?')
    await page.getByText('Let me look').waitFor()
    // The text is streamed: its beginning is shown before its end.
    expect(await page.getByText('and then ask you').count()).toBe(0)
    await page.getByText('done', { exact: true }).waitFor()
    await card(page, 'get-weather').getByRole('button', { name: 'get-weather' }).click()
    await page.getByText('"temperature": 29').waitFor()
    await card(page, 'get-weather').getByRole('button', { name: 'get-weather' }).click()

    const form = page.getByRole('form', { name: 'Tool outputs' })
    await form.waitFor()
    await form.getByText('What is the number of the order?').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await form.getByLabel('JSON').check()
    await form.getByLabel('Output of ask-user').fill('{ "order"')
    await form.getByRole('button', { name: 'Submit output' }).click()
    await form.getByText('Invalid JSON').waitFor()
    await form.getByLabel('Output of ask-user').fill('"1042"')
    await form.getByRole('button', { name: 'Submit output' }).click()

    await page.getByText('Order 1042 can be paid back.').waitFor()
    const approval = page.getByRole('region', { name: 'Approval for refund' })
    await approval.getByText(/\d:\d\d left/).waitFor()
    expect(await faultsOf(page)).toEqual([])
    const waiting = await until(
      async () => (await reviewer.approvals.listApprovals({ query: { status: 'pending' } })).data?.data[0],
    )
    expect(await approval.getByRole('link').getAttribute('href')).toBe(`/approvals/${waiting.id}`)
    await made(reviewer.approvals.approveCall({ path: { approval_id: waiting.id }, body: {} }))

    await page.getByText('25.00 are on their way').waitFor()
    await page.getByText('4 steps').waitFor()
    await page.getByText('$0.0').first().waitFor()
    expect(here.service.received.filter(({ url }) => url === '/refunds')).toHaveLength(1)
    await picture(page, 'chat', 'desktop')

    await say(page, 'thanks')
    await page.getByText('You are welcome. This was answer 5.').waitFor()
    await page.reload()
    await page.getByText('You are welcome. This was answer 5.').waitFor()
    await page.getByText('25.00 are on their way').waitFor()
    expect(await page.getByRole('article', { name: 'Turn' }).count()).toBe(2)
    await say(page, 'thanks again')
    await page.getByText('This was answer 6.').waitFor()

    await page.getByRole('button', { name: 'New conversation' }).click()
    await page.getByText('Chat with Support desk').waitFor()
    await say(page, 'thanks')
    await page.getByText('This was answer 1.').waitFor()
    expect(complaints).toEqual([])
  })

  test('reports an error of a client tool to the model', async () => {
    await using visitor = await at(`/agents/${agentId}`)
    const { page } = visitor

    await say(page, 'Where is my parcel?')
    await page.getByLabel('Error').check()
    await page.getByLabel('Output of ask-user').fill('nobody is there')
    await page.getByRole('button', { name: 'Submit output' }).click()

    await page.getByText('Then I cannot look it up.').waitFor()
    await card(page, 'ask-user').getByText('nobody is there').waitFor()
  })

  test('resumes after the connection was lost', async () => {
    await using visitor = await at(`/agents/${agentId}`)
    const { page } = visitor
    await say(page, 'Where is my parcel?')
    await page.getByLabel('Output of ask-user').fill('77')
    let broken = 0
    await page.route('**/generations/*/events', (route) => (broken++ < 2 ? route.abort() : route.continue()))

    await page.getByRole('button', { name: 'Submit output' }).click()
    await page.getByText('Reconnecting').waitFor()
    await page.getByText('Order 77 can be paid back.').waitFor()
    await soon(() => page.getByText('Reconnecting').count()).toBe(0)

    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('You stopped this run.').waitFor()
  })

  test('stops on request, and accepts new messages afterwards', async () => {
    await using visitor = await at(`/agents/${agentId}`)
    const { page } = visitor

    await say(page, 'be slow')
    await page.getByText('one by one').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('You stopped this run.').waitFor()
    const { data } = await made(qm.agents.listGenerations({ query: { agent_id: agentId, limit: 1 } }))
    expect(data[0]?.status).toBe('cancelled')

    await say(page, 'thanks')
    await page.getByText('You are welcome.').waitFor()
  })

  test('starts a new conversation immediately, even while the agent is responding', async () => {
    await using visitor = await at(`/agents/${agentId}`)
    const { page } = visitor

    await say(page, 'be slow')
    await page.getByText('one by one').waitFor()
    const left = new URL(page.url()).searchParams.get('run') as string
    await page.getByLabel('Message').fill('thanks')
    // Faster than a user could be, so that both happen before the page has updated.
    await page.evaluate(`(async () => {
      const buttons = [...document.querySelectorAll('button')]
      buttons.find((one) => one.textContent === 'New conversation').click()
      await new Promise((resolve) => setTimeout(resolve))
      const enter = new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })
      document.querySelector('[aria-label=Message]').dispatchEvent(enter)
    })()`)

    await page.getByText('You are welcome. This was answer 1.').waitFor()
    expect(await page.getByRole('article', { name: 'Turn' }).count()).toBe(1)
    expect(await page.getByText('one by one').count()).toBe(0)
    await page.reload()
    await page.getByText('You are welcome. This was answer 1.').waitFor()
    expect(await page.getByRole('article', { name: 'Turn' }).count()).toBe(1)
    // The first conversation continues in the background.
    expect((await made(qm.agents.cancelGeneration({ path: { generation_id: left } }))).status).toBe('cancelled')
  })

  test('explains errors of the provider, a call or the request, and what to do', async () => {
    await using visitor = await at(`/agents/${agentId}`)
    const { page } = visitor

    await say(page, 'locked')
    await soon(() => page.getByRole('alert').textContent()).toMatch(/MODEL_KEY_REFUSED.*API key/)
    await page.getByRole('link', { name: 'Open AI provider' }).waitFor()
    const before = page.url()
    await page.getByRole('button', { name: 'Try again' }).click()
    // A second run ends with the same error.
    await soon(() => page.url()).not.toBe(before)
    await soon(() => page.getByRole('alert').textContent()).toMatch(/MODEL_KEY_REFUSED/)
    expect(await page.getByRole('article', { name: 'Turn' }).count()).toBe(1)
    await picture(page, 'chat-error', 'desktop')

    await page.getByRole('button', { name: 'New conversation' }).click()
    await say(page, 'it fails')
    await card(page, 'get-weather').getByText('VALIDATION_FAILED').waitFor()

    await page.getByRole('button', { name: 'New conversation' }).click()
    await say(page, 'gibberish')
    await soon(() => page.getByRole('alert').textContent()).toMatch(/REPLAY_STEP_MISSING/)

    const policy = await made(
      qm.accessPolicies.createAccessPolicy({
        body: { name: 'looks only', document: { statement: [{ effect: 'Allow', action: ['agents:GetAgent'] }] } },
      }),
    )
    const { key } = await made(
      qm.apiKeys.createApiKey({ body: { name: 'looks only', access_policy_ids: [policy.id] } }),
    )
    await using other = await at(`/agents/${agentId}`, { key })
    await say(other.page, 'hello')
    await soon(() => other.page.getByRole('alert').textContent()).toMatch(/FORBIDDEN.*CreateAgentGeneration/)
  })

  test('runs no markup from a model or a tool, and handles megabytes of output', async () => {
    await using visitor = await at(`/agents/${agentId}`)
    const { page, complaints } = visitor

    await say(page, 'read the page')
    await page.locator('.prose').getByText(markup).waitFor()
    await card(page, 'read-page').getByRole('button', { name: 'read-page' }).click()
    await page.locator('pre').filter({ hasText: '<img src=x' }).waitFor()
    expect(await page.locator('.prose a, .prose img').count()).toBe(0)
    expect(await page.evaluate('window.hacked')).toBeUndefined()

    await page.getByRole('button', { name: 'New conversation' }).click()
    await say(page, 'a large one')
    await page.getByText(/of 320,00\d characters/).waitFor()
    await card(page, 'read-large').getByRole('button', { name: 'read-large' }).click()
    await page.getByText('of 5,242,880 characters').waitFor()
    expect((await page.evaluate('document.body.innerText.length')) as number).toBeLessThan(60_000)
    expect(complaints).toEqual([])
  })
})

test('a run is shown as a timeline with the runs it started, and can be stopped', async () => {
  const run = await made(qm.agents.run(leadId, { prompt: 'Have it looked at' }))
  expect(run.status).toBe('completed')
  await using visitor = await at('/generations')
  const { page, complaints } = visitor

  await page.getByLabel('Agent', { exact: true }).selectOption({ label: 'Lead' })
  await page.getByRole('link', { name: 'Lead' }).first().click()
  const lines = page.getByRole('list', { name: 'Timeline' })
  await lines.getByText('Step 2').waitFor()
  await lines.getByText('Support desk').waitFor()
  await lines.getByRole('button', { name: /get-weather/ }).click()
  await page.getByText('"temperature": 29').waitFor()
  await page.getByRole('link', { name: /^call_/ }).waitFor()
  await lines
    .getByRole('button', { name: /Step 1/ })
    .first()
    .click()
  await lines.getByText('I shall have it looked at.').waitFor()
  await picture(page, 'generation-open', 'desktop')
  await page.getByRole('link', { name: 'Continue in chat' }).click()
  await page.getByText('Both are done.').waitFor()

  const slow = await made(
    qm.agents.createAgentGeneration({ path: { agent_id: agentId }, body: { prompt: 'slow', async: true } }),
  )
  await page.goto(`${here.platform.url}/generations?status=in_progress`)
  await page.getByRole('link', { name: 'Support desk' }).click()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByRole('button', { name: 'Stop run' }).click()
  await page.getByText('stopped', { exact: true }).first().waitFor()
  expect((await made(qm.agents.getGeneration({ path: { generation_id: slow.id } }))).status).toBe('cancelled')
  expect(complaints).toEqual([])
})

test('pages for agents, runs and AI providers pass axe in both themes, and fit a desktop and a phone', async () => {
  const [chat, asks] = await Promise.all([
    made(qm.agents.run(agentId, { prompt: 'Where is my parcel?', tools: { 'ask-user': () => '1042' } })),
    made(qm.agents.run(agentId, { prompt: 'Where is my parcel?' })),
  ])
  expect([chat, asks].map(({ status }) => status)).toEqual(['requires_action', 'requires_action'])
  const { data: providers } = await made(qm.aiProviders.listAiProviders())
  const provider = providers.find(({ name }) => name === 'Scripted')?.id
  const { data: lead } = await made(qm.agents.listGenerations({ query: { agent_id: leadId, limit: 1 } }))
  await using visitor = await at('/agents')
  const { page, complaints } = visitor
  const to = (name: string, path: string) => ({ name, url: `${here.platform.url}${path}` })

  const faults = await checkPages(page, [
    to('agents', '/agents'),
    to('new-agent', '/agents/new'),
    to('agent-settings', `/agents/${agentId}?tab=settings`),
    to('chat-empty', `/agents/${agentId}`),
    {
      ...to('chat-approval', `/agents/${agentId}?run=${chat.id}`),
      dark: true,
      ready: () => page.getByRole('region', { name: 'Approval for refund' }).waitFor(),
    },
    {
      ...to('chat-client', `/agents/${agentId}?run=${asks.id}`),
      ready: () => page.getByLabel('Output of ask-user').waitFor(),
    },
    to('generations', '/generations'),
    { ...to('generation', `/generations/${lead[0]?.id}`), dark: true },
    to('generation-waits', `/generations/${chat.id}`),
    to('ai-providers', '/ai-providers'),
    to('new-ai-provider', '/ai-providers/new'),
    to('ai-provider', `/ai-providers/${provider}`),
  ])
  for (const { id } of [chat, asks]) await made(qm.agents.cancelGeneration({ path: { generation_id: id } }))

  expect(faults).toEqual({})
  expect(complaints).toEqual([])
}, 180_000)
