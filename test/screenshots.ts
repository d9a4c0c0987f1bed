import { mkdir } from 'node:fs/promises'
import type { Page } from 'playwright-core'

const folder = new URL('../docs/screenshots/', import.meta.url).pathname

/** Pictures for the docs, taken where QM_SCREENSHOTS says so: CI looks at pages, but does not rewrite the repository. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!process.env.QM_SCREENSHOTS) return
  await mkdir(folder, { recursive: true })
  await page.screenshot({ path: `${folder}${name}.png`, animations: 'disabled' })
}
