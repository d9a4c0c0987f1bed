import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../src/lib/json.ts'
import { startListening } from './clients.ts'
import { startProtected, TestBrowser } from './connect-peers.ts'
import type { TestPlatform } from './kit.ts'
import { startAuthorizationServer } from './oauth-peers.ts'

type Listening = Awaited<ReturnType<typeof startListening>>

async function create(platform: TestPlatform, path: string, body: object) {
  const response = await platform.post(path, { project_id: platform.projectId, ...body })
  expect(response.status, JSON.stringify(response.body)).toBe(201)
  return response.body
}

/** A platform with a protected server whose tools are known, and a key of Alice, who has no connection yet. */
async function startNotes() {
  const as = await startAuthorizationServer()
  const server = await startProtected(as)
  const platform = await startListening()
  const tool = await create(platform, '/tools', { name: 'notes', type: 'mcp', mcp: { url: server.url } })
  await create(platform, '/servers', { slug: 's', tool_names: 'original' })
  const link = await create(platform, '/connections/link', { tool_id: tool.id, end_user_id: 'carol' })
  await new TestBrowser().connect(link.connect_url)
  const alice = await platform.keyFor([{ effect: 'Allow', action: ['*'] }], { end_user_id: 'alice' })
  return {
    ...{ platform, server, alice },
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
      await as[Symbol.asyncDispose]()
    },
  }
}

async function signedIn(platform: Listening, key: string): Promise<TestBrowser> {
  const response = await fetch(`${platform.url}/api/v1/dashboard/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
  })
  const browser = new TestBrowser()
  browser.keepCookie(platform.url, String(response.headers.getSetCookie()[0]))
  return browser
}

const textOf = ({ content }: CallToolResult): string => {
  const [first] = content
  return first?.type === 'text' ? first.text : ''
}

describe.each(['2025', '2026'])('an MCP client of %s', (era) => {
  const connectTo = async (
    platform: Listening,
    key: string,
    answer: (question: { mode?: string; url?: string; message?: string }) => 'accept' | 'decline',
    elicitation: { url?: object; form?: object } = { url: {} },
  ) => {
    const mode = era === '2026' ? ('auto' as const) : ('legacy' as const)
    const client = new Client(
      { name: 'editor', version: '1' },
      { capabilities: { elicitation: elicitation as JsonObject }, versionNegotiation: { mode } },
    )
    client.setRequestHandler('elicitation/create', ({ params }) => ({ action: answer(params as never) }))
    const headers = { authorization: `Bearer ${key}` }
    const url = new URL(`${platform.url}/mcp/s`)
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
    return client
  }

  test('that can open links shows the page, and gets the result once the account is connected (S0.42)', async () => {
    await using notes = await startNotes()
    const { platform, server, alice } = notes
    const shown: string[] = []
    const client = await connectTo(platform, alice, ({ mode, url, message }) => {
      expect(mode).toBe('url')
      expect(message).not.toContain(String(url))
      shown.push(String(url))
      return 'accept'
    })

    const call = client.callTool({ name: 'read', arguments: {} })
    await expect.poll(() => shown, { timeout: 10_000 }).toHaveLength(1)
    const page = await (await signedIn(platform, alice)).connect(String(shown[0]))
    const result = await call
    await client.close()

    expect(page.text).toContain('is connected')
    expect(textOf(result)).toBe('notes of alice')
    expect(server.calls).toHaveLength(1)
  })

  test('whose user declines, or that cannot open links, gets an error with the link', async () => {
    await using notes = await startNotes()
    const { platform, server, alice } = notes
    const declines = await connectTo(platform, alice, () => 'decline')
    const cannot = await connectTo(platform, alice, () => 'accept', { form: {} })

    const results = [
      await declines.callTool({ name: 'read', arguments: {} }),
      await cannot.callTool({ name: 'read', arguments: {} }),
    ]
    await declines.close()
    await cannot.close()

    for (const result of results) {
      const { error } = JSON.parse(textOf(result))
      expect(result.isError).toBe(true)
      expect(error.code).toBe('CONNECTION_REQUIRED')
      expect(error.message).toContain(`${platform.url}/connect/`)
    }
    expect(server.calls).toEqual([])
  })
})

test('a 2025 client is told when its user has connected, and only the session that was asked (S0.42)', async () => {
  await using notes = await startNotes()
  const { platform, alice } = notes
  const open = async () => {
    const client = new Client({ name: 'editor', version: '1' }, { capabilities: { elicitation: { url: {} } } })
    const asked: { elicitationId?: string; url?: string }[] = []
    const completed: unknown[] = []
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params as never)
      return { action: 'accept' }
    })
    client.setNotificationHandler('notifications/elicitation/complete', ({ params }) => {
      completed.push(params.elicitationId)
    })
    const requestInit = { headers: { authorization: `Bearer ${alice}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${platform.url}/mcp/s`), { requestInit }))
    return { client, asked, completed }
  }
  const [one, gone, idle] = [await open(), await open(), await open()]

  const call = one.client.callTool({ name: 'read', arguments: {} })
  const leaving = new AbortController()
  const left = gone.client
    .callTool({ name: 'read', arguments: {} }, { signal: leaving.signal })
    .catch(() => 'cancelled')
  await expect.poll(() => [...one.asked, ...gone.asked], { timeout: 10_000 }).toHaveLength(2)
  leaving.abort()
  expect(await left).toBe('cancelled')
  await (await signedIn(platform, alice)).connect(String(one.asked[0]?.url))
  const result = await call
  await expect.poll(() => gone.completed, { timeout: 10_000 }).toHaveLength(1)
  for (const { client } of [one, gone, idle]) await client.close()

  expect(textOf(result)).toBe('notes of alice')
  expect(one.completed).toEqual([one.asked[0]?.elicitationId])
  expect(gone.completed).toEqual([gone.asked[0]?.elicitationId])
  expect(idle.completed).toEqual([])
})
