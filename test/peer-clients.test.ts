import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMCPClient } from '@ai-sdk/mcp'
import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { describe, expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey } from './kit.ts'
import { startUpstream } from './upstream.ts'

const headers = { authorization: `Bearer ${adminKey}` }

/** A platform with an echo tool: in direct mode at /mcp/direct, in agent mode at /mcp/agent. */
async function startServers() {
  const upstream = await startUpstream()
  const platform = await startListening()
  await platform.post('/tools', { name: 'up', type: 'mcp', mcp: { url: upstream.url } })
  await platform.post('/servers', { slug: 'direct' })
  await platform.post('/servers', { slug: 'agent', agent_mode: true })
  return {
    direct: `${platform.url}/mcp/direct`,
    agent: `${platform.url}/mcp/agent`,
    received: () => upstream.calls.map(({ input }) => input),
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
    },
  }
}

const echoed = '{"text":"hello"}'
const plan = { application_slug: 'up', action_id: 'echo', input_payload: { text: 'hello' }, type: 'action' }
const textOf = (result: unknown): string => (result as { content: { text: string }[] }).content[0]?.text ?? ''

const program = (path: string) => new URL(`../node_modules/${path}`, import.meta.url).pathname

/** Runs a Node program until it exits, with an empty home folder. */
async function run(path: string, args: readonly string[]): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'quartermaster-peer-'))
  try {
    return await new Promise((resolve, reject) => {
      const env = { PATH: process.env.PATH, HOME: home }
      execFile(process.execPath, [program(path), ...args], { env, timeout: 60_000 }, (error, stdout, stderr) =>
        error ? reject(new Error(stdout + stderr, { cause: error })) : resolve(stdout),
      )
    })
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

describe('third-party MCP clients:', () => {
  test('version 1 of the MCP SDK lists and calls tools, directly and in agent mode', async () => {
    await using servers = await startServers()
    const connect = async (url: string) => {
      const client = new Client({ name: 'tester', version: '1' })
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
      return client
    }
    const direct = await connect(servers.direct)
    const agent = await connect(servers.agent)

    const { tools } = await direct.listTools()
    const result = await direct.callTool({ name: 'up_echo_action', arguments: { text: 'hello' } })
    const resolved = await agent.callTool({
      name: 'RESOLVE_ACTIONS',
      arguments: { integration_query: ['echo up'] },
    })
    const executed = await agent.callTool({ name: 'EXECUTE_ACTION', arguments: plan })
    await Promise.all([direct.close(), agent.close()])

    expect(tools.map(({ name }) => name)).toEqual(['up_echo_action'])
    expect(textOf(result)).toBe(echoed)
    expect(JSON.parse(textOf(resolved))).toMatchObject([{ slug: 'up', identifier: 'echo', type: 'action' }])
    expect(JSON.parse(textOf(executed))).toEqual({ success: true, data: { text: 'hello' } })
  })

  test('the AI SDK lists and calls tools, directly and in agent mode', async () => {
    await using servers = await startServers()
    const connect = (url: string) => createMCPClient({ transport: { type: 'http', url, headers } })
    const direct = await connect(servers.direct)
    const agent = await connect(servers.agent)
    const options = { toolCallId: 'one', messages: [], context: {} }

    const tools = await direct.tools()
    const result = await tools.up_echo_action?.execute({ text: 'hello' }, options)
    const executed = await (await agent.tools()).EXECUTE_ACTION?.execute(plan, options)
    await Promise.all([direct.close(), agent.close()])

    expect(Object.keys(tools)).toEqual(['up_echo_action'])
    expect(textOf(result)).toBe(echoed)
    expect(JSON.parse(textOf(executed))).toEqual({ success: true, data: { text: 'hello' } })
  })

  test('LangChain’s adapters list and call tools, directly and in agent mode', async () => {
    await using servers = await startServers()
    const client = new MultiServerMCPClient({
      mcpServers: {
        direct: { transport: 'http', url: servers.direct, headers },
        agent: { transport: 'http', url: servers.agent, headers },
      },
    })

    const tools = await client.getTools()
    const find = (name: string) => tools.find((tool) => tool.name === name)
    const result = await find('up_echo_action')?.invoke({ text: 'hello' })
    const executed = await find('EXECUTE_ACTION')?.invoke(plan)
    await client.close()

    expect(tools.map(({ name }) => name).sort()).toEqual(['EXECUTE_ACTION', 'RESOLVE_ACTIONS', 'up_echo_action'])
    expect(result).toBe(echoed)
    expect(JSON.parse(executed)).toEqual({ success: true, data: { text: 'hello' } })
  })

  test('mcp-remote connects a stdio client', { timeout: 60_000 }, async () => {
    await using servers = await startServers()
    const home = await mkdtemp(join(tmpdir(), 'quartermaster-peer-'))
    const client = new Client({ name: 'tester', version: '1' })
    const header = `authorization: ${headers.authorization}`
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [program('mcp-remote/dist/proxy.js'), servers.direct, '--header', header, '--transport', 'http-only'],
        env: { PATH: String(process.env.PATH), HOME: home },
        stderr: 'ignore',
      }),
    )

    const { tools } = await client.listTools()
    const result = await client.callTool({ name: 'up_echo_action', arguments: { text: 'hello' } })
    // Also ends the program that mcp-remote started.
    await client.close()
    await rm(home, { recursive: true, force: true })

    expect(tools.map(({ name }) => name)).toEqual(['up_echo_action'])
    expect(textOf(result)).toBe(echoed)
  })

  test('the command line of the MCP Inspector lists and calls tools', { timeout: 180_000 }, async () => {
    await using servers = await startServers()
    const inspect = async (url: string, ...args: string[]) => {
      const all = ['--cli', url, '--transport', 'http', '--header', `authorization: ${headers.authorization}`, ...args]
      return JSON.parse(await run('@modelcontextprotocol/inspector/clients/launcher/build/index.js', all))
    }

    const listed = await inspect(servers.direct, '--method', 'tools/list')
    const call = ['--method', 'tools/call', '--tool-name', 'up_echo_action', '--tool-arg', 'text=hello']
    const result = await inspect(servers.direct, ...call)
    const agent = await inspect(servers.agent, '--method', 'tools/list')

    expect(listed.tools.map(({ name }: { name: string }) => name)).toEqual(['up_echo_action'])
    expect(textOf(result)).toBe(echoed)
    expect(agent.tools.map(({ name }: { name: string }) => name)).toEqual(['RESOLVE_ACTIONS', 'EXECUTE_ACTION'])
  })
})
