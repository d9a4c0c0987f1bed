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

test('a session can be started in the dashboard', async () => {
  await using visitor = await tabs.open(`${here.platform.url}/sessions`)
  const { page } = visitor
  await page.getByLabel('Start a session with').selectOption({ label: 'tea-desk' })

  await page.getByRole('heading', { name: 'tea-desk' }).waitFor()
  await page.getByText('not started').waitFor()
})

test('the pages of sessions pass axe in both themes, and fit a desktop and a phone', async () => {
  await using visitor = await tabs.open(`${here.platform.url}/sessions`)
  const faults = await checkPages(visitor.page, [
    { name: 'sessions', url: `${here.platform.url}/sessions` },
    { name: 'session', url: `${here.platform.url}/sessions/${sessionId}` },
  ])

  expect(faults).toEqual({})
})
