import { describe, expect, test } from 'vitest'
import { listen } from '../src/surfaces/server.ts'
import { adminKey, startPlatform, startService } from './kit.ts'
import { echo, startUpstream } from './upstream.ts'
import { Connected, everyWay } from './ways.ts'

test('a call is answered the same by the short way and by the long one, whatever is sent', async () => {
  await using service = await startService(({ url }) => (url === '/bad' ? { status: 500, body: '"no"' } : undefined))
  await using platform = await startPlatform({ QM_BODY_LIMIT: '20000' })
  const server = await listen(platform.platform, '127.0.0.1', 0)
  const make = async (tool: object) => (await platform.post('/tools', tool)).body.id
  const good = await make({
    name: 'good',
    execute: { url: service.url },
    parameters: { type: 'object', required: ['city'] },
  })
  const bad = await make({ name: 'bad', execute: { url: `${service.url}/bad` }, parameters: {} })
  const docs = await make({ name: 'docs', type: 'platform', actions: ['list-documents'] })
  const gated = await make({ name: 'gated', execute: { url: service.url }, parameters: {}, auto_approve: false })
  const local = await make({ name: 'local', type: 'client', parameters: {} })
  const limited = await platform.keyFor([{ effect: 'Allow', action: ['tools:CallTool'] }], { rate_limit: 1 })

  const send = (id: string, body: string, key: string | undefined) =>
    everyWay(async (way) => {
      const sent: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {}
      const { status, headers, text } = await way(server.url, `/api/v1/tools/${id}/call`, sent, body)
      const kept = ['content-type', 'www-authenticate', 'ratelimit-limit', 'retry-after']
      return { status, headers: kept.map((name) => name in headers), body: JSON.parse(text) }
    })

  const requests: [id: string, body: string, key?: string | undefined][] = [
    [good, '{"input":{"city":"Recife"}}'],
    [good, '{"input":{"city":"São Paulo"},"action":"good"}'],
    [good, '{"input":{}}'],
    [good, '{"input":null}'],
    [good, '{"input":[]}'],
    [good, '{"input":"{\\"city\\":\\"Recife\\"}"}'],
    [good, '{"input":{"city":"x"},"extra":1}'],
    [good, '{"id":"tool_other","input":{"city":"x"}}'],
    [good, '{"action":7}'],
    [good, '{}'],
    [good, '[]'],
    [good, '7'],
    [good, '{"input":'],
    [good, ' \r\n'],
    [good, '\ufeff{"input":{"city":"Recife"}}'],
    [good, '\ufeff'],
    [good, `{"input":${'['.repeat(200)}${']'.repeat(200)}}`],
    [good, JSON.stringify({ input: { city: 'x'.repeat(30_000) } })],
    [good, '{"input":{"city":"x"}}', undefined],
    [good, '{"input":{"city":"x"}}', 'sk_wrong'],
    [bad, '{"input":{}}'],
    [docs, '{"input":{}}'],
    [docs, '{"action":"list-documents"}'],
    [docs, '{"action":"list-documents","input":{"limit":0}}'],
    [local, '{"input":{}}'],
    [gated, '{"input":{},"wait":false}'],
    [gated, '{"input":{},"wait":"no"}'],
    [good, '{"input":{"city":"x"},"wait":false}'],
    [local, '{"input":{},"wait":false}'],
    ['tool_none', '{"input":{}}'],
  ]
  for (const [id, body, ...keys] of requests) {
    const key = keys.length > 0 ? keys[0] : adminKey
    const [short, nodes, long] = await send(id, body, key)
    expect(short, `${id} ${body.slice(0, 80)}`).toEqual(long)
    expect(nodes, `${id} ${body.slice(0, 80)}`).toEqual(long)
  }
  const [first] = await send(good, '{"input":{"city":"x"}}', limited)
  const over = await send(good, '{}', limited)

  expect([first?.status, over[0]?.status]).toEqual([200, 429])
  expect(new Set(over.map((one) => JSON.stringify(one))).size).toBe(1)
  platform.platform.drain()
  const closing = await send(good, '{}', adminKey)
  expect(closing[0]?.status).toBe(503)
  expect(new Set(closing.map((one) => JSON.stringify(one))).size).toBe(1)
  await server.close(1)
})

/** JSON-RPC, however it is wrapped. */
const readMessage = (text: string) => {
  const event = /^data: (.*)$/m.exec(text)
  return text === '' ? undefined : JSON.parse(event?.[1] ?? text)
}

const accepting = { accept: 'application/json, text/event-stream', authorization: `Bearer ${adminKey}` }

test('an MCP request is answered the same by the short way and by the long one, whatever is sent', async () => {
  await using upstream = await startUpstream([
    { name: 'echo', inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } },
    {
      name: 'rich',
      inputSchema: { type: 'object' },
      run: () => ({
        content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }],
        structuredContent: { ok: true },
        _meta: { 'acme/x': 1 },
      }),
    },
    { name: 'fails', inputSchema: { type: 'object' }, run: () => ({ content: [], isError: true }) },
  ])
  await using platform = await startPlatform({ QM_BODY_LIMIT: '20000' })
  const server = await listen(platform.platform, '127.0.0.1', 0)
  await platform.post('/tools', { name: 'crm', type: 'mcp', mcp: { url: upstream.url } })
  await platform.post('/servers', { name: 'Direct', slug: 'direct' })
  await platform.post('/servers', { name: 'Agent', slug: 'agent', agent_mode: true, retrieve_skill: true })
  await platform.post('/servers', { name: 'Off', slug: 'off', enabled: false })
  const blind = await platform.keyFor([{ effect: 'Allow', action: ['servers:UseServer'] }])

  const send = (path: string, body: string, headers: Record<string, string>) =>
    everyWay(async (way) => {
      const { status, text } = await way(server.url, path, { ...accepting, ...headers }, body)
      return { status, message: readMessage(text) }
    })
  const client = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const asked: [
    method: string,
    params: Record<string, unknown> | undefined,
    path?: string,
    headers?: Record<string, string>,
  ][] = [
    ['tools/list', undefined],
    ['tools/list', {}],
    ['tools/list', { cursor: '0' }],
    ['tools/list', { cursor: 'none' }],
    ['tools/list', { cursor: 7 }],
    ['tools/list', {}, '/mcp/agent'],
    ['tools/list', {}, '/mcp/off'],
    ['tools/list', {}, '/mcp/none'],
    ['tools/list', {}, '/mcp/direct', { authorization: 'Bearer sk_wrong' }],
    ['tools/list', {}, '/mcp/direct', { authorization: '' }],
    ['tools/list', {}, '/mcp/direct', { authorization: `Bearer ${blind}` }],
    ['tools/list', {}, '/mcp/direct', { origin: 'http://evil.test' }],
    ['tools/call', { name: 'crm_echo_action', arguments: { text: 'é' } }],
    ['tools/call', { name: 'crm_echo_action', arguments: { input_payload: '{"text":"x"}' } }],
    ['tools/call', { name: 'crm_echo_action', arguments: {} }],
    ['tools/call', { name: 'crm_echo_action' }],
    ['tools/call', { name: 'crm_echo_action', arguments: [] }],
    [
      'tools/call',
      { name: 'crm_echo_action', arguments: { text: 'x' } },
      '/mcp/direct',
      { authorization: `Bearer ${blind}` },
    ],
    ['tools/call', { name: 'crm_rich_action', arguments: {} }],
    ['tools/call', { name: 'crm_fails_action', arguments: {} }],
    ['tools/call', { name: 'none', arguments: {} }],
    ['tools/call', { name: 7, arguments: {} }],
    ['tools/call', {}],
    ['tools/call', undefined],
    ['tools/call', { name: 'crm_echo_action', arguments: { text: 'x'.repeat(30_000) } }],
    ['tools/call', { name: 'EXECUTE_ACTION', arguments: { action_id: 'crm:none' } }, '/mcp/agent'],
    ['tools/call', { name: 'RESOLVE_ACTIONS', arguments: { integration_query: 7 } }, '/mcp/agent'],
    ['tools/call', { name: 'LOAD_SKILL', arguments: {} }, '/mcp/agent'],
    ['tools/none', {}],
  ]
  for (const [method, params, path = '/mcp/direct', headers = {}] of asked) {
    const older = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const newer = JSON.stringify({ jsonrpc: '2.0', id: 'a', method, params: { ...params, _meta: client } })
    const mirrored = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof params?.name === 'string' && { 'mcp-name': params.name }),
    }
    const bodies: [string, Record<string, string>][] = [
      [older, {}],
      [older, { 'mcp-protocol-version': '2025-06-18' }],
      [older, { 'mcp-protocol-version': '1999-01-01' }],
      [newer, mirrored],
      [newer, { ...mirrored, 'mcp-method': 'tools/other' }],
      [newer, { ...mirrored, 'mcp-name': 'other' }],
      [newer, {}],
    ]
    for (const [body, era] of bodies) {
      const [short, nodes, long] = await send(path, body, { ...headers, ...era })
      expect(short, `${path} ${JSON.stringify(era)} ${body.slice(0, 200)}`).toEqual(long)
      expect(nodes, `${path} ${JSON.stringify(era)} ${body.slice(0, 200)}`).toEqual(long)
    }
  }
  for (const body of [
    '[]',
    '{',
    '7',
    '{"jsonrpc":"2.0","method":"tools/list"}',
    '{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
  ]) {
    const [short, nodes, long] = await send('/mcp/direct', body, {})
    expect(short, body).toEqual(long)
    expect(nodes, body).toEqual(long)
  }
  await server.close(1)
})

test('a request counts once against the limit of its key, whichever way it goes', async () => {
  const properties = { region: { type: 'string', 'x-mcp-header': 'Region' } }
  await using upstream = await startUpstream([{ name: 'locate', inputSchema: { type: 'object', properties } as never }])
  await using platform = await startPlatform()
  const server = await listen(platform.platform, '127.0.0.1', 0)
  await platform.post('/tools', { name: 'maps', type: 'mcp', mcp: { url: upstream.url } })
  await platform.post('/servers', { slug: 's', tool_names: 'original' })
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { name: 'locate', arguments: {}, _meta }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })

  const statuses = await everyWay(async (way) => {
    const key = await platform.keyFor([{ effect: 'Allow', action: ['*'] }], { rate_limit: 2 })
    const headers = {
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${key}`,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'locate',
    }
    const answered: number[] = []
    for (let count = 0; count < 3; count++) answered.push((await way(server.url, '/mcp/s', headers, body)).status)
    return answered
  })

  expect(statuses).toEqual([
    [200, 200, 429],
    [200, 200, 429],
    [200, 200, 429],
  ])
  await server.close(1)
})

describe('a client keeps the short way on its connection', () => {
  const message = (method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const clientInfo = { name: 'test', version: '1' }
  const begin = message('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  const headers = { ...accepting, 'content-type': 'application/json' }

  test.each([
    ['has introduced itself', async (caller: Connected) => caller.ask('POST', '/mcp/s', headers, begin)],
    ['has sent what is no JSON', async (caller: Connected) => caller.ask('POST', '/mcp/s', headers, '{')],
    ['has asked for something else', async (caller: Connected) => caller.ask('GET', '/health')],
    [
      'has made a tool',
      async (caller: Connected) => caller.ask('POST', '/api/v1/tools', headers, '{"name":"a","type":"client"}'),
    ],
  ])('after it %s', async (_, before) => {
    await using upstream = await startUpstream([echo])
    await using platform = await startPlatform()
    const server = await listen(platform.platform, '127.0.0.1', 0)
    await platform.post('/tools', { name: 'crm', type: 'mcp', mcp: { url: upstream.url } })
    await platform.post('/servers', { slug: 's' })
    using caller = new Connected(server.url)
    const call = message('tools/call', { name: 'crm_echo_action', arguments: { text: 'x' } })

    const first = await before(caller)
    const answer = await caller.ask('POST', '/mcp/s', headers, call)

    // The SDK, on the long way, answers with a stream.
    expect(first.status).not.toBe(500)
    expect(answer.headers['content-type']).toBe('application/json')
    expect(JSON.parse(answer.text).result.content).toEqual([{ type: 'text', text: '{"text":"x"}' }])
    await server.close(1)
  })

  test('though it says that JSON is in UTF-8', async () => {
    await using platform = await startPlatform()
    const server = await listen(platform.platform, '127.0.0.1', 0)
    await platform.post('/servers', { slug: 's' })
    using caller = new Connected(server.url)
    const list = (type: string) =>
      caller.ask('POST', '/mcp/s', { ...accepting, 'content-type': type }, message('tools/list', {}))

    const [said, other] = [await list('application/json; charset=utf-8'), await list('application/json; way=long')]

    expect(said.headers['content-type']).toBe('application/json')
    expect(other.headers['content-type']).toBe('text/event-stream')
    await server.close(1)
  })
})
