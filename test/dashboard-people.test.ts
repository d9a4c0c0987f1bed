import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { checkPages, faultsOf } from './axe.ts'
import { launchBrowser, settled, signIn, sizes, browserTest as test, visit } from './browser.ts'
import { startListening } from './clients.ts'
import { type CompanyIdp, startCompanyIdp } from './company-idp.ts'
import { adminKey, startService } from './kit.ts'
import { picture } from './screenshots.ts'
import { password, person } from './signing-in.ts'

// Browsers are slow while other test files run.
vi.setConfig({ testTimeout: 90_000 })

let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
}, 120_000)
afterAll(() => browser?.close())

async function withPassword(page: Page, url: string, email: string, given = password) {
  await page.goto(url)
  await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(given)
  await page.getByRole('button', { name: 'Sign in' }).click()
}
const signedIn = (page: Page) => page.locator('nav[aria-label=Pages]').waitFor({ state: 'attached' })

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

test('an owner invites a person with a link, who accepts it, signs in with the password and approves a call', async () => {
  await using service = await startService()
  await using platform = await startListening()
  const tool = { name: 'pay', parameters: { type: 'object' }, execute: { url: service.url }, auto_approve: false }
  const { id } = (await platform.post('/tools', tool)).body
  await platform.post(`/tools/${id}/call`, { input: {}, wait: false })
  await using owner = await visit(browser)
  await signIn(owner.page, `${platform.url}/people`, adminKey)

  await owner.page.getByRole('button', { name: 'Invite person' }).first().click()
  await owner.page.getByLabel('Email address').fill('rita@example.com')
  const dialog = await look(owner.page, 'invite')
  await owner.page.getByRole('button', { name: 'Create invitation' }).click()
  const link = (await owner.page.getByTestId('invitation').textContent()) ?? ''
  const shown = await look(owner.page, 'invitation-link')
  await owner.page.getByRole('button', { name: 'Done' }).click()
  await owner.page.getByRole('button', { name: 'rita', exact: true }).waitFor()

  await using guest = await visit(browser)
  const { page } = guest
  await page.goto(link)
  await page.getByLabel('Your name').fill('Rita')
  const accepting = await look(page, 'invitation')
  await page.getByLabel('New password').fill('too short')
  await page.getByRole('button', { name: 'Accept invitation' }).click()
  await page.getByLabel('New password').fill(password)
  await page.getByRole('button', { name: 'Accept invitation' }).click()
  await signedIn(page)
  await page.waitForURL(`${platform.url}/approvals`)
  const pages = await page.locator('nav[aria-label=Pages] a').allTextContents()
  expect(pages.map((name) => name.replace(/\d.*/, ''))).toEqual(['Approvals', 'Settings', 'Help'])
  await page.getByText('reviewer · rita@example.com').waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()

  await withPassword(page, `${platform.url}/approvals`, 'rita@example.com', 'a wrong password')
  await page.getByText('The email address or the password is not correct.').waitFor()
  await withPassword(page, `${platform.url}/approvals`, 'rita@example.com')
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  await expect
    .poll(async () => (await platform.get('/approvals')).body.data[0].decided_by?.name, { timeout: 20_000 })
    .toBe('Rita')

  expect([dialog, shown, accepting]).toEqual([[], [], []])
  expect([...owner.complaints, ...guest.complaints]).toEqual([])

  await page.goto(link)
  await page.getByText('INVITATION_NOT_VALID').waitFor()
})

test('an owner changes the role of a person, resets the password, disables and deletes them', async () => {
  await using platform = await startListening()
  const rita = await person(platform, 'rita@example.com', { name: 'Rita', role: 'viewer' })
  const get = async () => (await platform.get(`/users/${rita.id}`)).body
  await using owner = await visit(browser)
  const { page } = owner
  await page.goto(platform.url)
  await page.getByRole('button', { name: 'Use an API key' }).click()
  await page.getByLabel('API key').fill(adminKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await signedIn(page)
  await page.goto(`${platform.url}/people`)
  const open = () => page.getByRole('button', { name: 'Rita', exact: true }).click()

  await open()
  await page.getByLabel('Role').selectOption('editor')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved', { exact: true }).waitFor()
  const faults = await look(page, 'person')
  expect((await get()).role).toBe('editor')

  await page.getByRole('button', { name: 'Reset password' }).click()
  await page.getByRole('button', { name: 'Create link' }).click()
  expect(await page.getByTestId('invitation').textContent()).toMatch(/\/invitation#inv_/)
  await page.getByRole('button', { name: 'Done' }).click()

  await open()
  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('button', { name: 'Disable person' }).click()
  await page.getByRole('button', { name: 'Enable' }).click()
  await page.getByRole('button', { name: 'Disable', exact: true }).waitFor()
  expect((await platform.get('/users/current', rita.session)).status).toBe(401)
  expect((await get()).status).toBe('active')

  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete person' }).click()
  await page.getByText('No people yet').waitFor()
  expect(faults).toEqual([])
  expect(owner.complaints).toEqual([])
})

test('a person changes their password, and signs out everywhere', async () => {
  await using platform = await startListening()
  const rita = await person(platform, 'rita@example.com', { name: 'Rita', role: 'viewer' })
  await using visitor = await visit(browser)
  const { page } = visitor
  await withPassword(page, `${platform.url}/settings`, 'rita@example.com')
  await page.getByRole('heading', { name: 'Your account' }).waitFor()

  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByLabel('Current password').fill('not this one')
  await page.getByLabel('New password').fill('another long password')
  await page.getByRole('dialog').getByRole('button', { name: 'Change password' }).click()
  await page.getByRole('alert').getByText('is not correct').waitFor()
  await page.getByLabel('Current password').fill(password)
  await page.getByRole('dialog').getByRole('button', { name: 'Change password' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect((await platform.get('/users/current', rita.session)).status).toBe(401)

  await page.getByRole('button', { name: 'Sign out everywhere' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out', exact: true }).click()
  await page.getByLabel('Email address').waitFor()
  expect(visitor.complaints).toEqual([])
})

/** Signs in at the provider, whose pages ask for a name and a password, and then for consent. */
async function atProvider(page: Page, idp: CompanyIdp, login: string) {
  await page.waitForURL(`${idp.issuer}/interaction/**`)
  await page.locator('input[name=login]').fill(login)
  await page.locator('input[name=password]').fill('anything')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
}

test('a person signs in with a company account of another site, and returns to the page they wanted', async () => {
  await using platform = await startListening()
  await using idp = await startCompanyIdp(`${platform.url}/api/v1/dashboard/sso/callback`)
  idp.accounts.set('rita', { sub: 'rita', email: 'rita@acme.test', email_verified: true, name: 'Rita' })
  idp.accounts.set('eve', { sub: 'eve', email: 'eve@evil.test', email_verified: true })
  await using owner = await visit(browser)
  await signIn(owner.page, `${platform.url}/settings`, adminKey)
  await owner.page.getByRole('button', { name: 'Add provider' }).click()
  await owner.page.getByLabel('Name', { exact: true }).fill('Acme')
  await owner.page.getByLabel('Issuer').fill(idp.issuer)
  await owner.page.getByLabel('Client ID').fill(idp.client.client_id)
  await owner.page.getByLabel('Client secret').fill(idp.client.client_secret)
  await owner.page.getByLabel('Allowed email domains').fill('acme.test')
  await owner.page.getByLabel('People without an invitation').selectOption('viewer')
  const form = await look(owner.page, 'sign-in-provider')
  await owner.page.getByRole('dialog').getByRole('button', { name: 'Add provider' }).click()
  await owner.page.getByRole('button', { name: 'Test' }).click()
  await owner.page.getByText('The provider answers.').waitFor()
  const settings = await look(owner.page, 'settings-providers')

  await using visitor = await visit(browser)
  const { page, context } = visitor
  await page.goto(`${platform.url}/tools`)
  await page.getByRole('link', { name: 'Continue with Acme' }).waitFor()
  const entrance = await look(page, 'sign-in-people')
  await page.getByRole('link', { name: 'Continue with Acme' }).click()
  await atProvider(page, idp, 'rita')
  await page.waitForURL(`${platform.url}/tools`)
  await page.getByRole('heading', { name: 'Tools', level: 1 }).waitFor()
  await page.getByText('viewer · rita@acme.test').waitFor()
  const cookies = (await context.cookies(platform.url)).map(({ name, sameSite }) => [name.split('_')[1], sameSite])
  expect(cookies).toEqual([['session', 'Strict']])

  await using stranger = await visit(browser)
  await stranger.page.goto(platform.url)
  await stranger.page.getByRole('link', { name: 'Continue with Acme' }).click()
  await atProvider(stranger.page, idp, 'eve')
  await stranger.page.getByText('The domain of your email address is not allowed').waitFor()

  expect([form, settings, entrance]).toEqual([[], [], []])
  expect([...owner.complaints, ...visitor.complaints, ...stranger.complaints]).toEqual([])
})

test('the page after signing in with a company account gets the session, also if the platform renders it', async () => {
  await using platform = await startListening()
  await using idp = await startCompanyIdp(`${platform.url}/api/v1/dashboard/sso/callback`)
  idp.accounts.set('rita', { sub: 'rita', email: 'rita@acme.test', email_verified: true })
  await platform.post('/users', { email: 'rita@acme.test', role: 'viewer' })
  const { id } = (await platform.post('/sign-in-providers', { name: 'Acme', issuer: idp.issuer, ...idp.client })).body
  await using visitor = await visit(browser)
  const { page } = visitor

  const session = '/api/v1/dashboard/session'
  await page.goto(`${platform.url}/api/v1/dashboard/sso/${id}/start?return_to=${session}`)
  await atProvider(page, idp, 'rita')
  await page.waitForURL(`${platform.url}${session}`)

  expect(await page.locator('body').textContent()).toContain('rita@acme.test')
})

test('the company account also works if the dashboard was opened under another name of this machine', async () => {
  await using platform = await startListening()
  await using idp = await startCompanyIdp(`${platform.url}/api/v1/dashboard/sso/callback`)
  idp.accounts.set('rita', { sub: 'rita', email: 'rita@acme.test', email_verified: true })
  await platform.post('/users', { email: 'rita@acme.test', role: 'viewer' })
  await platform.post('/sign-in-providers', { name: 'Acme', issuer: idp.issuer, ...idp.client })
  await using visitor = await visit(browser)
  const { page } = visitor

  await page.goto(platform.url.replace('127.0.0.1', 'localhost'))
  await page.getByRole('link', { name: 'Continue with Acme' }).click()
  await atProvider(page, idp, 'rita')
  await page.getByText('viewer · rita@acme.test').waitFor()

  expect(new URL(page.url()).origin).toBe(platform.url)
})

test('the pages about people pass axe in both themes, and fit a desktop and a phone', async () => {
  await using platform = await startListening()
  await platform.post('/users', { email: 'ana@example.com', name: 'Ana Castro', role: 'owner' })
  const rita = await person(platform, 'rita@example.com', { name: 'Rita Lima', role: 'owner' })
  const sam = await person(platform, 'sam@example.com', {
    name: 'Sam',
    access_policy_ids: ['pol_caller', 'pol_reviewer'],
  })
  await platform.patch(`/users/${sam.id}`, { status: 'disabled' })
  const provider = { issuer: 'https://login.example.com', client_id: 'quartermaster', allowed_domains: ['example.com'] }
  await platform.post('/sign-in-providers', { name: 'Acme', default_role: 'viewer', ...provider })
  await using visitor = await visit(browser)
  const { page } = visitor
  await withPassword(page, platform.url, 'rita@example.com')
  await signedIn(page)
  await settled(page)

  const faults = await checkPages(page, [
    { name: 'people', url: `${platform.url}/people` },
    { name: 'settings-person', url: `${platform.url}/settings` },
  ])

  expect(rita.id).toMatch(/^usr_/)
  expect(faults).toEqual({})
  expect(visitor.complaints).toEqual([])
})
