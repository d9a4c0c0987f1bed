import { mkdir } from 'node:fs/promises'
import type { Page } from 'playwright-core'

const folder = new URL('../docs/screenshots/', import.meta.url).pathname

/** Screenshots in the docs. QM_SCREENSHOTS=all takes one of every page. */
const kept = new Set([
  ...['sign-in', 'overview', 'overview-dark', 'calls', 'call', 'tools', 'new-tool', 'tool'],
  ...['servers', 'server', 'skills', 'skill', 'access', 'policy', 'settings'],
  ...['agents', 'chat', 'chat-approval', 'chat-client', 'generations', 'generation', 'ai-providers'],
  ...['approvals', 'approval', 'approval-dark', 'approval-rules', 'webhooks', 'oauth-consent', 'connections'],
  ...['import-api', 'apps', 'app', 'workflows', 'workflow-run'],
])

const painted =
  'document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))'

/** Takes a screenshot for the docs if QM_SCREENSHOTS is set. CI checks pages, but does not change the repository. */
export async function picture(page: Page, name: string, size: string): Promise<void> {
  const wanted = process.env.QM_SCREENSHOTS
  if (!wanted || (wanted !== 'all' && !kept.has(name))) return
  await mkdir(folder, { recursive: true })
  await page.evaluate(painted)
  await page.screenshot({ path: `${folder}${name}-${size}.png`, animations: 'disabled' })
}
