/**
 * Measures how soon a call continues after it is approved. The call waits in one process and is approved in another; both
 * use one PostgreSQL. Prints the time from sending the decision until the tool receives the call, and until the decision
 * gets its response.
 *
 *     DATABASE_URL=postgres://… node bench/approvals.ts [approvals] [other waiting calls]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { end, launch, program } from './measure.ts'

const count = Number(process.argv[2] ?? 200)
const waitingCalls = Number(process.argv[3] ?? 0)
const { DATABASE_URL } = process.env
if (!DATABASE_URL) throw new Error('set DATABASE_URL: this benchmark needs two processes that share a database')
const key = 'sk_of_the_benchmark'

const reached = new Map<number, (at: number) => void>()
const target = createServer(async (request, response) => {
  const at = performance.now()
  let body = ''
  for await (const part of request) body += part
  reached.get((JSON.parse(body) as { n: number }).n)?.(at)
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
})
await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve))
const targetUrl = `http://127.0.0.1:${(target.address() as AddressInfo).port}`

const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
const start = () =>
  launch([...program, 'up', '--port', '0', '--data', folder], {
    QM_ADMIN_KEY: key,
    QM_LOG_LEVEL: 'warn',
    QM_RATE_LIMIT: '0',
    QM_PENDING_APPROVALS: '1000000',
    DATABASE_URL,
  })
const [waits, decides] = [await start(), await start()]

async function send<T>(url: string, method: string, path: string, body?: object, by = key): Promise<T> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  return (await response.json()) as T
}

const quantile = (sorted: readonly number[], share: number) =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(2).padStart(8)

try {
  const tool = { name: `pay-${Date.now()}`, execute: { url: targetUrl }, parameters: {}, auto_approve: false }
  const { id } = await send<{ id: string }>(waits.url, 'POST', '/tools', tool)
  const caller = await send<{ key: string }>(waits.url, 'POST', '/api-keys', {
    name: 'caller',
    access_policy_ids: ['pol_caller'],
  })
  const call = (n: number) => send(waits.url, 'POST', `/tools/${id}/call`, { input: { n } }, caller.key)
  const list = (limit: number) =>
    send<{ data: { id: string }[]; total: number }>(
      decides.url,
      'GET',
      `/approvals?status=pending&limit=${limit}&tool_id=${id}`,
    )
  for (let n = 0; n < waitingCalls; n++) void call(-1 - n).catch(() => undefined)
  while ((await list(1)).total < waitingCalls) await new Promise((resolve) => setTimeout(resolve, 100))
  const [continued, answered]: [number[], number[]] = [[], []]
  for (let n = 0; n < count; n++) {
    const arrival = new Promise<number>((resolve) => reached.set(n, resolve))
    const calling = call(n)
    while ((await list(1)).total <= waitingCalls) await new Promise((resolve) => setTimeout(resolve, 5))
    const [newest] = (await list(1)).data
    const sent = performance.now()
    const decision = send(decides.url, 'POST', `/approvals/${newest?.id}/approve`, {}).then(() => performance.now())
    const [at, done] = await Promise.all([arrival, decision, calling])
    if (n < count / 10) continue
    continued.push(at - sent)
    answered.push(done - sent)
  }
  for (const times of [continued, answered]) times.sort((a, b) => a - b)
  console.log(`${count} approvals, ${waitingCalls} other calls waiting; milliseconds after the decision was sent`)
  console.log('                         p50      p99')
  console.log(`call continues      ${quantile(continued, 0.5)} ${quantile(continued, 0.99)}`)
  console.log(`decision response   ${quantile(answered, 0.5)} ${quantile(answered, 0.99)}`)
} finally {
  await end(waits.child)
  await end(decides.child)
  target.closeAllConnections()
  target.close()
  await rm(folder, { recursive: true, force: true })
}
