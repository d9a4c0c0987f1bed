/**
 * Measures the overhead of the platform on a call: `POST /tools/{id}/call` of a loopback http tool, with API key, access
 * policy, validation and durable call log. Compares it with the same call made directly and through a bare Node proxy.
 *
 *     node bench/calls.ts [rounds] [milliseconds] [callers,…]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Contestant, end, launch, posted, program, race } from './measure.ts'

const rounds = Number(process.argv[2] ?? 5)
const milliseconds = Number(process.argv[3] ?? 2000)
const key = 'sk_of_the_benchmark'
const json = { 'content-type': 'application/json' }
const file = (path: string) => new URL(path, import.meta.url).pathname

const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
const target = await launch([file('target.ts')])
const proxy = await launch([file('proxy.ts'), target.url])
const platform = await launch([...program, 'up', '--port', '0', '--data', folder], {
  QM_ADMIN_KEY: key,
  QM_LOG_LEVEL: 'warn',
  QM_RATE_LIMIT: '1000000000',
  ...(process.env.DATABASE_URL && { DATABASE_URL: process.env.DATABASE_URL }),
})

try {
  const headers = { ...json, authorization: `Bearer ${key}` }
  const created = await fetch(`${platform.url}/api/v1/tools`, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      name: `weather-${Date.now()}`,
      execute: { url: `${target.url}/` },
      parameters: {
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
        additionalProperties: false,
      },
    }),
  })
  const { id } = (await created.json()) as { id: string }
  const input = { city: 'Recife' }
  const contestants: Contestant[] = [
    posted({
      name: 'direct',
      url: target.url,
      path: '/',
      headers: json,
      body: JSON.stringify(input),
      pid: target.child.pid as number,
    }),
    posted({
      name: 'proxy',
      url: proxy.url,
      path: '/',
      headers: json,
      body: JSON.stringify(input),
      pid: proxy.child.pid as number,
    }),
    posted({
      name: 'platform',
      url: platform.url,
      path: `/api/v1/tools/${id}/call`,
      headers,
      body: JSON.stringify({ input }),
      pid: platform.child.pid as number,
    }),
  ]
  const callers = (process.argv[4] ?? '1,16,64').split(',').map(Number)
  await race(contestants, { rounds, milliseconds, callers })
} finally {
  for (const { child } of [platform, proxy, target]) await end(child)
  await rm(folder, { recursive: true, force: true })
}
