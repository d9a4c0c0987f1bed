import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { checkPages, faultsOf } from './axe.ts'
import { launchBrowser, settled, sizes, Tabs, browserTest as test } from './browser.ts'
import { startListening } from './clients.ts'
import { startProtected, TestBrowser } from './connect-peers.ts'
import { startService, type TestPlatform } from './kit.ts'
import { startAuthorizationServer } from './oauth-peers.ts'
import { picture } from './screenshots.ts'

// Browsers are slow while other test files run.
vi.setConfig({ testTimeout: 90_000 })

let browser: Browser
let tabs: Tabs
beforeAll(async () => {
  browser = await launchBrowser()
  tabs = new Tabs(browser)
}, 120_000)
afterAll(() => tabs?.[Symbol.asyncDispose]())

/** The page as it looks on a desktop and a phone, and what axe finds. */
async function look(page: Page, name: string): Promise<string[]> {
  const found: string[] = []
  for (const size of ['phone', 'desktop'] as const) {
    await page.setViewportSize(sizes[size])
    await picture(page, name, size)
    found.push(...(await faultsOf(page)))
  }
  return found
}

async function create(platform: TestPlatform, path: string, body: object) {
  const response = await platform.post(path, { project_id: platform.projectId, ...body })
  expect(response.status, JSON.stringify(response.body)).toBe(201)
  return response.body
}

const crm = (url: string, app = 'crm') => ({
  ...{ name: `${app}-contacts`, app, parameters: { type: 'object' } },
  execute: { url: `${url}/${app}`, method: 'GET' },
})

test('an account of an MCP server is connected on the page that the dashboard opens, revoked, and connected again', async () => {
  await using as = await startAuthorizationServer()
  await using server = await startProtected(as)
  await using platform = await startListening()
  const tool = await create(platform, '/tools', { name: 'notes', type: 'mcp', mcp: { url: server.url } })
  const read = () => platform.post(`/tools/${tool.id}/call`, { action: 'read', input: {} })
  await using visitor = await tabs.open(`${platform.url}/connections`)
  const { page, context, complaints } = visitor

  await page.getByRole('button', { name: 'Connect account' }).click()
  const form = await look(page, 'connect')
  const opened = context.waitForEvent('page')
  await page.getByRole('button', { name: 'Create link' }).click()
  const waiting = page.getByRole('status').filter({ hasText: 'Waiting for the account' })
  await waiting.waitFor()
  const link = await look(page, 'connect-link')
  await (await opened).getByRole('button').first().click()
  await page.getByText(/^Connected/).waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  const row = page.getByRole('row').filter({ hasText: 'notes' })
  await row.getByText('active', { exact: true }).waitFor()
  const connected = await read()

  await row.getByRole('button', { name: 'notes' }).click()
  const details = await look(page, 'connection')
  await page.getByRole('button', { name: 'Revoke', exact: true }).click()
  await page.getByRole('button', { name: 'Revoke connection' }).click()
  await page.getByRole('dialog').getByText('revoked', { exact: true }).waitFor()
  const revoked = await read()

  const reopened = context.waitForEvent('page')
  await page.getByRole('button', { name: 'Reconnect' }).click()
  await (await reopened).getByRole('button').first().click()
  await page.getByText(/^Connected/).waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  await row.getByText('active', { exact: true }).waitFor()
  const again = await read()

  await row.getByRole('button', { name: 'notes' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('button', { name: 'Delete connection' }).click()
  await page.getByText('No connections yet').waitFor()

  expect([connected.status, revoked.body.error?.code, again.status]).toEqual([200, 'CONNECTION_REQUIRED', 200])
  expect((await platform.get('/connections')).body.total).toBe(0)
  expect({ form, link, details }).toEqual({ form: [], link: [], details: [] })
  expect(complaints).toEqual([])
})

test('a link for an end user is shown to be sent, and is not opened here', async () => {
  await using service = await startService()
  await using platform = await startListening()
  await create(platform, '/tools', crm(service.url))
  await create(platform, '/auth-configs', { app: 'crm', type: 'bearer' })
  await using visitor = await tabs.open(`${platform.url}/connections`)
  const { page, context } = visitor

  await page.getByRole('button', { name: 'Connect account' }).click()
  await page.getByRole('dialog').getByLabel('End user').fill('ada')
  await page.getByRole('button', { name: 'Create link' }).click()
  const link = (await page.getByTestId('connect-link').textContent()) ?? ''
  await new TestBrowser().connect(link, { value: 'token-of-ada' })
  await page.getByText(/^Connected/).waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('row').filter({ hasText: 'ada' }).getByText('active', { exact: true }).waitFor()

  expect(context.pages()).toHaveLength(1)
  expect((await platform.get('/connections')).body.data).toMatchObject([{ app: 'crm', owner: { id: 'ada' } }])
})

test('an API key, a token or a password is entered in the dashboard, and never shown again', async () => {
  await using service = await startService()
  await using platform = await startListening()
  const tool = await create(platform, '/tools', crm(service.url))
  await using visitor = await tabs.open(`${platform.url}/connections`)
  const { page, complaints } = visitor

  await page.getByRole('button', { name: 'Connect account' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('How').selectOption('api_key')
  await dialog.getByLabel('API key').fill('crm-live-0123456789')
  await dialog.getByLabel('Header').fill('not a header')
  await dialog.getByRole('button', { name: 'Connect', exact: true }).click()
  await dialog.getByText('must be a valid', { exact: false }).or(dialog.getByRole('alert')).first().waitFor()
  const form = await look(page, 'connect-key')
  await dialog.getByLabel('Header').fill('x-crm-key')
  await dialog.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByRole('row').filter({ hasText: 'crm' }).getByText('active', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Connect account' }).click()
  await dialog.getByLabel('End user').fill('ada')
  await dialog.getByLabel('How').selectOption('basic')
  await dialog.getByLabel('User name').fill('ada')
  await dialog.getByLabel('Password').fill('correct horse battery')
  await dialog.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByRole('row').filter({ hasText: 'ada' }).getByText('active', { exact: true }).waitFor()
  const shown = await page.content()
  await platform.post(`/tools/${tool.id}/call`, { input: {} })
  await platform.post(`/tools/${tool.id}/call`, { input: {}, end_user_id: 'ada' })

  const [ofProject, ofAda] = service.received.map(({ headers }) => headers)
  expect(ofProject?.['x-crm-key']).toBe('crm-live-0123456789')
  expect(ofAda?.authorization).toBe(`Basic ${btoa('ada:correct horse battery')}`)
  expect(shown).not.toMatch(/crm-live|correct horse/)
  expect(form).toEqual([])
  expect(complaints.filter((one) => !one.includes('400'))).toEqual([])
})

test('a connection is diagnosed step by step, before it is connected and afterwards', async () => {
  await using as = await startAuthorizationServer()
  await using server = await startProtected(as)
  await using platform = await startListening()
  const tool = await create(platform, '/tools', { name: 'notes', type: 'mcp', mcp: { url: server.url } })
  await using visitor = await tabs.open(`${platform.url}/connections`)
  const { page, complaints } = visitor
  const dialog = page.getByRole('dialog')

  await page.getByRole('button', { name: 'Connect account' }).click()
  await dialog.getByRole('button', { name: 'Diagnose' }).click()
  await dialog.getByText('No account is connected. Connect one.').waitFor()
  const before = await dialog.getByRole('listitem').allTextContents()
  const unconnected = await look(page, 'diagnosis')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  const link = await create(platform, '/connections/link', { tool_id: tool.id })
  await new TestBrowser().connect(link.connect_url)
  await page.reload()
  await page.getByRole('row').filter({ hasText: 'notes' }).getByRole('button', { name: 'notes' }).click()
  await dialog.getByRole('button', { name: 'Diagnose' }).click()
  await dialog.getByText('Every step works.').waitFor()
  const connected = await look(page, 'diagnosis-connected')

  expect(before.map((text) => text.slice(0, 6)).at(-1)).toBe('failed')
  expect(before.join()).toContain(`${new URL(as.url).host}/.well-known/o`)
  expect({ unconnected, connected }).toEqual({ unconnected: [], connected: [] })
  expect(complaints).toEqual([])
})

test('an auth config of a well-known app needs only a client, whose secret is never shown again', async () => {
  await using platform = await startListening()
  await using visitor = await tabs.open(`${platform.url}/connections?tab=configs`)
  const { page, complaints } = visitor

  await page.getByRole('button', { name: 'New auth config' }).click()
  await page.getByLabel('App', { exact: true }).fill('acme')
  await page.getByLabel('Issuer').waitFor()
  const custom = await look(page, 'auth-config-custom')
  await page.getByLabel('App', { exact: true }).fill('github')
  await page.getByText('The endpoints of GitHub are known.').waitFor()
  await page.getByText(`${platform.url}/connect/callback`).waitFor()
  await page.getByLabel('Client ID').fill('my-client')
  await page.getByLabel('Client secret').fill('a-secret-of-the-client')
  const form = await look(page, 'auth-config')
  await page.getByRole('button', { name: 'Create auth config' }).click()
  await page.getByRole('button', { name: 'github' }).click()
  await page.getByText('Leave empty to keep the current one').waitFor()
  await page.getByLabel('Scopes').fill('read:user repo')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('my-client read:user repo').waitFor()

  expect((await platform.get('/auth-configs')).body.data).toMatchObject([
    { app: 'github', client_id: 'my-client', has_client_secret: true, scopes: ['read:user', 'repo'], issuer: null },
  ])
  expect(await page.content()).not.toContain('a-secret-of-the-client')

  await page.getByRole('button', { name: 'github' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('button', { name: 'Delete auth config' }).click()
  await page.getByText('No auth configs yet').waitFor()
  expect({ custom, form }).toEqual({ custom: [], form: [] })
  expect(complaints).toEqual([])
})

test('the list shows states, owners and errors, can be filtered, passes axe, and fits a desktop and a phone', async () => {
  await using service = await startService(({ url }) => (url.startsWith('/billing') ? { status: 401 } : undefined))
  await using platform = await startListening()
  const account = { type: 'bearer', value: 'token-0123456789' }
  for (const app of ['crm', 'billing', 'support-desk']) await create(platform, '/tools', crm(service.url, app))
  await create(platform, '/auth-configs', { app: 'crm', type: 'api_key', header: 'x-crm-key' })
  const client = { client_id: 'quartermaster-production', client_secret: 's3cret-0123', scopes: ['read:user', 'repo'] }
  await create(platform, '/auth-configs', { app: 'github', type: 'oauth2_authorization_code', ...client })
  await create(platform, '/connections', { app: 'crm', ...account, account: 'sales@acme.example' })
  await create(platform, '/connections', { app: 'billing', ...account, account: 'finance@acme.example' })
  const user = (id: string) => ({ owner: { kind: 'user', id }, account: `${id}@example.com` })
  await create(platform, '/connections', { app: 'crm', ...account, ...user('ada.lovelace') })
  const gone = await create(platform, '/connections', { app: 'support-desk', ...account, ...user('grace.hopper') })
  await platform.patch(`/connections/${gone.id}`, { status: 'revoked' })
  for (const app of ['crm', 'billing']) await platform.post(`/tools/${app}%2F${app}-contacts/call`, { input: {} })
  await using visitor = await tabs.open(`${platform.url}/connections`)
  const { page, complaints } = visitor

  const faults = await checkPages(page, [
    { name: 'connections', url: `${platform.url}/connections` },
    { name: 'auth-configs', url: `${platform.url}/connections?tab=configs` },
  ])
  await page.setViewportSize(sizes.desktop)
  await page.goto(`${platform.url}/connections`)
  await settled(page)
  const rows = page.getByRole('table', { name: 'Connections' }).getByRole('row')
  const statuses = await rows.allInnerTexts()
  await page.getByLabel('End user').fill('ada.lovelace')
  await expect.poll(() => rows.count(), { timeout: 20_000 }).toBe(2)
  await page.getByLabel('Status').selectOption('revoked')
  await page.getByText('No matching connections').waitFor()

  expect(statuses.join('\n')).toMatch(/reconnect/)
  expect(statuses.join('\n')).toMatch(/revoked/)
  expect(faults).toEqual({})
  expect(complaints).toEqual([])
})

test('a server is restricted to OAuth and to selected keys, and an issuer is trusted, with forms', async () => {
  await using platform = await startListening()
  const server = await create(platform, '/servers', { name: 'Team', slug: 'team' })
  const { id } = (await platform.post('/api-keys', { name: 'editor of ada', access_policy_ids: ['pol_caller'] })).body
  await using visitor = await tabs.open(`${platform.url}/servers/${server.id}?tab=settings`)
  const { page, complaints } = visitor

  await page.getByLabel('Credentials').selectOption('oauth')
  await page.getByLabel('Who can use it').selectOption('chosen')
  await page.getByLabel('editor of ada').check()
  const access = await look(page, 'server-access')
  await page.getByRole('button', { name: 'Save access' }).click()
  await page.getByText('Saved', { exact: true }).waitFor()

  await page.goto(`${platform.url}/settings`)
  await page.getByRole('button', { name: 'Add issuer' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Acme')
  await page.getByLabel('Issuer', { exact: true }).fill('https://login.example.com')
  const dialog = await look(page, 'trusted-issuer')
  await page.getByRole('button', { name: 'Add trusted issuer' }).click()
  await page.getByText('https://login.example.com').waitFor()
  const settings = await look(page, 'settings-issuers')

  expect((await platform.get('/servers/team')).body.access).toEqual({ methods: ['oauth'], users: [id] })
  expect((await platform.get('/trusted-issuers')).body.data).toMatchObject([
    { name: 'Acme', issuer: 'https://login.example.com', audience: null, access_policy_ids: ['pol_caller'] },
  ])
  expect({ access, dialog, settings }).toEqual({ access: [], dialog: [], settings: [] })
  expect(complaints).toEqual([])
})
