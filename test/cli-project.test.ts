import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { as, runCli, startListening } from './clients.ts'
import { onTerminal, runOnTerminal } from './terminal.ts'

async function folder(files: Record<string, string> = {}) {
  const path = await mkdtemp(join(tmpdir(), 'quartermaster-project-'))
  for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content)
  return {
    path,
    at: (name: string) => join(path, name),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}

const whole = `
ai_providers:
  model:
    type: openai-compatible
    base_url: http://127.0.0.1:9/v1
    api_key: \${MODEL_KEY}
    headers: { X-Team: support }
  script:
    type: replay
    script: { steps: [{ answer: Hello }] }
tools:
  get-weather:
    description: The weather
    parameters: { type: object, properties: { city: { type: string } }, required: [city] }
    execute: { url: "https://api.example.com/{city}", headers: { Authorization: "Bearer \${WEATHER_KEY}" } }
  notes:
    type: soat
    actions: [get-document]
    auto_approve: false
skills:
  refunds:
    summary: How to refund
    content: Look first.
servers:
  support:
    apps: [{ slug: tools }]
    skills: [refunds]
    agent_mode: true
agents:
  helper:
    ai_provider: script
    tools: [get-weather, notes]
    tool_choice: auto
    boundary_policy: { statement: [{ effect: Allow, action: "documents:*" }] }
`

describe('apply', () => {
  test('creates the records of a file, and changes nothing the second time', async () => {
    await using platform = await startListening()
    await using home = await folder({ 'q.yaml': whole, '.env': 'MODEL_KEY=sk-from-file\nWEATHER_KEY=not-this\n' })
    const environment = { ...as(platform.url), WEATHER_KEY: 'w1' }

    const dry = await runCli(['apply', home.at('q.yaml'), '--dry-run'], environment)
    const none = await platform.get('/tools')
    const first = await runCli(['apply', home.at('q.yaml')], environment)
    const second = await runCli(['apply', home.at('q.yaml')], environment)
    const rotated = await runCli(['apply', home.at('q.yaml')], { ...environment, WEATHER_KEY: 'w2' })

    expect(dry.code, dry.stderr).toBe(0)
    expect(none.body.total).toBe(0)
    expect(JSON.parse(dry.stdout).changes).toEqual(JSON.parse(first.stdout).changes)
    expect(JSON.parse(first.stdout).changes).toHaveLength(7)
    expect(first.code, first.stderr).toBe(0)
    expect(JSON.parse(second.stdout)).toEqual({ dry_run: false, changes: [], unchanged: 7 })
    expect(JSON.parse(rotated.stdout).changes).toEqual([
      { kind: 'tools', name: 'get-weather', change: 'update', fields: ['execute'] },
    ])
    const [agent] = (await platform.get('/agents')).body.data
    const tools = (await platform.get('/tools')).body.data
    const [skill] = (await platform.get('/skills')).body.data
    expect(agent.tool_ids.sort()).toEqual(tools.map(({ id }: { id: string }) => id).sort())
    expect((await platform.get('/servers/support')).body).toMatchObject({ agent_mode: true, skill_ids: [skill.id] })
    expect(tools.find(({ name }: { name: string }) => name === 'get-weather').execute.headers).toEqual({
      Authorization: '[hidden]',
    })
    expect(first.stdout).not.toContain('sk-from-file')
  })

  test('handles tools of the same name in two apps, by app and name (S0.9)', async () => {
    await using platform = await startListening()
    const file = (extra = '') => `
ai_providers: { script: { type: replay, script: { steps: [{ answer: Hello }] } } }
tools:
  salesforce/create_contact: &tool { parameters: { type: object }, execute: { url: "http://127.0.0.1:9/" } }
  hubspot/create_contact: *tool
agents:
  helper: { ai_provider: script, tools: [hubspot/create_contact, salesforce/create_contact] }
${extra}`
    await using home = await folder({ 'q.yaml': file(), 'bad.yaml': file().replace('[hubspot/', '[') })
    const environment = as(platform.url)

    const first = await runCli(['apply', home.at('q.yaml')], environment)
    const second = await runCli(['apply', home.at('q.yaml'), '--prune', '--yes'], environment)
    const bad = await runCli(['apply', home.at('bad.yaml')], environment)

    expect(first.code, first.stderr).toBe(0)
    expect(JSON.parse(second.stdout)).toEqual({ dry_run: false, changes: [], unchanged: 4 })
    const tools = (await platform.get('/tools')).body.data as { id: string; app: string; name: string }[]
    expect(tools.map(({ app, name }) => `${app}/${name}`)).toEqual([
      'salesforce/create_contact',
      'hubspot/create_contact',
    ])
    const [agent] = (await platform.get('/agents')).body.data
    expect(agent.tool_ids).toEqual([tools[1]?.id, tools[0]?.id])
    expect(bad.code).toBe(2)
    expect(bad.stderr).toContain(
      '"create_contact" is ambiguous. Write hubspot/create_contact or salesforce/create_contact.',
    )
  })

  test('updates the fields that differ, and deletes only with --prune and a confirmation', async () => {
    await using platform = await startListening()
    await using home = await folder({
      'one.yaml': 'skills:\n  a: { content: one }\n  b: { content: two }\nservers:\n  s: {}\n',
      'two.yaml': 'skills:\n  a: { content: changed, summary: "" }\n',
    })
    const environment = as(platform.url)
    await runCli(['apply', home.at('one.yaml')], environment)

    const changed = await runOnTerminal(['apply', home.at('two.yaml')], environment)
    const unsure = await runCli(['apply', home.at('two.yaml'), '--prune'], environment)
    const left = await platform.get('/skills')
    const pruned = await runCli(['apply', home.at('two.yaml'), '--prune', '--yes'], environment)

    expect(changed.text).toBe('~ skills/a (content)\n')
    expect(unsure).toMatchObject({ code: 2, stderr: expect.stringContaining('would delete 1') })
    expect(left.body.total).toBe(2)
    expect(JSON.parse(pruned.stdout).changes).toEqual([{ kind: 'skills', name: 'b', change: 'delete', fields: [] }])
    expect((await platform.get('/skills')).body.total).toBe(1)
    expect((await platform.get('/servers')).body.total).toBe(1)
  })

  test('asks for a confirmation on a terminal before it deletes', async () => {
    await using platform = await startListening()
    await using home = await folder({ 'q.yaml': 'skills:\n  a: { content: one }\n' })
    await platform.post('/skills', { name: 'old', content: 'x' })
    const args = ['apply', home.at('q.yaml'), '--prune']

    await using refusing = onTerminal(args, as(platform.url))
    await refusing.sees('Delete 1 record?')
    refusing.type('n')
    const refused = await refusing.ended
    const before = await platform.get('/skills')
    await using agreeing = onTerminal(args, as(platform.url))
    await agreeing.sees('Delete 1 record?')
    agreeing.type('y')

    expect([refused, before.body.total]).toEqual([2, 1])
    expect(await agreeing.ended).toBe(0)
    expect((await platform.get('/skills')).body.data).toMatchObject([{ name: 'a' }])
  })

  test('reports unknown references, missing variables, and the changes before an error', async () => {
    await using platform = await startListening()
    await using home = await folder({
      'reference.yaml': 'agents:\n  a: { ai_provider: nobody }\n',
      'variable.yaml': 'skills:\n  a: { content: "${SURELY_NOT_SET}" }\n',
      'refused.yaml': 'skills:\n  a: { content: x }\ntools:\n  t: { type: mcp, mcp: { command: node } }\n',
    })
    const run = (name: string) => runCli(['apply', home.at(name)], as(platform.url))

    expect(await run('reference.yaml')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('"nobody" was not found'),
    })
    expect(await run('variable.yaml')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('not set: SURELY_NOT_SET'),
    })
    const refused = await run('refused.yaml')
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Nothing was changed before .* tools\/t[\s\S]*VALIDATION_FAILED/),
    })
    expect(JSON.parse(refused.stdout).changes).toEqual([])
  })

  test('prints only the changes that were made before an error', async () => {
    await using platform = await startListening()
    const failing =
      'tools:\n  a: { execute: { url: "https://example.com" }, parameters: {} }\n  t: { type: mcp, mcp: { command: node } }\nskills:\n  s: { content: x }\n'
    await using home = await folder({ 'q.yaml': failing })

    const { code, text } = await runOnTerminal(['apply', home.at('q.yaml')], as(platform.url))

    expect(code).toBe(1)
    expect(text).toContain('+ tools/a\n')
    expect(text).toContain('Changes made: 1 before this change failed: tools/t')
    expect(text).not.toMatch(/\+ (tools\/t|skills\/s)/)
  })

  test('and --dry-run report all unknown references with their lines, and change nothing', async () => {
    await using platform = await startListening()
    const { id } = (await platform.post('/skills', { name: 'there', content: 'x' })).body
    await using home = await folder({
      'q.yaml': `skills:\n  s: { content: x }\nservers:\n  fine: { skills: [there, s, ${id}] }\n  by-id: { skill_ids: [${id}] }\n  bad:\n    skill_ids: [skl_01jzzzzzzzzzzzzzzzzzzzzzzz]\nagents:\n  a:\n    ai_provider: nobody\n    tools: [nothing]\n`,
    })

    for (const more of [['--dry-run'], []]) {
      const { code, stdout, stderr } = await runCli(['apply', home.at('q.yaml'), ...more], as(platform.url))

      expect([code, stdout]).toEqual([2, ''])
      expect(stderr.match(/was not found/g)).toHaveLength(3)
      expect(stderr).toContain('q.yaml:7: servers.bad.skill_ids.0: "skl_01jz')
      expect(stderr).toContain('q.yaml:10: agents.a.ai_provider: "nobody"')
      expect(stderr).toContain('q.yaml:11: agents.a.tools.0: "nothing"')
    }
    expect((await platform.get('/skills')).body.total).toBe(1)
  })
})

describe('check', () => {
  test('finds what the platform would refuse: fields of the tool type, URLs, JSON Schemas', async () => {
    await using home = await folder({
      'q.yaml': `tools:
  lost:
    execute: { url: 'https://example.com/{id}', method: GET }
    parameters: { type: object, properties: {} }
  odd:
    execute: { url: 'example.com' }
    parameters: { type: object, properties: { a: { type: strng } } }
  later:
    execute: { url: '\${NOT_SET}/x' }
    parameters: {}
`,
    })

    const { code, stdout } = await runCli(['check', home.at('q.yaml'), '--json'])

    const { faults } = JSON.parse(stdout) as { faults: { line: number; message: string }[] }
    expect(code).toBe(1)
    expect(faults.map(({ line, message }) => `${line} ${message.split(/[,:]/)[0]}`)).toEqual([
      '3 tools.lost.execute.url contains {id}',
      '6 tools.odd.execute.url must start with http',
      '7 tools.odd.parameters is not a JSON Schema',
    ])
  })

  test('reports problems with their lines, without a platform', async () => {
    await using home = await folder({
      'q.yaml': [
        'tools:',
        '  get-weather:',
        '    descripton: typo',
        '    execute:',
        '      url: https://example.com',
        '      method: FETCH',
        '  "bad name": {}',
        'servers:',
        '  support:',
        '    apps:',
        '      - slug: crm',
        '        actions: 7',
        'agent:',
        '  a: {}',
        'agents:',
        '  helper:',
        '    tools: [get-weather]',
      ].join('\n'),
    })

    const { code, stdout, stderr } = await runCli(['check', home.at('q.yaml')])

    expect(code).toBe(1)
    const lines = stderr
      .trim()
      .split('\n')
      .map((line) => line.replace(`${home.at('q.yaml')}:`, ''))
    expect(lines).toEqual([
      '3: tools.get-weather.descripton is not a known field',
      expect.stringMatching(/^6: tools\.get-weather\.execute\.method must be one of/),
      expect.stringMatching(/^7: tools\.bad name /),
      expect.stringMatching(/^12: servers\.support\.apps\.0\.actions must be of type array/),
      '13: agent is not a section. Did you mean agents?',
      '16: agents.helper.ai_provider is missing',
    ])
    expect(stdout).toBe('')
    const json = await runCli(['check', home.at('q.yaml'), '--json'])
    expect([json.code, json.stderr]).toEqual([1, ''])
    expect(JSON.parse(json.stdout).faults).toHaveLength(6)
    const applied = await runCli(['apply', home.at('q.yaml')], as('http://127.0.0.1:9'))
    expect(applied).toEqual({ code: 1, stdout: '', stderr: `quartermaster: The file is not valid:\n${stderr}` })
  })

  test('counts what is in a valid file', async () => {
    await using home = await folder({
      'q.yaml': [
        'ai_providers:',
        '  p: { type: replay, script: { steps: [{ answer: Hello }] } }',
        'agents:',
        '  a: { ai_provider: p }',
        '  b: { ai_provider: p }',
      ].join('\n'),
    })

    const { code, text } = await runOnTerminal(['check', home.at('q.yaml')], {})

    expect(code, text).toBe(0)
    expect(text).toContain('The file is valid: 1 AI provider, 2 agents.')
  })

  test('finds names in place of ids, and lists references to records on the platform', async () => {
    await using home = await folder({
      'ids.yaml': 'agents:\n  a:\n    ai_provider_id: nosuch\n    tool_ids: [nosuch]\n',
      'names.yaml': 'agents:\n  a:\n    ai_provider: elsewhere\n',
    })

    const ids = await runCli(['check', home.at('ids.yaml')])
    const names = await runCli(['check', home.at('names.yaml')])
    const shown = await runOnTerminal(['check', home.at('names.yaml')])

    expect(ids.code).toBe(1)
    expect(ids.stderr).toContain('ids.yaml:3: agents.a.ai_provider_id must be an id, but "nosuch" is not.')
    expect(ids.stderr).toContain('ids.yaml:4: agents.a.tool_ids.0 must be an id')
    expect(names.code).toBe(0)
    expect(JSON.parse(names.stdout).elsewhere).toEqual([
      { line: 3, path: 'agents.a.ai_provider', section: 'ai_providers', wanted: 'elsewhere' },
    ])
    expect(shown.text.replaceAll(/\s+/g, ' ')).toContain(
      '"elsewhere" is not in this file, so it must exist on the platform',
    )
  })

  test('reports invalid YAML and missing files', async () => {
    await using home = await folder({ 'q.yaml': 'tools:\n  a: {\n', 'list.yaml': '- a\n' })

    expect(await runCli(['check', home.at('q.yaml')])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/q\.yaml:\d: /),
    })
    expect((await runCli(['check', home.at('list.yaml')])).code).toBe(1)
    expect(await runCli(['check', home.at('no.yaml')])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('quartermaster init'),
    })
  })
})

describe('init', () => {
  test('writes a valid project that can be applied, and overwrites nothing', async () => {
    await using platform = await startListening()
    await using home = await folder()

    const made = await runCli(['init', home.path, '--yes'])
    const checked = await runCli(['check', home.at('quartermaster.yaml')])
    const applied = await runCli(['apply', home.at('quartermaster.yaml')], { ...as(platform.url), ORDERS_API_KEY: 'k' })
    const again = await runCli(['init', home.path, '--yes'])

    expect(made.code, made.stderr).toBe(0)
    expect(JSON.parse(checked.stdout)).toEqual({ faults: [], unset: ['ORDERS_API_KEY'], elsewhere: [] })
    expect(applied.code, applied.stderr).toBe(0)
    expect(await readFile(home.at('.env.example'), 'utf8')).toBe('ORDERS_API_KEY=\n')
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('already exists') })
  })

  test('prompts on a terminal', async () => {
    await using home = await folder()
    await using terminal = onTerminal(['init', home.path])

    await terminal.sees('Name of the MCP server')
    terminal.type('My Desk\r')
    await terminal.sees('URL of an HTTP API')
    terminal.type('\r')
    await terminal.sees('anthropic')
    terminal.type('\x1b[B\x1b[B\r')

    expect(await terminal.ended).toBe(0)
    const text = await readFile(home.at('quartermaster.yaml'), 'utf8')
    expect(text).toContain('  my-desk:\n')
    expect(text).toContain('api_key: ${ANTHROPIC_API_KEY}')
    expect((await runCli(['check', home.at('quartermaster.yaml')])).code).toBe(0)
  })

  test.each([
    ['Ctrl-C', '\x03'],
    ['Ctrl-D', '\x04'],
    ['Escape', '\x1b'],
  ])('writes nothing and exits with 130 on %s', async (_, key) => {
    await using home = await folder()
    await using terminal = onTerminal(['init', home.path])

    await terminal.sees('Name of the MCP server')
    terminal.type(key)

    expect(await terminal.ended).toBe(130)
    expect(await readdir(home.path)).toEqual([])
  })
})
