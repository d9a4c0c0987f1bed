import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { launchBrowser, signIn, visit } from './browser.ts'
import { startProcess, temporaryFolder } from './process.ts'

const run = promisify(execFile)
const root = new URL('..', import.meta.url).pathname

test('the three lines that a first start prints show a call, an MCP client, and a call that a person approves', {
  timeout: 120_000,
}, async () => {
  await using folder = await temporaryFolder()
  await using platform = await startProcess(folder.path, { QM_SAMPLE: 'true', QM_EMBEDDINGS: 'off' })
  await expect.poll(() => platform.output(), { timeout: 10_000 }).toContain('/approvals')
  const output = platform.output()
  const [, admin = ''] = /Admin key {2}(sk_\S+)/.exec(output) ?? []
  const lines = output.split('\n').filter((line) => /^ {2}(curl|npx) /.test(line))
  expect(lines).toHaveLength(3)
  const [call = '', client = '', gated = ''] = lines
  const shell = async (line: string) =>
    (await run('bash', ['-c', line.replace('curl', 'curl -s')], { cwd: root })).stdout

  expect(JSON.parse(await shell(call))).toEqual({ currency: 'BRL', per_euro: 6.2 })
  expect(await shell(client)).toContain('Ada Almeida')

  const waiting = shell(gated)
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
})

test('the sample is made once, on an empty platform only, and goes on working after a restart', {
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
