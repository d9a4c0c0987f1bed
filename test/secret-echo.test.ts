import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { startReplayServer } from '../src/agents/models/replay-server.ts'
import { startListening } from './clients.ts'
import { type Received, startPlatform, startService, type TestPlatform } from './kit.ts'
import { echo, startUpstream } from './upstream.ts'

const token = 'correct-horse-battery-staple'
const password = 'pa55 word/with=signs'
const query = 'b4ck-d00r-key'

async function register(platform: TestPlatform, tool: object): Promise<string> {
  const { status, body } = await platform.post('/tools', { project_id: platform.projectId, ...tool })
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id
}

const everyForm = [token, password, query, encodeURIComponent(password), Buffer.from(password).toString('base64')]
const leaks = (value: unknown) => everyForm.filter((form) => JSON.stringify(value).includes(form))

/** Returns everything it receives, as debugging services do. */
const mirror = ({ headers, url }: Received) => {
  const [, encoded = ''] = String(headers['x-login']).split(' ')
  const login = Buffer.from(encoded, 'base64').toString()
  return {
    status: url.includes('fail') ? 400 : 200,
    body: JSON.stringify({ headers, url, login, encoded: encodeURIComponent(login), text: JSON.stringify({ token }) }),
  }
}

const headers = {
  authorization: `Bearer ${token}`,
  'x-login': `Basic ${Buffer.from(`ana:${password}`).toString('base64')}`,
}

describe('credentials that a service echoes', () => {
  test('are redacted in results, errors and the call log, even for an administrator', async () => {
    await using service = await startService(mirror)
    await using platform = await startPlatform()
    const make = (name: string, path: string) =>
      register(platform, { name, parameters: {}, execute: { url: `${service.url}${path}`, method: 'GET', headers } })
    const works = await make('works', `/ok?key=${query}`)
    const fails = await make('fails', `/fail?key=${query}&city={city}`)

    const answers = [
      await platform.post(`/tools/${works}/call`, { input: {} }),
      await platform.post(`/tools/${fails}/call`, { input: { city: 'Recife' } }),
    ]
    const calls = (await platform.get('/calls')).body.data
    const records = await Promise.all(calls.map(({ id }: { id: string }) => platform.get(`/calls/${id}`)))

    expect(service.received[0]?.headers.authorization).toBe(`Bearer ${token}`)
    expect(answers.map(({ status }) => status)).toEqual([200, 502])
    expect(records).toHaveLength(2)
    expect(leaks(answers)).toEqual([])
    expect(leaks(records)).toEqual([])
    expect(answers[0]?.body.url).toBe('/ok?key=[redacted]')
    expect(answers[1]?.body.error.details.tool_url).toBe(`${service.url}/fail?key=[hidden]&city={city}`)
  })

  test('are not partly visible at the end of a truncated error', async () => {
    const before = 'x'.repeat(16_384 - 10)
    await using service = await startService(() => ({ status: 500, body: `${before}${token}${before}` }))
    await using platform = await startPlatform()
    const id = await register(platform, { name: 'cut', parameters: {}, execute: { url: service.url, headers } })

    const { body } = await platform.post(`/tools/${id}/call`, { input: {} })

    expect(body.error.details.tool_response_body).toMatch(/^x+\[redacted\]?/)
    expect(JSON.stringify(body)).not.toContain(token.slice(0, 6))
  })

  test('are the only change to a response', async () => {
    const text = '{"n":12345678901234567890, "slash":"a\\/b", "é":"\\u00e9"}'
    await using service = await startService(() => ({ body: text }))
    await using platform = await startPlatform()
    const id = await register(platform, { name: 'plain', parameters: {}, execute: { url: service.url, headers } })

    const response = await platform.fetch(`/api/v1/tools/${id}/call`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk_admin_of_the_tests' },
    })

    expect(await response.text()).toBe(text)
  })
})

describe.each(['legacy', 'auto'] as const)('credentials that an MCP server echoes to a client in %s mode', (mode) => {
  test('are redacted in results, errors, progress, log messages and descriptions', async () => {
    await using upstream = await startUpstream([
      {
        ...echo,
        description: `Uses ${token}`,
        run: async (_input, _signal, { _meta, notify }) => {
          const progressToken = _meta?.progressToken
          if (progressToken !== undefined)
            await notify({
              method: 'notifications/progress',
              params: { progressToken, progress: 1, message: `with ${token}` },
            })
          await notify({ method: 'notifications/message', params: { level: 'error', data: { token } } })
          return { content: [{ type: 'text', text: `You sent ${token}, ${query}` }], structuredContent: { token } }
        },
      },
      {
        ...echo,
        name: 'fail',
        run: () => {
          throw new Error(`${'x'.repeat(995)}${token}`)
        },
      },
    ])
    await using platform = await startListening()
    await register(platform, { name: 'up', type: 'mcp', mcp: { url: `${upstream.url}?key=${query}`, headers } })
    await platform.post('/servers', { slug: 'desk' })
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    const heard: unknown[] = []
    client.setNotificationHandler('notifications/message', (message) => void heard.push(message))
    const requestInit = { headers: { authorization: 'Bearer sk_admin_of_the_tests' } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${platform.url}/mcp/desk`), { requestInit }))

    const { tools } = await client.listTools()
    const result = await client.callTool(
      { name: 'up_echo_action', arguments: { text: '' } },
      { onprogress: (progress) => void heard.push(progress) },
    )
    const failed = await client.callTool({ name: 'up_fail_action', arguments: { text: '' } })
    await client.close()

    expect(tools).toHaveLength(2)
    expect(JSON.stringify(result)).toContain('You sent [redacted], [redacted]')
    expect(JSON.stringify(heard)).toContain('with [redacted]')
    expect(leaks([tools, result, failed, heard])).toEqual([])
    expect(JSON.stringify(failed)).not.toContain(token.slice(0, 5))
  })
})

test('credentials that a tool echoes are redacted for models', async () => {
  await using service = await startService(mirror)
  await using model = await startReplayServer({
    steps: [
      {
        answer: {
          tool_calls: [
            { name: 'works', args: {} },
            { name: 'fails', args: {} },
          ],
        },
      },
      { answer: 'Done' },
    ],
  })
  await using platform = await startPlatform()
  const make = (name: string, path: string) =>
    register(platform, { name, parameters: {}, execute: { url: `${service.url}${path}?key=${query}`, headers } })
  const tool_ids = [await make('works', '/ok'), await make('fails', '/fail')]
  const provider = await platform.post('/ai-providers', {
    name: 'model',
    type: 'openai-compatible',
    base_url: `${model.url}/v1`,
    default_model: 'scripted',
  })
  const agent = await platform.post('/agents', { name: 'a', ai_provider_id: provider.body.id, tool_ids })

  const { body } = await platform.post(`/agents/${agent.body.id}/generate`, { prompt: 'Look' })
  const detail = await platform.get(`/generations/${body.id}`)

  expect(body.output?.content, JSON.stringify(body)).toBe('Done')
  expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('[redacted]')
  expect(leaks(model.requests)).toEqual([])
  expect(leaks(detail)).toEqual([])
})

describe('a secret in a URL or in program arguments', () => {
  const caller = ['pol_caller']

  test('is masked for everyone, and all that may be confidential for keys that cannot change the tool', async () => {
    await using platform = await startPlatform({ QM_ALLOW_STDIO: 'true' })
    const web = await register(platform, {
      name: 'web',
      parameters: { properties: { city: {} } },
      execute: { url: `https://api.example.com/v1/{city}?key=${query}&units={units}` },
    })
    const mcp = await register(platform, {
      name: 'mcp',
      type: 'mcp',
      mcp: { url: `https://ana:${token}@mcp.example.com/mcp?key=${query}` },
    })
    const program = await register(platform, {
      name: 'program',
      type: 'mcp',
      mcp: { command: 'server', args: ['--api-key', query, `--token=${token}`] },
    })
    const { key } = (await platform.post('/api-keys', { name: 'c', access_policy_ids: caller })).body

    const list = (await platform.get('/tools', { key })).body
    const one = async (id: string, as?: string) => (await platform.get(`/tools/${id}`, as ? { key: as } : {})).body

    expect(list.data).toHaveLength(3)
    expect(leaks([list, await one(web, key), await one(mcp, key), await one(program, key)])).toEqual([])
    expect((await one(web, key)).execute.url).toBe('https://api.example.com/v1/{city}?key=[hidden]&units={units}')
    expect((await one(mcp, key)).mcp.url).toBe('https://[hidden]@mcp.example.com/mcp?key=[hidden]')
    expect((await one(program, key)).mcp.args).toEqual(['[hidden]', '[hidden]', '[hidden]'])
    expect(leaks([await one(web), await one(mcp), await one(program)])).toEqual([])
    expect((await one(program)).mcp.args).toEqual(['--api-key', '[hidden]', '--token=[hidden]'])
  })
})

test('the key of an AI provider that echoes it in pieces is redacted in streams and responses', async () => {
  const parts = ['Your key is correct-', 'horse-batt', 'ery-staple, keep ', 'it']
  const chunk = (delta: object) => `data: ${JSON.stringify({ id: '1', choices: [{ index: 0, delta }] })}\n\n`
  const end = 'data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
  await using service = await startService(() => ({
    headers: { 'content-type': 'text/event-stream' },
    body: parts.map((content) => chunk({ content })).join('') + end,
  }))
  await using platform = await startPlatform()
  const provider = await platform.post('/ai-providers', {
    name: 'model',
    type: 'openai-compatible',
    base_url: service.url,
    api_key: token,
    default_model: 'm',
  })
  const agent = await platform.post('/agents', { name: 'a', ai_provider_id: provider.body.id })

  const { body } = await platform.post(`/agents/${agent.body.id}/generate`, { prompt: 'x' })
  const streamed = await platform.post(`/agents/${agent.body.id}/generate`, { prompt: 'x', stream: true })

  expect(service.received[0]?.headers.authorization).toBe(`Bearer ${token}`)
  expect(body.output?.content, JSON.stringify(body)).toBe('Your key is [redacted], keep it')
  expect(streamed.body).toContain('[redacted], keep')
  expect(leaks(streamed.body)).toEqual([])
  expect(streamed.body).not.toMatch(/correct-|horse|staple/)
})

test('secrets in a webhook URL are encrypted, sent, masked for everyone, and redacted in the delivery log', async () => {
  await using service = await startService(({ url }) => ({ body: `I know ${url}` }))
  await using platform = await startPlatform()
  const fields = { name: 'w', url: `${service.url}/hook?key=${query}&v=1`, events: ['generation.completed'] }
  const { id } = (await platform.post('/webhooks', fields)).body
  const reads = ['webhooks:GetWebhook', 'webhooks:ListWebhooks']
  const key = await platform.keyFor([{ effect: 'Allow', action: reads, resource: ['*'] }])

  const delivery = (await platform.post(`/webhooks/${id}/test`, {})).body

  expect(delivery.response_excerpt).toBe('I know /hook?key=[redacted]&v=1')
  expect((await platform.get(`/webhooks/${id}`, { key })).body.url).toBe(`${service.url}/hook?key=[hidden]&v=[hidden]`)
  expect((await platform.get('/webhooks', { key })).body.data[0].url).toBe(
    `${service.url}/hook?key=[hidden]&v=[hidden]`,
  )
  const masked = `${service.url}/hook?key=[hidden]&v=1`
  const change = (url: string) => platform.patch(`/webhooks/${id}`, { url })
  const kept = await change(masked.replace('v=1', 'v=2'))
  await platform.post(`/webhooks/${id}/test`, {})
  const moved = await change(masked.replace('127.0.0.1', 'localhost'))
  const unknown = await change(`${service.url}/hook?token=[hidden]`)
  const { rows } = await sql`select * from webhooks`.execute(platform.platform.store.engine.db)

  expect((await platform.get(`/webhooks/${id}`)).body.url).toBe(masked.replace('v=1', 'v=2'))
  expect(kept.body.url).toBe(masked.replace('v=1', 'v=2'))
  expect(service.received.map(({ url }) => url)).toEqual([`/hook?key=${query}&v=1`, `/hook?key=${query}&v=2`])
  expect(moved.body.error.message).toContain('to another host')
  expect(unknown.body.error.message).toContain('is masked')
  expect(leaks(rows)).toEqual([])
})
