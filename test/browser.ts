import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { test } from 'vitest'
import { findBrowser } from './browser-program.ts'

const program = findBrowser()

/** A test that needs a browser. It is skipped where there is none, which the run reports (test/not-tested.ts). */
export const browserTest = test.skipIf(!program)

export function launchBrowser(): Promise<Browser> {
  if (!program) throw new Error('There is no browser on this machine: use browserTest in place of test.')
  return chromium.launch({
    executablePath: program.executablePath,
    env: { ...process.env, ...program.env },
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-sync'],
  })
}

export const sizes = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } } as const

export interface Visit extends AsyncDisposable {
  readonly context: BrowserContext
  readonly page: Page
  /** What the page complained of: errors thrown, and whatever its security policy stopped. */
  readonly complaints: string[]
}

/** A browser of its own, with no cookies of anyone else's. */
export async function visit(browser: Browser, size: keyof typeof sizes = 'desktop'): Promise<Visit> {
  const context = await browser.newContext({ viewport: sizes[size], locale: 'en-GB' })
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    // That a request was answered with an error is a matter of the page, and shown by it.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) complaints.push(message.text())
  })
  return { context, page, complaints, [Symbol.asyncDispose]: () => context.close() }
}

export async function signIn(page: Page, url: string, key: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  // On a phone the menu is closed, and so is not seen.
  await page.locator('nav[aria-label=Pages]').waitFor({ state: 'attached' })
}
