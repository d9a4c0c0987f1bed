import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

const places = [
  process.env.QM_BROWSER,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:/Program Files/Google/Chrome/Application/chrome.exe',
]

/** A real browser of this machine. Without one the tests fail: what was not looked at is not known to work. */
export function launchBrowser(): Promise<Browser> {
  const executablePath = places.find((place) => place && existsSync(place))
  if (!executablePath) {
    throw new Error(
      'The dashboard is tested in a browser, and there is none: install Chromium (apt-get install chromium) or Chrome, or name one in QM_BROWSER.',
    )
  }
  return chromium.launch({
    executablePath,
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
