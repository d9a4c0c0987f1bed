import { describe, expect, test } from 'vitest'
import { gated, pending } from './approving.ts'
import { as, runCli, startListening } from './clients.ts'
import { importGraph } from './import-graph.ts'
import { startPlatform, startService, type TestPlatform } from './kit.ts'
import { echo, startUpstream, type UpstreamTool } from './upstream.ts'

const use = (server: string, tool: string, args: object | string) =>
  `<use_mcp_tool>\n<server_name>${server}</server_name>\n<tool_name>${tool}</tool_name>\n<arguments>\n${typeof args === 'string' ? args : JSON.stringify(args)}\n</arguments>\n</use_mcp_tool>`

const typed: UpstreamTool = {
  name: 'process_data',
  inputSchema: {
    type: 'object',
    properties: {
      number: { type: 'number' },
      text: { type: 'string' },
      array: { type: 'array' },
      note: { type: 'string' },
    },
    required: ['number'],
  },
}

/** A platform with a server `weather-desk` in front of an MCP server with these tools. */
async function started(tools: UpstreamTool[] = [echo, typed], server: object = {}) {
  const upstream = await startUpstream(tools)
  const platform = await startPlatform()
  await platform.post('/tools', { name: 'weather', type: 'mcp', mcp: { url: upstream.url } })
  const fields = { slug: 'weather-desk', name: 'Weather desk', tool_names: 'original', ...server }
  await platform.post('/servers', fields)
  return {
    upstream,
    platform,
    execute: async (text: string, options: object = {}) =>
      (await platform.post('/xml/execute', { text, ...options })).body,
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
    },
  }
}

describe('an XML message', () => {
  test('calls a tool of a server, and the result is text for the model (S3.1) (S3.5)', async () => {
    await using desk = await started()

    const body = await desk.execute(`I will say it.\n${use('weather-desk', 'echo', { text: 'hi' })}`)

    expect(desk.upstream.calls).toEqual([{ name: 'echo', input: { text: 'hi' } }])
    expect(body.results).toEqual([
      {
        tag: 'use_mcp_tool',
        server_name: 'weather-desk',
        tool_name: 'echo',
        uri: null,
        status: 'success',
        text: '{"text":"hi"}',
      },
    ])
    expect(body.text).toBe(`[use_mcp_tool for 'weather-desk'] Result:\n{"text":"hi"}`)
  })

  test('can call several tools of a server, each after the result of the one before (S3.1) (S3.9) (S3.10)', async () => {
    const steps: string[] = []
    const slow = (name: string): UpstreamTool => ({
      name,
      inputSchema: { type: 'object' },
      run: async () => {
        steps.push(`${name} starts`)
        await new Promise((resolve) => setTimeout(resolve, 20))
        steps.push(`${name} ends`)
        return { content: [] }
      },
    })
    await using desk = await started([slow('first'), slow('second')])

    const body = await desk.execute(use('weather-desk', 'first', {}) + use('weather-desk', 'second', {}))

    expect(steps).toEqual(['first starts', 'first ends', 'second starts', 'second ends'])
    expect(body.results.map(({ text }: { text: string }) => text)).toEqual(['(No response)', '(No response)'])
  })

  test('treats - and _ in names alike, and finds a server by its name', async () => {
    await using desk = await started()

    const body = await desk.execute(
      use('weather_desk', 'process-data', { number: 1 }) + use('Weather desk', 'echo', { text: 'a' }),
    )

    expect(body.results).toMatchObject([{ status: 'success' }, { status: 'success' }])
  })

  test('has required and optional parameters, checked against the schema before anything is sent (S3.8) (S3.12)', async () => {
    await using desk = await started()

    const valid = await desk.execute(
      use('weather-desk', 'process_data', { number: 42, text: 'valid string', array: [1, 2, 3] }),
    )
    const wrong = await desk.execute(use('weather-desk', 'process_data', { number: '42', array: 'no' }))

    expect(valid.results).toMatchObject([{ status: 'success' }])
    expect(wrong.results[0]).toMatchObject({ status: 'error', error_class: 'invalid_parameters' })
    expect(wrong.results[0].error.details.errors).toMatchObject([{ path: 'number' }, { path: 'array' }])
    expect(desk.upstream.calls).toHaveLength(1)
  })

  test('shows images apart from the text, and resources without their bytes', async () => {
    const content = [
      { type: 'text', text: 'a' },
      { type: 'image', data: 'aGk=', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'file:///x', blob: 'aGk=' } },
    ]
    await using desk = await started([{ name: 'mixed', inputSchema: { type: 'object' }, run: () => ({ content }) }])

    const { results } = await desk.execute(use('weather-desk', 'mixed', {}))

    expect(results[0].text).toBe('a\n\n{\n  "uri": "file:///x"\n}')
    expect(results[0].images).toEqual([{ mime_type: 'image/png', data: 'aGk=' }])
  })

  test('is recorded call by call, with the surface xml', async () => {
    await using desk = await started()

    await desk.execute(use('weather-desk', 'echo', { text: 'hi' }))

    const { body } = await desk.platform.get('/calls?surface=xml')
    expect(body.data).toMatchObject([{ surface: 'xml', action: 'weather:echo', status: 'success' }])
  })

  test('over 1 MiB is refused with 413, and one without blocks has no results', async () => {
    await using platform = await startPlatform()

    const large = await platform.post('/xml/execute', { text: 'a'.repeat(1024 * 1024 + 1) })
    const none = await platform.post('/xml/execute', { text: 'Hello.' })

    expect(large).toMatchObject({ status: 413, body: { error: { code: 'MESSAGE_TOO_LARGE' } } })
    expect(none.body).toEqual({ text: '', results: [] })
  })
})

describe('a block that fails', () => {
  const fails: UpstreamTool = {
    name: 'risky',
    inputSchema: { type: 'object' },
    run: () => ({ content: [{ type: 'text', text: 'disk full' }], isError: true }),
  }

  test.each([
    ['a missing parameter', use('weather-desk', 'process_data', {}), 'invalid_parameters', 'VALIDATION_FAILED'],
    ['a wrong type', use('weather-desk', 'echo', { text: 1 }), 'invalid_parameters', 'VALIDATION_FAILED'],
    [
      'arguments that are not JSON',
      use('weather-desk', 'echo', '{"text": hi}'),
      'invalid_parameters',
      'VALIDATION_FAILED',
    ],
    ['an unknown tool', use('weather-desk', 'ehco', {}), 'invalid_parameters', 'UNKNOWN_TOOL'],
    ['an unknown server', use('weather-dusk', 'echo', {}), 'invalid_parameters', 'UNKNOWN_SERVER'],
    ['an error of the tool', use('weather-desk', 'risky', {}), 'server', 'TOOL_FAILED'],
  ])(
    'by %s has an error with a code, a message and details, and a class (S3.11) (S3.19) (S3.22)',
    async (_, text, errorClass, code) => {
      await using desk = await started([echo, typed, fails])

      const { results } = await desk.execute(text)

      expect(results).toMatchObject([{ status: 'error', error_class: errorClass, error: { code } }])
      expect(results[0].error).toEqual({ code, message: expect.any(String), details: expect.any(Object) })
      expect(results[0].text).toMatch(/^Error:\n/)
    },
  )

  test('skips the blocks after it, with a notice', async () => {
    await using desk = await started([echo, fails])

    const { results, text } = await desk.execute(
      use('weather-desk', 'echo', { text: 'a' }) +
        use('weather-desk', 'risky', {}) +
        use('weather-desk', 'echo', { text: 'b' }),
    )

    expect(results).toMatchObject([{ status: 'success' }, { status: 'error' }, { status: 'skipped' }])
    expect(text).toContain('Not run: an earlier block of this message failed.')
    expect(desk.upstream.calls.map(({ input }) => input)).toEqual([{ text: 'a' }, {}])
  })

  test('by permission says which, and a server that the key cannot use is unknown to it (S3.20)', async () => {
    await using desk = await started()
    const { platform } = desk
    const text = use('weather-desk', 'echo', { text: 'a' })
    const server = await platform.keyFor([{ effect: 'Allow', action: ['servers:UseServer'] }])
    const neither = await platform.keyFor([{ effect: 'Allow', action: ['tools:CallTool'] }])

    const noTool = await platform.post('/xml/execute', { text }, { key: server })
    const noServer = await platform.post('/xml/execute', { text }, { key: neither })

    expect(noTool.body.results).toMatchObject([{ status: 'error', error: { code: 'UNKNOWN_TOOL' } }])
    expect(noServer.body.results).toMatchObject([{ error: { code: 'UNKNOWN_SERVER', details: { known: [] } } }])
    expect(desk.upstream.calls).toEqual([])
  })

  test('by a server that is down or too slow is a server error, and the platform goes on (S3.21) (S3.23)', async () => {
    const hang: UpstreamTool = { name: 'hang', inputSchema: { type: 'object' }, run: () => new Promise(() => {}) }
    await using desk = await started([echo, hang])
    const tools = await desk.platform.get('/tools')
    await desk.platform.patch(`/tools/${tools.body.data[0].id}`, { timeout_seconds: 0.2 })

    const slow = await desk.execute(use('weather-desk', 'hang', {}))
    await desk.upstream.stop()
    const down = await desk.execute(use('weather-desk', 'echo', { text: 'a' }))

    expect(slow.results).toMatchObject([{ error_class: 'server', error: { code: 'TOOL_TIMEOUT' } }])
    expect(down.results).toMatchObject([{ error_class: 'server', error: { code: 'TOOL_UNREACHABLE' } }])
  })

  test('never shows the credentials of the tool, even if the tool returns them (S3.24)', async () => {
    const leaks: UpstreamTool = {
      name: 'leaks',
      inputSchema: { type: 'object' },
      run: () => ({ content: [{ type: 'text', text: 'token is very-secret-token' }], isError: true }),
    }
    await using upstream = await startUpstream([leaks])
    await using platform = await startPlatform()
    const mcp = { url: upstream.url, headers: { Authorization: 'Bearer very-secret-token' } }
    await platform.post('/tools', { name: 'weather', type: 'mcp', mcp })
    await platform.post('/servers', { slug: 'desk', name: 'Desk', tool_names: 'original' })

    const { body } = await platform.post('/xml/execute', { text: use('desk', 'leaks', {}) })

    expect(body.text).toContain('Error:')
    expect(JSON.stringify(body)).not.toContain('very-secret-token')
  })
})

describe('a block that is not run', () => {
  test('is reported: one in code unless the caller wants it, one in a comment, one that is cut off', async () => {
    await using desk = await started()
    const block = use('weather-desk', 'echo', { text: 'a' })
    const text = `\`\`\`xml\n${block}\n\`\`\`\n<!-- ${block} -->\n<use_mcp_tool><server_name>weather-desk`

    const skipped = await desk.execute(text)
    const run = await desk.execute(text, { fenced: 'run' })

    expect(skipped.results.map(({ status }: { status: string }) => status)).toEqual(['skipped', 'skipped', 'skipped'])
    expect(run.results.map(({ status }: { status: string }) => status)).toEqual(['success', 'skipped', 'skipped'])
    expect(desk.upstream.calls).toHaveLength(1)
  })

  test('names a server that the request leaves out', async () => {
    await using desk = await started()
    await desk.platform.post('/servers', { slug: 'other', name: 'Other' })

    const body = await desk.execute(use('weather-desk', 'echo', { text: 'a' }), { servers: ['other'] })

    expect(body.results).toMatchObject([{ error: { code: 'UNKNOWN_SERVER', details: { known: ['other'] } } }])
  })
})

describe('a block whose tool needs approval', () => {
  async function gatedServer(platform: TestPlatform, url: string) {
    const { caller, reviewer } = await gated(platform, url)
    await platform.post('/servers', { slug: 'bank', name: 'Bank', tool_names: 'original' })
    return { caller, reviewer }
  }

  test('waits for a person, and a rejection skips the rest', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { caller, reviewer } = await gatedServer(platform, service.url)
    const text = use('bank', 'pay', { city: 'Recife' })

    const answer = platform.post('/xml/execute', { text: text + text }, { key: caller })
    const { id, surface } = await pending(platform)
    await platform.post(`/approvals/${id}/reject`, { reason: 'Too much' }, { key: reviewer })

    expect(surface).toBe('xml')
    expect((await answer).body.results).toMatchObject([
      { status: 'denied', error_class: 'permission', error: { code: 'APPROVAL_REJECTED' } },
      { status: 'skipped' },
    ])
    expect(service.received).toEqual([])
  })

  test('cannot be approved by a model through another block', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { caller } = await gatedServer(platform, service.url)
    const tool = { name: 'admin', type: 'platform', actions: ['list-approvals', 'approve-call'], auto_approve: true }

    const made = await platform.post('/tools', tool)
    const answer = platform.post('/xml/execute', { text: use('bank', 'pay', { city: 'Recife' }) }, { key: caller })
    const { id } = await pending(platform)
    const tries = await platform.post('/xml/execute', { text: use('bank', 'approve-call', { approval_id: id }) })

    expect(made.status).toBe(400)
    expect(tries.body.results).toMatchObject([{ status: 'error', error: { code: 'UNKNOWN_TOOL' } }])
    await platform.post(`/approvals/${id}/cancel`, {})
    await answer
    expect(service.received).toEqual([])
  })
})

test('the prompt describes how to write a block, and the servers and tools of the caller (S3.26) (S3.27)', async () => {
  await using desk = await started()

  const { body } = await desk.platform.get('/xml/prompt?servers=weather-desk')

  expect(body.prompt).toContain('<use_mcp_tool>')
  expect(body.prompt).toContain('## weather-desk')
  expect(body.prompt).toContain(`- echo: ${echo.description}`)
  expect(body.prompt).toContain('"required":["text"]')
})

test('quartermaster xml is a filter from the text of an assistant to the message for the model', async () => {
  await using platform = await startListening()
  await using upstream = await startUpstream()
  const headers = { authorization: `Bearer ${as(platform.url).QM_KEY}`, 'content-type': 'application/json' }
  const post = (path: string, body: object) =>
    fetch(`${platform.url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  await post('/tools', { name: 'weather', type: 'mcp', mcp: { url: upstream.url } })
  await post('/servers', { slug: 'desk', name: 'Desk', tool_names: 'original' })

  const fine = await runCli(['xml'], { ...as(platform.url), stdin: use('desk', 'echo', { text: 'a' }) })
  const prompt = await runCli(['xml', '--prompt'], as(platform.url))

  expect(fine).toMatchObject({ code: 0, stdout: expect.stringContaining(`[use_mcp_tool for 'desk'] Result:`) })
  expect(prompt.stdout).toContain('## desk')
})

test('the parser can be used alone: it imports nothing', () => {
  const { files, others } = importGraph('src/xml/index.ts')

  expect(others).toEqual([])
  expect(files.filter((file) => !file.startsWith('src/xml/'))).toEqual([])
})
