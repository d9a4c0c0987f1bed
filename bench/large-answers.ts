/**
 * Measures the memory that large tool outputs take: several rounds of concurrent calls with large responses, and the
 * resident memory afterwards.
 *
 *     node bench/large-answers.ts [calls] [megabytes] [rounds]
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { end, launch, program } from './measure.ts'

const [calls = 40, megabytes = 10, rounds = 3] = process.argv.slice(2).map(Number)
const key = 'sk_of_the_benchmark'

// A JSON array of records, as APIs return. By default, slightly less than the limit of 10 MiB.
const record = JSON.stringify({ id: 1234567, name: 'Widget', tags: ['a', 'b'], price: 9.99, note: 'x'.repeat(100) })
const body = `[${Array.from({ length: Math.floor((megabytes * 1e6) / (record.length + 1)) }, () => record).join(',')}]`
const target = createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(body))
})
await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve))

const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
const platform = await launch([...program, 'up', '--port', '0', '--data', folder], {
  QM_ADMIN_KEY: key,
  QM_LOG_LEVEL: 'warn',
  QM_EMBEDDINGS: 'off',
})

const rss = async () => {
  const status = await readFile(`/proc/${platform.child.pid}/status`, 'utf8')
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024)
}

const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
const post = (path: string, input: object) =>
  fetch(`${platform.url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(input) })

try {
  const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/`
  const created = await post('/tools', { name: 'large', parameters: {}, execute: { url } })
  const { id } = (await created.json()) as { id: string }
  const call = async () => {
    const answer = await post(`/tools/${id}/call`, { input: {} })
    const text = await answer.text()
    return answer.status === 200 && text.length > body.length / 2
      ? 'complete'
      : `${answer.status}: ${text.slice(0, 200)}`
  }
  await call()
  console.log(`${calls} concurrent calls of ${megabytes} MB; RSS before: ${await rss()} MB`)
  for (let round = 1; round <= rounds; round++) {
    let peak = 0
    const watch = setInterval(async () => {
      peak = Math.max(peak, await rss())
    }, 20)
    const began = performance.now()
    const answers = await Promise.all(Array.from({ length: calls }, call))
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    clearInterval(watch)
    const counts = Object.entries(Object.groupBy(answers, (answer) => answer)).map(
      ([what, each]) => `${each?.length} × ${what}`,
    )
    console.log(`round ${round}: ${counts.join(', ')} in ${seconds} s; RSS at most ${peak} MB, after ${await rss()} MB`)
  }
  for (const seconds of [5, 20]) {
    await sleep(seconds * 1000)
    console.log(`RSS ${seconds} s later: ${await rss()} MB`)
  }
} finally {
  await end(platform.child)
  target.closeAllConnections()
  target.close()
  await rm(folder, { recursive: true, force: true })
}
