import { inspect } from 'node:util'
import { expect, expectTypeOf, test } from 'vitest'
import { type NewTool, type Page, Quartermaster, type Tool, type ToolChanges, type ToolPage } from '../src/sdk/index.ts'
import { closedAddress, startListening } from './clients.ts'
import { importGraph } from './import-graph.ts'
import { adminKey, startService } from './kit.ts'

const answering = (response: () => Response | Promise<Response>) =>
  new Quartermaster({ baseUrl: 'http://platform.test', token: adminKey, fetch: async () => response() })

test('the SDK runs wherever fetch does: it imports no package, no Node built-in and no server code', () => {
  const { files, others } = importGraph('src/sdk/index.ts')

  expect(others).toEqual([])
  expect(files.filter((file) => !file.startsWith('src/sdk/'))).toEqual([])
  expect(files).toContain('src/sdk/send.ts')
})

test('methods return data and the HTTP response (S2.59)', async () => {
  await using platform = await startListening()
  const qm = new Quartermaster({ baseUrl: platform.url, token: adminKey })

  const { data, error, response } = await qm.documents.createDocument({
    body: { project_id: platform.projectId, path: '/a.md', content: 'Olá' },
  })

  if (error) throw new Error(JSON.stringify(error))
  expect(data.path).toBe('/a.md')
  expect(response.status).toBe(201)
  const deleted = await qm.documents.deleteDocument({ path: { document_id: data.id } })
  expect(deleted).toMatchObject({ data: null, error: undefined })
})

test('the types of methods match the API', async () => {
  const qm = answering(() => Response.json({ data: [], total: 0, limit: 50, offset: 0 }))

  const { data } = await qm.calls.listCalls()

  const total: number | undefined = data?.total
  expect(total).toBe(0)
  // @ts-expect-error a status that does not exist
  await qm.calls.listCalls({ query: { status: 'lost' } })
  // @ts-expect-error a tool without a name
  await qm.tools.createTool({ body: { type: 'http' } })
  // @ts-expect-error a call without a tool
  await qm.tools.callTool({ body: {} })
  // @ts-expect-error a field that a project does not have
  expect((await qm.projects.getProject({ path: { project_id: 'proj_1' } })).data?.colour).toBeUndefined()
})

test('request and response types can be imported by name', async () => {
  await using platform = await startListening()
  const qm = new Quartermaster({ baseUrl: platform.url, token: adminKey })
  const draft: NewTool = {
    project_id: platform.projectId,
    name: 'get-weather',
    parameters: { type: 'object' },
    execute: { url: 'https://api.example.com/weather' },
  }
  const changes: ToolChanges = { description: 'The weather in a city' }

  const created = await qm.tools.createTool({ body: draft })
  expect(created.error).toBeUndefined()
  const changed = await qm.tools.updateTool({ path: { tool_id: created.data?.id ?? '' }, body: changes })
  const listed = await qm.tools.listTools()

  const named: Pick<Tool, 'name' | 'description' | 'execute'> | undefined = changed.data
  expect(named).toMatchObject({
    name: 'get-weather',
    description: 'The weather in a city',
    execute: { method: 'POST' },
  })
  expect(listed.data?.data.map(({ name }) => name)).toEqual(['get-weather'])
  expectTypeOf(created.data).toEqualTypeOf<Tool | undefined>()
  expectTypeOf(listed.data).toEqualTypeOf<ToolPage | undefined>()
  expectTypeOf<ToolPage>().toEqualTypeOf<Page<Tool>>()
  // @ts-expect-error a tool cannot be moved to another project
  expectTypeOf({ project_id: 'proj_1' }).toExtend<ToolChanges>()
})

test('an error of the platform is returned, not thrown', async () => {
  await using platform = await startListening()
  const qm = new Quartermaster({ baseUrl: `${platform.url}/`, token: adminKey })

  const { data, error, response } = await qm.tools.getTool({ path: { tool_id: 'tool_gone' } })

  expect(data).toBeUndefined()
  expect(error).toEqual({
    code: 'RESOURCE_NOT_FOUND',
    message: 'There is no tool "tool_gone".',
    details: { kind: 'tool', id: 'tool_gone' },
  })
  expect(response?.status).toBe(404)
})

test('an unreachable platform is returned as NETWORK, with the reason', async () => {
  const qm = new Quartermaster({ baseUrl: await closedAddress(), token: adminKey })

  const outcome = await qm.tools.listTools()

  expect(outcome).toMatchObject({ data: undefined, response: undefined, error: { code: 'NETWORK', details: {} } })
  expect(outcome.error?.message).toContain('ECONNREFUSED')
})

test.each([
  ['a page of a proxy', () => new Response('<h1>Bad Gateway</h1>', { status: 502 })],
  ['a page of another service', () => new Response('<h1>Welcome</h1>')],
  ['another error', () => Response.json({ message: 'no' }, { status: 404 })],
])('%s is returned as UNEXPECTED_ANSWER', async (_, response) => {
  const { error } = await answering(response).tools.listTools()

  expect(error?.code).toBe('UNEXPECTED_ANSWER')
})

test('an aborted request is returned as ABORTED', async () => {
  const qm = new Quartermaster({ baseUrl: 'http://127.0.0.1:1', token: adminKey })

  const { error } = await qm.tools.listTools({ signal: AbortSignal.abort() })

  expect(error?.code).toBe('ABORTED')
})

test('an id is one segment of the path, whatever it contains', async () => {
  await using platform = await startListening()
  const qm = new Quartermaster({ baseUrl: platform.url, token: adminKey })

  const strange = await qm.tools.getTool({ path: { tool_id: 'a/../b?c#d%20e' } })
  const step = await qm.tools.callTool({ path: { tool_id: '..' }, body: {} })
  const none = await qm.tools.deleteTool({ path: { tool_id: '' } })

  expect(strange.error?.details).toEqual({ kind: 'tool', id: 'a/../b?c#d%20e' })
  expect(step).toMatchObject({ error: { code: 'VALIDATION_FAILED' }, response: undefined })
  expect(none.error?.details).toEqual({ errors: [{ path: 'tool_id', message: 'is missing' }] })
})

test('query parameters are escaped, and undefined ones are not sent', async () => {
  const asked: string[] = []
  const qm = new Quartermaster({
    baseUrl: 'https://tools.example.com/api/v1',
    token: adminKey,
    fetch: async (url) => {
      asked.push(url)
      return Response.json({})
    },
  })

  await qm.calls.listCalls({ query: { app: 'são & co', limit: 5, tool: undefined } })

  expect(asked).toEqual(['https://tools.example.com/api/v1/calls?app=s%C3%A3o+%26+co&limit=5'])
})

test('a request repeated with the same Idempotency-Key gets the first response', async () => {
  await using platform = await startListening()
  const qm = new Quartermaster({ baseUrl: platform.url, token: adminKey })
  const request = { body: { name: 'Once' }, headers: { 'Idempotency-Key': 'only-one' } }

  const first = await qm.projects.createProject(request)
  const second = await qm.projects.createProject(request)

  expect(second.data).toEqual(first.data)
  expect(second.response?.headers.get('idempotency-replayed')).toBe('true')
})

test.each([
  ['bytes', () => new Uint8Array([0, 1, 254, 255])],
  ['a blob', () => new Blob([new Uint8Array([0, 1, 254, 255])])],
  ['a stream', () => new Blob([new Uint8Array([0, 1, 254, 255])]).stream()],
])('a file is uploaded from %s and downloaded as a stream', async (_, content) => {
  await using platform = await startListening()
  const qm = new Quartermaster({ baseUrl: platform.url, token: adminKey })
  const file = await qm.files.createFile({ body: { path: '/four.bin' } })
  const path = { file_id: file.data?.id ?? '' }

  const up = await qm.files.uploadFile({ path, body: content() })
  const down = await qm.files.downloadFile({ path })
  const part = await qm.files.downloadFile({ path, headers: { range: 'bytes=1-2' } })

  expect(up.data?.size).toBe(4)
  expect(await new Response(down.data).bytes()).toEqual(new Uint8Array([0, 1, 254, 255]))
  expect(await part.response?.bytes()).toEqual(new Uint8Array([1, 254]))
})

test('a file without content is downloaded as empty, not as an error', async () => {
  await using platform = await startListening()
  const qm = new Quartermaster({ baseUrl: platform.url, token: adminKey })
  const file = await qm.files.createFile({ body: { path: '/empty' } })

  const { data } = await qm.files.downloadFile({ path: { file_id: file.data?.id ?? '' } })

  expect(await new Response(data).text()).toBe('')
})

test('calls can be streamed as they start and end, and leaving the loop closes the stream', async () => {
  await using platform = await startListening()
  await using service = await startService()
  const qm = new Quartermaster({ baseUrl: platform.url, token: adminKey })
  const tool = await qm.tools.createTool({
    body: { name: 'ping', type: 'http', execute: { url: service.url }, parameters: { type: 'object' } },
  })
  const path = { tool_id: tool.data?.id ?? '' }

  const { data: events } = await qm.calls.streamCalls({ query: { tool: 'ping' } })
  await qm.tools.callTool({ path, body: { input: {} } })
  const seen: string[] = []
  for await (const { name, data } of events ?? []) {
    seen.push(`${name} ${data.surface}`)
    if (name === 'call.ended') break
  }

  expect(seen).toContain('call.ended sdk')
})

test('events are parsed correctly, however the network splits them', async () => {
  const text =
    ': listening\r\n\r\nid: call_1\r\nevent: call.begun\r\ndata: {"tool":\r\ndata: "São"}\r\n\r\nevent: none\n\ndata: 2\n\n'
  const bytes = new TextEncoder().encode(text)
  const qm = answering(
    () => new Response(ReadableStream.from([...bytes].map((byte) => new Uint8Array([byte]))) as ReadableStream),
  )

  const { data = [] } = await qm.calls.streamCalls()

  expect(await Array.fromAsync<unknown>(data)).toEqual([
    { name: 'call.begun', id: 'call_1', data: { tool: 'São' } },
    { name: 'message', id: undefined, data: 2 },
  ])
})

test('the token does not appear when the client is inspected, nor in errors', async () => {
  const qm = new Quartermaster({ baseUrl: 'http://127.0.0.1:1', token: adminKey })

  const { error } = await qm.tools.listTools()

  expect(inspect(qm, { depth: null, showHidden: true })).not.toContain(adminKey)
  expect(JSON.stringify(error)).not.toContain(adminKey)
  expect(() => new Quartermaster({ baseUrl: 'http://127.0.0.1:1', token: 'sk_secret\n' })).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('secret') }),
  )
})

test.each([
  ['nothing', undefined, 'baseUrl and token are missing: '],
  ['a key alone', 'sk_secret', 'baseUrl and token are missing: '],
  [
    'other names',
    { url: 'http://127.0.0.1:1', key: 'sk_secret' },
    'url is not an option, key is not an option, baseUrl is',
  ],
  [
    'another name',
    { baseUrl: 'http://127.0.0.1:1', apiKey: 'sk_secret' },
    'apiKey is not an option, token is missing: ',
  ],
  ['an unset variable', { baseUrl: 'http://127.0.0.1:1', token: undefined }, 'token is missing: '],
  ['an invalid URL', { baseUrl: 4600, token: 'sk_secret' }, 'baseUrl must be the URL of the platform'],
  ['an invalid token', { baseUrl: 'http://127.0.0.1:1', token: 1 }, 'token must be an API key'],
])('a client created with %s throws immediately, with an error that names the options', (_, options, words) => {
  const make = () => new Quartermaster(options as never)

  expect(make).toThrow(TypeError)
  expect(make).toThrow(words)
  if (words.endsWith(': ')) expect(make).toThrow('new Quartermaster({ baseUrl, token })')
  expect(make).not.toThrow('sk_secret')
})

test('agents.run runs an agent until it ends, with your functions as its client tools', async () => {
  await using platform = await startListening()
  const qm = new Quartermaster({ baseUrl: platform.url, token: adminKey })
  const steps = [
    { answer: { tool_calls: [{ name: 'read_local_file', args: { path: '/tmp/a' } }] } },
    { answer: { tool_calls: [{ name: 'read_local_file', args: { path: '/none' } }] } },
    { when: { last_tool: { is_error: true } }, answer: 'The second failed: {{last_tool_output}}' },
  ]
  const provider = await qm.aiProviders.createAiProvider({
    body: { name: 'script', type: 'replay', default_model: 'script', script: { steps } },
  })
  const tool = await qm.tools.createTool({ body: { name: 'read_local_file', type: 'client', parameters: {} } })
  const agent = await qm.agents.createAgent({
    body: { name: 'reader', ai_provider_id: provider.data?.id ?? '', tool_ids: [tool.data?.id ?? ''] },
  })
  const read: string[] = []
  const tools = {
    read_local_file: ({ path }: { path: string }) => {
      read.push(path)
      if (path === '/none') throw new Error('no such file')
      return 'contents'
    },
  }

  const { data, error } = await qm.agents.run(agent.data?.id ?? '', { prompt: 'Read', tools })

  expect(error).toBeUndefined()
  expect(data?.output?.content).toBe('The second failed: no such file')
  expect(read).toEqual(['/tmp/a', '/none'])
  const without = await qm.agents.run(agent.data?.id ?? '', { prompt: 'Read' })
  expect(without.data?.status).toBe('requires_action')
  const wrong = await qm.agents.run('agt_none', { prompt: 'Read' })
  expect(wrong.error?.code).toBe('RESOURCE_NOT_FOUND')
  const types: string[] = []
  const streamed = await qm.agents.stream(agent.data?.id ?? '', { prompt: 'Read', tools })
  for await (const event of streamed.data ?? []) types.push(event.type)
  expect(types.filter((type) => type === 'generation.requires_action')).toHaveLength(2)
  expect(types.at(-1)).toBe('generation.completed')
})
