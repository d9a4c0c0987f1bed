import { randomUUID } from 'node:crypto'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, vi } from 'vitest'
import { Quartermaster } from '../src/sdk/index.ts'
import { until } from './approving.ts'
import { checkPages, faultsOf } from './axe.ts'
import { launchBrowser, sizes, soon, Tabs, browserTest as test, type Visit } from './browser.ts'
import { as, runCli } from './clients.ts'
import { adminKey, type Service, startService } from './kit.ts'
import { type Running, startProcess, temporaryFolder } from './process.ts'
import { picture } from './screenshots.ts'

// Browsers are slow while other test files run.
vi.setConfig({ testTimeout: 90_000 })

let tabs: Tabs
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let platform: Running
beforeAll(async () => {
  tabs = new Tabs(await launchBrowser())
  folder = await temporaryFolder()
  const environment = { QM_ADMIN_KEY: adminKey, QM_EMBEDDINGS: 'off', QM_PENDING_APPROVALS: '5000' }
  platform = await startProcess(folder.path, environment)
}, 60_000)
afterAll(async () => {
  await tabs?.[Symbol.asyncDispose]()
  await platform?.[Symbol.asyncDispose]()
  await folder?.[Symbol.asyncDispose]()
})

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

interface Project extends AsyncDisposable {
  readonly url: string
  readonly service: Service
  readonly toolId: string
  /** The administrator of the project, who can also decide. */
  readonly qm: Quartermaster
  /** Makes the calls. */
  readonly bot: Quartermaster
  readonly keys: Readonly<Record<'admin' | 'bot' | 'rita' | 'rob', string>>
  /** Calls the tool and waits for the decision. */
  call(
    input: object,
  ): Promise<{ status: number | undefined; data: unknown; error: { code: string; message: string } | undefined }>
  /** Calls the tool without waiting. Returns the id of the approval. */
  ask(input: object, client?: Quartermaster): Promise<string>
}

/** A project with a tool that requires approval, a caller and two reviewers. Its keys see nothing of other projects. */
async function startProject(fields: object = {}): Promise<Project> {
  const service = await startService()
  const clientFor = (token: string) => new Quartermaster({ baseUrl: platform.url, token })
  const root = clientFor(adminKey)
  const { data: project } = await root.projects.createProject({ body: { name: randomUUID() } })
  const key = async (name: string, policy: string) => {
    const body = { name, access_policy_ids: [policy], project_id: project?.id ?? '' }
    return (await root.apiKeys.createApiKey({ body })).data?.key ?? ''
  }
  const keys = {
    admin: await key('Ada', 'pol_administrator'),
    bot: await key('support bot', 'pol_caller'),
    rita: await key('Rita', 'pol_reviewer'),
    rob: await key('Rob', 'pol_reviewer'),
  }
  const [qm, bot] = [clientFor(keys.admin), clientFor(keys.bot)]
  const tool = await qm.tools.createTool({ body: { ...refund, execute: { url: service.url }, ...fields } })
  const toolId = tool.data?.id ?? ''
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
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}

/** A signed-in tab at a page. */
const at = (path: string, key: string) => tabs.open(`${platform.url}${path}`, key)

const live = (page: Page) => page.getByText('Live', { exact: true }).waitFor()
const pendingRows = (page: Page) => page.getByRole('list', { name: 'Pending approvals' }).getByRole('listitem')
const detail = (page: Page, action = 'shop:refund') => page.getByRole('article', { name: action })
/** Waits until the text is shown and the key for "approve" works. */
async function seen(page: Page, text: string) {
  await detail(page).getByText(text).first().waitFor()
  await armed(page).waitFor()
}
const armed = (page: Page) => page.locator('button[aria-keyshortcuts=a]')

describe('a call that needs approval', () => {
  test('appears in the inbox, the title and the navigation, is approved with a shortcut, and the caller gets the result (S4.24)', async () => {
    await using project = await startProject()
    await using visitor = await at('/approvals', project.keys.rita)
    const { page, complaints } = visitor
    await page.getByText('No pending approvals').waitFor()
    await live(page)

    const answer = project.call({ amount: 120, order: 'A-17', customer: { name: 'Ada' } })
    await pendingRows(page).first().waitFor()
    await seen(page, 'A-17')
    await soon(() => page.title()).toBe('(1) Approvals · Quartermaster')
    await page.getByRole('link', { name: 'Approvals 1 pending' }).waitFor()
    expect(await page.locator('link[rel=icon]').getAttribute('href')).toContain('pending')
    expect(await detail(page).textContent()).toMatch(/support bot/)
    expect(await detail(page).textContent()).toMatch(/Every call of “refund” requires approval/)
    expect(await detail(page).locator('time').first().textContent()).toMatch(/^[45]:\d\d left/)
    expect(project.service.received).toEqual([])

    await page.keyboard.press('a')
    expect(await answer).toMatchObject({ status: 200, data: { ok: true } })
    await page.getByText('Approved: shop:refund.').waitFor()
    await page.getByText('No pending approvals').waitFor()
    await soon(() => page.title()).toBe('Approvals · Quartermaster')
    expect(project.service.received).toHaveLength(1)
    expect(complaints).toEqual([])
  })

  test('is rejected with a reason that the caller receives, and nothing is sent to the tool (S4.24)', async () => {
    await using project = await startProject()
    await using visitor = await at('/approvals', project.keys.rita)
    const { page, complaints } = visitor
    await live(page)
    const answer = project.call({ amount: 900 })
    await seen(page, '900')

    await page.keyboard.press('r')
    // Shortcuts are disabled while text is typed.
    await page.getByLabel('Reason').pressSequentially('area: too much, reject')
    await page.keyboard.press('Enter')

    expect(await answer).toMatchObject({ status: 403, error: { code: 'APPROVAL_REJECTED' } })
    expect((await answer).error?.message).toContain('area: too much, reject')
    await page.getByText('Rejected: shop:refund. The caller was told why.').waitFor()
    expect(project.service.received).toEqual([])

    await page.getByRole('link', { name: 'History' }).click()
    const row = page.getByRole('list', { name: 'History' }).getByRole('listitem')
    await row.filter({ hasText: 'area: too much' }).waitFor()
    expect(await row.textContent()).toMatch(/rejected.*Rita/)
    expect(complaints).toEqual([])
  })

  test('can be edited with the form of the tool: changes are shown, validated and recorded', async () => {
    await using project = await startProject()
    await using visitor = await at('/approvals', project.keys.admin)
    const { page, complaints } = visitor
    await live(page)
    const answer = project.call({ amount: 900, note: 'as asked', customer: { name: 'Ada' } })
    await seen(page, '900')

    await page.keyboard.press('e')
    const save = page.getByRole('button', { name: 'Approve with these changes' })
    expect(await save.isDisabled()).toBe(true)
    await page.getByLabel('order').fill('much longer than the number of any order')
    await save.click()
    await soon(() => page.getByRole('alert').textContent()).toMatch(/VALIDATION_FAILED.*order/)
    await page.getByLabel('order').fill('')
    await page.getByLabel('amount').fill('90')
    const changes = page.getByRole('list', { name: 'Your changes' })
    await soon(() => changes.innerText()).toMatch(/amount[\s\S]*900[\s\S]*90/)
    await picture(page, 'approval-edit', 'desktop')
    await save.click()

    expect(await answer).toMatchObject({ status: 200 })
    expect(JSON.parse(project.service.received.at(-1)?.body ?? '')).toEqual({
      amount: 90,
      note: 'as asked',
      customer: { name: 'Ada' },
    })
    await page.getByText('Approved with changes').waitFor()
    const { data } = await project.qm.approvals.listApprovals()
    await page.goto(`${project.url}/approvals/${data?.data[0]?.id}`)
    const kept = page.getByRole('list', { name: 'Changes to the original request' })
    await soon(() => kept.innerText()).toMatch(/amount[\s\S]*900[\s\S]*90/)
    await detail(page)
      .getByText(/approved the call, and it ran/)
      .waitFor()
    expect(complaints).toEqual([])
  })

  test('can be edited as JSON by a reviewer without access to the tool, and marks hidden values and credentials', async () => {
    const properties = { amount: { type: 'number' }, token: { type: 'string', writeOnly: true } }
    await using project = await startProject({ parameters: { type: 'object', properties } })
    const id = await project.ask({ amount: 5, token: 'secret-value', password: 'DROP TABLE' })
    await using visitor = await at(`/approvals/${id}`, project.keys.rita)
    const { page } = visitor
    await seen(page, '[redacted]')
    await seen(page, 'DROP TABLE')
    const notes = await page.getByLabel('Sensitive arguments').innerText()
    expect(notes).toMatch(/token is hidden \(string, 12 characters\).*If you approve, it runs as it was sent/)
    expect(notes).toMatch(/password looks like a credential \(string, 10 characters\)/)

    await page.keyboard.press('e')
    await page.getByLabel('Input, as JSON').fill('{ "amount": 4, "token": "[redacted]" ')
    await page.getByText('Invalid JSON.').waitFor()
    await page.getByLabel('Input, as JSON').fill('{ "amount": 4, "token": "[redacted]" }')
    await page.getByRole('button', { name: 'Approve with these changes' }).click()
    await page.getByText('Approved with changes').waitFor()

    expect(await project.call({ amount: 5, token: 'secret-value', password: 'DROP TABLE' })).toMatchObject({
      status: 200,
    })
    expect(JSON.parse(project.service.received.at(-1)?.body ?? '')).toEqual({ amount: 4, token: 'secret-value' })
  })

  test('leaves the inbox when it expires, and is marked as urgent before', async () => {
    await using project = await startProject({ approval_timeout_seconds: 4 })
    await using visitor = await at('/approvals', project.keys.rita)
    const { page } = visitor
    await live(page)
    const answer = project.call({ amount: 1 })
    await pendingRows(page).first().waitFor()
    await detail(page).locator('time[data-urgent]').first().waitFor()
    await detail(page).getByText('decide now').waitFor()

    await page.getByText('No pending approvals').waitFor()
    await detail(page).getByText('Nobody decided in time').waitFor()
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    expect(await answer).toMatchObject({ status: 403, error: { code: 'APPROVAL_EXPIRED' } })
  })
})

describe('two reviewers', () => {
  test('who decide at the same moment: one wins, the other sees who decided, and the call runs once', async () => {
    await using project = await startProject()
    const answer = project.call({ amount: 7 })
    const id = await until(
      async () => (await project.qm.approvals.listApprovals({ query: { status: 'pending' } })).data?.data[0]?.id,
    )
    await using rita = await at(`/approvals/${id}`, project.keys.rita)
    await using rob = await at(`/approvals/${id}`, project.keys.rob)
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
    expect(project.service.received).toHaveLength(1)
    const { data } = await project.qm.approvals.getApproval({ path: { approval_id: id } })
    expect(data).toMatchObject({ status: 'used', decided_by: { name: winner } })
    expect(data?.decisions).toHaveLength(1)
  })

  test('a late decision is refused with an explanation', async () => {
    await using project = await startProject()
    const id = await project.ask({ amount: 7 })
    await using visitor = await at('/settings', project.keys.rita)
    const { page } = visitor
    // Without the event stream, the page does not see the decision.
    await page.route('**/approvals/stream*', (route) => route.abort())
    await page.goto(`${project.url}/approvals/${id}`)
    await seen(page, '7')
    await project.qm.approvals.rejectCall({ path: { approval_id: id }, body: { reason: 'no' } })

    await page.keyboard.press('a')

    await page.getByText(/^Ada .*already rejected this call. Your decision was not saved.$/).waitFor()
    await detail(page).getByText('“no”').waitFor()
    expect(project.service.received).toEqual([])
  })

  test('see who has approved, and an edit resets the count', async () => {
    await using project = await startProject({ auto_approve: true })
    await project.qm.approvalRules.createApprovalRule({
      body: {
        name: 'Large refunds',
        expression: 'input.amount > 100',
        two_people: true,
        reason: 'Money is checked twice.',
      },
    })
    const answer = project.call({ amount: 500 })
    await using rita = await at('/approvals', project.keys.rita)
    await using admin = await at('/approvals', project.keys.admin)
    await seen(rita.page, '500')
    await seen(admin.page, '500')
    await detail(rita.page).getByText('The rule “Large refunds” requires approval: Money is checked twice.').waitFor()

    await rita.page.keyboard.press('a')
    await rita.page.getByText('You approved this call. It needs two people').waitFor()
    expect(await rita.page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true)
    await detail(admin.page).getByText('1 of 2 people').waitFor()
    await detail(admin.page)
      .getByText(/Rita approved/)
      .waitFor()
    await picture(admin.page, 'approval-two-people', 'desktop')

    await admin.page.keyboard.press('e')
    await admin.page.getByLabel('amount').fill('400')
    await admin.page.getByRole('button', { name: 'Approve with these changes' }).click()
    await detail(rita.page).getByText('changed the arguments while you were reviewing').waitFor()
    expect(await rita.page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true)
    await rita.page.getByRole('button', { name: 'Continue with these arguments' }).click()
    await armed(rita.page).waitFor()
    await rita.page.keyboard.press('a')

    expect(await answer).toMatchObject({ status: 200 })
    expect(JSON.parse(project.service.received.at(-1)?.body ?? '')).toEqual({ amount: 400 })
  })
})

describe('a call made on the dashboard that needs approval', () => {
  test('says that it is pending, links to the approval, and shows its output once it is approved', async () => {
    await using project = await startProject()
    await using visitor = await at(`/tools/${project.toolId}`, project.keys.admin)
    const { page, complaints } = visitor
    const rita = new Quartermaster({ baseUrl: project.url, token: project.keys.rita })
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
    expect(await wait.getByRole('link', { name: 'Open approval' }).getAttribute('href')).toBe(`/approvals/${first}`)
    expect(project.service.received).toEqual([])
    await rita.approvals.approveCall({ path: { approval_id: first }, body: {} })
    await page.getByText('"ok": true').waitFor()
    expect(await wait.count()).toBe(0)
    expect(project.service.received).toHaveLength(1)

    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await wait.getByText('waiting for approval').waitFor()
    const body = { reason: 'Once is enough' }
    await rita.approvals.rejectCall({ path: { approval_id: await waitingId() }, body })
    await wait.getByText('Rita rejected the call: Once is enough. Nothing was sent.').waitFor()

    await page.goto(`${project.url}/calls?tool=refund&status=success`)
    await page.getByRole('link', { name: 'shop:refund' }).first().click()
    await page.getByRole('button', { name: 'Repeat this call' }).click()
    await wait.getByText('waiting for approval').waitFor()
    await rita.approvals.approveCall({ path: { approval_id: await waitingId() }, body: {} })
    await page.locator('summary', { hasText: 'Output' }).waitFor()
    expect(project.service.received).toHaveLength(2)
    expect(complaints).toEqual([])
  })

  test('uses the approval timeout of its project, which Settings can change', async () => {
    await using project = await startProject()
    await using visitor = await at('/settings', project.keys.admin)
    const { page, complaints } = visitor
    const row = page.getByRole('listitem').filter({ hasText: 'proj_' }).first()

    await row.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Approval timeout').fill('900')
    await page.getByRole('button', { name: 'Save' }).click()
    await row.getByText('approval timeout 900 seconds').waitFor()
    const id = await project.ask({ amount: 5 })

    const { data } = await project.qm.approvals.getApproval({ path: { approval_id: id } })
    const seconds = (Date.parse(data?.expires_at ?? '') - Date.parse(data?.created_at ?? '')) / 1000
    expect(Math.round(seconds / 10)).toBe(90)
    expect(complaints).toEqual([])
  })
})

describe('a call from each surface can be decided in the browser', () => {
  let project: Project
  let reviewer: Visit
  let agentId: string

  beforeAll(async () => {
    project = await startProject()
    await project.qm.servers.createServer({ body: { slug: 'desk' } })
    // Forwards the order number from the prompt, then repeats what the tool returned.
    const script = {
      steps: [
        { when: { last_tool: 'refund' }, answer: 'The refund is done.' },
        { when: {}, answer: { tool_calls: [{ name: 'refund', args: { amount: 7, order: '{{last_user}}' } }] } },
      ],
    }
    const provider = await project.qm.aiProviders.createAiProvider({ body: { name: 'Script', type: 'replay', script } })
    const agent = await project.qm.agents.createAgent({
      body: { name: 'Support', ai_provider_id: provider.data?.id ?? '', tool_ids: [project.toolId] },
    })
    agentId = agent.data?.id ?? ''
    reviewer = await at('/approvals', project.keys.rita)
    await live(reviewer.page)
  }, 90_000)
  afterAll(async () => {
    await reviewer?.[Symbol.asyncDispose]()
    await project?.[Symbol.asyncDispose]()
  })

  const overRest = async (order: string) => {
    const response = await fetch(`${project.url}/api/v1/tools/${project.toolId}/call`, {
      method: 'POST',
      headers: { authorization: `Bearer ${project.keys.bot}`, 'content-type': 'application/json' },
      body: JSON.stringify({ input: { amount: 7, order } }),
    })
    return response.text()
  }
  const overSdk = async (order: string) => JSON.stringify((await project.call({ amount: 7, order })).data)
  const overMcp = (mode: 'legacy' | 'auto') => async (order: string) => {
    const client = new Client({ name: 'test', version: '1' }, { capabilities: {}, versionNegotiation: { mode } })
    const requestInit = { headers: { authorization: `Bearer ${project.keys.bot}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${project.url}/mcp/desk`), { requestInit }))
    const result = await client.callTool({ name: 'shop_refund_action', arguments: { amount: 7, order } })
    await client.close()
    return JSON.stringify(result)
  }
  const onCommandLine = async (order: string) => {
    const args = ['call', 'refund', '--amount', '7', '--order', order]
    const { stdout, stderr } = await runCli(args, as(project.url, project.keys.bot))
    return stdout + stderr
  }
  const byAgent = async (order: string) => {
    const path = { agent_id: agentId }
    const { data, error } = await project.qm.agents.createAgentGeneration({ path, body: { prompt: order } })
    if (data?.status !== 'requires_action') throw new Error(JSON.stringify(data ?? error))
    return until(async () => {
      const { data: run } = await project.qm.agents.getGeneration({ path: { generation_id: data.id } })
      return run?.status === 'completed' ? JSON.stringify(run.output) : undefined
    }, 30_000)
  }
  const inTryIt = async (order: string) => {
    await using visitor = await at(`/tools/${project.toolId}`, project.keys.admin)
    const { page } = visitor
    await page.getByLabel('amount').fill('7')
    await page.getByLabel('order').fill(order)
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('"ok": true').waitFor()
    return 'ok'
  }
  const inChat = async (order: string) => {
    await using visitor = await at(`/agents/${agentId}`, project.keys.admin)
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
    const before = project.service.received.length

    const answered = call(order)
    const row = pendingRows(page).filter({ hasText: `order: ${order}` })
    await row.getByRole('link').click()
    await seen(page, order)
    expect(await detail(page).innerText()).toContain(`Surface\n${surface}`)
    expect(project.service.received).toHaveLength(before)
    await page.getByRole('button', { name: 'Approve' }).click()

    expect(await answered).toContain(answer)
    expect(JSON.parse(project.service.received.at(-1)?.body ?? '')).toEqual({ amount: 7, order })
    expect(project.service.received).toHaveLength(before + 1)
  })

  test('a rejection in the browser reaches the caller with its reason, and nothing is sent (S4.24)', async () => {
    const { page } = reviewer
    const before = project.service.received.length

    const answered = onCommandLine('rejected')
    await pendingRows(page).filter({ hasText: 'order: rejected' }).getByRole('link').click()
    await seen(page, 'rejected')
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.getByLabel('Reason').fill('Not on Mondays')
    await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click()

    expect(await answered).toContain('Not on Mondays')
    expect(project.service.received).toHaveLength(before)
    expect(reviewer.complaints).toEqual([])
  })
})

test('rows show the arguments that differ among calls of one action, and the edit form replaces the arguments', async () => {
  await using project = await startProject()
  for (const order of ['A-1', 'A-2', 'A-3']) await project.ask({ amount: 20, order, note: 'broken cup' })
  await using visitor = await at('/approvals', project.keys.admin)
  const { page } = visitor

  const marked = () => pendingRows(page).locator('mark').allInnerTexts()
  await soon(marked).toEqual(['order: A-1', 'order: A-2', 'order: A-3'])
  await pendingRows(page).first().getByText('amount: 20').waitFor()
  const place = await detail(page).getByRole('heading', { name: 'Arguments' }).boundingBox()
  await page.keyboard.press('e')
  const form = detail(page).getByRole('heading', { name: 'Edit arguments' })
  await form.waitFor()
  expect((await form.boundingBox())?.y).toBe(place?.y)
  expect((await page.getByLabel('order').boundingBox())?.y).toBeLessThan(700)
})

test('callers cannot decide on their own calls, see why, and can withdraw them', async () => {
  await using project = await startProject()
  const id = await project.ask({ amount: 3 }, project.qm)
  await using visitor = await at('/approvals', project.keys.admin)
  const { page } = visitor
  await seen(page, '3')

  await page.getByText('You are signed in with the key that made this call').waitFor()
  for (const name of ['Approve', 'Edit', 'Reject']) {
    expect(await page.getByRole('button', { name, exact: true }).isDisabled()).toBe(true)
  }
  await page.keyboard.press('a')
  await page.keyboard.press('r')
  expect(await page.getByRole('dialog').count()).toBe(0)
  expect((await project.qm.approvals.getApproval({ path: { approval_id: id } })).data?.status).toBe('pending')

  await page.getByRole('button', { name: 'Withdraw' }).click()
  await page.getByText('Withdrawn: shop:refund.').waitFor()
  expect((await project.qm.approvals.getApproval({ path: { approval_id: id } })).data?.status).toBe('cancelled')
})

test('arguments are shown as text, including markup, invisible characters and very long values', async () => {
  await using project = await startProject()
  const markup = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
  const id = await project.ask({
    amount: 1,
    note: markup,
    order: 'pay \u202Eevil',
    items: Array.from({ length: 120 }, (_, n) => `item ${n}`),
    customer: { name: 'x'.repeat(500_000), [markup]: markup },
  })
  await using visitor = await at(`/approvals/${id}`, project.keys.rita)
  const { page, complaints } = visitor

  await detail(page).getByText(markup).first().waitFor()
  await detail(page).getByText('pay \\u{202e}evil').waitFor()
  await detail(page).getByText('Contains invisible characters').waitFor()
  expect(Number(await page.evaluate('document.body.innerText.length'))).toBeLessThan(20_000)
  await page.getByRole('button', { name: 'Show all 120' }).click()
  await detail(page).getByText('item 119').waitFor()
  await page.getByRole('button', { name: 'Show all 500,000 characters' }).click()
  await page.getByText('The first 20,000 of 500,000 characters.').waitFor()
  await page.getByRole('button', { name: 'Show as JSON' }).click()
  await detail(page).locator('pre').first().waitFor()
  expect(await page.evaluate('window.hacked')).toBeUndefined()
  expect(complaints).toEqual([])
})

test('shortcuts move, open and go back, ignore a double press, and can be turned off', async () => {
  await using project = await startProject()
  const ids: string[] = []
  for (const amount of [1, 2, 3]) ids.push(await project.ask({ amount }))
  await using visitor = await at('/approvals', project.keys.rita)
  const { page } = visitor
  await pendingRows(page).nth(2).waitFor()
  const chosen = () => page.locator('[data-chosen]').getAttribute('href')

  await soon(chosen).toContain(ids[0])
  await page.keyboard.press('j')
  await soon(chosen).toContain(ids[1])
  await page.keyboard.press('ArrowDown')
  await soon(chosen).toContain(ids[2])
  await page.keyboard.press('k')
  await soon(chosen).toContain(ids[1])
  expect(page.url()).toContain(ids[1])
  await page.keyboard.press('Escape')
  await soon(() => page.url()).not.toContain('apr_')

  // A double press decides one call, not two.
  const decisions: string[] = []
  page.on('request', (request) => request.url().endsWith('/approve') && decisions.push(request.url()))
  await page.keyboard.press('j')
  await armed(page).waitFor()
  await page.keyboard.press('a')
  await page.keyboard.press('a')
  await soon(() => pendingRows(page).count()).toBe(2)
  await armed(page).waitFor()
  expect(decisions).toHaveLength(1)

  await page.getByRole('button', { name: 'Notifications and shortcuts' }).click()
  await page.getByLabel('Keyboard shortcuts').click()
  await page.getByLabel('Play a sound').click()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('a')
  await page.getByRole('button', { name: 'Notifications and shortcuts' }).click()
  await page.keyboard.press('Escape')
  expect(decisions).toHaveLength(1)
  expect((await project.qm.approvals.listApprovals({ query: { status: 'pending' } })).data?.total).toBe(2)
  await page.goto(`${project.url}/settings`)
  await soon(() => page.getByLabel('Play a sound').getAttribute('aria-checked')).toBe('true')
  await soon(() => page.getByLabel('Keyboard shortcuts').getAttribute('aria-checked')).toBe('false')
})

test('rules are created with errors shown at their fields, tested, disabled and deleted', async () => {
  await using project = await startProject({ auto_approve: true })
  await using visitor = await at('/approvals/rules', project.keys.admin)
  const { page, complaints } = visitor

  await page.getByRole('link', { name: 'New rule' }).first().click()
  await page.getByLabel('Name').fill('Large refunds')
  await page.getByLabel('Condition').fill('input.amount >')
  await page.getByRole('button', { name: 'Create rule' }).click()
  await page
    .getByText(/is not a valid condition/)
    .first()
    .waitFor()
  expect(await page.getByLabel('Condition').getAttribute('aria-invalid')).toBe('true')

  await page.getByLabel('Condition').fill('input.amount > 100')
  await page.getByLabel('amount').fill('120')
  await page.getByRole('button', { name: 'Test rule' }).click()
  await page.getByText('requires approval', { exact: true }).waitFor()
  await page.getByLabel('amount').fill('20')
  await page.getByRole('button', { name: 'Test rule' }).click()
  await page.getByText('does not match').waitFor()
  await page.getByLabel('Two people').click()
  await page.getByRole('button', { name: 'Create rule' }).click()
  await page.getByText('two people').waitFor()
  expect(await project.ask({ amount: 101 })).toMatch(/^apr_/)

  await page.getByLabel('Large refunds').click()
  await soon(() => page.getByLabel('Large refunds').getAttribute('aria-checked')).toBe('false')
  await soon(async () => (await project.call({ amount: 102 })).status).toBe(200)
  await page.getByRole('link', { name: 'Large refunds' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('button', { name: 'Delete rule' }).click()
  await page.getByText('No rules yet').waitFor()
  expect(complaints).toEqual([])
})

test('a webhook is created with a secret shown once, tested, and its deliveries can be sent again', async () => {
  await using project = await startProject()
  await using target = await startService(({ body }) => ({
    status: body.includes('approval') ? 500 : 200,
    body: '<b>thanks</b>',
  }))
  await using visitor = await at('/webhooks', project.keys.admin)
  const { page, complaints } = visitor

  await page.getByRole('button', { name: 'New webhook' }).first().click()
  await page.getByLabel('Name').fill('on call')
  await page.getByLabel('URL').fill('ftp://example.com')
  await page.getByRole('button', { name: 'Create webhook' }).click()
  await page.getByText('must be an http or https URL').first().waitFor()
  await page.getByLabel('URL').fill(`${target.url}/hook`)
  await page.getByRole('button', { name: 'Create webhook' }).click()
  expect(await page.getByTestId('secret').textContent()).toMatch(/^whsec_/)
  await page.getByRole('button', { name: 'Done' }).click()

  await page.getByRole('heading', { name: 'on call' }).waitFor()
  await page.getByRole('button', { name: 'Send test event' }).click()
  await page.getByText('The endpoint returned 200.').waitFor()
  await page.getByText('<b>thanks</b>').first().waitFor()
  await project.ask({ amount: 1 })
  const row = page.getByRole('row', { name: /approval.requested/ })
  await until(async () => target.received.find(({ body }) => body.includes('approval.requested')))
  await page.reload()
  await row.filter({ hasText: 'retrying' }).waitFor()
  await row.getByRole('button').click()
  await page.getByRole('dialog').getByText('apr_').first().waitFor()
  const before = target.received.length
  await page.getByRole('button', { name: 'Redeliver' }).click()
  await soon(() => target.received.length).toBeGreaterThan(before)
  await page.getByRole('button', { name: 'Close' }).last().click()

  await page.getByLabel('Enabled').click()
  await soon(() => page.getByRole('button', { name: 'Send test event' }).isDisabled()).toBe(true)
  expect(complaints).toEqual([])
})

test('unsaved edits survive a change of the record, and saving keeps both', async () => {
  await using project = await startProject()
  const body = { name: 'pager', url: project.service.url, events: ['approval.requested' as const] }
  const { data: hook } = await project.qm.webhooks.createWebhook({ body })
  await using visitor = await at(`/webhooks/${hook?.id}`, project.keys.admin)
  const { page, complaints } = visitor

  await page.getByLabel('Name').fill('night pager')
  await page.getByRole('switch', { name: 'Enabled' }).click()
  await page.getByRole('switch', { name: 'Enabled', checked: false }).waitFor()
  expect(await page.getByLabel('Name').inputValue()).toBe('night pager')
  await page.getByLabel('URL').fill('no address')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert').waitFor()
  expect(await page.getByLabel('URL').getAttribute('aria-invalid')).toBe('true')
  expect(await page.getByLabel('Name').inputValue()).toBe('night pager')
  await page.getByLabel('URL').fill(`${project.service.url}/night`)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved', { exact: true }).waitFor()

  const { data } = await project.qm.webhooks.getWebhook({ path: { webhook_id: hook?.id ?? '' } })
  expect(data).toMatchObject({ name: 'night pager', url: `${project.service.url}/night`, enabled: false })
  await page.getByLabel('Name').fill('day pager')
  expect(await page.getByText('Saved', { exact: true }).count()).toBe(0)
  expect(complaints).toEqual([])
})

test('the inbox scrolls through more approvals than one request returns, with few rows in the page', async () => {
  await using project = await startProject({ approval_timeout_seconds: 3600 })
  const number = 600
  for (let start = 0; start < number; start += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, n) => project.ask({ amount: 1, order: `${start + n}` })))
  }
  await using visitor = await at('/approvals', project.keys.rita)
  const { page } = visitor
  await page.getByText('600 pending, newest first').waitFor()
  await pendingRows(page).first().waitFor()
  const scroller = page.getByRole('list', { name: 'Pending approvals' }).locator('..')
  await scroller.evaluate((element) => {
    const box = element as unknown as { scrollTop: number; scrollHeight: number }
    box.scrollTop = box.scrollHeight
  })
  await soon(async () => Number(await pendingRows(page).last().getAttribute('aria-posinset'))).toBe(number)
  await pendingRows(page).last().getByRole('link').waitFor()
  await page.getByText('600 pending, soonest to expire first').waitFor()
  const inPage = await pendingRows(page).count()
  await project.ask({ amount: 2 })
  await page.getByText('601 pending, soonest').waitFor()

  expect(inPage).toBeLessThan(60)
})

test('pages for approvals and webhooks pass axe in both themes, fit a desktop and a phone, and a phone can decide', async () => {
  await using project = await startProject()
  await project.qm.approvalRules.createApprovalRule({
    body: {
      name: 'Large refunds',
      expression: 'action.id == "shop:refund" && input.amount > 100',
      reason: 'Refunds over 100 are checked.',
      two_people: true,
      timeout_seconds: 90,
    },
  })
  await project.qm.approvalRules.createApprovalRule({
    body: { name: 'Whatever agents do', expression: 'surface == "agent"', enabled: false },
  })
  const hook = await project.qm.webhooks.createWebhook({
    body: { name: 'on-call channel', url: `${project.service.url}/hook`, events: ['approval.requested'] },
  })
  const webhookId = hook.data?.id ?? ''
  await project.qm.webhooks.testWebhook({ path: { webhook_id: webhookId } })
  const rita = new Quartermaster({ baseUrl: project.url, token: project.keys.rita })
  const decided: string[] = []
  for (const amount of [12, 40, 75]) decided.push(await project.ask({ amount, order: `A-${amount}` }))
  const [rejected = '', edited = '', withdrawn = ''] = decided
  await rita.approvals.rejectCall({ path: { approval_id: rejected }, body: { reason: 'It was refunded last week.' } })
  await rita.approvals.approveCall({
    path: { approval_id: edited },
    body: { input: { amount: 25, order: 'A-40' }, reason: 'Only what is left.' },
  })
  await project.qm.approvals.cancelApproval({ path: { approval_id: withdrawn } })
  const message = await project.qm.tools.createTool({
    body: {
      name: 'send-message',
      description: 'Sends a message to a customer',
      level: 'restricted',
      approval_timeout_seconds: 1800,
      parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      execute: { url: project.service.url },
    },
  })
  await project.ask({ amount: 19, order: 'B-19' })
  await project.ask({ amount: 35, order: 'B-35' }, project.qm)
  const path = { tool_id: message.data?.id ?? '' }
  await project.bot.tools.callTool({ path, body: { input: { text: 'Your parcel is on its way.' }, wait: false } })
  const id = await project.ask({
    order: 'B-2041',
    amount: 240,
    note: 'The parcel came open, and the cup was broken. The customer has sent two pictures and asks for the whole amount.',
    customer: { name: 'Ada Lovelace', email: 'ada@example.com' },
    items: ['cup, blue', 'saucer, blue'],
  })

  await using visitor = await at('/approvals', project.keys.admin)
  const { page, complaints } = visitor
  const faults = await checkPages(
    page,
    [
      ['approvals', '/approvals'],
      ['approval', `/approvals/${id}`],
      ['approval-decided', `/approvals/${edited}`],
      ['approvals-history', '/approvals/history'],
      ['approval-rules', '/approvals/rules'],
      ['approval-rule', '/approvals/rules/new'],
      ['webhooks', '/webhooks'],
      ['webhook', `/webhooks/${webhookId}`],
    ].map(([name = '', path]) => ({
      name,
      url: `${project.url}${path}`,
      ...(name === 'approval' && { dark: true as const }),
    })),
  )

  expect(faults).toEqual({})
  expect(complaints).toEqual([])

  await page.setViewportSize(sizes.phone)
  await page.goto(`${project.url}/approvals`)
  await pendingRows(page).filter({ hasText: 'Large refunds' }).getByRole('link').click()
  await seen(page, 'B-2041')
  await page.getByRole('button', { name: 'Reject' }).click()
  await picture(page, 'approval-reject', 'phone')
  await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click()
  await page.getByText('Rejected: shop:refund').waitFor()
  await pendingRows(page).first().waitFor()
}, 180_000)
