import { once } from 'node:events'
import { connect } from 'node:net'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { describe, expect, test } from 'vitest'
import { listen } from '../src/server/listen.ts'
import { adminKey, startPlatform, startService } from './kit.ts'
import { startUpstream } from './upstream.ts'
import { bothWays } from './ways.ts'

test('a call gets the same response from the port and from an embedded platform', async () => {
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
    bothWays(platform.platform, server.url, async (way) => {
      const sent: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {}
      const { status, headers, text } = await way(`/api/v1/tools/${id}/call`, sent, body)
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
    const [onPort, embedded] = await send(id, body, key)
    expect(onPort, `${id} ${body.slice(0, 80)}`).toEqual(embedded)
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

/** Reads a JSON-RPC message from JSON or from an event stream. */
const readMessage = (text: string) => {
  const event = /^data: (.*)$/m.exec(text)
  return text === '' ? undefined : JSON.parse(event?.[1] ?? text)
}

const accepting = { accept: 'application/json, text/event-stream', authorization: `Bearer ${adminKey}` }

test('an MCP request gets the same response from the port and from an embedded platform', async () => {
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
    bothWays(platform.platform, server.url, async (way) => {
      const { status, text } = await way(path, { ...accepting, ...headers }, body)
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
      const [onPort, embedded] = await send(path, body, { ...headers, ...era })
      expect(onPort, `${path} ${JSON.stringify(era)} ${body.slice(0, 200)}`).toEqual(embedded)
    }
  }
  for (const body of [
    '[]',
    '{',
    '7',
    '{"jsonrpc":"2.0","method":"tools/list"}',
    '{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
  ]) {
    const [onPort, embedded] = await send('/mcp/direct', body, {})
    expect(onPort, body).toEqual(embedded)
  }
  await server.close(1)
})

describe('a tools request that violates the protocol', () => {
  const client = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const inputSchema = {
    type: 'object' as const,
    properties: {
      text: { type: 'string' as const },
      region: { type: 'string' as const, 'x-mcp-header': 'Region' },
      place: { type: 'object' as const, properties: { zoom: { type: 'integer' as const, 'x-mcp-header': 'Zoom' } } },
    },
  }

  /** The response of the MCP SDK for the same tool. */
  const bare = createMcpHandler(() => {
    class Bare extends McpServer {
      override toolInputSchemaJson() {
        return inputSchema
      }
    }
    const server = new Bare({ name: 'bare', version: '1' }, { capabilities: { tools: {} } })
    server.server.setRequestHandler('tools/list', () => ({ tools: [] }))
    server.server.setRequestHandler('tools/call', () => ({ content: [] }))
    return server
  })
  const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'locate' }
  const without = (name: keyof typeof modern) =>
    Object.fromEntries(Object.entries(modern).filter(([key]) => key !== name))
  const say = (params: object, id: unknown = 1) => ({ jsonrpc: '2.0', id, method: 'tools/call', params })
  const old = say({ name: 'locate', arguments: {} })
  const fresh = say({ name: 'locate', arguments: {}, _meta: client })
  const sends = (input: object) => say({ name: 'locate', arguments: input, _meta: client })

  const cases: [what: string, body: object, headers: Record<string, string>][] = [
    ['an old version that nobody has spoken', old, { 'mcp-protocol-version': '1999-01-01' }],
    ['no event streams accepted', old, { accept: 'application/json' }],
    ['another content type', old, { 'content-type': 'text/plain' }],
    ['another content type, in the new era', fresh, { ...modern, 'content-type': 'text/plain' }],
    ['an id that is an object', say({ name: 'locate' }, {}), {}],
    ['parameters in a list', { ...old, params: [] }, {}],
    ['the new version in the header alone', old, modern],
    ['the new version in the body alone', fresh, {}],
    ['no version header', fresh, without('mcp-protocol-version')],
    ['no method header', fresh, without('mcp-method')],
    ['another method in the header', fresh, { ...modern, 'mcp-method': 'tools/list' }],
    ['no name header', fresh, without('mcp-name')],
    ['another name in the header', fresh, { ...modern, 'mcp-name': 'other' }],
    ['the name in the header encoded', fresh, { ...modern, 'mcp-name': '=?base64?bG9jYXRl?=' }],
    ['the name in the header encoded wrongly', fresh, { ...modern, 'mcp-name': '=?base64?b?=' }],
    [
      'an unknown new version',
      say({ name: 'locate', _meta: { ...client, 'io.modelcontextprotocol/protocolVersion': '2030-01-01' } }),
      { ...modern, 'mcp-protocol-version': '2030-01-01' },
    ],
    [
      'an introduction without capabilities',
      say({ name: 'locate', _meta: { ...client, 'io.modelcontextprotocol/clientCapabilities': undefined } }),
      modern,
    ],
    [
      'an introduction of another shape',
      say({ name: 'locate', _meta: { ...client, 'io.modelcontextprotocol/clientInfo': 'me' } }),
      modern,
    ],
    ['a mirrored parameter without its header', sends({ region: 'eu' }), modern],
    ['a mirrored parameter with another value', sends({ region: 'eu' }), { ...modern, 'mcp-param-region': 'us' }],
    ['a mirrored parameter', sends({ region: 'eu' }), { ...modern, 'mcp-param-region': 'eu' }],
    [
      'a mirrored parameter that is encoded',
      sends({ region: 'é' }),
      { ...modern, 'mcp-param-region': '=?base64?w6k=?=' },
    ],
    [
      'a mirrored parameter that is encoded wrongly',
      sends({ region: 'é' }),
      { ...modern, 'mcp-param-region': '=?base64?*?=' },
    ],
    ['a mirrored number', sends({ place: { zoom: 4 } }), { ...modern, 'mcp-param-zoom': '4.0' }],
    ['a mirrored number with another value', sends({ place: { zoom: 4 } }), { ...modern, 'mcp-param-zoom': '5' }],
    ['a header for a parameter that is not sent', sends({}), { ...modern, 'mcp-param-region': 'eu' }],
  ]

  test.each(cases)('is refused with the same error as by the SDK: %s', async (_, body, headers) => {
    await using upstream = await startUpstream([{ name: 'locate', inputSchema: inputSchema as never }])
    await using platform = await startPlatform()
    await platform.post('/tools', { name: 'maps', type: 'mcp', mcp: { url: upstream.url } })
    await platform.post('/servers', { slug: 's', tool_names: 'original' })
    const init = {
      method: 'POST',
      headers: { ...accepting, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    }
    const outcomeOf = async (response: Response) => {
      const message = readMessage(await response.text())
      return { status: response.status, code: message.error?.code, said: message.error?.message }
    }

    const ours = await outcomeOf(
      await platform.fetch('/mcp/s', { ...init, headers: { ...init.headers, host: '127.0.0.1' } }),
    )
    const theirs = await outcomeOf(await bare.fetch(new Request('http://127.0.0.1/mcp', init)))

    expect(ours).toEqual(theirs)
  })
})

test.each([
  ['REST', '/api/v1/tools'],
  ['MCP', '/mcp/s'],
])('%s rejects a caller without a valid key before its body is complete', async (_, path) => {
  await using platform = await startPlatform()
  const server = await listen(platform.platform, '127.0.0.1', 0)
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Authorization: Bearer sk_wrong',
    'Content-Type: application/json',
    'Content-Length: 1000000',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n{"half":`)

  const [answer] = (await once(socket, 'data')) as [Buffer]

  expect(answer.toString()).toMatch(/^HTTP\/1\.1 401 .*"code":"UNAUTHENTICATED"/s)
  socket.destroy()
  await server.close(1)
})
