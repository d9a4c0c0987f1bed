import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { browserTest, launchBrowser, signIn, visit } from './browser.ts'
import { type Running, startProcess, temporaryFolder } from './process.ts'
import { runShell } from './shell.ts'

/** A first start, and the commands that it prints. */
async function firstStart(folder: string): Promise<Running & { readonly lines: readonly string[] }> {
  const platform = await startProcess(folder, { QM_SAMPLE: 'true', QM_EMBEDDINGS: 'off' })
  await expect.poll(() => platform.output(), { timeout: 10_000 }).toContain('refund-order')
  const lines = platform.output().split('\n')
  return { ...platform, lines: lines.filter((line) => line.startsWith('  curl ')) }
}

/** Runs a command in a shell, in a folder outside of the checkout. */
async function paste(line: string | undefined): Promise<string> {
  const { code, stdout, stderr } = await runShell(line ?? 'false', tmpdir())
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}

test('the first two commands that a first start prints work in any folder: a call, and an MCP request', {
  timeout: 60_000,
}, async () => {
  await using folder = await temporaryFolder()
  await using platform = await firstStart(folder.path)
  const [call, mcp] = platform.lines

  expect(JSON.parse(await paste(call))).toEqual({ currency: 'BRL', per_euro: 6.2 })
  expect(await paste(mcp)).toContain('Ada Almeida')
})

test('a first start prints where to paste the commands, and that the third one waits for approval', {
  timeout: 60_000,
}, async () => {
  await using folder = await temporaryFolder()
  await using platform = await firstStart(folder.path)
  const output = platform.output()
  const [, , third = ''] = platform.lines

  expect(output).toContain('open another terminal')
  const before = output.slice(0, output.indexOf(third))
  expect(before).toContain(`It waits until you approve it at ${platform.url}/approvals`)
})

browserTest(
  'the third command waits until a person approves the call on the dashboard',
  {
    timeout: 120_000,
  },
  async () => {
    await using folder = await temporaryFolder()
    await using platform = await firstStart(folder.path)
    const [, admin = ''] = /Admin key {2}(sk_\S+)/.exec(platform.output()) ?? []
    expect(platform.lines).toHaveLength(3)

    const waiting = paste(platform.lines[2])
    const browser = await launchBrowser()
    try {
      await using visitor = await visit(browser)
      const { page } = visitor
      await signIn(page, `${platform.url}/approvals`, admin)
      await page.getByRole('button', { name: /^Approve/ }).click()
      expect(JSON.parse(await waiting)).toMatchObject({ refunded: 20, order: '1042' })
      await page.goto(`${platform.url}/calls?status=success`)
      await page.getByText('finance:refund-order').first().waitFor()
    } finally {
      await browser.close()
    }
  },
)

test('the sample is created once, only on an empty platform, and works after a restart', {
  timeout: 60_000,
}, async () => {
  await using folder = await temporaryFolder()
  const environment = { QM_ADMIN_KEY: 'sk_admin', QM_EMBEDDINGS: 'off' }
  const first = await startProcess(folder.path, { ...environment, QM_SAMPLE: 'true' })
  await expect.poll(() => first.output(), { timeout: 10_000 }).toContain('/approvals')
  const port = new URL(first.url).port
  await first.stop('SIGTERM')
  await using second = await startProcess(folder.path, { ...environment, QM_SAMPLE: 'true' }, port)
  const headers = { authorization: 'Bearer sk_admin', 'content-type': 'application/json' }
  const { data, total } = (await (await fetch(`${second.url}/api/v1/tools`, { headers })).json()) as {
    data: { id: string; name: string }[]
    total: number
  }
  expect(total).toBe(4)
  expect(second.output()).not.toContain('curl')
  const id = data.find(({ name }) => name === 'exchange-rate')?.id
  const body = '{"input":{"currency":"XXX"}}'
  const answer = await fetch(`${second.url}/api/v1/tools/${id}/call`, { method: 'POST', headers, body })
  expect(await answer.text()).toContain('No rate for XXX')
})
