import { describe, expect, test } from 'vitest'
import { as, runCli, startListening } from './clients.ts'
import { startPlatform } from './kit.ts'
import { echo, startUpstream } from './upstream.ts'

const url = 'https://mcp.example.com/mcp'

const importOne = async (entry: Record<string, unknown>) => {
  await using platform = await startPlatform()
  const { status, body } = await platform.post('/tools/import', { mcpServers: { files: entry } })
  expect(status).toBe(200)
  return { tool: body.created[0], ...body }
}

describe('safety settings of an mcpServers file', () => {
  test('disabled tools cannot be called, and those that are not approved in advance wait for approval', async () => {
    const { tool, not_taken_over } = await importOne({
      url,
      disabledTools: ['write_file'],
      autoApprove: ['read_file'],
      timeout: 30,
      oauth: { client: 'x' },
    })

    expect(tool).toMatchObject({
      auto_approve: false,
      timeout_seconds: 30,
      action_settings: { write_file: { enabled: false }, read_file: { auto_approve: true } },
    })
    expect(not_taken_over).toEqual([
      { name: 'files', field: 'oauth', instead: expect.stringContaining('Not supported') },
    ])
  })

  test.each([
    [{}, true],
    [{ alwaysAllow: ['*'] }, true],
    [{ trust: true }, true],
    [{ disabledTools: [], tools: ['*'] }, true],
    [{ autoApprove: [] }, false],
    [{ trust: false, autoApprove: ['*'] }, false],
  ])('%o is imported completely: auto_approve is %s', async (settings, approves) => {
    const { tool, not_taken_over } = await importOne({ url, type: 'http', disabled: false, ...settings })

    expect(tool.auto_approve).toBe(approves)
    expect(not_taken_over).toEqual([])
  })

  test.each([
    [{ includeTools: 'read_file' }, 'includeTools'],
    [{ excludeTools: [{ name: 'write_file' }] }, 'excludeTools'],
    [{ autoApprove: { read_file: true } }, 'autoApprove'],
  ])('every call needs approval with %o, which cannot be imported', async (settings, field) => {
    const { tool, not_taken_over } = await importOne({ url, ...settings })

    expect(tool.auto_approve).toBe(false)
    expect(not_taken_over).toMatchObject([{ field }])
  })

  test.each([
    [30, 30, 0],
    [3600, 3600, 0],
    [60_000, 60, 0],
    [36_000_000, 3600, 1],
    [0, null, 1],
    ['30', null, 1],
  ])('a timeout of %s becomes %s seconds', async (timeout, seconds, named) => {
    const { tool, not_taken_over } = await importOne({ url, timeout })

    expect(tool.timeout_seconds).toBe(seconds)
    expect(not_taken_over).toHaveLength(named)
  })

  test.each([
    ['alwaysAllow', { alwaysAllow: ['read_file'] }, [200, 202, 202]],
    ['autoApprove', { autoApprove: ['read_file', 'write_file'] }, [200, 200, 202]],
    ['disabledTools', { disabledTools: ['write_file'] }, [200, 400, 200]],
    ['includeTools', { includeTools: ['read_file'] }, [200, 400, 400]],
    ['both', { alwaysAllow: ['read_file', 'write_file'], disabledTools: ['write_file'] }, [200, 400, 202]],
    ['two lists', { alwaysAllow: ['read_file', 'write_file'], autoApprove: ['read_file'] }, [200, 202, 202]],
    ['trust', { trust: false, alwaysAllow: ['read_file'] }, [202, 202, 202]],
  ])('%s keeps its meaning for each tool: run, wait or refuse', async (_, settings, expected) => {
    const names = ['read_file', 'write_file', 'move_file']
    await using upstream = await startUpstream(names.map((name) => ({ ...echo, name })))
    await using platform = await startPlatform()
    const { body } = await platform.post('/tools/import', { mcpServers: { files: { url: upstream.url, ...settings } } })
    const id = body.created[0].id
    const call = (action: string) =>
      platform.post(`/tools/${id}/call`, { action, input: { text: 'a' }, wait: false }).then(({ status }) => status)

    expect(body.not_taken_over).toEqual([])
    expect([await call('read_file'), await call('write_file'), await call('move_file')]).toEqual(expected)
  })

  test('timeout is the time limit of its calls', async () => {
    await using upstream = await startUpstream([{ ...echo, run: () => new Promise(() => {}) }])
    await using platform = await startPlatform()
    const { body } = await platform.post('/tools/import', { mcpServers: { slow: { url: upstream.url, timeout: 0.5 } } })
    const { id } = body.created[0]
    await platform.get(`/tools/${id}/actions`)

    const { body: answer } = await platform.post(`/tools/${id}/call`, {
      action: 'echo',
      input: { text: 'a' },
    })

    expect(answer.error).toMatchObject({ code: 'TOOL_TIMEOUT' })
  })

  test('a disabled server is left out, with the reason', async () => {
    await using platform = await startPlatform()

    const { body } = await platform.post('/tools/import', { mcpServers: { off: { url, disabled: true } } })

    expect(body).toMatchObject({ created: [], skipped: [{ name: 'off', refused: false }] })
    expect((await platform.get('/tools')).body.data).toEqual([])
  })
})

test('fields that do not apply to the kind of server are listed', async () => {
  const { tool, not_taken_over } = await importOne({ httpUrl: url, env: { A: 'b' } })

  expect(tool.mcp).toEqual({ url })
  expect(not_taken_over).toMatchObject([{ field: 'env', instead: expect.stringContaining('programs') }])
})

test('placeholders that an editor would fill in are listed, without the text around them', async () => {
  const { tool, to_fill_in } = await importOne({
    url,
    headers: { Authorization: 'Bearer ${input:tok}', 'X-Two': '${A:-hidden} ${env:B}', 'X-Ours': '${{ secrets.C }}' },
  })

  expect(tool.mcp.headers.Authorization).toBe('Bearer ${input:tok}')
  expect(to_fill_in).toEqual([
    { name: 'files', field: 'headers.Authorization', placeholder: '${input:tok}' },
    { name: 'files', field: 'headers.X-Two', placeholder: '${A}' },
    { name: 'files', field: 'headers.X-Two', placeholder: '${env:B}' },
  ])
})

test('an invalid entry is skipped with a reason, and the others are imported', async () => {
  await using platform = await startPlatform()
  const mcpServers = {
    number: { command: 5 },
    list: { url, headers: ['a'] },
    text: 'https://mcp.example.com/mcp',
    nothing: null,
    off: { command: 5, disabled: true },
    good: { url },
  }

  const { status, body } = await platform.post('/tools/import', { mcpServers })

  expect(status).toBe(200)
  expect(body.created).toMatchObject([{ name: 'good', mcp: { url } }])
  expect(body.skipped).toEqual([
    { name: 'number', refused: true, reason: expect.stringContaining('command: must be of type string, not number') },
    { name: 'list', refused: true, reason: expect.stringContaining('headers: must be of type') },
    { name: 'text', refused: true, reason: expect.stringContaining('must be of type object, not string') },
    { name: 'nothing', refused: true, reason: expect.stringContaining('must be of type object, not null') },
    { name: 'off', refused: false, reason: expect.stringContaining('disabled') },
  ])
})

test.each([true, false])('"required": %s is imported', async (required) => {
  const { tool, not_taken_over } = await importOne({ url, required })

  expect(tool.mcp).toEqual({ url, required })
  expect(not_taken_over).toEqual([])
})

describe('quartermaster import mcp-servers', () => {
  test('says so if nothing was imported', async () => {
    await using platform = await startListening()
    const run = (args: string[], mcpServers: unknown) =>
      runCli(args, { ...as(platform.url), stdin: JSON.stringify({ mcpServers }) })
    const bad = { a: { command: 5 }, b: { url: 'ftp://x' } }

    const own = await run(['import', 'mcp-servers', '-'], bad)
    const plain = await run(['import-mcp-servers', '--body', '-'], bad)
    const some = await run(['import', 'mcp-servers', '-'], { ...bad, good: { url } })

    expect(own.stderr).toContain('Nothing was imported. All 2 entries were skipped')
    expect(plain.stderr).toContain('Nothing was imported. All 2 entries were skipped')
    expect(JSON.parse(plain.stdout).skipped).toHaveLength(2)
    expect(some.stderr).not.toContain('Nothing')
  })

  test('reads a file with comments and trailing commas, and lists what is left to do', async () => {
    await using platform = await startListening()
    const stdin = `\uFEFF// Mine
{
  "inputs": [{ "id": "tok", "type": "promptString" },], /* asked
  for */
  "servers": {
    "docs": {
      "url": "https://mcp.example.com/a,]//b", // "not" a string
      "headers": { "Authorization": "Bearer \${input:tok}", "X-Quoted": "\\"/* no comment */,}" },
      "disabledTools": ["write_file",],
    },
  },
}`

    const { code, stdout, stderr } = await runCli(['import', 'mcp-servers', '-'], { ...as(platform.url), stdin })

    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout).created[0].mcp).toMatchObject({
      url: 'https://mcp.example.com/a,]//b',
      headers: { 'X-Quoted': '"/* no comment */,}' },
    })
    expect(JSON.parse(stdout).created[0].action_settings).toEqual({ write_file: { enabled: false } })
    expect(stderr).toContain('docs: replace ${input:tok} in headers.Authorization with its value')
  })

  test('fails only if an entry was refused', async () => {
    await using platform = await startListening()
    const run = (mcpServers: unknown) =>
      runCli(['import', 'mcp-servers', '-'], { ...as(platform.url), stdin: JSON.stringify({ mcpServers }) })

    const none = await run({})
    const left = await run({ off: { url, disabled: true }, out: { url, enabled: false }, empty: {} })
    const refused = await run({ ftp: { url: 'ftp://x' } })
    const broken = await runCli(['import', 'mcp-servers', '-'], { ...as(platform.url), stdin: '{ // half' })

    expect([none.code, left.code, refused.code, broken.code]).toEqual([0, 0, 1, 2])
    expect(JSON.parse(left.stdout).skipped).toMatchObject([{ refused: false }, { refused: false }, { refused: false }])
    expect(broken.stderr).toContain('not JSON')
  })
})
