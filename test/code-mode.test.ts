import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { adminKey, startPlatform, startService, type TestPlatform } from './kit.ts'
import { soak } from './soak.ts'

const text = { type: 'string' }

async function startShop(platform: TestPlatform, server: object = {}) {
  const service = await startService(({ url, body }) => ({
    body: JSON.stringify({ url, got: body === '' ? null : JSON.parse(body) }),
  }))
  const tool = (name: string, method: string, more: object = {}) =>
    platform.post('/tools', {
      ...{ name, app: 'shop', description: `${name} of the shop`, execute: { url: `${service.url}/${name}`, method } },
      parameters: { type: 'object', properties: { sku: text }, required: ['sku'] },
      ...more,
    })
  await tool('look', 'GET')
  await tool('order', 'POST')
  await tool('pay', 'POST', { auto_approve: false })
  await platform.post('/tools', {
    name: 'other',
    app: 'elsewhere',
    parameters: { type: 'object', properties: {} },
    execute: { url: `${service.url}/other`, method: 'POST' },
  })
  await platform.post('/servers', {
    slug: 'shop',
    name: 'Shop',
    code_mode: true,
    agent_mode: true,
    apps: [{ slug: 'shop' }],
    ...server,
  })
  return service
}

async function connect(platform: TestPlatform) {
  const transport = new StreamableHTTPClientTransport(new URL('http://platform.test/mcp/shop'), {
    requestInit: { headers: { authorization: `Bearer ${adminKey}` } },
    fetch: (url, init) => platform.platform.fetch(new Request(url, init)),
  })
  const client = new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(transport)
  // biome-ignore lint/suspicious/noExplicitAny: tests read results field by field
  const call = async (name: string, args: object): Promise<any> =>
    JSON.parse(
      ((await client.callTool({ name, arguments: { ...args } })) as { content: { text: string }[] }).content[0]?.text ??
        '',
    )
  return { client, call, code: (code: string) => call('EXECUTE_CODE', { code }) }
}

test('code mode adds EXECUTE_CODE, and RESOLVE_ACTIONS answers with TypeScript signatures', async () => {
  await using platform = await startPlatform()
  await using _service = await startShop(platform)
  const { client, call } = await connect(platform)

  const names = (await client.listTools()).tools.map(({ name }) => name)
  const plan = await call('RESOLVE_ACTIONS', { integration_query: ['Order shop'] })

  expect(names).toEqual(['EXECUTE_CODE', 'RESOLVE_ACTIONS', 'EXECUTE_ACTION'])
  expect(plan[0].typescript).toBe('call("shop:order", input: { sku: string }): Promise<any>')
})

test('without the toggle there is no EXECUTE_CODE', async () => {
  await using platform = await startPlatform()
  await using _service = await startShop(platform, { code_mode: false })
  const { client } = await connect(platform)

  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['RESOLVE_ACTIONS', 'EXECUTE_ACTION'])
  await expect(client.callTool({ name: 'EXECUTE_CODE', arguments: { code: '1' } })).rejects.toThrow('no tool')
})

test('a program calls actions through dispatch, and each call has a record below the one of the program', async () => {
  await using platform = await startPlatform()
  await using service = await startShop(platform)
  const { code } = await connect(platform)

  const answer = await code(`
    interface Item { sku: string }
    const items: Item[] = ['a', 'b', 'c'].map((sku): Item => ({ sku }))
    const ordered = await Promise.all(items.map((item) => tools.shop.order(item)))
    const seen = await call('shop:look', { sku: ordered[2].got.sku })
    return { skus: ordered.map((one) => one.got.sku), url: seen.url }
  `)
  const calls = (await platform.get('/calls')).body.data
  const [program] = calls.filter((call: { action: string }) => call.action === 'quartermaster:EXECUTE_CODE')

  expect(answer).toEqual({ success: true, data: { skus: ['a', 'b', 'c'], url: '/look?sku=c' } })
  expect(service.received).toHaveLength(4)
  expect(calls.filter((call: { parent_call_id: string }) => call.parent_call_id === program.id)).toHaveLength(4)
})

test('a program that needs an approval waits, continues after it, and repeats nothing', async () => {
  await using platform = await startPlatform()
  await using service = await startShop(platform)
  const reviewer = await platform.keyFor([{ effect: 'Allow', action: ['approvals:*'] }])
  const { code } = await connect(platform)

  const answer = code(`
    const first = await call('shop:order', { sku: 'x' })
    const paid = await call('shop:pay', { sku: first.got.sku })
    const last = await call('shop:order', { sku: paid.got.sku + '!' })
    return last.got.sku
  `)
  await expect
    .poll(async () => (await platform.get('/approvals?status=pending')).body.total, { timeout: 20_000 })
    .toBe(1)
  await expect.poll(async () => (await platform.get('/workflow-runs?kind=code')).body.data[0].status).toBe('waiting')
  const [approval] = (await platform.get('/approvals?status=pending')).body.data
  await platform.post(`/approvals/${approval.id}/approve`, {}, { key: reviewer })

  expect(await answer).toEqual({ success: true, data: 'x!' })
  expect(service.received.map(({ url, body }) => `${url} ${body}`)).toEqual([
    '/order {"sku":"x"}',
    '/pay {"sku":"x"}',
    '/order {"sku":"x!"}',
  ])
})

describe('bad programs get a clear error', async () => {
  const platform = await startPlatform()
  const service = await startShop(platform)
  const { code } = await connect(platform)
  // The limit is 30 seconds of computing. Shorter limits are in code-worker.test.ts.
  const endless = soak ? code('while (true);') : undefined
  test.each([
    ['a syntax error', 'const = 1', /not valid TypeScript/],
    ['a thrown error', 'throw new Error("nope")', /Error: nope/],
    ['a thrown value', 'throw { a: 1 }', /threw \{"a":1\}/],
    ['a memory bomb', 'const a = []; for (;;) a.push([1, 2, 3])', /more than 64 MB|out of memory/],
    ['endless recursion', 'const f = () => f() + 1; f()', /stack/i],
    ['a promise that never settles', 'await new Promise(() => {})', /never happens/],
    ['process', 'return process.env', /process/],
    ['require', 'return require("fs")', /require/],
    ['import', 'return await import("node:fs")', /./],
    [
      'the constructor of functions',
      'return (() => {}).constructor("return typeof process + typeof Date + typeof Math.random")()',
      undefined,
    ],
    ['an unknown action', 'return await call("shop:ordr", {})', /There is no action "shop:ordr"/],
    ['an action of another app', 'return await call("elsewhere:other", {})', /There is no action "elsewhere:other"/],
    ['invalid input', 'return await call("shop:order", {})', /sku/],
    ['too many calls', 'for (let i = 0; i < 300; i++) await call("shop:look", { sku: "s" + i })', /200 calls/],
    [
      'many promises',
      'await Promise.all(Array.from({ length: 10000 }, (_, i) => call("shop:nothing", { i })))',
      /no action|200 calls/,
    ],
  ])('%s', async (_, program, message) => {
    const answer = await code(program)

    if (message) expect(answer).toMatchObject({ success: false, error: expect.stringMatching(message) })
    else expect(answer).toEqual({ success: true, data: 'undefinedundefinedundefined' })
  })
  test.runIf(soak)(
    'an endless loop ends at the limit, and does not hold up other programs',
    {
      timeout: 60_000,
    },
    async () => {
      expect(await endless).toMatchObject({ success: false, error: expect.stringMatching(/more than 30 seconds/) })
    },
  )
  test('and nothing was sent by them', async () => {
    expect(service.received.filter(({ method }) => method === 'POST')).toEqual([])
    await platform[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
  })
})
