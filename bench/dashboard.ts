/**
 * Measures how long the dashboard takes to load, and the longest task of the page while it scrolls and filters 100,000
 * logged calls.
 *
 *     node bench/dashboard.ts [calls]
 */
import { chromium, type Page } from 'playwright-core'
import { findBrowser } from '../test/browser-program.ts'
import { adminKey } from '../test/kit.ts'
import { startLivedIn } from '../test/lived-in.ts'
import { median } from './measure.ts'

const calls = Number(process.argv[2] ?? 100_000)
const program = findBrowser()
if (!program) throw new Error('This benchmark needs a browser: set QM_BROWSER.')

await using here = await startLivedIn(calls)
const { url } = here.platform
const browser = await chromium.launch({
  executablePath: program.executablePath,
  env: { ...process.env, ...program.env },
  args: ['--no-sandbox', '--disable-gpu'],
})
try {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  await context.request.post(`${url}/api/v1/dashboard/session`, { data: { key: adminKey }, headers: { origin: url } })
  const page = await context.newPage()

  const loads: number[] = []
  for (let round = 0; round < 5; round++) {
    const began = performance.now()
    await page.goto(url)
    await page.getByText('Latest calls').waitFor()
    loads.push(performance.now() - began)
  }
  console.log(`overview loaded: ${Math.round(median(loads))} ms (median of ${loads.length})`)

  await page.goto(`${url}/calls`)
  const rows = page.getByRole('list', { name: 'Calls' }).getByRole('listitem')
  await rows.getByRole('link').first().waitFor()
  await browser.startTracing(page, { categories: ['toplevel'] })
  await scroll(page)
  const began = performance.now()
  await page.getByLabel('Status').selectOption('permission_denied')
  await rows.filter({ hasText: 'denied' }).first().waitFor()
  const filtered = performance.now() - began
  const longest = longestTask(await browser.stopTracing())
  console.log(`${calls} calls: filtered in ${Math.round(filtered)} ms, longest task ${Math.round(longest)} ms of CPU`)
} finally {
  await browser.close()
}

async function scroll(page: Page): Promise<void> {
  await page.getByRole('list', { name: 'Calls' }).hover()
  for (let step = 0; step < 40; step++) await page.mouse.wheel(0, 2500)
}

/** The longest task in milliseconds of CPU time of the page's main thread, so that it does not depend on the load of the machine. */
function longestTask(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString()) as {
    traceEvents: { tid: number; name: string; tdur?: number; args: { name?: string } }[]
  }
  const mains = traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
  const threads = new Set(mains.map(({ tid }) => tid))
  return Math.max(...traceEvents.filter(({ tid }) => threads.has(tid)).map(({ tdur = 0 }) => tdur)) / 1000
}
