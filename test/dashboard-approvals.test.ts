import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, vi } from 'vitest'
import { Quartermaster } from '../src/sdk/index.ts'
import { until } from './approving.ts'
import { faultsOf } from './axe.ts'
import { launchBrowser, signIn, sizes, browserTest as test, type Visit, visit } from './browser.ts'
import { as, runCli } from './clients.ts'
import { adminKey, type Service, startService } from './kit.ts'
import { startProcess, temporaryFolder } from './process.ts'
import { picture } from './screenshots.ts'

// A browser beside everything else that is tested needs its time.
vi.setConfig({ testTimeout: 90_000 })

let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
}, 60_000)
afterAll(() => browser?.close())

const refund = {
  name: 'refund',
  app: 'shop',
  description: 'Gives a customer money back',
  auto_approve: false,
  parameters: {
    type: 'object',
    properties: {
      order: { type: 'string', maxLength: 20, description: 'The order’s number' },
      amount: { type: 'number', minimum: 0, maximum: 1000 },
      note: { type: 'string' },
      customer: { type: 'object', properties: { name: { type: 'string' }, email: { type: 'string' } } },
      items: { type: 'array', items: { type: 'string' } },
    },
    required: ['amount'],
  },
}

interface Desk extends AsyncDisposable {
  readonly url: string
  readonly service: Service
  readonly toolId: string
  /** The administrator, who reviews as well. */
  readonly qm: Quartermaster
  /** Who calls. */
  readonly bot: Quartermaster
  readonly keys: Readonly<Record<'bot' | 'rita' | 'rob', string>>
  /** Calls the tool, and waits for the decision. */
  call(
    input: object,
  ): Promise<{ status: number | undefined; data: unknown; error: { code: string; message: string } | undefined }>
  /** Calls it, and does not wait; the approval's id. */
  ask(input: object, client?: Quartermaster): Promise<string>
}

/** A platform with a tool that asks, one who calls it, and two who decide. */
async function startDesk(fields: object = {}): Promise<Desk> {
  const folder = await temporaryFolder()
  const service = await startService()
  const environment = { QM_ADMIN_KEY: adminKey, QM_EMBEDDINGS: 'off', QM_PENDING_APPROVALS: '5000' }
  const platform = await startProcess(folder.path, environment)
  const qm = new Quartermaster({ baseUrl: platform.url, token: adminKey })
  const key = async (name: string, policy: string) =>
    (await qm.apiKeys.createApiKey({ body: { name, access_policy_ids: [policy] } })).data?.key ?? ''
  const keys = {
    bot: await key('support bot', 'pol_caller'),
    rita: await key('Rita', 'pol_reviewer'),
    rob: await key('Rob', 'pol_reviewer'),
  }
  const tool = await qm.tools.createTool({ body: { ...refund, execute: { url: service.url }, ...fields } })
  const toolId = tool.data?.id ?? ''
  const bot = new Quartermaster({ baseUrl: platform.url, token: keys.bot })
  const path = { tool_id: toolId }
  return {
    ...{ url: platform.url, service, toolId, qm, bot, keys },
    async call(input) {
      const { data, error, response } = await bot.tools.callTool({ path, body: { input: input as never } })
      return { status: response?.status, data, error: error as never }
    },
    async ask(input, client = bot) {
      const { data, error } = await client.tools.callTool({ path, body: { input: input as never, wait: false } })
      const { approval_id: id } = (data ?? {}) as { approval_id?: string }
      if (!id) throw new Error(JSON.stringify(error ?? data))
      return id
    },
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** Someone at a page, signed in. */
async function at(desk: Desk, path: string, key: string, size?: keyof typeof sizes) {
  const visitor = await visit(browser, size)
  await signIn(visitor.page, `${desk.url}${path}`, key)
  await visitor.page.getByRole('heading', { level: 1 }).first().waitFor()
  return visitor
}

const live = (page: Page) => page.getByText('Live', { exact: true }).waitFor()
const waiting = (page: Page) => page.getByRole('list', { name: 'Waiting' }).getByRole('listitem')
const looked = (page: Page, action = 'shop:refund') => page.getByRole('article', { name: action })
/** Until it was on the screen for as long as it takes to see it. */
async function seen(page: Page, text: string) {
  await looked(page).getByText(text).first().waitFor()
  await page.waitForTimeout(500)
}

describe('a call that waits', () => {
  test('appears at once in the inbox, the title and the navigation, is approved with a key, and its caller is answered (S4.24)', async () => {
    await using desk = await startDesk()
    await using visitor = await at(desk, '/approvals', desk.keys.rita)
    const { page, complaints } = visitor
    await page.getByText('No pending approvals').waitFor()
    await live(page)

    const began = performance.now()
    const answer = desk.call({ amount: 120, order: 'A-17', customer: { name: 'Ada' } })
    await waiting(page).first().waitFor()
    console.log(`a call that waits is seen after ${Math.round(performance.now() - began)} ms`)
    await seen(page, 'A-17')
    await expect.poll(() => page.title()).toBe('(1) Approvals · Quartermaster')
    await page.getByRole('link', { name: 'Approvals 1 pending' }).waitFor()
    expect(await page.locator('link[rel=icon]').getAttribute('href')).toContain('waiting')
    expect(await looked(page).textContent()).toMatch(/support bot/)
    expect(await looked(page).textContent()).toMatch(/Every call of “refund” requires approval/)
    expect(await looked(page).locator('time').first().textContent()).toMatch(/^[45]:\d\d left/)
    expect(desk.service.received).toEqual([])

    const pressed = performance.now()
    await page.keyboard.press('a')
    expect(await answer).toMatchObject({ status: 200, data: { ok: true } })
    console.log(`the caller is answered ${Math.round(performance.now() - pressed)} ms after the key`)
    await page.getByText('Approved: shop:refund.').waitFor()
    await page.getByText('No pending approvals').waitFor()
    await expect.poll(() => page.title()).toBe('Approvals · Quartermaster')
    expect(desk.service.received).toHaveLength(1)
    expect(complaints).toEqual([])
  })

  test('is rejected with a reason that its caller reads, and the tool is never reached (S4.24)', async () => {
    await using desk = await startDesk()
    await using visitor = await at(desk, '/approvals', desk.keys.rita)
    const { page, complaints } = visitor
    await live(page)
    const answer = desk.call({ amount: 900 })
    await seen(page, '900')

    await page.keyboard.press('r')
    // Letters that are typed decide nothing.
    await page.getByLabel('Reason').pressSequentially('area: too much, reject')
    await page.keyboard.press('Enter')

    expect(await answer).toMatchObject({ status: 403, error: { code: 'APPROVAL_REJECTED' } })
    expect((await answer).error?.message).toContain('area: too much, reject')
    await page.getByText('Rejected: shop:refund. The caller was told why.').waitFor()
    expect(desk.service.received).toEqual([])

    await page.getByRole('link', { name: 'History' }).click()
    const row = page.getByRole('list', { name: 'History' }).getByRole('listitem')
    await row.filter({ hasText: 'area: too much' }).waitFor()
    expect(await row.textContent()).toMatch(/rejected.*Rita/)
    expect(complaints).toEqual([])
  })

  test('is changed by the form of its tool before it is approved: the change is shown, checked and kept', async () => {
    await using desk = await startDesk()
    await using visitor = await at(desk, '/approvals', adminKey)
    const { page, complaints } = visitor
    await live(page)
    const answer = desk.call({ amount: 900, note: 'as asked', customer: { name: 'Ada' } })
    await seen(page, '900')

    await page.keyboard.press('e')
    const save = page.getByRole('button', { name: 'Approve with these changes' })
    expect(await save.isDisabled()).toBe(true)
    await page.getByLabel('order').fill('much longer than the number of any order')
    await save.click()
    await expect.poll(() => page.getByRole('alert').textContent()).toMatch(/VALIDATION_FAILED.*order/)
    await page.getByLabel('order').fill('')
    await page.getByLabel('amount').fill('90')
    const changes = page.getByRole('list', { name: 'Your changes' })
    await expect.poll(() => changes.innerText()).toMatch(/amount[\s\S]*900[\s\S]*90/)
    await picture(page, 'approval-edit', 'desktop')
    await save.click()

    expect(await answer).toMatchObject({ status: 200 })
    expect(JSON.parse(desk.service.received.at(-1)?.body ?? '')).toEqual({
      amount: 90,
      note: 'as asked',
      customer: { name: 'Ada' },
    })
    await page.getByText('Approved with changes').waitFor()
    const { data } = await desk.qm.approvals.listApprovals()
    await page.goto(`${desk.url}/approvals/${data?.data[0]?.id}`)
    const kept = page.getByRole('list', { name: 'Changes to the original request' })
    await expect.poll(() => kept.innerText()).toMatch(/amount[\s\S]*900[\s\S]*90/)
    await looked(page)
      .getByText(/approved the call, and it ran/)
      .waitFor()
    expect(complaints).toEqual([])
  })

  test('is changed as JSON by whoever may not see its tool, and tells what is hidden or looks like a credential', async () => {
    const properties = { amount: { type: 'number' }, token: { type: 'string', writeOnly: true } }
    await using desk = await startDesk({ parameters: { type: 'object', properties } })
    const id = await desk.ask({ amount: 5, token: 'secret-value', password: 'DROP TABLE' })
    await using visitor = await at(desk, `/approvals/${id}`, desk.keys.rita)
    const { page } = visitor
    await seen(page, '[redacted]')
    await seen(page, 'DROP TABLE')
    const notes = await page.getByLabel('Sensitive arguments').innerText()
    expect(notes).toMatch(/token is hidden \(string, 12 characters\).*If you approve, it runs as it was sent/)
    expect(notes).toMatch(/password looks like a credential \(string, 10 characters\)/)

    await page.keyboard.press('e')
    await page.getByLabel('Input, as JSON').fill('{ "amount": 4, "token": "[redacted]" ')
    await page.getByText('Not valid JSON yet.').waitFor()
    await page.getByLabel('Input, as JSON').fill('{ "amount": 4, "token": "[redacted]" }')
    await page.getByRole('button', { name: 'Approve with these changes' }).click()
    await page.getByText('Approved with changes').waitFor()

    expect(await desk.call({ amount: 5, token: 'secret-value', password: 'DROP TABLE' })).toMatchObject({ status: 200 })
    expect(JSON.parse(desk.service.received.at(-1)?.body ?? '')).toEqual({ amount: 4, token: 'secret-value' })
  })

  test('leaves the inbox by itself when its time is up, and what is left of it turns urgent before', async () => {
    await using desk = await startDesk({ approval_timeout_seconds: 4 })
    await using visitor = await at(desk, '/approvals', desk.keys.rita)
    const { page } = visitor
    await live(page)
    const answer = desk.call({ amount: 1 })
    await waiting(page).first().waitFor()
    await looked(page).locator('time[data-urgent]').first().waitFor()
    await looked(page).getByText('decide now').waitFor()

    await page.getByText('No pending approvals').waitFor()
    await looked(page).getByText('Nobody decided in time').waitFor()
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    expect(await answer).toMatchObject({ status: 403, error: { code: 'APPROVAL_EXPIRED' } })
  })
})

describe('two who decide at once', () => {
  test('one wins, and the other is told who and what; the call is made once', async () => {
    await using desk = await startDesk()
    const answer = desk.call({ amount: 7 })
    const id = await until(
      async () => (await desk.qm.approvals.listApprovals({ query: { status: 'pending' } })).data?.data[0]?.id,
    )
    await using rita = await at(desk, `/approvals/${id}`, desk.keys.rita)
    await using rob = await at(desk, `/approvals/${id}`, desk.keys.rob)
    await seen(rita.page, '7')
    await seen(rob.page, '7')
    await Promise.all([rita.page.keyboard.press('a'), rob.page.keyboard.press('a')])

    const told = (page: Page) => page.getByText(/already approved this call. Your decision was not saved/)
    const won = (page: Page) => page.getByText('Approved: shop:refund.')
    const winner = await until(async () => {
      if (await won(rita.page).isVisible()) return 'Rita'
      return (await won(rob.page).isVisible()) ? 'Rob' : undefined
    })
    const loser = winner === 'Rita' ? rob.page : rita.page
    await told(loser)
      .or(loser.getByText(`${winner} approved the call`))
      .first()
      .waitFor()
    expect(await loser.getByText(winner).count()).toBeGreaterThan(0)
    expect(await answer).toMatchObject({ status: 200 })
    expect(desk.service.received).toHaveLength(1)
    const { data } = await desk.qm.approvals.getApproval({ path: { approval_id: id } })
    expect(data).toMatchObject({ status: 'used', decided_by: { name: winner } })
    expect(data?.decisions).toHaveLength(1)
  })

  test('someone who decides too late is told so, in words', async () => {
    await using desk = await startDesk()
    const id = await desk.ask({ amount: 7 })
    await using visitor = await visit(browser)
    const { page } = visitor
    // A page that has lost its way to the platform hears of nothing.
    await page.route('**/approvals/stream*', (route) => route.abort())
    await signIn(page, `${desk.url}/approvals/${id}`, desk.keys.rita)
    await seen(page, '7')
    await desk.qm.approvals.rejectCall({ path: { approval_id: id }, body: { reason: 'no' } })

    await page.keyboard.press('a')

    await page.getByText(/^admin .* already rejected this call. Your decision was not saved.$/).waitFor()
    await looked(page).getByText('“no”').waitFor()
    expect(desk.service.received).toEqual([])
  })

  test('with two people, each sees who has approved, and a change starts the count anew', async () => {
    await using desk = await startDesk({ auto_approve: true })
    await desk.qm.approvalRules.createApprovalRule({
      body: {
        name: 'Large refunds',
        expression: 'input.amount > 100',
        two_people: true,
        reason: 'Money is checked twice.',
      },
    })
    const answer = desk.call({ amount: 500 })
    await using rita = await at(desk, '/approvals', desk.keys.rita)
    await using admin = await at(desk, '/approvals', adminKey)
    await seen(rita.page, '500')
    await seen(admin.page, '500')
    await looked(rita.page).getByText('The rule “Large refunds” requires approval: Money is checked twice.').waitFor()

    await rita.page.keyboard.press('a')
    await rita.page.getByText('You approved this call. It needs two people').waitFor()
    expect(await rita.page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true)
    await looked(admin.page).getByText('1 of 2 people').waitFor()
    await looked(admin.page)
      .getByText(/Rita approved/)
      .waitFor()
    await picture(admin.page, 'approval-two-people', 'desktop')

    await admin.page.keyboard.press('e')
    await admin.page.getByLabel('amount').fill('400')
    await admin.page.getByRole('button', { name: 'Approve with these changes' }).click()
    await looked(rita.page).getByText('changed the arguments while you were reviewing').waitFor()
    expect(await rita.page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true)
    await rita.page.getByRole('button', { name: 'Continue with these arguments' }).click()
    await rita.page.waitForTimeout(500)
    await rita.page.keyboard.press('a')

    expect(await answer).toMatchObject({ status: 200 })
    expect(JSON.parse(desk.service.received.at(-1)?.body ?? '')).toEqual({ amount: 400 })
  })
})

describe('a call that is tried on the dashboard and needs approval', () => {
  test('says that it waits and for whom, leads to the inbox, and shows its answer once someone approves', async () => {
    await using desk = await startDesk()
    await using visitor = await at(desk, `/tools/${desk.toolId}`, adminKey)
    const { page, complaints } = visitor
    const rita = new Quartermaster({ baseUrl: desk.url, token: desk.keys.rita })
    const wait = page.getByRole('region', { name: 'Approval' })
    const waitingId = () =>
      until(async () => (await rita.approvals.listApprovals({ query: { status: 'pending' } })).data?.data[0]?.id)

    await page.getByLabel('amount').fill('30')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await wait.getByText('waiting for approval').waitFor()
    await wait.getByText('Someone else must approve the call').waitFor()
    expect(await page.getByText('pending_approval').count()).toBe(0)
    expect(await faultsOf(page)).toEqual([])
    const first = await waitingId()
    expect(await wait.getByRole('link', { name: 'Open the approval' }).getAttribute('href')).toBe(`/approvals/${first}`)
    expect(desk.service.received).toEqual([])
    await rita.approvals.approveCall({ path: { approval_id: first }, body: {} })
    await page.getByText('"ok": true').waitFor()
    expect(await wait.count()).toBe(0)
    expect(desk.service.received).toHaveLength(1)

    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await wait.getByText('waiting for approval').waitFor()
    const body = { reason: 'Once is enough' }
    await rita.approvals.rejectCall({ path: { approval_id: await waitingId() }, body })
    await wait.getByText('Rita rejected the call: Once is enough. Nothing was sent.').waitFor()

    await page.goto(`${desk.url}/calls?tool=refund&status=success`)
    await page.getByRole('link', { name: 'shop:refund' }).first().click()
    await page.getByRole('button', { name: 'Repeat this call' }).click()
    await wait.getByText('waiting for approval').waitFor()
    await rita.approvals.approveCall({ path: { approval_id: await waitingId() }, body: {} })
    await page.locator('summary', { hasText: 'Output' }).waitFor()
    expect(desk.service.received).toHaveLength(2)
    expect(complaints).toEqual([])
  })

  test('has the time that its project gives it, which is set in Settings', async () => {
    await using desk = await startDesk()
    await using visitor = await at(desk, '/settings', adminKey)
    const { page, complaints } = visitor
    const project = page.getByRole('listitem').filter({ hasText: 'proj_' }).first()

    await project.getByRole('button', { name: 'Change' }).click()
    await page.getByLabel('Approval timeout').fill('900')
    await page.getByRole('button', { name: 'Save' }).click()
    await project.getByText('approval timeout 900 seconds').waitFor()
    const id = await desk.ask({ amount: 5 })

    const { data } = await desk.qm.approvals.getApproval({ path: { approval_id: id } })
    const seconds = (Date.parse(data?.expires_at ?? '') - Date.parse(data?.created_at ?? '')) / 1000
    expect(Math.round(seconds / 10)).toBe(90)
    expect(complaints).toEqual([])
  })
})

describe('a call from each surface that can ask is decided in the browser', () => {
  let desk: Desk
  let reviewer: Visit
  let agentId: string

  beforeAll(async () => {
    desk = await startDesk()
    await desk.qm.servers.createServer({ body: { slug: 'desk' } })
    // Passes the order on that it is told of, and then says what the tool returned.
    const script = {
      steps: [
        { when: { last_tool: 'refund' }, answer: 'The refund is done.' },
        { when: {}, answer: { tool_calls: [{ name: 'refund', args: { amount: 7, order: '{{last_user}}' } }] } },
      ],
    }
    const provider = await desk.qm.aiProviders.createAiProvider({ body: { name: 'Script', type: 'replay', script } })
    const agent = await desk.qm.agents.createAgent({
      body: { name: 'Support', ai_provider_id: provider.data?.id ?? '', tool_ids: [desk.toolId] },
    })
    agentId = agent.data?.id ?? ''
    reviewer = await at(desk, '/approvals', desk.keys.rita)
    await live(reviewer.page)
  }, 90_000)
  afterAll(async () => {
    await reviewer?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })

  const overRest = async (order: string) => {
    const response = await fetch(`${desk.url}/api/v1/tools/${desk.toolId}/call`, {
      method: 'POST',
      headers: { authorization: `Bearer ${desk.keys.bot}`, 'content-type': 'application/json' },
      body: JSON.stringify({ input: { amount: 7, order } }),
    })
    return response.text()
  }
  const overSdk = async (order: string) => JSON.stringify((await desk.call({ amount: 7, order })).data)
  const overMcp = (mode: 'legacy' | 'auto') => async (order: string) => {
    const client = new Client({ name: 'test', version: '1' }, { capabilities: {}, versionNegotiation: { mode } })
    const requestInit = { headers: { authorization: `Bearer ${desk.keys.bot}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${desk.url}/mcp/desk`), { requestInit }))
    const result = await client.callTool({ name: 'shop_refund_action', arguments: { amount: 7, order } })
    await client.close()
    return JSON.stringify(result)
  }
  const onCommandLine = async (order: string) => {
    const args = ['call', 'refund', '--amount', '7', '--order', order]
    const { stdout, stderr } = await runCli(args, as(desk.url))
    return stdout + stderr
  }
  const byAgent = async (order: string) => {
    const path = { agent_id: agentId }
    const { data, error } = await desk.qm.agents.createAgentGeneration({ path, body: { prompt: order } })
    if (data?.status !== 'requires_action') throw new Error(JSON.stringify(data ?? error))
    return until(async () => {
      const { data: run } = await desk.qm.agents.getGeneration({ path: { generation_id: data.id } })
      return run?.status === 'completed' ? JSON.stringify(run.output) : undefined
    }, 30_000)
  }
  const inTryIt = async (order: string) => {
    await using visitor = await at(desk, `/tools/${desk.toolId}`, adminKey)
    const { page } = visitor
    await page.getByLabel('amount').fill('7')
    await page.getByLabel('order').fill(order)
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('"ok": true').waitFor()
    return 'ok'
  }
  const inChat = async (order: string) => {
    await using visitor = await at(desk, `/agents/${agentId}`, adminKey)
    const { page } = visitor
    await page.getByLabel('Message').fill(order)
    await page.getByLabel('Message').press('Enter')
    await page.getByText('The refund is done.').waitFor()
    return 'done'
  }

  test.each([
    ['REST', 'REST', overRest, 'ok'],
    ['the SDK', 'REST', overSdk, 'ok'],
    ['an MCP client of 2025', 'MCP', overMcp('legacy'), 'ok'],
    ['an MCP client of 2026', 'MCP', overMcp('auto'), 'ok'],
    ['the command line', 'REST', onCommandLine, 'ok'],
    ['an agent run', 'an agent', byAgent, 'done'],
    ['“Try it”', 'the dashboard', inTryIt, 'ok'],
    ['the chat', 'an agent', inChat, 'done'],
  ] as const)('%s (S4.24)', async (name, surface, call, answer) => {
    const { page } = reviewer
    const order = name.replaceAll(/[^A-Za-z0-9]/g, '').slice(0, 20)
    const before = desk.service.received.length

    const answered = call(order)
    const row = waiting(page).filter({ hasText: `order: ${order}` })
    await row.getByRole('link').click()
    await seen(page, order)
    expect(await looked(page).innerText()).toContain(`Surface\n${surface}`)
    expect(desk.service.received).toHaveLength(before)
    await page.getByRole('button', { name: 'Approve' }).click()

    expect(await answered).toContain(answer)
    expect(JSON.parse(desk.service.received.at(-1)?.body ?? '')).toEqual({ amount: 7, order })
    expect(desk.service.received).toHaveLength(before + 1)
  })

  test('a rejection in the browser reaches the caller in words, and nothing is sent (S4.24)', async () => {
    const { page } = reviewer
    const before = desk.service.received.length

    const answered = onCommandLine('rejected')
    await waiting(page).filter({ hasText: 'order: rejected' }).getByRole('link').click()
    await seen(page, 'rejected')
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.getByLabel('Reason').fill('Not on Mondays')
    await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click()

    expect(await answered).toContain('Not on Mondays')
    expect(desk.service.received).toHaveLength(before)
    expect(reviewer.complaints).toEqual([])
  })
})

test('rows show the arguments that tell calls of one action apart, and editing happens in their place', async () => {
  await using desk = await startDesk()
  for (const order of ['A-1', 'A-2', 'A-3']) await desk.ask({ amount: 20, order, note: 'broken cup' })
  await using visitor = await at(desk, '/approvals', adminKey)
  const { page } = visitor

  const marked = () => waiting(page).locator('mark').allInnerTexts()
  await expect.poll(marked).toEqual(['order: A-1', 'order: A-2', 'order: A-3'])
  await waiting(page).first().getByText('amount: 20').waitFor()
  const place = await looked(page).getByRole('heading', { name: 'Arguments' }).boundingBox()
  await page.keyboard.press('e')
  const form = looked(page).getByRole('heading', { name: 'Edit arguments' })
  await form.waitFor()
  expect((await form.boundingBox())?.y).toBe(place?.y)
  expect((await page.getByLabel('order').boundingBox())?.y).toBeLessThan(700)
})

test('whoever asked cannot decide, and is told why before trying; they may withdraw', async () => {
  await using desk = await startDesk()
  const id = await desk.ask({ amount: 3 }, desk.qm)
  await using visitor = await at(desk, '/approvals', adminKey)
  const { page } = visitor
  await seen(page, '3')

  await page.getByText('You are signed in with the key that made this call').waitFor()
  for (const name of ['Approve', 'Edit', 'Reject']) {
    expect(await page.getByRole('button', { name, exact: true }).isDisabled()).toBe(true)
  }
  await page.keyboard.press('a')
  await page.keyboard.press('r')
  expect(await page.getByRole('dialog').count()).toBe(0)
  expect((await desk.qm.approvals.getApproval({ path: { approval_id: id } })).data?.status).toBe('pending')

  await page.getByRole('button', { name: 'Withdraw' }).click()
  await page.getByText('Withdrawn: shop:refund.').waitFor()
  expect((await desk.qm.approvals.getApproval({ path: { approval_id: id } })).data?.status).toBe('cancelled')
})

test('arguments are shown as text, whatever they hold: markup, characters that hide, and very much of it', async () => {
  await using desk = await startDesk()
  const markup = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
  const id = await desk.ask({
    amount: 1,
    note: markup,
    order: 'pay \u202Eevil',
    items: Array.from({ length: 120 }, (_, n) => `item ${n}`),
    customer: { name: 'x'.repeat(500_000), [markup]: markup },
  })
  await using visitor = await at(desk, `/approvals/${id}`, desk.keys.rita)
  const { page, complaints } = visitor

  await looked(page).getByText(markup).first().waitFor()
  await looked(page).getByText('pay \\u{202e}evil').waitFor()
  await looked(page).getByText('Contains invisible characters').waitFor()
  expect(Number(await page.evaluate('document.body.innerText.length'))).toBeLessThan(20_000)
  await page.getByRole('button', { name: 'Show all 120' }).click()
  await looked(page).getByText('item 119').waitFor()
  await page.getByRole('button', { name: 'Show all 500,000 characters' }).click()
  await page.getByText('The first 20,000 of 500,000 characters.').waitFor()
  await page.getByRole('button', { name: 'Show as JSON' }).click()
  await looked(page).locator('pre').first().waitFor()
  expect(await page.evaluate('window.hacked')).toBeUndefined()
  expect(complaints).toEqual([])
})

test('keys move, open and go back, hold nothing down, and can be switched off', async () => {
  await using desk = await startDesk()
  const ids: string[] = []
  for (const amount of [1, 2, 3]) ids.push(await desk.ask({ amount }))
  await using visitor = await at(desk, '/approvals', desk.keys.rita)
  const { page } = visitor
  await waiting(page).nth(2).waitFor()
  const chosen = () => page.locator('[data-chosen]').getAttribute('href')

  await expect.poll(chosen).toContain(ids[0])
  await page.keyboard.press('j')
  await expect.poll(chosen).toContain(ids[1])
  await page.keyboard.press('ArrowDown')
  await expect.poll(chosen).toContain(ids[2])
  await page.keyboard.press('k')
  await expect.poll(chosen).toContain(ids[1])
  expect(page.url()).toContain(ids[1])
  await page.keyboard.press('Escape')
  await expect.poll(() => page.url()).not.toContain('apr_')

  // Pressed twice in haste, the key decides one call and not the next.
  await page.keyboard.press('j')
  await page.waitForTimeout(600)
  await page.keyboard.press('a')
  await page.keyboard.press('a')
  await expect.poll(() => waiting(page).count()).toBe(2)
  await page.waitForTimeout(300)
  expect((await desk.qm.approvals.listApprovals({ query: { status: 'pending' } })).data?.total).toBe(2)

  await page.getByRole('button', { name: 'Notifications and shortcuts' }).click()
  await page.getByLabel('Keyboard shortcuts').click()
  await page.getByLabel('Play a sound').click()
  await page.keyboard.press('Escape')
  await page.waitForTimeout(600)
  await page.keyboard.press('a')
  await page.waitForTimeout(300)
  expect((await desk.qm.approvals.listApprovals({ query: { status: 'pending' } })).data?.total).toBe(2)
  await page.goto(`${desk.url}/settings`)
  await expect.poll(() => page.getByLabel('Play a sound').getAttribute('aria-checked')).toBe('true')
  await expect.poll(() => page.getByLabel('Keyboard shortcuts').getAttribute('aria-checked')).toBe('false')
})

test('rules are written, told of their faults where they are, tried, switched off and deleted', async () => {
  await using desk = await startDesk({ auto_approve: true })
  await using visitor = await at(desk, '/approvals/rules', adminKey)
  const { page, complaints } = visitor

  await page.getByRole('link', { name: 'New rule' }).first().click()
  await page.getByLabel('Name').fill('Large refunds')
  await page.getByLabel('Condition').fill('input.amount >')
  await page.getByRole('button', { name: 'Create the rule' }).click()
  await page
    .getByText(/is not a condition that can be applied/)
    .first()
    .waitFor()
  expect(await page.getByLabel('Condition').getAttribute('aria-invalid')).toBe('true')

  await page.getByLabel('Condition').fill('input.amount > 100')
  await page.getByLabel('amount').fill('120')
  await page.getByRole('button', { name: 'Would it ask?' }).click()
  await page.getByText('it asks', { exact: true }).waitFor()
  await page.getByLabel('amount').fill('20')
  await page.getByRole('button', { name: 'Would it ask?' }).click()
  await page.getByText('it does not ask').waitFor()
  await page.getByLabel('Two people').click()
  await page.getByRole('button', { name: 'Create the rule' }).click()
  await page.getByText('two people').waitFor()
  expect(await desk.ask({ amount: 101 })).toMatch(/^apr_/)

  await page.getByLabel('Large refunds').click()
  await expect.poll(() => page.getByLabel('Large refunds').getAttribute('aria-checked')).toBe('false')
  await expect.poll(async () => (await desk.call({ amount: 102 })).status).toBe(200)
  await page.getByRole('link', { name: 'Large refunds' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('button', { name: 'Delete the rule' }).click()
  await page.getByText('No rules yet').waitFor()
  expect(complaints).toEqual([])
})

test('a webhook is made with a secret that is shown once, tried, and what was sent is sent again', async () => {
  await using desk = await startDesk()
  await using target = await startService(({ body }) => ({
    status: body.includes('approval') ? 500 : 200,
    body: '<b>thanks</b>',
  }))
  await using visitor = await at(desk, '/webhooks', adminKey)
  const { page, complaints } = visitor

  await page.getByRole('button', { name: 'New webhook' }).first().click()
  await page.getByLabel('Name').fill('on call')
  await page.getByLabel('URL').fill('ftp://example.com')
  await page.getByRole('button', { name: 'Create the webhook' }).click()
  await page.getByText('must be an http or https address').first().waitFor()
  await page.getByLabel('URL').fill(`${target.url}/hook`)
  await page.getByRole('button', { name: 'Create the webhook' }).click()
  expect(await page.getByTestId('secret').textContent()).toMatch(/^whsec_/)
  await page.getByRole('button', { name: 'Done' }).click()

  await page.getByRole('heading', { name: 'on call' }).waitFor()
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByText('It answered with 200.').waitFor()
  await page.getByText('<b>thanks</b>').first().waitFor()
  await desk.ask({ amount: 1 })
  const row = page.getByRole('row', { name: /approval.requested/ })
  await row.filter({ hasText: 'tried' }).waitFor()
  await row.getByRole('button').click()
  await page.getByRole('dialog').getByText('apr_').first().waitFor()
  const before = target.received.length
  await page.getByRole('button', { name: 'Redeliver' }).click()
  await expect.poll(() => target.received.length).toBeGreaterThan(before)
  await page.getByRole('button', { name: 'Close' }).last().click()

  await page.getByLabel('On', { exact: true }).click()
  await expect.poll(() => page.getByRole('button', { name: 'Send a test' }).isDisabled()).toBe(true)
  expect(complaints).toEqual([])
})

/** In milliseconds of its own work, so that a machine that does other things besides does not count. */
function longestTask(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString()) as {
    traceEvents: { name: string; pid: number; tid: number; tdur?: number; args?: { name?: string } }[]
  }
  const mains = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  )
  const tasks = traceEvents.filter(({ name, pid, tid }) => name.endsWith('RunTask') && mains.has(`${pid} ${tid}`))
  return Math.round(tasks.reduce((most, { tdur = 0 }) => Math.max(most, tdur), 0) / 1000)
}

test('what someone writes in a form stays when the record changes meanwhile, and is saved with what else has changed', async () => {
  await using desk = await startDesk()
  const body = { name: 'pager', url: desk.service.url, events: ['approval.requested' as const] }
  const { data: hook } = await desk.qm.webhooks.createWebhook({ body })
  await using visitor = await at(desk, `/webhooks/${hook?.id}`, adminKey)
  const { page, complaints } = visitor

  await page.getByLabel('Name').fill('night pager')
  await page.getByRole('switch', { name: 'On' }).click()
  await page.getByRole('switch', { name: 'On', checked: false }).waitFor()
  expect(await page.getByLabel('Name').inputValue()).toBe('night pager')
  await page.getByLabel('URL').fill('no address')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert').waitFor()
  expect(await page.getByLabel('URL').getAttribute('aria-invalid')).toBe('true')
  expect(await page.getByLabel('Name').inputValue()).toBe('night pager')
  await page.getByLabel('URL').fill(`${desk.service.url}/night`)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved', { exact: true }).waitFor()

  const { data } = await desk.qm.webhooks.getWebhook({ path: { webhook_id: hook?.id ?? '' } })
  expect(data).toMatchObject({ name: 'night pager', url: `${desk.service.url}/night`, enabled: false })
  await page.getByLabel('Name').fill('day pager')
  expect(await page.getByText('Saved', { exact: true }).count()).toBe(0)
  expect(complaints).toEqual([])
})

test('thousands that wait are scrolled without a pause, and few of them are in the page', async () => {
  await using desk = await startDesk({ approval_timeout_seconds: 3600 })
  const number = 2000
  for (let start = 0; start < number; start += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, n) => desk.ask({ amount: 1, order: `${start + n}` })))
  }
  await using visitor = await at(desk, '/approvals', desk.keys.rita)
  const { page } = visitor
  await page.getByText('2,000 pending, newest first').waitFor()
  await waiting(page).first().waitFor()
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] })
  const scroller = page.getByRole('list', { name: 'Waiting' }).locator('..')
  for (let step = 0; step < 30; step++) {
    await scroller.hover()
    await page.mouse.wheel(0, 1500)
  }
  await scroller.evaluate((element) => {
    const box = element as unknown as { scrollTop: number; scrollHeight: number }
    box.scrollTop = box.scrollHeight
  })
  await expect.poll(async () => Number(await waiting(page).last().getAttribute('aria-posinset'))).toBe(number)
  await waiting(page).last().getByRole('link').waitFor()
  await page.getByText('2,000 pending, soonest to expire first').waitFor()
  const inPage = await waiting(page).count()
  await desk.ask({ amount: 2 })
  await page.getByText('2,001 pending, soonest').waitFor()
  for (let step = 0; step < 20; step++) await page.keyboard.press('j')
  const longest = longestTask(await browser.stopTracing())

  console.log(`2,000 pending approvals: the page was never busy for more than ${longest} ms, with ${inPage} rows in it`)
  expect(inPage).toBeLessThan(60)
  expect(longest).toBeGreaterThan(0)
  expect(longest).toBeLessThan(200)
}, 120_000)

describe.each(Object.keys(sizes) as (keyof typeof sizes)[])('on a %s', (size) => {
  test('every page about approvals and webhooks can be read by everyone, fits its width, by day and by night', async () => {
    await using desk = await startDesk()
    await desk.qm.approvalRules.createApprovalRule({
      body: {
        name: 'Large refunds',
        expression: 'action.id == "shop:refund" && input.amount > 100',
        reason: 'Refunds over 100 are checked.',
        two_people: true,
        timeout_seconds: 90,
      },
    })
    await desk.qm.approvalRules.createApprovalRule({
      body: { name: 'Whatever agents do', expression: 'surface == "agent"', enabled: false },
    })
    const hook = await desk.qm.webhooks.createWebhook({
      body: { name: 'on-call channel', url: `${desk.service.url}/hook`, events: ['approval.requested'] },
    })
    const webhookId = hook.data?.id ?? ''
    await desk.qm.webhooks.testWebhook({ path: { webhook_id: webhookId } })
    const rita = new Quartermaster({ baseUrl: desk.url, token: desk.keys.rita })
    const decided: string[] = []
    for (const amount of [12, 40, 75]) decided.push(await desk.ask({ amount, order: `A-${amount}` }))
    const [rejected = '', edited = '', withdrawn = ''] = decided
    await rita.approvals.rejectCall({ path: { approval_id: rejected }, body: { reason: 'It was refunded last week.' } })
    await rita.approvals.approveCall({
      path: { approval_id: edited },
      body: { input: { amount: 25, order: 'A-40' }, reason: 'Only what is left.' },
    })
    await desk.qm.approvals.cancelApproval({ path: { approval_id: withdrawn } })
    const message = await desk.qm.tools.createTool({
      body: {
        name: 'send-message',
        description: 'Sends a message to a customer',
        level: 'restricted',
        approval_timeout_seconds: 1800,
        parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
        execute: { url: desk.service.url },
      },
    })
    await desk.ask({ amount: 19, order: 'B-19' })
    await desk.ask({ amount: 35, order: 'B-35' }, desk.qm)
    const path = { tool_id: message.data?.id ?? '' }
    await desk.bot.tools.callTool({ path, body: { input: { text: 'Your parcel is on its way.' }, wait: false } })
    const id = await desk.ask({
      order: 'B-2041',
      amount: 240,
      note: 'The parcel came open, and the cup was broken. The customer has sent two pictures and asks for the whole amount.',
      customer: { name: 'Ada Lovelace', email: 'ada@example.com' },
      items: ['cup, blue', 'saucer, blue'],
    })

    await using visitor = await at(desk, '/approvals', adminKey, size)
    const { page, complaints } = visitor
    const pages = [
      ['approvals', '/approvals'],
      ['approval', `/approvals/${id}`],
      ['approval-decided', `/approvals/${edited}`],
      ['approvals-history', '/approvals/history'],
      ['approval-rules', '/approvals/rules'],
      ['approval-rule', '/approvals/rules/new'],
      ['webhooks', '/webhooks'],
      ['webhook', `/webhooks/${webhookId}`],
    ]
    const faults: Record<string, unknown> = {}
    for (const [name, path] of pages) {
      await page.goto(`${desk.url}${path}`)
      await page.locator('h1').first().waitFor()
      await page.waitForTimeout(300)
      await expect.poll(() => page.getByText('Loading…').count(), { timeout: 15_000 }).toBe(0)
      await picture(page, name as string, size)
      const found = await faultsOf(page)
      if (found.length > 0) faults[name as string] = found
      if (name !== 'approval') continue
      await page.emulateMedia({ colorScheme: 'dark' })
      await picture(page, `${name}-dark`, size)
      await page.emulateMedia({ colorScheme: 'light' })
    }

    expect(faults).toEqual({})
    expect(complaints).toEqual([])
    if (size === 'phone') {
      await page.goto(`${desk.url}/approvals`)
      await waiting(page).filter({ hasText: 'Large refunds' }).getByRole('link').click()
      await seen(page, 'B-2041')
      await page.getByRole('button', { name: 'Reject' }).click()
      await picture(page, 'approval-reject', 'phone')
      await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click()
      await page.getByText('Rejected: shop:refund').waitFor()
      await waiting(page).first().waitFor()
    }
  }, 180_000)
})
