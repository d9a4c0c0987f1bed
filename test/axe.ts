import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { settled, sizes } from './browser.ts'
import { picture } from './screenshots.ts'

const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string }[]
}

/** The serious and critical violations that axe finds. */
export async function seriousFaults(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe)
  const options = { resultTypes: ['violations'], preload: false, ...(rules && { runOnly: rules }) }
  const found = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as { violations: Violation[] }
  const examples = ({ nodes }: Violation) => nodes.slice(0, 3).map(({ html }) => html.slice(0, 160))
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map((violation) => `${violation.id}: ${examples(violation).join(' | ')}`)
}

/** Elements wider than the window, violations in the light theme, and poor contrast in the dark one. */
export async function faultsOf(page: Page): Promise<string[]> {
  const found = [...(await tooWide(page)), ...(await seriousFaults(page))]
  await page.emulateMedia({ colorScheme: 'dark' })
  found.push(...(await seriousFaults(page, ['color-contrast'])).map((fault) => `dark: ${fault}`))
  await page.emulateMedia({ colorScheme: 'light' })
  return found
}

const tooWide = async (page: Page): Promise<string[]> => {
  const wide = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
  return wide > 0 ? [`${wide} pixels too wide`] : []
}

export interface PageToCheck {
  readonly name: string
  readonly url: string
  /** Take a screenshot in the dark theme as well. */
  readonly dark?: true
  /** Waits until the page is ready for the screenshot. */
  ready?(): Promise<unknown>
}

/** Runs axe on each page at the size of a desktop, and checks the width of its layout there and on a phone. */
export async function checkPages(page: Page, pages: readonly PageToCheck[]): Promise<Record<string, string[]>> {
  const faults: Record<string, string[]> = {}
  const pictures = async ({ name, dark }: PageToCheck, size: keyof typeof sizes) => {
    await picture(page, name, size)
    if (!dark) return
    await page.emulateMedia({ colorScheme: 'dark' })
    await picture(page, `${name}-dark`, size)
    await page.emulateMedia({ colorScheme: 'light' })
  }
  for (const one of pages) {
    await page.setViewportSize(sizes.desktop)
    await page.goto(one.url)
    await settled(page)
    await one.ready?.()
    await pictures(one, 'desktop')
    const found = await faultsOf(page)
    await page.setViewportSize(sizes.phone)
    await settled(page)
    await pictures(one, 'phone')
    found.push(...(await tooWide(page)).map((fault) => `phone: ${fault}`))
    if (found.length > 0) faults[one.name] = found
  }
  return faults
}
