import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey } from './kit.ts'
import { echo, startUpstream, type TestUpstream } from './upstream.ts'

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'hostile', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

describe.each(['2025', '2026'] as const)('invalid input from a client of MCP %s:', (era) => {
  let platform: Awaited<ReturnType<typeof startListening>>
  let upstream: TestUpstream

  beforeAll(async () => {
    upstream = await startUpstream([echo])
    platform = await startListening()
    await platform.post('/tools', { name: 'up', type: 'mcp', mcp: { url: upstream.url } })
    await platform.post('/servers', { slug: 'direct' })
    await platform.post('/servers', { slug: 'agent', agent_mode: true })
  })

  afterAll(async () => {
    await platform[Symbol.asyncDispose]()
    await upstream[Symbol.asyncDispose]()
  })

  const send = async (body: string, headers: Record<string, string> = {}, server = 'direct') => {
    const response = await fetch(`${platform.url}/mcp/${server}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${adminKey}`,
        ...headers,
      },
      body,
    })
    const text = await response.text()
    return { status: response.status, ...JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) }
  }
  const ask = (method: string, params: Record<string, unknown>, server?: string) => {
    const isNew = era === '2026'
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof params.name === 'string' && { 'mcp-name': params.name }),
    }
    const body = { jsonrpc: '2.0', id: 1, method, params: isNew ? { ...params, _meta: meta } : params }
    return send(JSON.stringify(body), isNew ? headers : {}, server)
  }
  const call = (name: unknown, args?: unknown, server?: string) =>
    ask('tools/call', { name, ...(args !== undefined && { arguments: args }) }, server)
  const headersOf = (method: string): Record<string, string> =>
    era === '2026' ? { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method } : {}

  test.each([
    ['invalid JSON', '{"jsonrpc":', -32700],
    ['an empty body', '', -32700],
    ['a number', '7', -32600],
    ['an object that is not a request', '{"id":1}', -32600],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"tools/list"}', -32600],
    ['an invalid id', '{"jsonrpc":"2.0","id":{},"method":"tools/list"}', -32600],
    ['parameters in a list', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}', -32600],
    ['deeply nested JSON', `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${'['.repeat(1e5)}`, -32600],
  ])('%s gets 400 and a JSON-RPC error code', async (_, body, code) => {
    expect(await send(body, headersOf('tools/list'))).toMatchObject({ status: 400, error: { code } })
  })

  test('a request that is too large gets 413 and the limit', async () => {
    const { status, error } = await call('up_echo_action', { text: 'x'.repeat(6_000_000) })

    expect(status).toBe(413)
    expect(error.message).toMatch(/must not exceed \d+ bytes/)
  })

  test('an unknown protocol version gets a list of the supported ones', async () => {
    const { status, error } = await send('{"jsonrpc":"2.0","id":1,"method":"tools/list"}', {
      'mcp-protocol-version': '1999-01-01',
    })

    expect(status).toBe(400)
    expect(JSON.stringify(error)).toMatch(/2025-11-25|2026-07-28/)
  })

  test('an unknown method gets "method not found"', async () => {
    expect(await ask('nothing/here', {})).toMatchObject({ error: { code: -32601 } })
  })

  test('an initialize request without parameters gets the names of the missing ones, where initialize exists', async () => {
    const { error } = await ask('initialize', {})

    expect(error.code).toBe(era === '2025' ? -32602 : -32601)
    if (era === '2025') expect(error.message).toContain('protocolVersion: is missing; capabilities: is missing')
  })

  test.each([
    [{}, 'name: is missing'],
    [{ name: 7 }, 'name: must be of type string, not number'],
    [{ name: 'up_echo_action', arguments: 'x' }, 'arguments: must be of type object, not string'],
    [{ name: 'up_echo_action', arguments: null }, 'arguments: must be of type object, not null'],
  ])('tools/call with the parameters %j gets an error that says what is wrong', async (params, words) => {
    const { status, error } = await ask('tools/call', params)

    expect({ status, code: error.code }).toEqual({ status: 200, code: -32602 })
    expect(error.message).toBe(`The parameters of tools/call are not valid: ${words}.`)
  })

  test('an invalid cursor gets an error that says how to start again', async () => {
    expect((await ask('tools/list', { cursor: 7 })).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('cursor: must be of type string'),
    })
    expect((await ask('tools/list', { cursor: 'x' })).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('Start again without a cursor'),
    })
  })

  test('an unknown tool gets a suggestion', async () => {
    const message = async (name: string, server?: string) => (await call(name, {}, server)).error.message

    expect(await message('up_eco_action')).toContain('Did you mean "up_echo_action"?')
    expect(await message('zzz')).toContain('tools/list returns the available tools')
    expect(await message('up_echo_action', 'agent')).toContain('find actions with RESOLVE_ACTIONS')
    expect((await message('x'.repeat(5000))).length).toBeLessThan(400)
  })

  test('arguments that do not match the schema get an error result with paths and reasons', async () => {
    const { result } = await call('up_echo_action', { text: 7 })

    expect(result.isError).toBe(true)
    expect(JSON.parse(result.content[0].text).error.message).toBe(
      'The input is not valid: text: must be of type string.',
    )
  })

  test.each([
    ['{"text":', 'is a string that is not valid JSON'],
    ['7', 'must be a JSON object, or a string that contains one'],
    [[1], 'must be a JSON object, or a string that contains one'],
    [`{"text":${'['.repeat(1e5)}`, 'is nested more than 100 deep'],
  ])('an input_payload of %.20j gets an error with the expected type, in both modes', async (input_payload, words) => {
    const wrapped = await call('up_echo_action', { input_payload })
    const base = { application_slug: 'up', action_id: 'echo', type: 'action' }
    const executed = await call('EXECUTE_ACTION', { ...base, input_payload }, 'agent')

    expect(JSON.parse(wrapped.result.content[0].text).error.message).toContain(words)
    expect(JSON.parse(executed.result.content[0].text)).toMatchObject({
      success: false,
      error: expect.stringContaining(words),
    })
  })

  test('an action with a wrong type, app or name gets a suggestion of the right one', async () => {
    const error = async (fields: object) => {
      const base = { application_slug: 'up', action_id: 'echo', type: 'action', input_payload: {} }
      return JSON.parse((await call('EXECUTE_ACTION', { ...base, ...fields }, 'agent')).result.content[0].text).error
    }

    expect(await error({ type: 'workflow' })).toBe('The input is not valid: type: "echo" of "up" is of type "action".')
    expect(await error({ application_slug: 'upp' })).toMatch(/there is no app "upp" here; did you mean "up"\?$/)
    expect(await error({ action_id: 'eco' })).toMatch(/"up" has no action "eco" here; did you mean "echo"\?$/)
    expect(await error({ input_payload: 7 })).toContain('must be a JSON object, or a string that contains one')
  })

  test('the next valid call succeeds, and no invalid one has reached the MCP server', async () => {
    const { result } = await call('up_echo_action', { text: 'fine' })

    expect(result.content[0].text).toBe('{"text":"fine"}')
    expect(upstream.calls).toEqual([{ name: 'echo', input: { text: 'fine' } }])
  })
})

test('a JSON-RPC batch is answered in the protocol version that has batches, and refused in the one that has not', async () => {
  await using platform = await startListening()
  await platform.post('/servers', { slug: 's' })
  const one = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/list', params: {} })
  const send = (headers: Record<string, string>) =>
    fetch(`${platform.url}/mcp/s`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${adminKey}`,
        ...headers,
      },
      body: JSON.stringify([one(1), one(2)]),
    })

  const old = await send({})
  const modern = await send({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' })

  expect((await old.text()).match(/"tools":\[\]/g)).toHaveLength(2)
  expect(modern.status).toBe(400)
  expect(await modern.text()).toContain('send one request at a time')
})
