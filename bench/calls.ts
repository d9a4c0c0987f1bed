/**
 * What the platform adds to a call: `POST /tools/{id}/call` on a loopback http tool, with key, access policy, validation
 * and durable recording on, beside the same call made directly and through a bare Node proxy.
 *
 *     node bench/calls.ts [rounds] [milliseconds] [callers,…]
 *
 * Machines are noisy, so the three take turns in every round and only ratios within this run are to be compared.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Contestant, type Figures, launch, measure, medianOf } from './measure.ts'

const rounds = Number(process.argv[2] ?? 5)
const milliseconds = Number(process.argv[3] ?? 2000)
const key = 'sk_of_the_benchmark'
const json = { 'content-type': 'application/json' }
const file = (path: string) => new URL(path, import.meta.url).pathname

const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
const target = await launch([file('target.ts')])
const proxy = await launch([file('proxy.ts'), target.url])
const platform = await launch([file('../bin/quartermaster.js'), 'up', '--port', '0', '--data', folder], {
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
    {
      name: 'direct',
      url: target.url,
      path: '/',
      headers: json,
      body: JSON.stringify(input),
      pid: target.child.pid as number,
    },
    {
      name: 'proxy',
      url: proxy.url,
      path: '/',
      headers: json,
      body: JSON.stringify(input),
      pid: proxy.child.pid as number,
    },
    {
      name: 'platform',
      url: platform.url,
      path: `/api/v1/tools/${id}/call`,
      headers,
      body: JSON.stringify({ input }),
      pid: platform.child.pid as number,
    },
  ]
  for (const contestant of contestants) await measure(contestant, 64, milliseconds)

  console.log('callers            calls/s     p50 ms     p99 ms   cpu µs/call   of direct   of proxy   p50 of proxy')
  for (const callers of (process.argv[4] ?? '1,16,64').split(',').map(Number)) {
    const taken = new Map<string, Figures[]>(contestants.map(({ name }) => [name, []]))
    for (let round = 0; round < rounds; round++) {
      for (const contestant of contestants)
        taken.get(contestant.name)?.push(await measure(contestant, callers, milliseconds))
    }
    const [direct, bare] = ['direct', 'proxy'].map((name) => medianOf(taken.get(name) ?? [])) as [Figures, Figures]
    for (const { name } of contestants) {
      const figures = medianOf(taken.get(name) ?? [])
      const columns = [
        figures.callsPerSecond.toFixed(0).padStart(11),
        figures.p50.toFixed(2).padStart(10),
        figures.p99.toFixed(2).padStart(10),
        figures.cpu.toFixed(0).padStart(13),
        (figures.callsPerSecond / direct.callsPerSecond).toFixed(2).padStart(11),
        (figures.callsPerSecond / bare.callsPerSecond).toFixed(2).padStart(10),
        (bare.p50 / figures.p50).toFixed(2).padStart(14),
      ]
      console.log(`${String(callers).padEnd(8)}${name.padEnd(9)}${columns.join(' ')}`)
    }
  }
} finally {
  for (const { child } of [platform, proxy, target]) {
    child.kill('SIGTERM')
    await new Promise((resolve) => child.once('close', resolve))
  }
  await rm(folder, { recursive: true, force: true })
}
