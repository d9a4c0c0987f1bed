import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchBrowser, signIn, visit } from './browser.ts'
import { adminKey } from './kit.ts'
import { type Running, startProcess, temporaryFolder } from './process.ts'

let browser: Browser
let platform: Running
let folder: Awaited<ReturnType<typeof temporaryFolder>>

beforeAll(async () => {
  browser = await launchBrowser()
  folder = await temporaryFolder()
  platform = await startProcess(folder.path, { QM_ADMIN_KEY: adminKey, QM_EMBEDDINGS: 'off' })
})
afterAll(async () => {
  await browser?.close()
  await platform?.[Symbol.asyncDispose]()
  await folder?.[Symbol.asyncDispose]()
})

test('someone with a key signs in and out; a wrong key is told so', async () => {
  await using visitor = await visit(browser)
  const { page, context, complaints } = visitor

  await page.goto(platform.url)
  await page.getByLabel('API key').fill('sk_wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect.poll(() => page.getByRole('alert').textContent()).toMatch(/UNAUTHENTICATED.*not known/)

  await signIn(page, `${platform.url}/`, adminKey)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const [cookie] = await context.cookies()
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
  expect(cookie?.value).not.toContain(adminKey)

  await page.reload()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()

  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('API key').waitFor()
  expect(
    (await fetch(`${platform.url}/api/v1/tools`, { headers: { cookie: `qm_session=${cookie?.value}` } })).status,
  ).toBe(401)
  expect(complaints).toEqual([])
})
