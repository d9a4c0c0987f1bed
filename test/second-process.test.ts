/** What the platform promises about credentials, proved against the program as an operator runs it, in another process. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startProtected, TestBrowser } from './connect-peers.ts'
import { adminKey, ask, startService } from './kit.ts'
import { obtain } from './oauth-kit.ts'
import { startAuthorizationServer } from './oauth-peers.ts'
import { startProcess, temporaryFolder } from './process.ts'

async function start() {
  await using stack = new AsyncDisposableStack()
  const folder = stack.use(await temporaryFolder())
  const as = stack.use(await startAuthorizationServer())
  const server = stack.use(await startProtected(as))
  const service = stack.use(await startService(() => ({ body: '{"ok":true}' })))
  const environment = { QM_ADMIN_KEY: adminKey, QM_LOG_LEVEL: 'trace', QM_EMBEDDINGS: 'off', QM_SAMPLE: 'false' }
  const platform = stack.use(await startProcess(folder.path, environment))
  const tool = await ask<{ id: string; project_id: string }>(platform, 'POST', '/tools', {
    ...{ name: 'notes', type: 'mcp', mcp: { url: server.url } },
  })
  await ask(platform, 'POST', '/tools', { name: 'echo', execute: { url: service.url }, parameters: {} })
  for (const slug of ['desk', 'other']) await ask(platform, 'POST', '/servers', { slug, tool_names: 'original' })
  const owned = stack.move()
  return { folder, as, server, service, platform, tool, close: () => owned.disposeAsync() }
}

let all: Awaited<ReturnType<typeof start>>
beforeAll(async () => {
  all = await start()
}, 60_000)
afterAll(() => all?.close())

const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
const hello = JSON.stringify({
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
})

const post = (path: string, credential: string | undefined, body = list, headers: Record<string, string> = {}) =>
  fetch(all.platform.url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(credential && { authorization: `Bearer ${credential}` }),
      ...headers,
    },
    body,
  })

type Refused = { error: { code: string; details: { connect_url: string } } }

/** Everything that the process has written: its files, and what it printed. */
async function written(): Promise<string> {
  const files = await readdir(all.folder.path, { recursive: true, withFileTypes: true })
  const texts = files
    .filter((file) => file.isFile())
    .map((file) => readFile(join(file.parentPath, file.name), 'latin1').catch(() => ''))
  return [...(await Promise.all(texts)), all.platform.output()].join('\n')
}

describe('a protected MCP server', () => {
  test('is registered without credentials, and connected and called with a token for exactly it (S4.12) (S4.13) (S4.14) (S4.15) (S0.42) (S0.43)', async () => {
    const { platform, server, as, tool } = all
    const tokens: { resource?: unknown; scope?: unknown }[] = []
    as.provider.on('grant.success', ({ oidc }) => void tokens.push({ ...oidc.params }))
    const call = (action: string) => ask<object>(platform, 'POST', `/tools/${tool.id}/call`, { action, input: {} })

    const refused = (await call('read')) as Refused
    const unauthenticated = [...server.requests]
    const page = await new TestBrowser().connect(refused.error.details.connect_url)
    const answer = await call('read')
    const leaked = JSON.stringify(await call('leak'))
    const record = JSON.stringify(await ask(platform, 'GET', '/calls?limit=100'))

    const token = String(server.calls.at(-1)?.token)
    expect(refused.error.code).toBe('CONNECTION_REQUIRED')
    expect(unauthenticated.some((body) => body.includes('"initialize"') || body.includes('server/discover'))).toBe(true)
    expect(page.text).toContain('is connected')
    expect(answer).toMatchObject({ content: [{ text: 'notes of alice' }] })
    expect(tokens).toMatchObject([{ resource: server.url }])
    expect(leaked).toContain('[redacted]')
    const files = await written()
    expect(files).toContain(tool.id)
    expect(leaked + record + files).not.toContain(token)
  })

  test('whose token was revoked leads its user to the page again, and the same connection goes on (S0.42)', async () => {
    const { platform, server, as, tool } = all
    const call = () => ask<object>(platform, 'POST', `/tools/${tool.id}/call`, { action: 'read', input: {} })
    const token = await as.provider.AccessToken.find(String(server.calls.at(-1)?.token))
    await as.provider.RefreshToken.revokeByGrantId(String(token?.grantId))
    await token?.destroy()

    const refused = (await call()) as Refused
    await new TestBrowser().connect(refused.error.details.connect_url)
    const answer = await call()
    const { data } = await ask<{ data: object[] }>(platform, 'GET', '/connections')

    expect(refused.error).toMatchObject({ code: 'CONNECTION_REQUIRED', details: { reason: 'expired' } })
    expect(answer).toMatchObject({ content: [{ text: 'notes of alice' }] })
    expect(data).toMatchObject([{ status: 'active' }])
  })
})

describe('our own MCP servers', () => {
  test('answer an unauthenticated initialize with the challenge and the metadata (S4.13) (S4.17) (S4.18)', async () => {
    const { url } = all.platform
    const answer = await post('/mcp/desk', undefined, hello)
    const metadata = `${url}/mcp/desk/.well-known/oauth-protected-resource`
    const document = await (await fetch(metadata)).json()

    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${metadata}", error="invalid_token"`)
    expect(document).toMatchObject({ resource: `${url}/mcp/desk`, authorization_servers: [url] })
  })

  test('accept API keys and tokens that were issued for them, and nothing else (S4.16) (S0.49)', async () => {
    const { url } = all.platform
    const { token } = await obtain(url, `${url}/mcp/desk`)
    const statusOf = async (path: string, credential?: string) => (await post(path, credential)).status

    expect(await statusOf('/mcp/desk', token)).toBe(200)
    expect(await statusOf('/mcp/desk', adminKey)).toBe(200)
    for (const path of ['/mcp/other', '/mcp', '/mcp/absent']) expect(await statusOf(path, token), path).toBe(401)
    for (const wrong of [undefined, 'sk_wrong', 'nonsense', `${token}x`])
      expect(await statusOf('/mcp/desk', wrong)).toBe(401)
    const rest = await fetch(`${url}/api/v1/tools`, { headers: { authorization: `Bearer ${token}` } })
    expect(rest.status).toBe(401)
  })

  test('take the tenant from the token, never from headers of the caller (S4.19) (S4.20) (S0.43)', async () => {
    const { platform, service, tool } = all
    const { url } = platform
    const { token } = await obtain(url, `${url}/mcp/desk`)
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: {} } }
    const claimed = { 'x-tenant': 'evil', 'x-org': 'evil', 'x-user': 'evil', 'x-quartermaster-project': 'evil' }

    const answer = await post('/mcp/desk', token, JSON.stringify(call), claimed)
    const unauthorized = await post('/mcp/desk', undefined, JSON.stringify(call), claimed)

    expect(await answer.text()).toContain('ok')
    expect(unauthorized.status).toBe(401)
    expect(service.received).toHaveLength(1)
    expect(service.received[0]?.headers).toMatchObject({ 'x-quartermaster-project': tool.project_id })
    expect(JSON.stringify(service.received)).not.toMatch(/evil/)
    expect(JSON.stringify(service.received) + (await written())).not.toContain(token)
  })

  test('show a page to the user of an MCP client, and continue its call (S0.42)', async () => {
    const { platform, server } = all
    const { key } = await ask<{ key: string }>(platform, 'POST', '/api-keys', {
      ...{ name: 'alice', end_user_id: 'alice', access_policy_ids: ['pol_administrator'] },
    })
    const { data } = await ask<{ data: { id: string }[] }>(platform, 'GET', '/connections')
    for (const { id } of data) await ask(platform, 'DELETE', `/connections/${id}`)
    const client = new Client({ name: 'editor', version: '1' }, { capabilities: { elicitation: { url: {} } } })
    const shown: string[] = []
    client.setRequestHandler('elicitation/create', ({ params }) => {
      shown.push(String((params as { url?: string }).url))
      return { action: 'accept' }
    })
    const requestInit = { headers: { authorization: `Bearer ${key}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${platform.url}/mcp/desk`), { requestInit }))

    const call = client.callTool({ name: 'read', arguments: {} })
    await expect.poll(() => shown, { timeout: 10_000 }).toHaveLength(1)
    const session = await fetch(`${platform.url}/api/v1/dashboard/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key }),
    })
    const stranger = await new TestBrowser().connect(String(shown[0]))
    const browser = new TestBrowser()
    browser.keepCookie(platform.url, String(session.headers.getSetCookie()[0]))
    await browser.connect(String(shown[0]))
    const result = await call
    await client.close()

    expect(stranger.status).toBe(403)
    expect(JSON.stringify(result.content)).toContain('notes of alice')
    expect(JSON.stringify(result.content)).not.toContain(String(server.calls.at(-1)?.token))
    expect(await written()).not.toContain(new URL(String(shown[0])).pathname.split('/').at(-1))
  })
})
