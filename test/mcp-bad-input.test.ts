import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey } from './kit.ts'
import { echo, startUpstream, type TestUpstream } from './upstream.ts'

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'hostile', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

describe.each(['2025', '2026'] as const)('a client of %s that sends what it should not', (era) => {
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
    ['what is no JSON', '{"jsonrpc":', -32700],
    ['nothing', '', -32700],
    ['a number', '7', -32600],
    ['no request', '{"id":1}', -32600],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"tools/list"}', -32600],
    ['an id that is none', '{"jsonrpc":"2.0","id":{},"method":"tools/list"}', -32600],
    ['parameters in a list', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}', -32600],
    ['what is nested without end', `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${'['.repeat(1e5)}`, -32600],
  ])('%s is told so with 400 and a code of JSON-RPC', async (_, body, code) => {
    expect(await send(body, headersOf('tools/list'))).toMatchObject({ status: 400, error: { code } })
  })

  test('more than the limit of a request is told the limit', async () => {
    const { status, error } = await call('up_echo_action', { text: 'x'.repeat(6_000_000) })

    expect(status).toBe(413)
    expect(error.message).toMatch(/must not exceed \d+ bytes/)
  })

  test('a version that nobody has spoken is told those that are', async () => {
    const { status, error } = await send('{"jsonrpc":"2.0","id":1,"method":"tools/list"}', {
      'mcp-protocol-version': '1999-01-01',
    })

    expect(status).toBe(400)
    expect(JSON.stringify(error)).toMatch(/2025-11-25|2026-07-28/)
  })

  test('an unknown method is told as such', async () => {
    expect(await ask('nothing/here', {})).toMatchObject({ error: { code: -32601 } })
  })

  test('an introduction without its fields is told which, in the era that has one', async () => {
    const { error } = await ask('initialize', {})

    expect(error.code).toBe(era === '2025' ? -32602 : -32601)
    if (era === '2025') expect(error.message).toContain('protocolVersion: is missing; capabilities: is missing')
  })

  test.each([
    [{}, 'name: is missing'],
    [{ name: 7 }, 'name: must be of type string, not number'],
    [{ name: 'up_echo_action', arguments: 'x' }, 'arguments: must be of type object, not string'],
    [{ name: 'up_echo_action', arguments: null }, 'arguments: must be of type object, not null'],
  ])('a call with the parameters %j is told in words what is wrong', async (params, words) => {
    const { status, error } = await ask('tools/call', params)

    expect({ status, code: error.code }).toEqual({ status: 200, code: -32602 })
    expect(error.message).toBe(`The parameters of tools/call are not valid: ${words}.`)
  })

  test('a cursor that is none is told so', async () => {
    expect((await ask('tools/list', { cursor: 7 })).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('cursor: must be of type string'),
    })
    expect((await ask('tools/list', { cursor: 'x' })).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('begin again without it'),
    })
  })

  test('an unknown tool is answered with what to do instead', async () => {
    const message = async (name: string, server?: string) => (await call(name, {}, server)).error.message

    expect(await message('up_eco_action')).toContain('Did you mean "up_echo_action"?')
    expect(await message('zzz')).toContain('tools/list shows those there are')
    expect(await message('up_echo_action', 'agent')).toContain('find actions with RESOLVE_ACTIONS')
    expect((await message('x'.repeat(5000))).length).toBeLessThan(400)
  })

  test('arguments that fail the schema are a result that says where and why', async () => {
    const { result } = await call('up_echo_action', { text: 7 })

    expect(result.isError).toBe(true)
    expect(JSON.parse(result.content[0].text).error.message).toBe(
      'The input is not valid: text: must be of type string.',
    )
  })

  test.each([
    ['{"text":', 'is text that is not JSON'],
    ['7', 'must be an object, or the JSON text of one'],
    [[1], 'must be an object, or the JSON text of one'],
    [`{"text":${'['.repeat(1e5)}`, 'is nested more than 100 deep'],
  ])('an input_payload of %.20j is told what it should be, in either mode', async (input_payload, words) => {
    const wrapped = await call('up_echo_action', { input_payload })
    const base = { application_slug: 'up', action_id: 'echo', type: 'action' }
    const executed = await call('EXECUTE_ACTION', { ...base, input_payload }, 'agent')

    expect(JSON.parse(wrapped.result.content[0].text).error.message).toContain(words)
    expect(JSON.parse(executed.result.content[0].text)).toMatchObject({
      success: false,
      error: expect.stringContaining(words),
    })
  })

  test('an action under a wrong type, app or name is told the right one', async () => {
    const error = async (fields: object) => {
      const base = { application_slug: 'up', action_id: 'echo', type: 'action', input_payload: {} }
      return JSON.parse((await call('EXECUTE_ACTION', { ...base, ...fields }, 'agent')).result.content[0].text).error
    }

    expect(await error({ type: 'workflow' })).toBe('The input is not valid: type: "echo" of "up" is of type "action".')
    expect(await error({ application_slug: 'upp' })).toMatch(/there is no app "upp" here; did you mean "up"\?$/)
    expect(await error({ action_id: 'eco' })).toMatch(/"up" has no action "eco" here; did you mean "echo"\?$/)
    expect(await error({ input_payload: 7 })).toContain('must be an object, or the JSON text of one')
  })

  test('harms nobody: the next call is answered, and nothing of all that has reached a server', async () => {
    const { result } = await call('up_echo_action', { text: 'fine' })

    expect(result.content[0].text).toBe('{"text":"fine"}')
    expect(upstream.calls).toEqual([{ name: 'echo', input: { text: 'fine' } }])
  })
})

test('a batch is answered in the revision that has them, and told that there are none in the one that has not', async () => {
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
