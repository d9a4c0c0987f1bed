import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMCPClient } from '@ai-sdk/mcp'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey } from './kit.ts'

/*
 * Servers from npm behind one of ours, used by clients from npm: what the servers have beside tools must reach every client.
 */

vi.setConfig({ testTimeout: 60_000 })

const headers = { authorization: `Bearer ${adminKey}` }
const module = (path: string) => new URL(`../node_modules/@modelcontextprotocol/${path}`, import.meta.url).pathname
const reference = (name: string) => module(`server-${name}/dist/index.js`)
const graph = 'memory://knowledge-graph'

let platform: Awaited<ReturnType<typeof startListening>>
let folder: string
let url: URL

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quartermaster-peers-'))
  await writeFile(join(folder, 'hello.txt'), 'hello from a file')
  platform = await startListening({ QM_ALLOW_STDIO: 'true' })
  const register = async (name: string, args: string[], env = {}) => {
    const mcp = { command: process.execPath, args, env }
    const { status, body } = await platform.post('/tools', { name, type: 'mcp', mcp })
    expect(status, JSON.stringify(body)).toBe(201)
  }
  await register('everything', [reference('everything')])
  await register('memory', [reference('memory')], { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') })
  await register('files', [reference('filesystem'), folder])
  await register('fast', [new URL('fastmcp-program.ts', import.meta.url).pathname])
  await platform.post('/servers', { slug: 'desk' })
  url = new URL(`${platform.url}/mcp/desk`)
}, 60_000)

afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

/** What a client can do beside tools, in one form for all clients. */
interface Peer extends AsyncDisposable {
  prompts(): Promise<string[]>
  resources(): Promise<string[]>
  templates(): Promise<string[]>
  prompt(name: string, args: Record<string, string>): Promise<string>
  read(uri: string): Promise<string>
  call(name: string, args: Record<string, unknown>): Promise<string>
  complete?(ref: Reference, argument: { name: string; value: string }): Promise<string[]>
  /** Collects the URIs of the updates. */
  subscribe?(uri: string): Promise<string[]>
}

type Reference = { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string }

const named = (all: readonly { name: string }[]) => all.map(({ name }) => name)
const located = (all: readonly { uri: string }[]) => all.map(({ uri }) => uri)
const patterns = (all: readonly { uriTemplate: string }[]) => all.map(({ uriTemplate }) => uriTemplate)

async function sdk(era: 'legacy' | 'auto'): Promise<Peer> {
  const client = new Client({ name: 'tester', version: '1' }, { versionNegotiation: { mode: era } })
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
  expect(client.getProtocolEra()).toBe(era === 'auto' ? 'modern' : 'legacy')
  return {
    prompts: async () => named((await client.listPrompts()).prompts),
    resources: async () => located((await client.listResources()).resources),
    templates: async () => patterns((await client.listResourceTemplates()).resourceTemplates),
    prompt: async (name, args) => JSON.stringify(await client.getPrompt({ name, arguments: args })),
    read: async (uri) => JSON.stringify(await client.readResource({ uri })),
    call: async (name, args) => JSON.stringify(await client.callTool({ name, arguments: args })),
    complete: async (ref, argument) => (await client.complete({ ref, argument })).completion.values,
    async subscribe(uri) {
      const seen: string[] = []
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => void seen.push(params.uri))
      await (era === 'auto' ? client.listen({ resourceSubscriptions: [uri] }) : client.subscribeResource({ uri }))
      return seen
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** Version 1 of the MCP SDK, which most clients use. */
async function firstSdk(): Promise<Peer> {
  const client = new FirstClient({ name: 'tester', version: '1' })
  await client.connect(new FirstTransport(url, { requestInit: { headers } }))
  return {
    prompts: async () => named((await client.listPrompts()).prompts),
    resources: async () => located((await client.listResources()).resources),
    templates: async () => patterns((await client.listResourceTemplates()).resourceTemplates),
    prompt: async (name, args) => JSON.stringify(await client.getPrompt({ name, arguments: args })),
    read: async (uri) => JSON.stringify(await client.readResource({ uri })),
    call: async (name, args) => JSON.stringify(await client.callTool({ name, arguments: args })),
    complete: async (ref, argument) => (await client.complete({ ref, argument })).completion.values,
    async subscribe(uri) {
      const seen: string[] = []
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void seen.push(params.uri))
      await client.subscribeResource({ uri })
      return seen
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** It has no subscriptions. */
async function aiSdk(): Promise<Peer> {
  const client = await createMCPClient({ transport: { type: 'http', url: url.href, headers } })
  return {
    prompts: async () => named((await client.listPrompts()).prompts),
    resources: async () => located((await client.listResources()).resources),
    templates: async () => patterns((await client.listResourceTemplates()).resourceTemplates),
    prompt: async (name, args) => JSON.stringify(await client.getPrompt({ name, arguments: args })),
    read: async (uri) => JSON.stringify(await client.readResource({ uri })),
    async call(name, args) {
      const tool = (await client.tools())[name]
      return JSON.stringify(await tool?.execute(args, { toolCallId: 'one', messages: [], context: {} }))
    },
    complete: async (ref, argument) => (await client.complete({ ref, argument })).completion.values,
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** Its command line has neither completion nor, in one run, subscriptions. */
async function inspector(): Promise<Peer> {
  const home = await mkdtemp(join(tmpdir(), 'quartermaster-peer-'))
  const run = (method: string, ...more: string[]) =>
    new Promise<string>((resolve, reject) => {
      const args = [module('inspector/clients/launcher/build/index.js'), '--cli', url.href, '--transport', 'http']
      const all = [...args, '--header', `authorization: ${headers.authorization}`, '--method', method, ...more]
      const env = { PATH: process.env.PATH, HOME: home }
      execFile(process.execPath, all, { env, timeout: 60_000 }, (error, stdout, stderr) =>
        error ? reject(new Error(stdout + stderr, { cause: error })) : resolve(stdout),
      )
    })
  const pairs = (args: Record<string, unknown>) => Object.entries(args).map(([name, value]) => `${name}=${value}`)
  return {
    prompts: async () => named(JSON.parse(await run('prompts/list')).prompts),
    resources: async () => located(JSON.parse(await run('resources/list')).resources),
    templates: async () => patterns(JSON.parse(await run('resources/templates/list')).resourceTemplates),
    prompt: (name, args) => run('prompts/get', '--prompt-name', name, '--prompt-args', ...pairs(args)),
    read: (uri) => run('resources/read', '--uri', uri),
    call: (name, args) => run('tools/call', '--tool-name', name, '--tool-arg', ...pairs(args)),
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  }
}

const peers: readonly (readonly [string, () => Promise<Peer>])[] = [
  ['the SDK client of 2025', () => sdk('legacy')],
  ['the SDK client of 2026', () => sdk('auto')],
  ['version 1 of the SDK', firstSdk],
  ['the AI SDK', aiSdk],
  ['the MCP Inspector', inspector],
]

describe.each(peers)('%s, through the platform,', (_, connect) => {
  test('uses the prompts of server-everything and FastMCP', async () => {
    await using client = await connect()

    const prompts = await client.prompts()
    const city = await client.prompt('args-prompt', { city: 'Recife' })
    const picture = await client.prompt('paint', { colour: 'blue' })

    expect(prompts).toEqual(expect.arrayContaining(['simple-prompt', 'args-prompt', 'completable-prompt', 'paint']))
    expect(city).toContain('Recife')
    expect(picture).toContain('Paint something blue.')
  })

  test('reads the resources and templates of server-everything, server-memory and FastMCP', async () => {
    await using client = await connect()

    const resources = await client.resources()
    const templates = await client.templates()
    const first = resources.find((uri) => uri.startsWith('demo://')) ?? ''

    expect(resources).toEqual(expect.arrayContaining([graph, 'paint://palette']))
    expect(templates).toEqual(
      expect.arrayContaining(['demo://resource/dynamic/text/{resourceId}', 'paint://colours/{name}']),
    )
    expect(await client.read(first)).toContain(first)
    expect(await client.read('demo://resource/dynamic/text/3')).toContain('demo://resource/dynamic/text/3')
    expect(await client.read(graph)).toContain('entities')
    expect(await client.read('paint://palette')).toContain('red, rose, blue')
    expect(await client.read('paint://colours/rose')).toContain('This is rose.')
  })

  test('calls tools of server-filesystem and FastMCP', async () => {
    await using client = await connect()

    const file = await client.call('files_read_text_file_action', { path: join(folder, 'hello.txt') })
    const mixed = await client.call('fast_mix_action', { one: 'red', other: 'blue' })

    expect(file).toContain('hello from a file')
    expect(mixed).toContain('red and blue')
  })
})

test.each(peers.filter(([name]) => name !== 'the MCP Inspector'))(
  '%s gets suggestions for arguments, through the platform',
  async (_, connect) => {
    await using client = await connect()
    const complete = client.complete as NonNullable<Peer['complete']>

    const department = await complete(
      { type: 'ref/prompt', name: 'completable-prompt' },
      { name: 'department', value: 'E' },
    )
    const prompt = await complete({ type: 'ref/prompt', name: 'paint' }, { name: 'colour', value: 'r' })
    const template = await complete(
      { type: 'ref/resource', uri: 'paint://colours/{name}' },
      { name: 'name', value: 'b' },
    )

    expect(department).toContain('Engineering')
    expect(prompt).toEqual(['red', 'rose'])
    expect(template).toEqual(['blue'])
  },
)

test.each(peers.filter(([name]) => name.includes('of the SDK') || name.includes('SDK client')))(
  '%s is told when a resource of server-memory changes, through the platform',
  async (_, connect) => {
    await using client = await connect()
    const subscribe = client.subscribe as NonNullable<Peer['subscribe']>

    const seen = await subscribe(graph)
    await client.call('memory_create_entities_action', {
      entities: [{ name: `Ada ${Math.random()}`, entityType: 'person', observations: ['prefers e-mail'] }],
    })

    await expect.poll(() => seen, { timeout: 10_000 }).toContain(graph)
    expect(await client.read(graph)).toContain('prefers e-mail')
  },
)
