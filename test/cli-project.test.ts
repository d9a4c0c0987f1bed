import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
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
  test('creates what a file declares, by name, and changes nothing the second time', async () => {
    await using platform = await startListening()
    await using home = await folder({ 'q.yaml': whole, '.env': 'MODEL_KEY=sk-from-file\nWEATHER_KEY=not-this\n' })
    const environment = { ...as(platform.url), WEATHER_KEY: 'w1' }

    const dry = await runCli(['apply', home.at('q.yaml'), '--dry-run'], environment)
    const none = await platform.get('/tools')
    const first = await runCli(['apply', home.at('q.yaml')], environment)
    const second = await runCli(['apply', home.at('q.yaml')], environment)

    expect(dry.code, dry.stderr).toBe(0)
    expect(none.body.total).toBe(0)
    expect(JSON.parse(dry.stdout).changes).toEqual(JSON.parse(first.stdout).changes)
    expect(JSON.parse(first.stdout).changes).toHaveLength(7)
    expect(first.code, first.stderr).toBe(0)
    expect(JSON.parse(second.stdout)).toEqual({ dry_run: false, changes: [], unchanged: 7 })
    const [agent] = (await platform.get('/agents')).body.data
    const tools = (await platform.get('/tools')).body.data
    const [skill] = (await platform.get('/skills')).body.data
    expect(agent.tool_ids.sort()).toEqual(tools.map(({ id }: { id: string }) => id).sort())
    expect((await platform.get('/servers/support')).body).toMatchObject({ agent_mode: true, skill_ids: [skill.id] })
    expect(tools.find(({ name }: { name: string }) => name === 'get-weather').execute.headers).toEqual({
      Authorization: 'Bearer w1',
    })
    expect(first.stdout).not.toContain('sk-from-file')
  })

  test('updates the fields that differ, and deletes only with --prune and a yes', async () => {
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

  test('says what it refers to and is not there, which variables are missing, and how far it came', async () => {
    await using platform = await startListening()
    await using home = await folder({
      'reference.yaml': 'agents:\n  a: { ai_provider: nobody }\n',
      'variable.yaml': 'skills:\n  a: { content: "${SURELY_NOT_SET}" }\n',
      'refused.yaml': 'skills:\n  a: { content: x }\ntools:\n  t: { type: http, parameters: {} }\n',
    })
    const run = (name: string) => runCli(['apply', home.at(name)], as(platform.url))

    expect(await run('reference.yaml')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('"nobody" is referred to'),
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

  test('that fails on the way prints what it has done, and not what it would have', async () => {
    await using platform = await startListening()
    const failing =
      'tools:\n  a: { execute: { url: "https://example.com" }, parameters: {} }\n  t: { type: http, parameters: {} }\nskills:\n  s: { content: x }\n'
    await using home = await folder({ 'q.yaml': failing })

    const { code, text } = await runOnTerminal(['apply', home.at('q.yaml')], as(platform.url))

    expect(code).toBe(1)
    expect(text).toContain('+ tools/a\n')
    expect(text).toContain('1 of the changes were made before this one failed: tools/t')
    expect(text).not.toMatch(/\+ (tools\/t|skills\/s)/)
  })

  test('and apply --dry-run tell of all that is referred to and not there, with the line, and change nothing', async () => {
    await using platform = await startListening()
    const { id } = (await platform.post('/skills', { name: 'there', content: 'x' })).body
    await using home = await folder({
      'q.yaml': `skills:\n  s: { content: x }\nservers:\n  fine: { skills: [there, s, ${id}] }\n  by-id: { skill_ids: [${id}] }\n  bad:\n    skill_ids: [skl_01jzzzzzzzzzzzzzzzzzzzzzzz]\nagents:\n  a:\n    ai_provider: nobody\n    tools: [nothing]\n`,
    })

    for (const more of [['--dry-run'], []]) {
      const { code, stdout, stderr } = await runCli(['apply', home.at('q.yaml'), ...more], as(platform.url))

      expect([code, stdout]).toEqual([2, ''])
      expect(stderr.match(/is referred to/g)).toHaveLength(3)
      expect(stderr).toContain('q.yaml:7: servers.bad.skill_ids.0: "skl_01jz')
      expect(stderr).toContain('q.yaml:10: agents.a.ai_provider: "nobody"')
      expect(stderr).toContain('q.yaml:11: agents.a.tools.0: "nothing"')
    }
    expect((await platform.get('/skills')).body.total).toBe(1)
  })
})

describe('check', () => {
  test('says what is wrong with the line where it stands, without a platform', async () => {
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
    expect(JSON.parse(stdout).faults).toHaveLength(6)
  })

  test('finds names where ids are wanted, and tells what only the platform can answer', async () => {
    await using home = await folder({
      'ids.yaml': 'agents:\n  a:\n    ai_provider_id: nosuch\n    tool_ids: [nosuch]\n',
      'names.yaml': 'agents:\n  a:\n    ai_provider: elsewhere\n',
    })

    const ids = await runCli(['check', home.at('ids.yaml')])
    const names = await runCli(['check', home.at('names.yaml')])
    const shown = await runOnTerminal(['check', home.at('names.yaml')])

    expect(ids.code).toBe(1)
    expect(ids.stderr).toContain('ids.yaml:3: agents.a.ai_provider_id must be an id, and "nosuch" is none')
    expect(ids.stderr).toContain('ids.yaml:4: agents.a.tool_ids.0 must be an id')
    expect(names.code).toBe(0)
    expect(JSON.parse(names.stdout).elsewhere).toEqual([
      { line: 3, path: 'agents.a.ai_provider', section: 'ai_providers', wanted: 'elsewhere' },
    ])
    expect(shown.text.replaceAll(/\s+/g, ' ')).toContain(
      '"elsewhere" is not in this file, so the platform must have it',
    )
  })

  test('finds faults of YAML, and what is not there', async () => {
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
  test('writes a project that checks and applies, and replaces nothing', async () => {
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
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('there already') })
  })

  test('asks on a terminal', async () => {
    await using home = await folder()
    await using terminal = onTerminal(['init', home.path])

    await terminal.sees('Name of the MCP server')
    terminal.type('My Desk\r')
    await terminal.sees('Address of an HTTP API')
    terminal.type('\r')
    await terminal.sees('3) anthropic')
    terminal.type('3\r')

    expect(await terminal.ended).toBe(0)
    const text = await readFile(home.at('quartermaster.yaml'), 'utf8')
    expect(text).toContain('  my-desk:\n')
    expect(text).toContain('api_key: ${ANTHROPIC_API_KEY}')
    expect((await runCli(['check', home.at('quartermaster.yaml')])).code).toBe(0)
  })
})
