import { mkdir } from 'node:fs/promises'
import type { Page } from 'playwright-core'

const folder = new URL('../docs/screenshots/', import.meta.url).pathname

/** Those that the docs keep; QM_SCREENSHOTS=all takes every page, to be looked at. */
const kept = new Set([
  ...['sign-in', 'overview', 'overview-dark', 'calls', 'call', 'tools', 'new-tool', 'tool'],
  ...['servers', 'server', 'skills', 'skill', 'access', 'policy', 'settings'],
  ...['agents', 'chat', 'chat-approval', 'chat-client', 'generations', 'generation', 'ai-providers'],
  ...['approvals', 'approval', 'approval-dark', 'approval-rules', 'webhooks'],
])

/** Pictures for the docs, taken where QM_SCREENSHOTS says so: CI looks at pages, but does not rewrite the repository. */
export async function picture(page: Page, name: string, size: string): Promise<void> {
  const wanted = process.env.QM_SCREENSHOTS
  if (!wanted || (wanted !== 'all' && !kept.has(name))) return
  await mkdir(folder, { recursive: true })
  await page.waitForTimeout(300)
  await page.screenshot({ path: `${folder}${name}-${size}.png`, animations: 'disabled' })
}
