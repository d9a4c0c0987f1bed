import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey, startPlatform, type TestPlatform } from './kit.ts'
import { startUpstream, type UpstreamTool } from './upstream.ts'

const program = (name: string) =>
  new URL(`../node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url).pathname
const stdio = { QM_ALLOW_STDIO: 'true' }

const register = async (
  platform: TestPlatform,
  name: string,
  args: string[],
  env?: Record<string, string>,
): Promise<string> => {
  const mcp = { command: process.execPath, args, ...(env && { env }) }
  const { status, body } = await platform.post('/tools', { name, type: 'mcp', mcp })
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id
}

/** Running child processes of this process. */
const children = async (): Promise<string[]> => {
  const list = await readFile(`/proc/self/task/${process.pid}/children`, 'utf8').catch(() => '')
  const lines = await Promise.all(
    list
      .trim()
      .split(' ')
      .filter(Boolean)
      .map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  )
  return lines.filter((line) => line.includes('modelcontextprotocol'))
}

test('the reference server runs over stdio, is started once for all callers, and ends with the platform', async () => {
  await using platform = await startPlatform(stdio)
  const id = await register(platform, 'everything', [program('server-everything')])
  const call = (action: string, input: object) => platform.post(`/tools/${id}/call`, { action, input })

  const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => call('echo', { message: `hi ${n}` })))
  const sum = await call('get-sum', { a: 2, b: 3 })
  const image = await call('get-tiny-image', {})

  expect(answers.map(({ body }) => body.content[0].text)).toEqual(Array.from({ length: 10 }, (_, n) => `Echo: hi ${n}`))
  expect(sum.body.content[0].text).toContain('5')
  expect(image.body.content.some(({ type }: { type: string }) => type === 'image')).toBe(true)
  expect((await platform.get(`/tools/${id}/health`)).body).toMatchObject({ state: 'up', failures: 0 })
  expect(await children()).toHaveLength(1)
  await platform.platform.close()
  await expect.poll(children, { timeout: 5000 }).toEqual([])
})

test('the memory and filesystem servers store and return data', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-peers-'))
  await writeFile(join(folder, 'hello.txt'), 'hello')
  await using platform = await startPlatform(stdio)
  const files = await register(platform, 'files', [program('server-filesystem'), folder])
  const memory = await register(platform, 'memory', [program('server-memory')], {
    MEMORY_FILE_PATH: join(folder, 'memory.json'),
  })

  const read = await platform.post(`/tools/${files}/call`, {
    action: 'read_text_file',
    input: { path: join(folder, 'hello.txt') },
  })
  const outside = await platform.post(`/tools/${files}/call`, {
    action: 'read_text_file',
    input: { path: '/etc/hostname' },
  })
  await platform.post(`/tools/${memory}/call`, {
    action: 'create_entities',
    input: { entities: [{ name: 'Ana', entityType: 'person', observations: ['likes tea'] }] },
  })
  const graph = await platform.post(`/tools/${memory}/call`, { action: 'read_graph' })

  expect(read.body.content[0].text).toBe('hello')
  expect(outside.body.isError).toBe(true)
  expect(JSON.stringify(graph.body)).toContain('likes tea')
  await rm(folder, { recursive: true, force: true })
})

test('the Playwright server lists its tools, without a browser', { timeout: 60_000 }, async () => {
  const cli = new URL('../node_modules/@playwright/mcp/cli.js', import.meta.url).pathname
  await using platform = await startPlatform(stdio)
  const id = await register(platform, 'browser', [cli, '--headless'])

  const { status, body } = await platform.get(`/tools/${id}/actions?limit=500`)

  expect(status).toBe(200)
  expect(body.data.map(({ name }: { name: string }) => name)).toContain('browser_navigate')
})

test('stdio servers are refused unless the operator allows them', async () => {
  await using platform = await startPlatform()

  const { status, body } = await platform.post('/tools', { name: 'sh', type: 'mcp', mcp: { command: 'sh' } })

  expect(status).toBe(400)
  expect(body.error.message).toContain('QM_ALLOW_STDIO')
})

test('a registered stdio server is not started once the operator no longer allows it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-peers-'))
  const first = await startPlatform({ ...stdio, QM_DATA: folder })
  const id = await register(first, 'everything', [program('server-everything')])
  await first.platform.close()
  await using second = await startPlatform({ QM_DATA: folder })

  const { status, body } = await second.get(`/tools/${id}/actions`)

  expect(status).toBe(502)
  expect(body.error.message).toContain('QM_ALLOW_STDIO')
  await rm(folder, { recursive: true, force: true })
})

test('a stdio server that does not exist or exits immediately is reported as unreachable', async () => {
  await using platform = await startPlatform(stdio)
  const ends = await register(platform, 'ends', ['-e', 'process.exit(3)'])
  const none = (await platform.post('/tools', { name: 'none', type: 'mcp', mcp: { command: '/no/such/program' } })).body
    .id

  for (const id of [ends, none]) {
    expect(await platform.get(`/tools/${id}/actions`)).toMatchObject({
      status: 502,
      body: { error: { code: 'TOOL_UNREACHABLE' } },
    })
  }
})

test.each([
  [{ command: 'no-such-program-xyz' }, 'the program was not found on the PATH'],
  [{ command: '/no/such/program' }, 'the program was not found'],
  [{ command: import.meta.filename }, 'the user who runs the platform is not allowed to run it'],
  [{ command: process.execPath, cwd: '/no/such/folder' }, 'the folder in "cwd" does not exist'],
])('the error says why a stdio server cannot be started: %o', async (mcp, reason) => {
  await using platform = await startPlatform(stdio)
  const { body } = await platform.post('/tools', { name: 'none', type: 'mcp', mcp })

  expect((await platform.get(`/tools/${body.id}/actions`)).body.error).toMatchObject({
    code: 'TOOL_UNREACHABLE',
    message: expect.stringContaining(`Could not reach "${mcp.command}": ${reason}.`),
  })
})

test('an mcpServers file is imported in one request, and entries that cannot be imported are listed', async () => {
  await using upstream = await startUpstream()
  await using platform = await startPlatform()

  const { status, body } = await platform.post('/tools/import', {
    mcpServers: {
      'My Server': { type: 'streamable-http', url: upstream.url, headers: { 'X-Team': 'blue' }, autoApprove: ['echo'] },
      local: { command: 'npx', args: ['-y', 'something'] },
      off: { url: upstream.url, disabled: true },
    },
  })

  expect(status).toBe(200)
  expect(body.created).toMatchObject([
    { name: 'My-Server', type: 'mcp', mcp: { url: upstream.url, headers: { 'X-Team': 'blue' } } },
  ])
  expect(body.skipped.map(({ name }: { name: string }) => name)).toEqual(['local', 'off'])
  expect((await platform.get(`/tools/${body.created[0].id}/actions`)).body.total).toBe(1)
})

test('progress, cancellation and _meta are forwarded through the platform', async () => {
  let cancelled = false
  let meta: unknown
  const slow: UpstreamTool = {
    name: 'slow',
    inputSchema: { type: 'object' },
    async run({ patient }, signal, context) {
      meta ??= context._meta
      const token = context._meta?.progressToken
      if (token !== undefined) {
        await context.notify({
          method: 'notifications/progress',
          params: { progressToken: token, progress: 1, total: 2, message: 'half' },
        })
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, patient ? 60_000 : 0)
        signal.addEventListener('abort', () => {
          cancelled ||= patient === true
          clearTimeout(timer)
          resolve()
        })
      })
      return { content: [{ type: 'text', text: 'done' }] }
    },
  }
  await using upstream = await startUpstream([slow])
  await using platform = await startListening()
  await platform.post('/tools', { name: 'up', type: 'mcp', mcp: { url: upstream.url } })
  await platform.post('/servers', { slug: 's' })
  const client = new Client({ name: 'tester', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const headers = { authorization: `Bearer ${adminKey}` }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${platform.url}/mcp/s`), { requestInit: { headers } }),
  )

  const seen: unknown[] = []
  const params = { name: 'up_slow_action', arguments: {}, _meta: { 'example.com/trace': 'abc' } }
  const result = await client.callTool(params, { onprogress: (progress) => seen.push(progress) })
  const giveUp = new AbortController()
  const abandoned = client.callTool({ name: 'up_slow_action', arguments: { patient: true } }, { signal: giveUp.signal })
  await Promise.all([
    expect(abandoned).rejects.toThrow(),
    // Cancel once the call has arrived.
    expect
      .poll(() => upstream.calls.length, { timeout: 10_000 })
      .toBe(2)
      .then(() => giveUp.abort()),
  ])

  expect(result.content).toEqual([{ type: 'text', text: 'done' }])
  expect(seen).toEqual([expect.objectContaining({ progress: 1, total: 2, message: 'half' })])
  await expect.poll(() => cancelled, { timeout: 10_000 }).toBe(true)
  await expect
    .poll(async () => (await platform.get('/calls')).body.data[0].error?.code, { timeout: 10_000 })
    .toBe('CALL_CANCELLED')
  expect(meta).toMatchObject({ 'example.com/trace': 'abc' })
  await client.close()
})
