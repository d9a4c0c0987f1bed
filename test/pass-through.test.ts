import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { startListening } from './clients.ts'
import { adminKey, type TestPlatform } from './kit.ts'
import { startMcpServer } from './mcp-server.ts'

type Listening = Awaited<ReturnType<typeof startListening>>
type Era = 'legacy' | 'auto'

const everything = new URL('../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url)
  .pathname

const everyAction = { effect: 'Allow', action: ['*'], resource: ['*'] }

async function connect(
  platform: Listening,
  slug: string,
  era: Era,
  key = adminKey,
  listChanged: ClientOptions['listChanged'] = {},
) {
  const client = new Client({ name: 'tester', version: '1' }, { versionNegotiation: { mode: era }, listChanged })
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${platform.url}/mcp/${slug}`), { requestInit }))
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}

/** A server with a prompt, a resource and a template, which say whose they are. */
const startLibrary = (owner: string, extra: (server: McpServer) => void = () => {}) =>
  startMcpServer(() => {
    const server = new McpServer({ name: owner, version: '1' })
    server.registerTool('ping', {}, () => ({ content: [{ type: 'text', text: owner }] }))
    server.registerPrompt('greet', { argsSchema: z.object({ who: z.string() }) }, ({ who }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `${owner} greets ${who}` } }],
    }))
    server.registerResource('motto', 'note://motto', { mimeType: 'text/plain' }, ({ href }) => ({
      contents: [{ uri: href, text: `motto of ${owner}` }],
    }))
    server.registerResource(
      'page',
      new ResourceTemplate(`${owner}://pages/{number}`, {
        list: undefined,
        complete: { number: (value) => ['1', '10', '2'].filter((one) => one.startsWith(value)) },
      }),
      {},
      ({ href }, { number }) => ({ contents: [{ uri: href, text: `page ${number} of ${owner}` }] }),
    )
    extra(server)
    return server
  })

async function register(platform: TestPlatform, name: string, mcp: object, more: object = {}): Promise<string> {
  const { status, body } = await platform.post('/tools', { name, type: 'mcp', mcp, ...more })
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id
}

async function serve(platform: TestPlatform, slug: string, fields: object = {}): Promise<void> {
  const { status, body } = await platform.post('/servers', { slug, ...fields })
  expect(status, JSON.stringify(body)).toBe(201)
}

/** Subscribes a client to a resource, in the way of its era. */
async function subscribed(client: Client, uri: string) {
  const seen: string[] = []
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void seen.push(params.uri))
  if (client.getProtocolEra() === 'modern') {
    const subscription = await client.listen({ resourceSubscriptions: [uri] })
    expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: [uri] })
    return { seen, stop: () => subscription.close() }
  }
  await client.subscribeResource({ uri })
  return { seen, stop: () => client.unsubscribeResource({ uri }) }
}

const textsOf = (result: { contents: object[] }) => result.contents.map((one) => (one as { text: string }).text)

describe.each(['legacy', 'auto'] as const)('a client of the %s era', (era) => {
  test('uses the prompts of a server behind ours, and their use is in the call log', async () => {
    await using platform = await startListening()
    await using library = await startLibrary('ana')
    await register(platform, 'ana', { url: library.url })
    await serve(platform, 'desk')
    await using client = await connect(platform, 'desk', era)

    const { prompts } = await client.listPrompts()
    const { messages } = await client.getPrompt({ name: 'greet', arguments: { who: 'Bo' } })

    expect(prompts).toMatchObject([{ name: 'greet', arguments: [{ name: 'who', required: true }] }])
    expect(messages).toEqual([{ role: 'user', content: { type: 'text', text: 'ana greets Bo' } }])
    const { data } = (await platform.get('/calls')).body
    expect(data).toHaveLength(1)
    expect(data[0]).toMatchObject({ action: 'ana:prompts/get', app: 'ana', status: 'success', surface: 'mcp' })
  })

  test('reads resources by URI and by template, and completes arguments', async () => {
    await using platform = await startListening()
    await using library = await startLibrary('ana')
    await register(platform, 'ana', { url: library.url })
    await serve(platform, 'desk')
    await using client = await connect(platform, 'desk', era)

    expect((await client.listResources()).resources).toMatchObject([{ uri: 'note://motto', mimeType: 'text/plain' }])
    expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([
      { uriTemplate: 'ana://pages/{number}' },
    ])
    expect(textsOf(await client.readResource({ uri: 'note://motto' }))).toEqual(['motto of ana'])
    expect(textsOf(await client.readResource({ uri: 'ana://pages/7' }))).toEqual(['page 7 of ana'])
    const { completion } = await client.complete({
      ref: { type: 'ref/resource', uri: 'ana://pages/{number}' },
      argument: { name: 'number', value: '1' },
    })
    expect(completion.values).toEqual(['1', '10'])
  })

  test('finds what two servers have under the same name, with the app in front', async () => {
    await using platform = await startListening()
    await using ana = await startLibrary('ana')
    await using bo = await startLibrary('bo')
    await register(platform, 'ana', { url: ana.url })
    await register(platform, 'bo', { url: bo.url })
    await serve(platform, 'desk')
    await using client = await connect(platform, 'desk', era)

    const names = (await client.listPrompts()).prompts.map(({ name }) => name).sort()
    const uris = (await client.listResources()).resources.map(({ uri }) => uri).sort()
    const greeting = await client.getPrompt({ name: 'bo_greet', arguments: { who: 'Cy' } })
    const motto = await client.readResource({ uri: 'app:bo/note://motto' })

    expect(names).toEqual(['ana_greet', 'bo_greet'])
    expect(uris).toEqual(['app:ana/note://motto', 'app:bo/note://motto'])
    expect(greeting.messages[0]?.content).toMatchObject({ text: 'bo greets Cy' })
    expect(motto.contents).toMatchObject([{ uri: 'app:bo/note://motto', text: 'motto of bo' }])
    expect(textsOf(await client.readResource({ uri: 'bo://pages/2' }))).toEqual(['page 2 of bo'])
    await expect(client.readResource({ uri: 'note://motto' })).rejects.toThrow(/not found/i)
    await expect(client.getPrompt({ name: 'greet' })).rejects.toThrow('no prompt "greet"')
  })

  test('sees nothing of tools that it cannot call, of other apps, or that the server does not pass on', async () => {
    await using platform = await startListening()
    await using ana = await startLibrary('ana')
    await using bo = await startLibrary('bo')
    const id = await register(platform, 'ana', { url: ana.url })
    await register(platform, 'bo', { url: bo.url })
    await serve(platform, 'desk')
    await serve(platform, 'bo-only', { apps: [{ slug: 'bo' }] })
    await serve(platform, 'some', {
      apps: [
        { slug: 'ana', actions: ['ping'] },
        { slug: 'bo', prompts: false },
      ],
    })
    await serve(platform, 'off', { pass_prompts: false, pass_resources: false })
    const key = await platform.keyFor([
      { effect: 'Allow', action: ['*'], resource: ['*'] },
      { effect: 'Deny', action: ['tools:CallTool'], resource: [`qm:*:tool:${id}`] },
    ])

    await using limited = await connect(platform, 'desk', era, key)
    expect((await limited.listPrompts()).prompts.map(({ name }) => name)).toEqual(['greet'])
    expect(textsOf(await limited.readResource({ uri: 'note://motto' }))).toEqual(['motto of bo'])
    await expect(limited.readResource({ uri: 'app:ana/note://motto' })).rejects.toThrow()
    await using boOnly = await connect(platform, 'bo-only', era)
    expect(textsOf(await boOnly.readResource({ uri: 'note://motto' }))).toEqual(['motto of bo'])
    await using some = await connect(platform, 'some', era)
    expect((await some.listPrompts()).prompts).toEqual([])
    expect((await some.listResources()).resources.map(({ uri }) => uri)).toEqual(['note://motto'])
    await using off = await connect(platform, 'off', era)
    expect(off.getServerCapabilities()).not.toHaveProperty('prompts')
    expect(off.getServerCapabilities()).not.toHaveProperty('resources')
  })

  test('uses the prompts, resources, templates, completions and subscriptions of the reference server', {
    timeout: 30_000,
  }, async () => {
    await using platform = await startListening({ QM_ALLOW_STDIO: 'true' })
    await register(platform, 'everything', { command: process.execPath, args: [everything] })
    await serve(platform, 'desk')
    await using client = await connect(platform, 'desk', era)

    const prompts = (await client.listPrompts()).prompts.map(({ name }) => name)
    const { resources } = await client.listResources()
    const { resourceTemplates } = await client.listResourceTemplates()
    const complex = await client.getPrompt({ name: 'args-prompt', arguments: { city: 'Recife' } })
    const first = await client.readResource({ uri: String(resources[0]?.uri) })
    const dynamic = await client.readResource({ uri: 'demo://resource/dynamic/text/3' })
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'completable-prompt' },
      argument: { name: 'department', value: 'E' },
    })

    const updates = await subscribed(client, 'demo://resource/dynamic/text/3')
    await client.callTool({ name: 'everything_toggle_subscriber_updates_action', arguments: {} })

    await expect.poll(() => updates.seen, { timeout: 10_000 }).toContain('demo://resource/dynamic/text/3')
    expect(prompts).toEqual(expect.arrayContaining(['simple-prompt', 'args-prompt', 'completable-prompt']))
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain(
      'demo://resource/dynamic/text/{resourceId}',
    )
    expect(JSON.stringify(complex.messages)).toContain('Recife')
    expect(first.contents[0]?.uri).toBe(resources[0]?.uri)
    expect(textsOf(dynamic)[0]).toContain('3')
    expect(completion.values).toContain('Engineering')
  })

  test('sees skills beside the resources of other servers, and skills win a conflict', async () => {
    await using platform = await startListening()
    await using library = await startLibrary('ana', (server) => {
      server.registerResource('fake', 'skill://refunds/SKILL.md', {}, ({ href }) => ({
        contents: [{ uri: href, text: 'not ours' }],
      }))
    })
    await register(platform, 'ana', { url: library.url })
    await platform.post('/skills', { name: 'Refunds', summary: 'How to refund', content: '1. Find the order.' })
    await serve(platform, 'desk', { retrieve_skill: true })
    await using client = await connect(platform, 'desk', era)

    const uris = (await client.listResources()).resources.map(({ uri }) => uri).sort()
    const skill = await client.readResource({ uri: 'skill://refunds/SKILL.md' })
    const fake = await client.readResource({ uri: 'app:ana/skill://refunds/SKILL.md' })

    expect(uris).toEqual(['app:ana/skill://refunds/SKILL.md', 'note://motto', 'skill://refunds/SKILL.md'])
    expect(textsOf(skill)[0]).toContain('Find the order')
    expect(textsOf(fake)).toEqual(['not ours'])
  })

  test('waits for approval where every call needs one, and gets no suggestions there', async () => {
    await using platform = await startListening()
    await using library = await startLibrary('ana')
    await register(platform, 'ana', { url: library.url }, { auto_approve: false })
    await serve(platform, 'desk')
    await using client = await connect(platform, 'desk', era)

    const ref = { type: 'ref/resource' as const, uri: 'ana://pages/{number}' }
    const { completion } = await client.complete({ ref, argument: { name: 'number', value: '1' } })
    const reading = client.readResource({ uri: 'note://motto' })
    const pending = async () => (await platform.get('/approvals?status=pending')).body.data
    await expect.poll(pending).toHaveLength(1)
    const [approval] = await pending()
    await platform.post(`/approvals/${approval.id}/approve`, {}, { key: await platform.keyFor([everyAction]) })

    expect(completion.values).toEqual([])
    expect(approval).toMatchObject({ action: 'ana:resources/read' })
    expect(textsOf(await reading)).toEqual(['motto of ana'])
  })

  test('is notified when the prompts or resources of a server behind ours change', async () => {
    let more = false
    await using platform = await startListening()
    await using library = await startLibrary('ana', (server) => {
      if (more) server.registerPrompt('bye', {}, () => ({ messages: [] }))
    })
    await register(platform, 'ana', { url: library.url })
    await serve(platform, 'desk')
    const seen: string[] = []
    const onChanged = (kind: string) => ({ autoRefresh: false, onChanged: () => void seen.push(kind) })
    await using client = await connect(platform, 'desk', era, adminKey, {
      prompts: onChanged('prompts'),
      resources: onChanged('resources'),
    })
    expect((await client.listPrompts()).prompts).toHaveLength(1)

    more = true
    library.notify.promptsChanged()

    await expect.poll(() => seen, { timeout: 5000 }).toContain('prompts')
    await expect
      .poll(async () => (await client.listPrompts(undefined, { cacheMode: 'refresh' })).prompts.length)
      .toBe(2)
  })

  test('is notified when resources change: those of a server behind ours, skills, and what ours passes on', async () => {
    let more = false
    await using platform = await startListening()
    await using library = await startLibrary('ana', (server) => {
      if (more) server.registerResource('more', 'note://more', {}, () => ({ contents: [] }))
    })
    await register(platform, 'ana', { url: library.url })
    await serve(platform, 'desk', { retrieve_skill: true })
    let changes = 0
    const resources = { autoRefresh: false, onChanged: () => void changes++ }
    await using client = await connect(platform, 'desk', era, adminKey, { resources })
    const uris = async () => {
      const { resources } = await client.listResources(undefined, { cacheMode: 'refresh' })
      return resources.map(({ uri }) => uri).sort()
    }
    const changed = async (change: () => unknown) => {
      const before = changes
      await change()
      await expect.poll(() => changes, { timeout: 5000 }).toBeGreaterThan(before)
    }
    const skill = { name: 'Refunds', summary: 'How to refund', content: '1. Find the order.' }
    expect(await uris()).toEqual(['note://motto'])

    await changed(() => {
      more = true
      library.notify.resourcesChanged()
    })
    await expect.poll(uris).toEqual(['note://more', 'note://motto'])
    await changed(() => platform.post('/skills', skill))
    await expect.poll(uris).toEqual(['note://more', 'note://motto', 'skill://refunds/SKILL.md'])
    await changed(() => platform.patch('/servers/desk', { apps: [{ slug: 'ana', resources: false }] }))
    await expect.poll(uris).toEqual(['skill://refunds/SKILL.md'])
    await changed(() => platform.patch('/servers/desk', { apps: null, pass_resources: false }))
    await changed(() => platform.patch('/servers/desk', { pass_resources: true }))
    await expect.poll(uris).toEqual(['note://more', 'note://motto', 'skill://refunds/SKILL.md'])
  })

  test('is notified of changes of the resources it subscribes to, until it unsubscribes', async () => {
    await using platform = await startListening()
    await using library = await startLibrary('ana', ({ server }) => {
      server.registerCapabilities({ resources: { subscribe: true } })
    })
    await register(platform, 'ana', { url: library.url })
    await serve(platform, 'desk')
    await using client = await connect(platform, 'desk', era)
    await using other = await connect(platform, 'desk', era)

    const updates = await subscribed(client, 'note://motto')
    const others = await subscribed(other, 'ana://pages/1')
    library.notify.resourceUpdated('note://motto')
    await expect.poll(() => updates.seen).toEqual(['note://motto'])
    await updates.stop()
    library.notify.resourceUpdated('note://motto')
    library.notify.resourceUpdated('ana://pages/1')

    await expect.poll(() => others.seen).toEqual(['ana://pages/1'])
    expect(updates.seen).toEqual(['note://motto'])
    const { data } = (await platform.get('/calls')).body
    expect(data.map(({ action }: { action: string }) => action)).toContain('quartermaster:SUBSCRIBE_RESOURCE')
  })

  test('cannot subscribe to resources of tools that it cannot call', async () => {
    await using platform = await startListening()
    await using library = await startLibrary('ana', ({ server }) => {
      server.registerCapabilities({ resources: { subscribe: true } })
    })
    await register(platform, 'ana', { url: library.url })
    await serve(platform, 'desk')
    const key = await platform.keyFor([everyAction, { ...everyAction, effect: 'Deny', action: ['tools:CallTool'] }])
    await using client = await connect(platform, 'desk', era, key)

    if (era === 'legacy') {
      await expect(client.subscribeResource({ uri: 'note://motto' })).rejects.toThrow(/not found/i)
    } else {
      const { honoredFilter } = await client.listen({ resourceSubscriptions: ['note://motto'] })
      expect(honoredFilter.resourceSubscriptions ?? []).toEqual([])
    }
  })
})

test('a server that is unreachable does not hide the prompts of the others, and errors say what happened', async () => {
  await using platform = await startListening()
  await using ana = await startLibrary('ana', (server) => {
    server.registerPrompt('broken', {}, () => {
      throw new Error('out of ink')
    })
  })
  const bo = await startLibrary('bo')
  await register(platform, 'ana', { url: ana.url })
  await register(platform, 'bo', { url: bo.url })
  await serve(platform, 'desk')
  await bo[Symbol.asyncDispose]()
  await using client = await connect(platform, 'desk', 'auto')

  expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('broken')
  await expect(client.getPrompt({ name: 'broken' })).rejects.toThrow('out of ink')
  const { data } = (await platform.get('/calls')).body
  expect(data[0]).toMatchObject({ action: 'ana:prompts/get', status: 'execution_error' })
})

test('credentials of the tool are redacted in prompts, resources and their lists', async () => {
  const secret = 'tok_3f9a8c77d1e2'
  await using platform = await startListening()
  await using library = await startLibrary('ana', (server) => {
    server.registerResource('echo', 'note://echo', { description: `sent ${secret}` }, ({ href }) => ({
      contents: [{ uri: href, text: `Bearer ${secret}` }],
    }))
  })
  await register(platform, 'ana', { url: library.url, headers: { authorization: `Bearer ${secret}` } })
  await serve(platform, 'desk')
  await using client = await connect(platform, 'desk', 'auto')

  const seen = JSON.stringify([await client.listResources(), await client.readResource({ uri: 'note://echo' })])

  expect(seen).not.toContain(secret)
  expect(seen.split('[redacted]')).toHaveLength(3)
})

test('an XML message reads a resource, and the prompt for such agents lists resources and templates', async () => {
  await using platform = await startListening()
  await using library = await startLibrary('ana')
  await register(platform, 'ana', { url: library.url })
  await serve(platform, 'desk')
  const access = (uri: string) =>
    `<access_mcp_resource><server_name>desk</server_name><uri>${uri}</uri></access_mcp_resource>`
  const execute = async (text: string) => (await platform.post('/xml/execute', { text })).body.results

  const found = await execute(`${access('note://motto')}\n${access('ana://pages/3')}`)
  await serve(platform, 'closed', { pass_resources: false })
  const [missing] = await execute(access('note://motto').replace('desk', 'closed'))
  const { prompt } = (await platform.get('/xml/prompt?servers=desk')).body

  expect(found).toMatchObject([
    { status: 'success', uri: 'note://motto', text: 'motto of ana' },
    { status: 'success', uri: 'ana://pages/3', text: 'page 3 of ana' },
  ])
  expect(missing).toMatchObject({ status: 'error', error: { code: 'UNKNOWN_RESOURCE' } })
  expect(prompt).toContain('- note://motto (motto)')
  expect(prompt).toContain('- ana://pages/{number} (page)')
  const { data } = (await platform.get('/calls?surface=xml')).body
  expect(data.map(({ action }: { action: string }) => action)).toContain('ana:resources/read')
})
