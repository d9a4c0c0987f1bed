import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'

const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string }[]
}

/** What axe finds wrong that keeps someone from using the page. */
export async function seriousFaults(page: Page, rules?: readonly string[]): Promise<string[]> {
  await page.evaluate(axe)
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  const found = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as { violations: Violation[] }
  const examples = ({ nodes }: Violation) => nodes.slice(0, 3).map(({ html }) => html.slice(0, 160))
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map((violation) => `${violation.id}: ${examples(violation).join(' | ')}`)
}

/** By day and by night, and whether it fits its width. */
export async function faultsOf(page: Page): Promise<string[]> {
  const wide = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
  const found = [...(wide > 0 ? [`${wide} pixels too wide`] : []), ...(await seriousFaults(page))]
  await page.emulateMedia({ colorScheme: 'dark' })
  found.push(...(await seriousFaults(page, ['color-contrast'])).map((fault) => `dark: ${fault}`))
  await page.emulateMedia({ colorScheme: 'light' })
  return found
}
