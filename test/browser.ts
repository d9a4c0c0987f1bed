import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { findBrowser } from './browser-program.ts'
import { adminKey } from './kit.ts'

const program = findBrowser()

/** A test that needs a browser. Without one it is skipped, which the run reports (test/not-tested.ts). */
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

interface Tab {
  readonly context: BrowserContext
  readonly page: Page
  /** Errors that the page threw or logged, including violations of its content security policy. */
  readonly complaints: string[]
}

export interface Visit extends Tab, AsyncDisposable {}

/** A new browser context, without cookies. */
export async function visit(browser: Browser): Promise<Visit> {
  const context = await browser.newContext({ viewport: sizes.desktop, locale: 'en-GB' })
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    // The page itself shows that a request failed.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) complaints.push(message.text())
  })
  return { context, page, complaints, [Symbol.asyncDispose]: () => context.close() }
}

/** Signs in as a person does, with the form. */
export async function signIn(page: Page, url: string, key: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  // On a phone the menu is closed and therefore hidden.
  await page.locator('nav[aria-label=Pages]').waitFor({ state: 'attached' })
}

/**
 * Signed-in tabs. A new browser context loads and compiles the whole dashboard, so a test reuses the tab of an earlier
 * one: signed in with its own key, with empty storage, and at a page that is loaded from scratch.
 */
export class Tabs implements AsyncDisposable {
  readonly #idle: (Tab & { readonly session: string })[] = []
  readonly #browser: Browser

  constructor(browser: Browser) {
    this.#browser = browser
  }

  /** A tab at a page, once the page has loaded its data. */
  async open(url: string, key = adminKey): Promise<Visit> {
    const { origin } = new URL(url)
    const session = `${origin} ${key}`
    const place = this.#idle.findIndex((one) => one.session === session)
    const reused = place >= 0 ? this.#idle.splice(place, 1)[0] : this.#idle.pop()
    const { context, page, complaints } = reused ?? (await visit(this.#browser))
    if (reused?.session !== session) {
      const answer = await context.request.post(`${origin}/api/v1/dashboard/session`, {
        data: { key },
        headers: { origin },
      })
      if (!answer.ok()) throw new Error(await answer.text())
    }
    await page.goto(url)
    await settled(page)
    complaints.length = 0
    return {
      ...{ context, page, complaints },
      [Symbol.asyncDispose]: async () => {
        try {
          // Chromium slows down a page that is behind another one.
          for (const other of context.pages()) if (other !== page) await other.close()
          await page.unrouteAll({ behavior: 'ignoreErrors' })
          await page.evaluate('localStorage.clear()')
          await page.emulateMedia({ colorScheme: 'light' })
          await page.setViewportSize(sizes.desktop)
          await page.goto('about:blank')
          this.#idle.push({ context, page, complaints, session })
        } catch {
          // A failed test may leave the tab in any state. Its own error is the one to report.
          await context.close()
        }
      },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close()
  }
}

/** Waits until the page has loaded its data. */
export async function settled(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor()
  const loading = page.getByText(/^(Loading)?…$/)
  while ((await loading.count()) > 0) await loading.first().waitFor({ state: 'detached' })
}

/** Polls often, and for long enough on a busy machine. */
export const soon = <T>(read: () => T) => expect.poll(read, { timeout: 20_000, interval: 20 })
