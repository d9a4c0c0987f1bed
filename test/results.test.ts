import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { engines, freshStore } from './engines.ts'
import { adminKey, startService } from './kit.ts'
import { startUpstream, type UpstreamTool } from './upstream.ts'

type Listening = Awaited<ReturnType<typeof startListening>>
type Block = { type: string; text: string; data?: string }

async function connect(platform: Listening, slug = 's', key = adminKey, mode: 'legacy' | 'auto' = 'auto') {
  const client = new Client({ name: 'tester', version: '1' }, { versionNegotiation: { mode } })
  const headers = { authorization: `Bearer ${key}` }
  const url = new URL(`${platform.url}/mcp/${slug}`)
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const result = await client.callTool({ name, arguments: args })
    const blocks = result.content as Block[]
    return { result, blocks, isError: result.isError === true, texts: blocks.map(({ text }) => text) }
  }
  return {
    client,
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call,
    execute: (action_id: string) =>
      call('EXECUTE_ACTION', { application_slug: 'crm', action_id, type: 'action', input_payload: {} }),
    /** Reads a whole kept result page by page, as a model would. */
    async readOn(result_id: string, offset: number, length?: number): Promise<string> {
      let whole = ''
      for (let from: number | undefined = offset; from !== undefined; ) {
        const { texts } = await call('READ_RESULT', { result_id, offset: from, ...(length && { length }) })
        whole += texts[0]
        const next: RegExpExecArray | null = /Continue with offset (\d+)/.exec(texts[1] ?? '')
        from = next ? Number(next[1]) : undefined
      }
      return whole
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

const contacts = Array.from({ length: 300 }, (_, number) => ({ number, name: `Contact ${number}`, city: 'Zürich 🏔' }))
const answering = (name: string, result: object, more: object = {}): UpstreamTool => ({
  name,
  inputSchema: { type: 'object', properties: {} },
  ...more,
  run: () => result as Record<string, unknown>,
})
const text = (text: string) => ({ type: 'text', text })
const picture = { type: 'image', data: 'iVBORw0KGgoA'.repeat(500), mimeType: 'image/png' }

const upstreamTools = [
  answering('list', { content: [text(JSON.stringify(contacts))] }),
  answering('odd', { content: [text('a\0b\uD83C'.repeat(1000))] }),
  answering('small', { content: [text('{"ok":true}')] }),
  answering('report', { content: [text('🏔'.repeat(3000))] }),
  answering('look', { content: [text('a line\n'.repeat(1000)), picture] }),
  answering('glance', { content: [text('a mountain'), picture] }),
  answering('fail', { content: [text('no '.repeat(2000))], isError: true }),
  answering(
    'shaped',
    { content: [text(JSON.stringify({ contacts }))], structuredContent: { contacts } },
    { outputSchema: { type: 'object', properties: { contacts: { type: 'array' } }, required: ['contacts'] } },
  ),
]

async function start(fields: object = { result_limit: 2000 }) {
  const platform = await startListening()
  const upstream = await startUpstream(upstreamTools)
  await platform.post('/tools', { name: 'crm', type: 'mcp', mcp: { url: upstream.url } })
  const { status, body } = await platform.post('/servers', { slug: 's', tool_names: 'original', ...fields })
  expect(status, JSON.stringify(body)).toBe(201)
  return {
    ...platform,
    async [Symbol.asyncDispose]() {
      await upstream[Symbol.asyncDispose]()
      await platform[Symbol.asyncDispose]()
    },
  }
}

const handleIn = (said = '') => JSON.parse(/READ_RESULT with (\{.*?\})/.exec(said)?.[1] ?? '{}')

describe.each(['legacy', 'auto'] as const)('for a client of the %s era', (era) => {
  test('a large result is returned as a summary, its beginning and an id to read the rest', async () => {
    await using platform = await start()
    await using client = await connect(platform, 's', adminKey, era)
    const whole = JSON.stringify(contacts)

    const { texts, isError } = await client.call('list')
    const { result_id, offset } = handleIn(texts[0])
    const rest = await client.readOn(result_id, offset)

    expect(isError).toBe(false)
    expect(texts[0]).toContain(`a JSON array of 300 items, ${Buffer.byteLength(whole)} bytes`)
    expect(Buffer.byteLength(texts.join(''))).toBeLessThan(2000)
    expect(whole.startsWith(texts[1] as string)).toBe(true)
    expect(texts[1] + rest).toBe(whole)
    expect(await client.names()).toContain('READ_RESULT')
  })

  test('the rest of a large result of EXECUTE_ACTION can be read', async () => {
    await using platform = await start({ result_limit: 2000, agent_mode: true })
    await using client = await connect(platform, 's', adminKey, era)

    const { texts } = await client.execute('list')
    const { success, data } = JSON.parse(texts[0] as string)
    const rest = await client.readOn(data.result_id, data.next_offset)

    expect(await client.names()).toEqual(['READ_RESULT', 'RESOLVE_ACTIONS', 'EXECUTE_ACTION'])
    expect(success).toBe(true)
    expect(data.summary).toContain('a JSON array of 300 items')
    expect(texts[1] + rest).toBe(JSON.stringify(contacts))
  })
})

test('results are complete and READ_RESULT does not exist unless a server has a limit', async () => {
  await using platform = await start({})
  await using client = await connect(platform)

  const { texts } = await client.call('list')

  expect(texts).toEqual([JSON.stringify(contacts)])
  expect(await client.names()).not.toContain('READ_RESULT')
  await expect(client.call('READ_RESULT', { result_id: 'res_1' })).rejects.toThrow('no tool "READ_RESULT"')
  expect((await platform.get('/servers/s')).body.result_limit).toBeNull()
})

test('a result within the limit is returned unchanged', async () => {
  await using platform = await start()
  await using client = await connect(platform)

  expect((await client.call('small')).texts).toEqual(['{"ok":true}'])
})

test('pages never split a character', async () => {
  await using platform = await start({ result_limit: 1001 })
  await using client = await connect(platform)

  const { texts } = await client.call('report')
  const { result_id, offset } = handleIn(texts[0])
  const pages = await client.readOn(result_id, offset)
  const few = await client.call('READ_RESULT', { result_id, offset: 2993, length: 3 })

  expect(texts[1]).toBe('🏔'.repeat(125))
  expect(texts[1] + pages).toBe('🏔'.repeat(3000))
  expect(few.texts).toEqual(['🏔🏔🏔', 'Characters 2993 to 2996 of 3000. Continue with offset 2996.'])
})

test('characters that databases cannot store are replaced, and the rest can be read', async () => {
  await using platform = await start()
  await using client = await connect(platform)

  const { result_id } = handleIn((await client.call('odd')).texts[0])

  expect(await client.readOn(result_id, 0)).toBe('a\uFFFDb\uFFFD'.repeat(1000))
})

test.each([
  ['application/json', JSON.stringify({ contacts, total: 300 }), 'the keys "contacts" (an array of 300), "total"'],
  ['text/plain', 'a line\n'.repeat(1000), 'a text of 1001 lines'],
])('the rest of a large %s response of an http tool can be read', async (type, body, summary) => {
  await using platform = await start()
  await using service = await startService(() => ({ headers: { 'content-type': type }, body }))
  const tool = { name: 'fetch', type: 'http', parameters: {}, execute: { url: service.url, method: 'GET' } }
  const made = await platform.post('/tools', tool)
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  await using client = await connect(platform)

  const { texts } = await client.call('fetch')

  expect(texts[0]).toContain(summary)
  expect(await client.readOn(handleIn(texts[0]).result_id, 0)).toBe(body)
})

test('no page is larger than the limit, whatever length is requested', async () => {
  await using platform = await start()
  await using client = await connect(platform)
  const { result_id } = handleIn((await client.call('list')).texts[0])

  const { texts } = await client.call('READ_RESULT', { result_id, length: 1e9 })

  expect(Buffer.byteLength(texts[0] as string)).toBeLessThanOrEqual(2000)
})

test('images are returned unchanged next to truncated text, in both modes', async () => {
  await using platform = await start()
  await platform.post('/servers', { slug: 'agent', agent_mode: true, result_limit: 2000 })
  await using direct = await connect(platform)
  await using agent = await connect(platform, 'agent')

  const looked = await direct.call('look')
  const executed = await agent.execute('look')
  const glanced = await agent.execute('glance')

  expect(looked.texts[0]).toContain('a text of 1001 lines')
  expect(looked.blocks.slice(2)).toEqual([picture])
  expect(executed.blocks.slice(2)).toEqual([picture])
  expect(glanced.blocks).toEqual([text('{"success":true,"data":"a mountain"}'), picture])
})

test('a large error result stays an error', async () => {
  await using platform = await start()
  await platform.post('/servers', { slug: 'agent', agent_mode: true, result_limit: 2000 })
  await using direct = await connect(platform)
  await using agent = await connect(platform, 'agent')

  const failed = await direct.call('fail')
  const executed = await agent.execute('fail')

  expect(failed.isError).toBe(true)
  expect(failed.texts[0]).toContain('READ_RESULT')
  expect(executed.isError).toBe(true)
  expect(JSON.parse(executed.texts[0] as string).success).toBe(false)
})

test('a server with a limit omits structuredContent and output schemas', async () => {
  await using platform = await start()
  await using client = await connect(platform)
  const { tools } = await client.client.listTools()

  const { result, texts } = await client.call('shaped')
  const { result_id } = handleIn(texts[0])

  expect(tools.find(({ name }) => name === 'shaped')?.outputSchema).toBeUndefined()
  expect(result.structuredContent).toBeUndefined()
  expect(texts[0]).toContain('a JSON object with the keys "contacts" (an array of 300)')
  expect(await client.readOn(result_id, 0)).toBe(JSON.stringify({ contacts }))
})

test('only the key that made the call can read its result, and only on that server', async () => {
  await using platform = await start()
  await platform.post('/servers', { slug: 'other', result_limit: 2000 })
  const other = await platform.keyFor([{ effect: 'Allow', action: ['*'], resource: ['*'] }])
  await using mine = await connect(platform)
  await using theirs = await connect(platform, 's', other)
  await using elsewhere = await connect(platform, 'other')
  const { result_id } = handleIn((await mine.call('list')).texts[0])

  const answers = await Promise.all([
    theirs.call('READ_RESULT', { result_id }),
    elsewhere.call('READ_RESULT', { result_id }),
    mine.call('READ_RESULT', { result_id: 'res_nothing' }),
  ])

  expect(answers.map(({ isError }) => isError)).toEqual([true, true, true])
  expect(answers.map(({ texts }) => JSON.parse(texts[0] as string).error.code)).toEqual(
    Array(3).fill('RESOURCE_NOT_FOUND'),
  )
  expect((await mine.call('READ_RESULT', { result_id })).isError).toBe(false)
})

test.each([
  [{}, 'result_id'],
  [{ result_id: 7 }, 'result_id'],
  [{ result_id: '' }, 'result_id'],
  [{ result_id: 'res_\0' }, 'result_id'],
  [{ result_id: 'x'.repeat(10_000) }, 'result_id'],
  [{ offset: -1 }, 'offset'],
  [{ offset: 0.5 }, 'offset'],
  [{ offset: 1e12 }, 'offset'],
  [{ offset: 999_999_999 }, 'offset'],
  [{ offset: 'ten' }, 'offset'],
  [{ length: 0 }, 'length'],
  [{ length: -5 }, 'length'],
  [{ page: 2 }, 'page'],
])('READ_RESULT with %j is refused with the failing path', async (input, path) => {
  await using platform = await start()
  await using client = await connect(platform)
  const { result_id } = handleIn((await client.call('list')).texts[0])

  const { isError, texts } = await client.call('READ_RESULT', path === 'result_id' ? input : { result_id, ...input })

  expect(isError).toBe(true)
  expect(JSON.parse(texts[0] as string).error).toMatchObject({
    code: 'VALIDATION_FAILED',
    details: { errors: [{ path }] },
  })
})

test('READ_RESULT is recorded in the call log', async () => {
  await using platform = await start()
  await using client = await connect(platform)
  const { result_id } = handleIn((await client.call('list')).texts[0])
  await client.call('READ_RESULT', { result_id })

  const { data } = (await platform.get('/calls')).body

  expect(data.map(({ action, status }: { action: string; status: string }) => [action, status])).toEqual([
    ['quartermaster:READ_RESULT', 'success'],
    ['crm:list', 'success'],
  ])
})

test.each([0, 999, 10_000_001, 1500.5, '2000x'])('a result limit of %j is refused', async (result_limit) => {
  await using platform = await startListening()

  expect((await platform.post('/servers', { slug: 's', result_limit })).status).toBe(400)
})

test('the result limit can be changed and removed', async () => {
  await using platform = await start()

  expect((await platform.patch('/servers/s', { result_limit: 5000 })).body.result_limit).toBe(5000)
  expect((await platform.patch('/servers/s', { result_limit: null })).body.result_limit).toBeNull()
})

describe.each(engines)('kept results on %s', (engine) => {
  const owner = { principalId: 'key_1', serverId: 'srv_1' }
  const first = { offset: 0, length: 1 }
  const draft = (text: string, bytes = Buffer.byteLength(text)) => ({
    ...{ ...owner, projectId: 'proj_1', callId: 'call_1', text, bytes, characters: [...text].length },
  })

  test('are read in whole characters', async () => {
    await using database = await freshStore(engine)
    const { results } = database.store
    const id = await results.keep(draft('a🏔é漢🏔z'))

    expect(await results.read(id, owner, { offset: 1, length: 3 })).toEqual({ characters: 6, part: '🏔é漢' })
    expect(await results.read(id, owner, { offset: 4, length: 100 })).toEqual({ characters: 6, part: '🏔z' })
    expect(await results.read(id, owner, { offset: 1e9, length: 1e9 })).toEqual({ characters: 6, part: '' })
    expect(await results.read(id, { ...owner, principalId: 'key_2' }, first)).toBeUndefined()
    expect(await results.read(id, { ...owner, serverId: 'srv_2' }, first)).toBeUndefined()
  })

  test('are deleted after a day', async () => {
    await using database = await freshStore(engine)
    const { results, engine: opened } = database.store
    const id = await results.keep(draft('x'))
    const day = 24 * 60 * 60_000

    await opened.db
      .updateTable('results')
      .set({ created_at: Date.now() - day - 1 })
      .execute()
    const fresh = await results.keep(draft('y'))

    expect(await results.read(id, owner, first)).toBeUndefined()
    await results.sweep()
    expect(await opened.db.selectFrom('results').select('id').execute()).toEqual([{ id: fresh }])
  })

  test('are evicted for new ones, oldest first, without affecting other callers', async () => {
    await using database = await freshStore(engine)
    const { results } = database.store
    const half = 40 * 1024 * 1024
    const other = { ...owner, principalId: 'key_2' }
    const theirs = await results.keep({ ...draft('x', half), ...other })

    const oldest = await results.keep(draft('x', half))
    const second = await results.keep(draft('x', half))
    const huge = await results.keep(draft('x', 10 * half))

    expect(await results.read(oldest, owner, first)).toBeUndefined()
    expect(await results.read(second, owner, first)).toBeUndefined()
    expect(await results.read(huge, owner, first)).toBeDefined()
    expect(await results.read(theirs, other, first)).toBeDefined()
  })

  test('are limited to two hundred per caller', async () => {
    await using database = await freshStore(engine)
    const { results } = database.store
    const ids: string[] = []

    for (let count = 0; count < 202; count++) ids.push(await results.keep(draft('x')))

    expect(await results.read(ids[1] as string, owner, first)).toBeUndefined()
    expect(await results.read(ids[2] as string, owner, first)).toBeDefined()
  })
})
