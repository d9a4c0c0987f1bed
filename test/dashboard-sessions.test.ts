import { afterAll, beforeAll, expect, vi } from 'vitest'
import { stringify } from 'yaml'
import { checkPages } from './axe.ts'
import { launchBrowser, Tabs, browserTest as test } from './browser.ts'
import { type LivedIn, startLivedIn } from './lived-in.ts'

// Browsers are slow while other test files run.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 })

const manifest = stringify({
  id: 'tea-desk',
  agent_config: {
    llms: {
      generation: {
        provider: 'replay',
        script: {
          steps: [
            {
              when: { last_user: '[match-policies]' },
              answer: { text: '{"checks":[{"id":"routine:order","reason":"wants <b>tea</b>","applies":true}]}' },
            },
            { when: {}, answer: 'Which <i>tea</i>?' },
          ],
        },
      },
    },
    context: {
      policies: [{ id: 'polite', action: 'Be polite' }],
      routines: [
        {
          id: 'order',
          title: 'Order',
          conditions: ['wants tea'],
          entry: 'which',
          nodes: [
            { id: 'which', chat_state: 'Ask which', transitions: [{ to: 'confirm', condition: 'named one' }] },
            { id: 'confirm', chat_state: 'Confirm' },
          ],
        },
      ],
    },
  },
})

let tabs: Tabs
let here: LivedIn
let sessionId: string

beforeAll(async () => {
  tabs = new Tabs(await launchBrowser())
  here = await startLivedIn(10)
  const applied = await here.qm.manifests.applyManifest({ body: { manifest } })
  if (applied.error) throw new Error(applied.error.message)
  const session = await here.qm.sessions.createSession({ body: { agent_id: 'tea-desk', end_user_id: 'Ada' } })
  sessionId = session.data?.id ?? ''
})

afterAll(async () => {
  await tabs?.[Symbol.asyncDispose]()
  await here?.[Symbol.asyncDispose]()
})

test('a session is tried out in the dashboard, which shows what was decided and where the routine is', async () => {
  await using visitor = await tabs.open(`${here.platform.url}/sessions`)
  const { page, complaints } = visitor
  await page.getByRole('link', { name: 'Ada' }).click()
  await page.getByText('No events yet').waitFor()

  await page.getByLabel('Message').fill('Tea, please')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('Which <i>tea</i>?').waitFor()
  await page.getByRole('button', { name: 'Decisions' }).click()

  await page.getByText('routine:order').waitFor()
  await page.getByText('wants <b>tea</b>').first().waitFor()
  await page.getByText('policy:polite').waitFor()
  await page.getByRole('img', { name: /at which, active/ }).waitFor()
  expect(complaints).toEqual([])
})

test('a manifest is edited in the dashboard: problems by line, a diff, and the routines as they would be', async () => {
  const { data: agent } = await here.qm.agents.getAgent({ path: { agent_id: 'tea-desk' } })
  await using visitor = await tabs.open(`${here.platform.url}/agents/${agent?.id}`)
  const { page, complaints } = visitor
  const editor = page.getByLabel('Manifest', { exact: true }).and(page.locator('textarea'))
  await page.getByText('No problems').waitFor()
  const before = await editor.inputValue()

  await editor.fill(before.replace('to: confirm', 'to: cnfirm').replace('Be polite', 'Be very polite'))
  await page.getByText(/^\d problems$/).waitFor()
  await page.getByRole('button', { name: /there is no node "cnfirm"; did you mean "confirm"/ }).click()
  const selected = await page.evaluate('getSelection()?.toString() ?? ""')
  const isDisabled = await page.getByRole('button', { name: 'Apply' }).isDisabled()
  await editor.fill(before.replace('Be polite', 'Be very polite').replaceAll('confirm', 'thank'))
  await page.getByRole('img', { name: /which, thank/ }).waitFor()
  await page.locator('ins', { hasText: 'very' }).waitFor()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('Applied. The next turn uses it.').waitFor()
  await page.getByRole('button', { name: 'Start a session' }).click()
  await page.getByRole('img', { name: /which, thank; not started/ }).waitFor()

  expect(selected).toContain('to: cnfirm')
  expect(isDisabled).toBe(true)
  const { data } = await here.qm.agents.getAgentManifest({ path: { agent_id: 'tea-desk' } })
  expect(data?.manifest).toContain('Be very polite')
  await here.qm.manifests.applyManifest({ body: { manifest } })
  expect(complaints).toEqual([])
})

test('an agent is created from a manifest in the dashboard', async () => {
  await using visitor = await tabs.open(`${here.platform.url}/agents`)
  const { page } = visitor
  await page.getByRole('link', { name: 'New guided agent' }).click()
  const editor = page.locator('textarea')
  await page.getByRole('img', { name: /which, confirm/ }).waitFor()
  await editor.fill((await editor.inputValue()).replace('id: tea-desk', 'id: cola-desk'))
  await page.getByRole('button', { name: 'Create agent' }).click()

  await page.getByRole('heading', { name: 'cola-desk' }).waitFor()
  expect((await here.qm.agents.getAgent({ path: { agent_id: 'cola-desk' } })).data?.has_guide).toBe(true)
})

test('a session can be started in the dashboard', async () => {
  await using visitor = await tabs.open(`${here.platform.url}/sessions`)
  const { page } = visitor
  await page.getByLabel('Start a session with').selectOption({ label: 'tea-desk' })

  await page.getByRole('heading', { name: 'tea-desk' }).waitFor()
  await page.getByText('not started').waitFor()
})

test('the pages of sessions pass axe in both themes, and fit a desktop and a phone', async () => {
  const { data: agent } = await here.qm.agents.getAgent({ path: { agent_id: 'tea-desk' } })
  await using visitor = await tabs.open(`${here.platform.url}/sessions`)
  const faults = await checkPages(visitor.page, [
    { name: 'sessions', url: `${here.platform.url}/sessions` },
    { name: 'session', url: `${here.platform.url}/sessions/${sessionId}` },
    { name: 'manifest', url: `${here.platform.url}/agents/${agent?.id}` },
    { name: 'new-guided', url: `${here.platform.url}/agents/new-guided` },
  ])

  expect(faults).toEqual({})
})
