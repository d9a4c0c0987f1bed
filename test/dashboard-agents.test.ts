import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, vi } from 'vitest'
import { Quartermaster } from '../src/sdk/index.ts'
import { until } from './approving.ts'
import { faultsOf } from './axe.ts'
import { launchBrowser, signIn, type sizes, browserTest as test, visit } from './browser.ts'
import { adminKey } from './kit.ts'
import { type LivedIn, startLivedIn } from './lived-in.ts'
import { picture } from './screenshots.ts'

// A browser beside everything else that is tested needs its time.
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

let browser: Browser
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
  browser = await launchBrowser()
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
  await browser?.close()
  await here?.[Symbol.asyncDispose]()
})

/** Someone who is signed in, at a page. */
async function at(path: string, { size, key = adminKey }: { size?: keyof typeof sizes; key?: string } = {}) {
  const visitor = await visit(browser, size)
  await signIn(visitor.page, `${here.platform.url}${path}`, key)
  await settled(visitor.page)
  return visitor
}

async function settled(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor()
  await eventually(() => page.getByText('Loading…').count()).toBe(0)
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text)
  await page.keyboard.press('Enter')
}

/** Other tests run beside these, and take their share of the machine. */
const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 15_000 })

const card = (page: Page, name: string) => page.getByRole('group', { name: `Call of ${name}` }).last()

test('an AI provider and an agent are made by their forms, with faults told at their fields, and answer', async () => {
  await using visitor = await at('/ai-providers/new')
  const { page, complaints } = visitor

  await page.getByText('Replay', { exact: true }).click()
  await page.getByLabel('Name', { exact: true }).fill('By form')
  await page.getByLabel('What it answers').fill('steps: [{ wen: {}, answer: hi }]')
  await page.getByRole('button', { name: 'Create the AI provider' }).click()
  await eventually(() => page.getByRole('alert').textContent()).toMatch(/VALIDATION_FAILED.*script.*wen/)
  await page.getByLabel('What it answers').fill('steps: [{ when: {}, answer: "ready: {{last_user}}" }]')
  await page.getByRole('button', { name: 'Add a price' }).click()
  await page.getByLabel('Price 1: model').fill('*')
  await page.getByLabel('Price 1: input').fill('3')
  await page.getByLabel('Price 1: output').fill('15')
  await page.getByLabel('Record').click()
  await page.getByRole('button', { name: 'Create the AI provider' }).click()
  await page.getByRole('heading', { name: 'By form' }).waitFor()
  await page.getByRole('button', { name: 'Ask it for one word' }).click()
  await page.getByText('it works').waitFor()

  await page.goto(`${here.platform.url}/agents/new`)
  await page.getByLabel('Name', { exact: true }).fill('Made by form')
  await page.getByLabel('AI provider').selectOption({ label: 'By form (replay)' })
  await page.getByLabel('Instructions').fill('Say what you are told.')
  await page.getByLabel('Search tools').fill('tracker')
  await page.getByRole('checkbox', { name: 'tracker' }).check()
  await page.getByText('tracker_create_issue').first().waitFor()
  await page.getByLabel('Tool choice').selectOption({ label: 'It must call tracker_close_issue' })
  await page.getByRole('button', { name: 'Add a stop condition' }).click()
  await page.getByLabel('Step rules').fill('[{ "step": 99, "tool_choice": "none" }]')
  await page.getByRole('button', { name: 'Create the agent' }).click()
  await eventually(() => page.getByRole('alert').textContent()).toMatch(/step_rules\[0\]\.step.*99/)
  await page.getByText('[0].step: is 99').waitFor()
  await page.getByLabel('Step rules').fill('')
  await page.getByLabel('Tool choice').selectOption('auto')
  await page.getByRole('button', { name: 'Create the agent' }).click()

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

test('a key goes in and never comes out again, and a provider that does not work says what to do', async () => {
  await using visitor = await at('/ai-providers/new')
  const { page } = visitor

  await page.getByText('OpenAI-compatible', { exact: true }).click()
  await page.getByLabel('Name', { exact: true }).fill('Nowhere')
  await page.getByLabel('Base URL').fill('http://127.0.0.1:9/v1')
  await page.getByLabel('Default model').fill('some-model')
  await page.getByLabel('API key').fill('sk-very-secret-4711')
  await page.getByRole('button', { name: 'Create the AI provider' }).click()
  await page.getByRole('heading', { name: 'Nowhere' }).waitFor()

  await page.getByRole('button', { name: 'Ask it for one word' }).click()
  await page.getByText('MODEL_UNAVAILABLE').waitFor()
  expect(await page.getByLabel('API key').getAttribute('placeholder')).toContain('4711')
  expect(await page.content()).not.toContain('very-secret')
  await page.getByLabel('Base URL').fill('http://127.0.0.1:10/v1')
  await page.getByRole('button', { name: 'Save' }).click()
  await eventually(() => page.getByRole('alert').textContent()).toMatch(/api_key.*anew/)
  await page.getByLabel('Remove the key').check()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved').waitFor()
})

describe('a chat', () => {
  test('streams, shows calls, pauses for the application and for a reviewer, goes on by itself, and remembers', async () => {
    await using visitor = await at(`/agents/${agentId}`)
    const { page, complaints } = visitor

    await say(page, 'Where is my parcel?')
    await page.getByText('Let me look').waitFor()
    // Its words come one after the other: the first are there before the last.
    expect(await page.getByText('and then ask you').count()).toBe(0)
    await page.getByText('done', { exact: true }).waitFor()
    await card(page, 'get-weather').getByRole('button', { name: 'get-weather' }).click()
    await page.getByText('"temperature": 29').waitFor()
    await card(page, 'get-weather').getByRole('button', { name: 'get-weather' }).click()

    const form = page.getByRole('form', { name: 'Outputs that the agent waits for' })
    await form.waitFor()
    await form.getByText('What is the number of the order?').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await form.getByLabel('JSON').check()
    await form.getByLabel('Output of ask-user').fill('{ "order"')
    await form.getByRole('button', { name: 'Give the output' }).click()
    await form.getByText('Not JSON yet').waitFor()
    await form.getByLabel('Output of ask-user').fill('"1042"')
    await form.getByRole('button', { name: 'Give the output' }).click()

    await page.getByText('Order 1042 can be paid back.').waitFor()
    const approval = page.getByRole('region', { name: 'Approval of refund' })
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
    await page.getByText('Talk to Support desk').waitFor()
    await say(page, 'thanks')
    await page.getByText('This was answer 1.').waitFor()
    expect(complaints).toEqual([])
  })

  test('tells the model that a tool of the application failed', async () => {
    await using visitor = await at(`/agents/${agentId}`)
    const { page } = visitor

    await say(page, 'Where is my parcel?')
    await page.getByLabel('It failed').check()
    await page.getByLabel('Output of ask-user').fill('nobody is there')
    await page.getByRole('button', { name: 'Give the output' }).click()

    await page.getByText('Then I cannot look it up.').waitFor()
    await card(page, 'ask-user').getByText('nobody is there').waitFor()
  })

  test('goes on where it was when the connection breaks', async () => {
    await using visitor = await at(`/agents/${agentId}`)
    const { page } = visitor
    await say(page, 'Where is my parcel?')
    await page.getByLabel('Output of ask-user').fill('77')
    let broken = 0
    await page.route('**/generations/*/events', (route) => (broken++ < 2 ? route.abort() : route.continue()))

    await page.getByRole('button', { name: 'Give the output' }).click()
    await page.getByText('connecting again').waitFor()
    await page.getByText('Order 77 can be paid back.').waitFor()
    await eventually(() => page.getByText('connecting again').count()).toBe(0)

    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('You stopped it.').waitFor()
  })

  test('stops when it is told to, and goes on afterwards', async () => {
    await using visitor = await at(`/agents/${agentId}`)
    const { page } = visitor

    await say(page, 'be slow')
    await page.getByText('one by one').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('You stopped it.').waitFor()
    const { data } = await made(qm.agents.listGenerations({ query: { agent_id: agentId, limit: 1 } }))
    expect(data[0]?.status).toBe('cancelled')

    await say(page, 'thanks')
    await page.getByText('You are welcome.').waitFor()
  })

  test('begins anew at once, also while the agent still answers', async () => {
    await using visitor = await at(`/agents/${agentId}`)
    const { page } = visitor

    await say(page, 'be slow')
    await page.getByText('one by one').waitFor()
    const left = new URL(page.url()).searchParams.get('run') as string
    await page.getByLabel('Message').fill('thanks')
    // Faster than anybody is: one press directly after the other.
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
    // It was left, and goes on by itself.
    expect((await made(qm.agents.cancelGeneration({ path: { generation_id: left } }))).status).toBe('cancelled')
  })

  test('says in words what is wrong with the provider, a call or the request, and what to do', async () => {
    await using visitor = await at(`/agents/${agentId}`)
    const { page } = visitor

    await say(page, 'locked')
    await eventually(() => page.getByRole('alert').textContent()).toMatch(/MODEL_KEY_REFUSED.*API key/)
    await page.getByRole('link', { name: 'To the AI provider' }).waitFor()
    const before = page.url()
    await page.getByRole('button', { name: 'Try again' }).click()
    // Another run, which ends the same.
    await eventually(() => page.url()).not.toBe(before)
    await eventually(() => page.getByRole('alert').textContent()).toMatch(/MODEL_KEY_REFUSED/)
    expect(await page.getByRole('article', { name: 'Turn' }).count()).toBe(1)
    await picture(page, 'chat-error', 'desktop')

    await page.getByRole('button', { name: 'New conversation' }).click()
    await say(page, 'it fails')
    await card(page, 'get-weather').getByText('VALIDATION_FAILED').waitFor()

    await page.getByRole('button', { name: 'New conversation' }).click()
    await say(page, 'gibberish')
    await eventually(() => page.getByRole('alert').textContent()).toMatch(/REPLAY_STEP_MISSING/)

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
    await eventually(() => other.page.getByRole('alert').textContent()).toMatch(/FORBIDDEN.*CreateAgentGeneration/)
  })

  test('runs no markup of a model or a tool, and goes on with megabytes', async () => {
    await using visitor = await at(`/agents/${agentId}`)
    const { page, complaints } = visitor

    await say(page, 'read the page')
    await page.locator('.prose').getByText(markup).waitFor()
    await card(page, 'read-page').getByRole('button', { name: 'read-page' }).click()
    await page.locator('pre').filter({ hasText: '<img src=x' }).waitFor()
    expect(await page.locator('.prose a, .prose img').count()).toBe(0)
    expect(await page.evaluate('window.hacked')).toBeUndefined()

    await page.getByRole('button', { name: 'New conversation' }).click()
    await page.evaluate(
      'window.gaps = []; (function tick(last) { requestAnimationFrame((now) => { gaps.push(now - last); tick(now) }) })(performance.now())',
    )
    await say(page, 'a large one')
    await page.getByText(/of 320,00\d characters/).waitFor()
    await card(page, 'read-large').getByRole('button', { name: 'read-large' }).click()
    await page.getByText('of 5,242,880 characters').waitFor()
    const longest = (await page.evaluate('Math.max(...gaps)')) as number
    console.log(`longest pause with 5 MB of output and 320,000 characters of answer: ${Math.round(longest)} ms`)
    expect(longest).toBeLessThan(2000)
    expect((await page.evaluate('document.body.innerText.length')) as number).toBeLessThan(60_000)
    expect(complaints).toEqual([])
  })
})

test('a run is shown as a timeline, with the runs that it started, and can be stopped', async () => {
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
  await page.getByRole('link', { name: 'Go on in the chat' }).click()
  await page.getByText('Both are done.').waitFor()

  const slow = await made(
    qm.agents.createAgentGeneration({ path: { agent_id: agentId }, body: { prompt: 'slow', async: true } }),
  )
  await page.goto(`${here.platform.url}/generations?status=in_progress`)
  await page.getByRole('link', { name: 'Support desk' }).click()
  await page.getByRole('button', { name: 'Stop it' }).click()
  await page.getByRole('button', { name: 'Stop the run' }).click()
  await page.getByText('stopped', { exact: true }).first().waitFor()
  expect((await made(qm.agents.getGeneration({ path: { generation_id: slow.id } }))).status).toBe('cancelled')
  expect(complaints).toEqual([])
})

describe.each(['desktop', 'phone'] as (keyof typeof sizes)[])('on a %s', (size) => {
  test('every page about agents can be read by everyone, fits its width, by day and by night', async () => {
    const chat = await made(
      qm.agents.run(agentId, { prompt: 'Where is my parcel?', tools: { 'ask-user': () => '1042' } }),
    )
    const asks = await made(qm.agents.run(agentId, { prompt: 'Where is my parcel?' }))
    expect([chat, asks].map(({ status }) => status)).toEqual(['requires_action', 'requires_action'])
    const { data: providers } = await made(qm.aiProviders.listAiProviders())
    const provider = providers.find(({ name }) => name === 'Scripted')?.id
    const { data: lead } = await made(qm.agents.listGenerations({ query: { agent_id: leadId, limit: 1 } }))
    await using visitor = await visit(browser, size)
    const { page, complaints } = visitor
    await signIn(page, here.platform.url, adminKey)

    const faults: Record<string, unknown> = {}
    for (const [name, path] of [
      ['agents', '/agents'],
      ['new-agent', '/agents/new'],
      ['agent-settings', `/agents/${agentId}?tab=settings`],
      ['chat-empty', `/agents/${agentId}`],
      ['chat-approval', `/agents/${agentId}?run=${chat.id}`],
      ['chat-client', `/agents/${agentId}?run=${asks.id}`],
      ['generations', '/generations'],
      ['generation', `/generations/${lead[0]?.id}`],
      ['generation-waits', `/generations/${chat.id}`],
      ['ai-providers', '/ai-providers'],
      ['new-ai-provider', '/ai-providers/new'],
      ['ai-provider', `/ai-providers/${provider}`],
    ] as const) {
      await page.goto(`${here.platform.url}${path}`)
      await settled(page)
      if (name === 'chat-approval') await page.getByRole('region', { name: 'Approval of refund' }).waitFor()
      if (name === 'chat-client') await page.getByLabel('Output of ask-user').waitFor()
      await picture(page, name, size)
      const found = await faultsOf(page)
      if (found.length > 0) faults[name] = found
      if (name === 'chat-approval' || name === 'generation') {
        await page.emulateMedia({ colorScheme: 'dark' })
        await picture(page, `${name}-dark`, size)
        await page.emulateMedia({ colorScheme: 'light' })
      }
    }
    for (const { id } of [chat, asks]) await made(qm.agents.cancelGeneration({ path: { generation_id: id } }))

    expect(faults).toEqual({})
    expect(complaints).toEqual([])
  }, 180_000)
})
