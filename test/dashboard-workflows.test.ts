import { afterAll, beforeAll, expect, vi } from 'vitest'
import type { Quartermaster } from '../src/sdk/index.ts'
import { checkPages, seriousFaults } from './axe.ts'
import { launchBrowser, sizes, soon, Tabs, browserTest as test } from './browser.ts'
import { type LivedIn, startLivedIn } from './lived-in.ts'
import { picture } from './screenshots.ts'

// Browsers are slow while other test files run.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 })

let tabs: Tabs
let here: LivedIn
let onboard: string
let failing: string

async function must<Data>(outcome: Promise<{ data: Data | undefined; error: unknown }>): Promise<Data> {
  const { data, error } = await outcome
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

const parameters = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
const markup = '<img src=x onerror="window.hacked=1">'

/** Tools of a company, a workflow that waits for an approval, and one that fails. */
async function seed(qm: Quartermaster, service: string) {
  const tool = (name: string, method: string, path: string, url = service) =>
    must(
      qm.tools.createTool({
        body: { name, app: 'crm', parameters, execute: { url: `${url}${path}`, method: method as 'GET' } },
      }),
    )
  await tool('find', 'GET', '/weather/{name}')
  for (const name of ['create', 'invite', 'remove']) await tool(name, 'POST', '/notes')
  // Nothing listens there.
  await tool('broken', 'POST', '/', 'http://127.0.0.1:9')
  const workflow = (name: string, steps: object[], description: string) =>
    must(
      qm.tools.createTool({
        body: {
          name,
          app: 'crm',
          type: 'workflow',
          description,
          workflow: { input: parameters, steps: steps as never },
        },
      }),
    )
  const input = { name: '${{ input.name }}' }
  const first = await workflow(
    'onboard',
    [
      { id: 'lead', call: 'crm:find', input },
      { id: 'account', call: 'crm:create', input, wait_for: { approval: { reason: 'It costs money.' } } },
      {
        ...{ id: 'invite', for_each: ['ana', 'ben'], concurrency: 2, call: 'crm:invite' },
        input: { name: '${{ item + steps.lead.output.city }}' },
      },
      { id: 'note', if: false, call: 'crm:create', input },
    ],
    `Makes a lead a customer ${markup}`,
  )
  const second = await workflow(
    'failing',
    [
      { id: 'account', call: 'crm:create', input },
      { id: 'charge', call: 'crm:broken', input, on_error: { call: 'crm:remove', input } },
    ],
    'Fails, and undoes what it did',
  )
  return [first.id, second.id] as const
}

const start = async (tool_id: string, name = 'Recife'): Promise<string> => {
  const run = await must(here.qm.tools.startWorkflowRun({ body: { tool_id, input: { name } } }))
  return (run as { id: string }).id
}

const detail = (id: string) => must(here.qm.workflowRuns.getWorkflowRun({ path: { workflow_run_id: id } }))

beforeAll(async () => {
  tabs = new Tabs(await launchBrowser())
  here = await startLivedIn(10)
  ;[onboard, failing] = await seed(here.qm, here.service.url)
})

afterAll(async () => {
  await tabs?.[Symbol.asyncDispose]()
  await here?.[Symbol.asyncDispose]()
})

const at = (path: string) => tabs.open(`${here.platform.url}${path}`)

test('a run is shown live on the graph of its workflow, with the input, output and record of each call', async () => {
  const id = await start(onboard)
  await using visitor = await at('/workflows')
  const { page, complaints } = visitor
  const body = { name: 'Rita', access_policy_ids: ['pol_reviewer'] }
  const reviewer = await must(here.qm.apiKeys.createApiKey({ body }))

  await page.getByRole('link', { name: 'onboard' }).last().click()
  await page.getByRole('img', { name: /lead done, account waiting, invite pending, note pending/ }).waitFor()
  await page.getByText('account waits for approval').waitFor()
  const [pending] = (await detail(id)).pending_approvals
  await fetch(`${here.platform.url}/api/v1/approvals/${pending?.approval_id}/approve`, {
    method: 'POST',
    headers: { authorization: `Bearer ${reviewer.key}`, 'content-type': 'application/json' },
    body: '{}',
  })

  await page.getByRole('img', { name: /lead done, account done, invite done, note skipped/ }).waitFor()
  await page.locator('summary').filter({ hasText: 'invite' }).click()
  await soon(() => page.getByRole('region', { name: 'Call of crm:invite' }).count()).toBe(2)
  const first = page.getByRole('region', { name: 'Call of crm:invite' }).first()
  expect(await first.textContent()).toContain('anaRecife')
  await first.getByRole('link', { name: 'Call record' }).click()
  await page.getByRole('heading', { name: 'crm:invite' }).waitFor()
  expect(complaints).toEqual([])
})

test('a failed run is resumed, and run again from a step', async () => {
  const id = await start(failing)
  await soon(async () => (await detail(id)).status).toBe('failed')
  await using visitor = await at(`/workflows/${id}`)
  const { page, complaints } = visitor

  await page.getByRole('alert').filter({ hasText: 'failed at step "charge"' }).waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await soon(async () => (await detail(id)).steps[1]?.calls.length).toBe(4)
  await page.getByRole('button', { name: 'Run again from here' }).last().click()

  await soon(() => page.url()).not.toContain(id)
  const again = await detail(page.url().split('/').at(-1) ?? '')
  expect(again).toMatchObject({ rerun_of: id })
  expect(again.steps[0]?.calls).toEqual([])
  await page.getByRole('link', { name: id }).waitFor()
  expect(complaints).toEqual([])
})

test('a run that waits is cancelled', async () => {
  const id = await start(onboard)
  await soon(async () => (await detail(id)).status).toBe('waiting')
  await using visitor = await at(`/workflows/${id}`)
  const { page } = visitor

  await page.getByRole('button', { name: 'Cancel run' }).click()
  await page.getByRole('button', { name: 'Cancel run' }).last().click()

  await page.getByText('cancelled', { exact: true }).first().waitFor()
  expect((await detail(id)).status).toBe('cancelled')
})

test('runs are filtered by workflow and status', async () => {
  const id = await start(failing)
  await soon(async () => (await detail(id)).status).toBe('failed')
  await using visitor = await at('/workflows')
  const { page } = visitor

  await page.getByLabel('Workflow', { exact: true }).selectOption({ label: 'failing' })
  await page.getByLabel('Status', { exact: true }).selectOption({ label: 'failed' })
  await soon(async () => [...new Set(await page.locator('tbody tr td:nth-child(2)').allTextContents())]).toEqual([
    'failedat charge',
  ])
  await page.getByLabel('Kind', { exact: true }).selectOption({ label: 'Programs' })

  await page.getByText('No runs').waitFor()
})

test('calls of the log become a workflow, which is drawn', async () => {
  const call = async (name: string, input: object) => {
    const [tool] = (await must(here.qm.tools.listTools({ query: { name } }))).data
    await must(here.qm.tools.callTool({ path: { tool_id: tool?.id ?? '' }, body: { input: input as never } }))
  }
  await call('find', { name: 'Lima' })
  await call('create', { name: 'Recife' })
  await using visitor = await at('/calls?app=crm&status=success')
  const { page, complaints } = visitor
  const pictures = async (name: string) => {
    for (const size of ['phone', 'desktop'] as const) {
      await page.setViewportSize(sizes[size])
      await picture(page, name, size)
    }
  }

  await page.getByRole('button', { name: 'Select calls for a workflow' }).click()
  await page.getByRole('checkbox', { name: 'Select crm:create' }).first().check()
  await page.getByRole('checkbox', { name: 'Select crm:find' }).first().check()
  await page.getByText('2 calls selected').waitFor()
  await pictures('select-calls')
  await page.getByRole('button', { name: 'Make a workflow' }).click()
  await page.getByText('${{ steps.find.output.city }}').waitFor()
  await page.getByLabel('Name').fill('from-calls')
  await page.getByText('from-calls:').waitFor()
  await pictures('make-workflow')
  expect(await seriousFaults(page)).toEqual([])
  await page.getByRole('button', { name: 'Create workflow' }).click()

  await page.getByRole('img', { name: 'from-calls: find, create' }).waitFor()
  expect(complaints).toEqual([])
})

test('the pages of workflows pass axe in both themes, and fit a desktop and a phone', async () => {
  const waiting = await start(onboard)
  const failed = await start(failing)
  await soon(async () => (await detail(waiting)).status).toBe('waiting')
  await soon(async () => (await detail(failed)).status).toBe('failed')
  await using visitor = await at('/workflows')
  const faults = await checkPages(visitor.page, [
    { name: 'workflows', url: `${here.platform.url}/workflows` },
    { name: 'workflow-run', url: `${here.platform.url}/workflows/${waiting}`, dark: true },
    { name: 'workflow-failed', url: `${here.platform.url}/workflows/${failed}` },
    { name: 'workflow-graph', url: `${here.platform.url}/tools/${failing}?tab=graph` },
  ])

  expect(faults).toEqual({})
})
