import { createInterface } from 'node:readline'
import { describe, expect, test } from 'vitest'
import { city, gated, pending, until } from './approving.ts'
import { as, runCli, spawnCli, startListening } from './clients.ts'
import { startService, type TestPlatform } from './kit.ts'
import { onTerminal, runOnTerminal } from './terminal.ts'
import { echo, startUpstream } from './upstream.ts'

const down = '\x1b[B'

const weather = {
  type: 'object',
  properties: {
    city: { type: 'string', description: 'Which city' },
    days: { type: 'integer' },
    unit_system: { type: 'string', enum: ['metric', 'imperial'] },
    tags: { type: 'array', items: { type: 'string' } },
    detailed: { type: 'boolean' },
    url: { type: 'string' },
  },
  required: ['city', 'unit_system'],
}

async function weatherPlatform() {
  const platform = await startListening()
  const service = await startService(({ body }) => ({ body }))
  const tool = await platform.post('/tools', {
    name: 'get-weather',
    parameters: weather,
    execute: { url: service.url },
  })
  return {
    ...platform,
    toolId: tool.body.id as string,
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
    },
  }
}

describe('call', () => {
  test('takes the name of a tool and its arguments as flags, parsed by their schema', async () => {
    await using platform = await weatherPlatform()

    const args = ['--city', '123', '--days', '3', '--unit-system', 'metric', '--tags', 'a', '--tags', 'b', '--detailed']
    const byName = await runCli(['call', 'get-weather', ...args, '--url', 'x'], as(platform.url))
    const byId = await runCli(['call', platform.toolId, '--input', '-', '--days=4'], {
      ...as(platform.url),
      stdin: '{"city":"Rio","unit_system":"metric","days":3}',
    })

    expect(JSON.parse(byName.stdout)).toEqual({
      city: '123',
      days: 3,
      unit_system: 'metric',
      tags: ['a', 'b'],
      detailed: true,
      url: 'x',
    })
    expect(JSON.parse(byId.stdout)).toEqual({ city: 'Rio', unit_system: 'metric', days: 4 })
  })

  test('--help shows the description of a tool, its arguments and an example', async () => {
    await using platform = await weatherPlatform()
    await platform.patch(`/tools/${platform.toolId}`, { description: 'The weather of a city.' })

    const { code, stdout, stderr } = await runCli(['call', 'get-weather', '--help'], as(platform.url))

    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('The weather of a city.\n\nUsage: quartermaster call get-weather --city <string>')
    expect(stdout).toMatch(/--city <string> +Required\. Which city\./)
    expect(stdout).toMatch(/--unit-system <metric\|imperial> +Required\./)
    expect(stdout).toContain('--tags <string[]>')
    expect(stdout).toMatch(/--no-wait +If the call needs approval/)
    expect(stdout).toContain("Example\n  quartermaster call get-weather --city '…' --unit-system metric")
  })

  test('--help of a tool with several actions lists them, and shows the arguments of one', async () => {
    await using platform = await startListening()
    const documents = { name: 'library', type: 'platform', actions: ['create-document', 'search-documents'] }
    await platform.post('/tools', documents)

    const all = await runCli(['call', 'library', '--help'], as(platform.url))
    const one = await runCli(['call', 'library', 'search-documents', '-h'], as(platform.url))

    expect(all.stdout).toMatch(/Actions\n {2}create-document +\w.*\n {2}search-documents +\w/)
    expect(one.stdout).toMatch(/--query <string> +Required\./)
  })

  test('--help falls back to the general help, with the reason', async () => {
    await using platform = await startListening()

    const unknown = await runCli(['call', 'get-wether', '--help'], as(platform.url))
    const noKey = await runCli(['call', 'get-weather', '--help'])
    const general = await runCli(['call', '--help'])

    expect([unknown.code, noKey.code, general.code]).toEqual([0, 0, 0])
    expect([unknown.stdout, noKey.stdout]).toEqual([general.stdout, general.stdout])
    expect(unknown.stderr).toContain('The arguments of "get-wether" cannot be shown: ')
    expect(noKey.stderr).toContain('cannot be shown: No API key.')
    expect(general.stderr).toBe('')
  })

  test('exits with 1 if an MCP tool reports an error, and prints the error', async () => {
    await using upstream = await startUpstream([
      { ...echo, name: 'fails', run: () => ({ content: [{ type: 'text', text: 'No such file' }], isError: true }) },
      echo,
    ])
    await using platform = await startListening()
    await platform.post('/tools', { name: 'files', type: 'mcp', mcp: { url: upstream.url } })

    const failed = await runCli(['call', 'files', 'fails', '--text', 'a'], as(platform.url))
    const fine = await runCli(['call', 'files', 'echo', '--text', 'a'], as(platform.url))

    expect(failed.code).toBe(1)
    expect(JSON.parse(failed.stdout)).toMatchObject({ isError: true, content: [{ text: 'No such file' }] })
    expect(fine.code).toBe(0)
  })

  test('shows the error response of a tool’s URL, shortened and with control characters escaped', async () => {
    const said = { error: 'No rate for XXX: there is EUR, USD' }
    await using service = await startService(({ url }) =>
      url === '/json'
        ? { status: 404, body: JSON.stringify(said) }
        : { status: 500, headers: { 'content-type': 'text/plain' }, body: `\x1b[31mred\u202e ${'x'.repeat(5000)}` },
    )
    await using platform = await startListening()
    const tool = (name: string) =>
      platform.post('/tools', { name, parameters: { type: 'object' }, execute: { url: `${service.url}/${name}` } })
    await tool('json')
    await tool('text')

    const byCall = await runCli(['call', 'json'], as(platform.url))
    const byOperation = await runCli(['call-tool', '--tool-id', 'json'], as(platform.url))
    const text = await runCli(['call', 'text'], as(platform.url))

    for (const { code, stderr } of [byCall, byOperation]) {
      expect(code).toBe(1)
      expect(stderr).toContain('No rate for XXX: there is EUR, USD')
    }
    expect(text.stderr).toMatch(/\\x1b\[31mred\\u202e x{1000,} … \(\d+ more characters\)/)
    expect(text.stderr).not.toContain('\x1b')
  })

  test('names missing and wrong arguments', async () => {
    await using platform = await weatherPlatform()
    const call = async (...args: string[]) => {
      const { code, stderr } = await runCli(['call', ...args], as(platform.url))
      return `${code} ${stderr}`
    }

    expect(await call('get-weather', '--days', '3')).toMatch(
      /^2 .*Missing arguments:\n {2}--city <string> {2}Which city\n {2}--unit-system <metric\|imperial>/,
    )
    expect(await call('get-weather', '--ctiy', 'Rio')).toMatch(/^2 .*Unknown flag --ctiy\. Did you mean --city\?/)
    expect(await call('get-weather', '--days', 'many')).toMatch(/^2 .*--days must be an integer/)
    expect(await call('get-wether')).toMatch(/^1 .*no tool "get-wether"\. Did you mean "get-weather"\?/)
    expect(await call('get-weather', 'forecast')).toMatch(/^2 .*no action "forecast"/)
    expect(await call('get-weather', '--key', 'sk_topsecret')).toMatch(/^2 .*Write --key before the tool's name/)
    expect(await call('get-weather', '--key', 'sk_topsecret')).not.toContain('topsecret')
  })

  test('prompts for missing arguments on a terminal', async () => {
    await using platform = await weatherPlatform()
    await using terminal = onTerminal(['call', 'get-weather', '--days', '2'], as(platform.url))

    await terminal.sees('city (string)')
    terminal.type('Recife\r')
    await terminal.sees('imperial')
    terminal.type(`${down}\r`)

    expect(await terminal.ended).toBe(0)
    expect(terminal.text()).toContain('Which city')
    expect(terminal.text()).toMatch(/"city": "Recife"[\s\S]*"unit_system": "imperial"/)
  })

  test('lets you select a tool on a terminal, and requires its name elsewhere', async () => {
    await using platform = await weatherPlatform()
    await platform.post('/tools', { name: 'other', execute: { url: 'https://example.com' }, parameters: {} })
    await using terminal = onTerminal(['call'], as(platform.url))

    await terminal.sees(/Tool[\s\S]*get-weather[\s\S]*other|Tool[\s\S]*other[\s\S]*get-weather/)
    terminal.type(terminal.text().indexOf('other') < terminal.text().indexOf('get-weather') ? `${down}\r` : '\r')
    await terminal.sees('city (string)')
    terminal.type('Recife\r')
    await terminal.sees('imperial')
    terminal.type('\r')

    expect(await terminal.ended).toBe(0)
    expect(terminal.text()).toContain('"city": "Recife"')
    expect(await runCli(['call'], as(platform.url))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The tool is missing'),
    })
  })

  test('prints where to approve, waits, and prints the output; with --no-wait it exits with 4', async () => {
    await using platform = await startListening()
    await using service = await startService()
    const { id, caller, reviewer } = await gated(platform, service.url)
    const args = ['call', id, '--city', 'Rio']

    const left = await runCli([...args, '--no-wait'], as(platform.url, caller))
    const waiting = spawnCli(args, as(platform.url, caller))
    const lines = createInterface({ input: waiting.stderr })[Symbol.asyncIterator]()
    const said = [await lines.next(), await lines.next(), await lines.next()].map(({ value }) => value).join('\n')
    const { id: approval } = await pending(platform)
    const ended = new Promise((resolve) => waiting.once('close', resolve))
    let printed = ''
    waiting.stdout.on('data', (chunk) => {
      printed += chunk
    })
    const approved = await runCli(['approvals', 'approve', approval], as(platform.url, reviewer))

    expect(left.code).toBe(4)
    expect(JSON.parse(left.stdout)).toMatchObject({ status: 'pending_approval', approval_id: approval })
    expect(said).toContain(`quartermaster approvals approve ${approval}`)
    expect(said).toContain(`${platform.url}/approvals/${approval}`)
    expect(JSON.parse(approved.stdout)).toMatchObject({ status: 'approved' })
    expect(await ended).toBe(0)
    expect(JSON.parse(printed)).toEqual({ ok: true })
  })

  test('exits with 1 and the reason if the call is rejected', async () => {
    await using platform = await startListening()
    await using service = await startService()
    const { id, caller, reviewer } = await gated(platform, service.url)

    const called = runCli(['call', id, '--city', 'Rio'], as(platform.url, caller))
    const { id: approval } = await pending(platform)
    await runCli(['approvals', 'reject', approval, '--reason', 'Too far'], as(platform.url, reviewer))

    expect(await called).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/APPROVAL_REJECTED.*Too far/),
    })
    expect(service.received).toEqual([])
  })
})

describe('logs', () => {
  test('of an unknown tool suggests a name', async () => {
    await using platform = await weatherPlatform()
    const logs = async (tool: string) => {
      const { code, stderr } = await runCli(['logs', '--tool', tool], as(platform.url))
      return `${code} ${stderr}`
    }

    expect(await logs('get-wether')).toMatch(/^1 .*There is no tool "get-wether"\. Did you mean "get-weather"\?/)
    expect(await logs('get-weather')).toBe('0 ')
  })

  test('shows recent calls, oldest first: lines on a terminal, JSON elsewhere', async () => {
    await using platform = await weatherPlatform()
    await platform.post(`/tools/${platform.toolId}/call`, { input: { city: 'Rio', unit_system: 'metric' } })
    await platform.post(`/tools/${platform.toolId}/call`, { input: {} })

    const json = await runCli(['logs', '--tool', 'get-weather'], as(platform.url))
    const shown = await runOnTerminal(['logs'], as(platform.url))
    const failed = await runCli(['logs', '--status', 'validation_error', '--limit', '5'], as(platform.url))

    const calls = json.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(calls.map(({ status }) => status)).toEqual(['success', 'validation_error'])
    expect(shown.text).toMatch(/^\d\d:\d\d:\d\d ✓ tools:get-weather .* ms {2}call_\w+\n.* ✗ .*\n {2}VALIDATION_FAILED/)
    for (const line of shown.text.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    expect(failed.stdout.trim().split('\n')).toHaveLength(1)
  })

  test('shows new calls with --follow', async () => {
    await using platform = await weatherPlatform()
    const watcher = spawnCli(['logs', '--follow', '--limit', '0'], as(platform.url))
    const lines = createInterface({ input: watcher.stdout })[Symbol.asyncIterator]()
    const first = lines.next()

    for (let heard = false; !heard; ) {
      await platform.post(`/tools/${platform.toolId}/call`, { input: { city: 'Rio', unit_system: 'metric' } })
      heard = await Promise.race([first.then(() => true), new Promise<boolean>((ok) => setTimeout(ok, 100, false))])
    }
    watcher.kill('SIGKILL')

    expect(JSON.parse((await first).value ?? '')).toMatchObject({ tool: 'get-weather', status: 'success' })
  })
})

describe('approvals', () => {
  test('is a live list on a terminal, with keys to view, approve and reject calls', async () => {
    await using platform = await startListening()
    await using service = await startService()
    const { id, reviewer, caller } = await gated(platform, service.url, { parameters: city })
    const ask = (name: string) => platform.post(`/tools/${id}/call`, { input: { city: name } }, { key: caller })
    await using terminal = onTerminal(['approvals'], as(platform.url, reviewer))

    await terminal.sees('0 pending')
    const first = ask('Rio')
    await terminal.sees('❯ tools:pay')
    terminal.type('\r')
    await terminal.sees('"city": "Rio"')
    terminal.type('a')
    await terminal.sees('Approved pay for ')
    const second = ask('Oslo')
    await terminal.sees('1 pending')
    terminal.type('r')
    await terminal.sees('Reason for rejecting')
    terminal.type('Too cold\r')
    await terminal.sees('Rejected pay for ')
    terminal.type('q')

    expect(await terminal.ended).toBe(0)
    expect((await first).status).toBe(200)
    expect((await second).body.error).toMatchObject({
      code: 'APPROVAL_REJECTED',
      message: expect.stringContaining('Too cold'),
    })
    expect(service.received).toHaveLength(1)
  })

  test('a key acts on the selected call only, also when the list changes', async () => {
    await using platform = await startListening()
    await using service = await startService()
    const { id, reviewer, caller } = await gated(platform, service.url, { parameters: city })
    const ask = (name: string) =>
      platform.post(`/tools/${id}/call`, { input: { city: name }, wait: false }, { key: caller })
    const first = await ask('Rio')
    const second = await ask('Oslo')
    await using terminal = onTerminal(['approvals'], as(platform.url, reviewer))

    await terminal.sees(/❯ tools:pay \{"city":"Rio"\}/)
    await platform.post(`/approvals/${first.body.approval_id}/reject`, {})
    await terminal.sees(/1 pending\s+tools:pay \{"city":"Oslo"\}/)
    terminal.type('a')
    terminal.type('q')

    expect(await terminal.ended).toBe(0)
    expect((await platform.get(`/approvals/${second.body.approval_id}`)).body.status).toBe('pending')
  })

  test('approve says what was approved, and for whom', async () => {
    await using platform = await startListening()
    await using service = await startService()
    const { id, caller, reviewer } = await gated(platform, service.url)
    const called = platform.post(`/tools/${id}/call`, { input: { city: 'Rio' } }, { key: caller })
    const { id: approval, principal } = await pending(platform)

    const { code, text } = await runOnTerminal(['approvals', 'approve', approval], as(platform.url, reviewer))

    expect(code, text).toBe(0)
    expect(text).toContain(`Approved pay for ${principal.name}.`)
    expect((await called).status).toBe(200)
  })

  test('prints JSON elsewhere, and refuses the decision of the caller', async () => {
    await using platform = await startListening()
    await using service = await startService()
    const { id, caller } = await gated(platform, service.url)
    await platform.post(`/tools/${id}/call`, { input: { city: 'Rio' }, wait: false }, { key: caller })

    const listed = await runCli(['approvals'], as(platform.url))
    const [one] = JSON.parse(listed.stdout).data
    const own = await runCli(['approvals', 'approve', one.id], as(platform.url, caller))

    expect(one).toMatchObject({ tool: 'pay', status: 'pending' })
    expect(own.code).toBe(1)
  })
})

describe('the name of an operation still works where help shows another command:', () => {
  test('call-tool, list-calls, get-current-api-key', async () => {
    await using platform = await weatherPlatform()
    const run = (...args: string[]) => runCli(args, as(platform.url))
    const input = { city: 'São Paulo', unit_system: 'metric' }

    const called = await run('call-tool', '--tool-id', platform.toolId, '--input', JSON.stringify(input))
    const listed = await run('list-calls', '--limit', '1', '--field', 'data.0.status')
    const key = await run('get-current-api-key', '--field', 'id')
    const help = await run('call-tool', '--help')

    expect(JSON.parse(called.stdout)).toEqual(input)
    expect(listed.stdout).toBe('success\n')
    expect(key.stdout).toBe('key_environment\n')
    expect(help.stdout).toContain('"quartermaster call" does the same')
  })

  test('list-approvals, approve-call, reject-call; approvals can do the same', async () => {
    await using platform = await startListening()
    await using service = await startService(({ body }) => ({ body }))
    const { id, caller, reviewer } = await gated(platform, service.url, { parameters: city })
    const request = (name: string) =>
      platform.post(`/tools/${id}/call`, { input: { city: name }, wait: false }, { key: caller })
    const run = async (...args: string[]) => JSON.parse((await runCli(args, as(platform.url, reviewer))).stdout)
    const pendingId = async (...args: string[]) =>
      (await runCli([...args, '--status', 'pending', '--field', 'data.0.id'], as(platform.url))).stdout.trim()

    await request('Rio')
    const first = await run('approve-call', '--approval-id', await pendingId('list-approvals'))
    await request('Oslo')
    const second = await run('reject-call', '--approval-id', await pendingId('approvals', 'list'), '--reason', 'No')
    await request('Lima')
    const third = await run('approvals', 'approve', await pendingId('approvals', 'list'), '--input', '{"city":"Cusco"}')
    const answer = await request('Lima')

    expect([first.status, second.status, third.status]).toEqual(['approved', 'rejected', 'approved'])
    expect(answer.body).toEqual({ city: 'Cusco' })
  })

  test('import-mcp-servers, import-skills, export-skill', async () => {
    await using platform = await startListening()
    const run = async (...args: string[]) => JSON.parse((await runCli(args, as(platform.url))).stdout)
    const servers = { mcpServers: { docs: { url: 'https://mcp.example.com/mcp' } } }
    const files = { 'refunds/SKILL.md': '---\nname: refunds\ndescription: How\n---\nLook first.\n' }

    const imported = await run('import-mcp-servers', '--body', JSON.stringify(servers))
    const skills = await run('import-skills', '--files', JSON.stringify(files))
    const exported = await run('export-skill', '--skill-id', 'refunds')

    expect(imported.created).toMatchObject([{ name: 'docs' }])
    expect(skills.created).toMatchObject([{ name: 'refunds' }])
    expect(exported.content).toContain('Look first.')
  })
})

describe('chat', () => {
  test('streams the answer of an agent, once or in a conversation', async () => {
    await using platform = await startListening()
    const script = { steps: [{ answer: { text: 'It is sunny in Recife.' } }] }
    const provider = await platform.post('/ai-providers', { name: 'script', type: 'replay', script })
    const made = await platform.post('/agents', { name: 'support', ai_provider_id: provider.body.id })
    expect(made.status).toBe(201)

    const once = await runCli(['chat', 'support', 'How is the weather?'], as(platform.url))
    await using terminal = onTerminal(['chat', 'support'], as(platform.url))
    await terminal.sees('You')
    terminal.type('And now?\r')
    await terminal.sees(/sunny[\s\S]*You/)
    terminal.type('\r')

    expect(once).toMatchObject({ code: 0, stdout: 'It is sunny in Recife.\n' })
    expect(await terminal.ended).toBe(0)
  })

  const agentWith = async (platform: TestPlatform, steps: object[], toolId: string) => {
    const provider = await platform.post('/ai-providers', { name: 'script', type: 'replay', script: { steps } })
    const fields = { name: 'support', ai_provider_id: provider.body.id, tool_ids: [toolId] }
    const made = await platform.post('/agents', fields)
    expect(made.status, JSON.stringify(made.body)).toBe(201)
  }

  test('names calls that need approval, and continues after the decision', async () => {
    await using platform = await startListening()
    await using service = await startService()
    const { id, reviewer } = await gated(platform, service.url)
    const calls = { answer: { tool_calls: [{ name: 'pay', args: { city: 'Rio' } }] } }
    const again = { answer: { tool_calls: [{ name: 'pay', args: { city: 'Oslo' } }] } }
    await agentWith(platform, [calls, again, { answer: 'Both are paid.' }], id)

    await using chatting = onTerminal(['chat', 'support', 'Pay, please'], as(platform.url))
    const first = await pending(platform)
    await chatting.sees(`approvals approve ${first.id}`)
    await platform.post(`/approvals/${first.id}/approve`, {}, { key: reviewer })
    const second = await until(async () => {
      const [next] = (await platform.get('/approvals?status=pending')).body.data
      return next?.id
    })
    await chatting.sees(`approvals approve ${second}`)
    await platform.post(`/approvals/${second}/approve`, {}, { key: reviewer })

    await chatting.sees('Both are paid.')
    expect(await chatting.ended).toBe(0)
    expect(service.received).toHaveLength(2)
  })

  test('ends the line of the answer before it names a call', async () => {
    await using platform = await startListening()
    const tool = await platform.post('/tools', { name: 'read-file', type: 'client', parameters: {} })
    const calls = { answer: { text: 'Let me look.', tool_calls: [{ name: 'read-file', args: {} }] } }
    await agentWith(platform, [calls], tool.body.id)

    const { stdout } = await runCli(['chat', 'support', 'Read it'], as(platform.url))

    expect(stdout).toBe('Let me look.\n')
  })

  test('prompts for the output of a client tool, or exits with 4 without a terminal', async () => {
    await using platform = await startListening()
    const tool = await platform.post('/tools', { name: 'read-file', type: 'client', parameters: {} })
    const calls = { answer: { tool_calls: [{ name: 'read-file', args: { path: 'a.txt' } }] } }
    await agentWith(platform, [calls, { answer: 'I have read it.' }], tool.body.id)

    const alone = await runCli(['chat', 'support', 'Read it'], as(platform.url))
    await using terminal = onTerminal(['chat', 'support', 'Read it'], as(platform.url))
    await terminal.sees('Output of the tool')
    terminal.type('Hello\r')

    expect(alone.code).toBe(4)
    expect(alone.stderr).toMatch(
      /read-file \{"path":"a\.txt"\} waits for its output\. To send it:\n {2}quartermaster submit-tool-outputs --agent-id support --generation-id \w+_\w+ --tool-outputs '\[\{"tool_call_id":/,
    )
    expect(await terminal.ended).toBe(0)
    expect(terminal.text()).toContain('read-file {"path":"a.txt"}')
    expect(terminal.text()).toContain('I have read it.')
  })
})
