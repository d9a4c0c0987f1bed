/**
 * Measures the tokens (o200k_base) that agent mode saves on a server with 1,000 real actions: for the tool list, and for a
 * complete task (find an action and run it).
 *
 *     QM_RETRIEVAL=<folder> node bench/resolve/tokens.ts
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { createPlatform } from '../../src/main.ts'
import { countTokens } from '../../src/operations/tokens.ts'
import { hasData, noData, readSet } from './data.ts'

const key = 'sk_of_the_benchmark'
const headers = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  authorization: `Bearer ${key}`,
}

async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
  const platform = await createPlatform(
    readConfig({}, { QM_DATA: folder, QM_ADMIN_KEY: key, QM_LOG_LEVEL: 'error', QM_EMBEDDINGS: 'off' }),
  )
  const send = async (method: string, path: string, body?: object) => {
    const request = new Request(`http://localhost${path}`, { method, headers, body: JSON.stringify(body) ?? null })
    return (await platform.fetch(request)).text()
  }
  const { subjects, queries, ids } = readSet('n8n-steps-dev')
  const wanted = queries.map(({ relevant }) => ids.findIndex((id) => relevant.has(id)))
  const chosen = [...new Set([...wanted, ...ids.keys()])].slice(0, 1000)
  for (const at of chosen) {
    const { app, name, description, schema } = subjects[at] as (typeof subjects)[number]
    const tool = {
      app,
      name: name.slice(0, 64),
      description,
      parameters: schema,
      execute: { url: 'http://127.0.0.1:9/' },
    }
    await send('POST', '/api/v1/tools', tool)
  }
  await send('POST', '/api/v1/servers', { slug: 'bench', agent_mode: true })
  const { direct, agent } = JSON.parse(await send('GET', '/api/v1/servers/bench/footprint'))

  const sample = queries.filter((_, at) => at % 20 === 0).map(({ text }) => text)
  const steps: string[] = []
  for (const query of sample) {
    const params = { name: 'RESOLVE_ACTIONS', arguments: { integration_query: [query] } }
    const answer = await send('POST', '/mcp/bench', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const { result } = JSON.parse(/^data: (.*)$/m.exec(answer)?.[1] ?? answer)
    const execute = { application_slug: 'some-app', action_id: 'some_action', type: 'action', input_payload: {} }
    steps.push(JSON.stringify(params) + result.content[0].text + JSON.stringify(execute))
  }
  const counts = (await countTokens(steps)).sort((a, b) => a - b)
  const step = counts[Math.floor(counts.length / 2)] ?? 0
  const call = 40
  console.log(
    `tool list, ${direct.tools} actions: direct ${direct.tokens} tokens, agent mode ${agent.tokens} (${(100 * (1 - agent.tokens / direct.tokens)).toFixed(1)} % less)`,
  )
  console.log(
    `complete task: direct ${direct.tokens + call}, agent mode ${agent.tokens + step} (finding and running an action: ${step}; ${(100 * (1 - (agent.tokens + step) / (direct.tokens + call))).toFixed(1)} % less)`,
  )
  await platform.close()
  await rm(folder, { recursive: true })
}

if (hasData()) await run()
else console.log(noData)
