import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { commands } from '../src/cli/generated.ts'
import { customCommands, replacementOf } from '../src/cli/registry.ts'
import { groups } from '../src/cli/toolkit/overview.ts'
import { operations } from '../src/operations/index.ts'
import { as, closedAddress, runCli, runProgram, spawnCli, startListening } from './clients.ts'
import { importGraph } from './import-graph.ts'
import { adminKey, startService } from './kit.ts'

const exec = promisify(execFile)

/** A temporary folder with these files. */
async function folderWith(
  files: Record<string, string | Uint8Array>,
): Promise<AsyncDisposable & { at(name: string): string }> {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-cli-'))
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
  return {
    at: (name) => join(folder, name),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

describe('help', () => {
  test('tools of one name in two apps are named with their app (S0.9)', async () => {
    await using platform = await startListening()
    await using service = await startService(({ url }) => ({ body: JSON.stringify(url) }))
    for (const app of ['salesforce', 'hubspot']) {
      const execute = { url: `${service.url}/${app}` }
      await platform.post('/tools', { name: 'create_contact', app, execute, parameters: { type: 'object' } })
    }
    const run = (...args: string[]) => runCli(args, as(platform.url))

    const ambiguous = await run('call', 'create_contact')
    const alsoAmbiguous = await run('get-tool', '--tool-id', 'create_contact')
    const called = await run('call', 'hubspot/create_contact')
    const got = await run('get-tool', '--tool-id', 'salesforce/create_contact')

    for (const { code, stderr } of [ambiguous, alsoAmbiguous]) {
      expect(code).toBe(1)
      expect(stderr).toMatch(
        /Several tools are named "create_contact": hubspot\/create_contact \(tool_\w+\), salesforce\/create_contact \(tool_\w+\)\./,
      )
    }
    expect(called.stdout).toContain('/hubspot')
    expect(JSON.parse(got.stdout)).toMatchObject({ app: 'salesforce' })
  })

  test.each([[['help']], [['--help']], [['-h']]])(
    'lists the everyday commands, and says how to see the others: %j',
    async (args) => {
      const { code, stdout } = await runCli(args)

      expect(code).toBe(0)
      const listed = [...stdout.matchAll(/^ {2}([\w-]+) {2,}\S/gm)].map(([, name]) => name)
      expect(listed.length).toBeLessThanOrEqual(26)
      expect(listed).toEqual(expect.arrayContaining(['up', 'login', 'call', 'create-tool', 'logs', 'apply']))
      expect(stdout).toContain(
        '"quartermaster help --all" lists every command; "quartermaster help tools" lists a group.',
      )
      expect(stdout.split('\n').length).toBeLessThan(50)
    },
  )

  test('without a command is the same as help', async () => {
    const [bare, asked] = await Promise.all([runCli([]), runCli(['help'])])

    expect([bare.code, bare.stderr]).toEqual([2, asked.stdout])
  })

  test.each(groups)('of the group %s lists its commands', async (group) => {
    const { code, stdout } = await runCli(['help', group])

    expect(code).toBe(0)
    for (const { name, module } of commands) {
      if (module === group) expect(stdout).toContain(`\n  ${replacementOf(name) ?? name} `)
    }
  })

  test('--all lists every command once with its summary, by group', async () => {
    const { code, stdout } = await runCli(['help', '--all'])

    expect(code).toBe(0)
    const lineOf = (name: string) => stdout.split('\n').filter((line) => line.startsWith(`  ${name} `))
    for (const { name, summary } of operations) {
      if (replacementOf(name)) expect(lineOf(name)).toEqual([])
      else expect(lineOf(name)).toEqual([expect.stringContaining(summary)])
    }
    for (const { name, summary } of customCommands) expect(lineOf(name)).toEqual([expect.stringContaining(summary)])
    expect(stdout.indexOf('\ntools\n')).toBeLessThan(stdout.indexOf('\n  create-tool'))
  })

  test.each([[['create-tool', '--help']], [['help', 'create-tool']], [['create-tool', '--name', 'x', '-h']]])(
    'of one command shows its fields, its route and its permission: %j (S2.57)',
    async (args) => {
      const { code, stdout } = await runCli(args)

      expect(code).toBe(0)
      expect(stdout).toContain('POST /api/v1/tools')
      expect(stdout).toContain('tools:CreateTool')
      expect(stdout).toMatch(/--name <string> +Required\./)
      for (const flag of ['project-id', 'type', 'description', 'execute', 'parameters', 'actions']) {
        expect(stdout).toContain(`--${flag} <`)
      }
      expect(stdout).toMatch(/execute\.url <string> +Required\. URL of the request/)
    },
  )

  test('of import says that operations are selected by name', async () => {
    const { stdout } = await runCli(['import', '--help'])

    expect(stdout).toMatch(/--operation <name> +OpenAPI: only operations with this name/)
    expect(stdout).toMatch(/--exclude-operation <name> +OpenAPI: no operations with this name/)
  })

  test('of up lists the settings of the platform', async () => {
    const { code, stdout } = await runCli(['up', '--help'])

    expect(code).toBe(0)
    expect(stdout).toMatch(/--port, QM_PORT +Port to listen on.* Default: 4600\./)
  })

  test('starts fast: only the argument parser is loaded before a command runs', () => {
    const { files, others } = importGraph('src/cli/main.ts')

    expect(others.filter((name) => !name.startsWith('node:'))).toEqual(['commander'])
    expect(files.filter((file) => !/^src\/(cli|sdk)\//.test(file)).sort()).toEqual([
      'src/home.ts',
      'src/lib/escaped.ts',
      'src/lib/nearest.ts',
    ])
    expect(files).not.toContain('src/cli/commands/up.ts')
  })
})

test.each([[['version']], [['--version']]])('%j prints the version', async (args) => {
  const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'))

  expect(await runCli(args)).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
})

describe('the installed program', () => {
  test('exits with the code of the command, and writes results and messages to separate streams', async () => {
    const [fine, wrong] = await Promise.all([
      runProgram(['version']),
      runProgram(['creat-tool', '--name', 'sk_topsecret']),
    ])

    expect(fine).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), stderr: '' })
    expect(wrong).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining('Unknown command "creat-tool"') })
  })

  test('runs in any folder after the command of the README', async () => {
    await using elsewhere = await folderWith({})
    const prefix = elsewhere.at('global')
    const root = fileURLToPath(new URL('..', import.meta.url))
    const readme = await readFile(join(root, 'README.md'), 'utf8')
    const [command = ''] = /npm install --global \./.exec(readme) ?? []
    const path = `${dirname(process.execPath)}:${process.env.PATH}`

    // The scripts only build what is built already.
    await exec('bash', ['-c', `${command} --prefix ${prefix} --ignore-scripts --no-audit --no-fund`], { cwd: root })
    const ran = await exec(join(prefix, 'bin/qm'), ['version'], { cwd: tmpdir(), env: { PATH: path } })

    expect(ran.stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  test('ends quietly when the reader of its output stops reading', async () => {
    const child = spawnCli(['help'])
    child.stdout.destroy()

    const [stderr, code] = await Promise.all([
      text(child.stderr),
      new Promise((resolve) => child.once('close', resolve)),
    ])

    expect([code, stderr]).toEqual([0, ''])
  })
})

describe('the flags of the connection', () => {
  test('can also come before the command', async () => {
    await using platform = await startListening()
    const before = ['--url', platform.url, `--key=${adminKey}`, '--no-color', '--json']
    const hook = ['create-webhook', '--name', 'hook', '--url', 'https://example.com/hook', '--events', '["*"]']
    await platform.post('/tools', {
      name: 'now',
      execute: { url: `${platform.url}/health`, method: 'GET' },
      parameters: {},
    })

    const listed = await runCli([...before, 'list-projects'])
    const who = await runCli([...before, 'whoami'])
    const called = await runCli([...before, 'call', 'now'])
    // --url after the command is a field of the webhook.
    const hooked = await runCli([...before, ...hook])

    expect(JSON.parse(listed.stdout)).toMatchObject({ total: 1 })
    expect(JSON.parse(who.stdout)).toMatchObject({ url: platform.url })
    expect(called.code, called.stderr).toBe(0)
    expect(JSON.parse(hooked.stdout || '{}'), hooked.stderr).toMatchObject({ url: 'https://example.com/hook' })
  })
})

describe.concurrent('wrong usage exits with 2, explains the mistake, and sends nothing:', () => {
  const here = as('http://127.0.0.1:9')

  test.each([
    ['no command', [], /Usage: quartermaster <command>/],
    ['an unknown command', ['creat-tool'], /Unknown command "creat-tool"\. Did you mean "create-tool"/],
    ['help for an unknown command', ['help', 'lst-tools'], /Did you mean "list-tools"/],
    ['an unknown flag', ['create-tool', '--nmae', 'x'], /Unknown flag --nmae\. Did you mean --name\?/],
    ['an unknown short flag', ['list-tools', '-x'], /Unknown flag -x\./],
    ['a switch with a value', ['list-tools', '--json=yes'], /--json does not take a value\./],
    [
      'a path parameter left out',
      ['call-tool'],
      /--tool-id is missing\.\nUsage: quartermaster call-tool --tool-id <tool_id>/,
    ],
    ['a path parameter left empty', ['get-tool', '--tool-id', ''], /--tool-id is empty/],
    ['a flag without its value', ['create-tool', '--name', '--type', 'http'], /--name needs a value/],
    ['a flag given twice', ['create-tool', '--name', 'a', '--name=b'], /--name is given twice/],
    ['a value without a flag', ['get-tool', 'tool_1'], /Unexpected argument "tool_1"\. Give values with flags/],
    ['an object that is not JSON', ['call-tool', '--tool-id', 't', '--input', '{city: Rio}'], /--input is not JSON/],
    ['an invalid boolean', ['create-tool', '--name', 'a', '--auto-approve', 'yes'], /--auto-approve must be boolean/],
    ['an invalid number', ['list-tools', '--limit', 'abc'], /--limit must be a number\./],
    ['an unknown flag before the command', ['--ulr', 'x', 'list-tools'], /Unknown flag --ulr\. Did you mean --url\?/],
    [
      'a flag of a command before it',
      ['--port', '1', 'up'],
      /Unknown flag --port\.\nFlags of a command follow its name/,
    ],
    ['a body that is not an object', ['create-tool', '--body', '[1]'], /--body must be a JSON object/],
    ['a missing file', ['create-tool', '--body', '@/nowhere.json'], /--body: cannot read \/nowhere.json \(ENOENT\)/],
    ['two readers of standard input', ['create-tool', '--name', '-', '--body', '-'], /cannot both read standard input/],
    [
      'a required field left out',
      ['create-tool', '--description', 'x'],
      /--name is missing\.\nUsage: quartermaster create-tool --name <name>/,
    ],
    ['a required field left out of --body', ['create-tool', '--body', '{"type":"client"}'], /--name is missing\./],
    ['an upload of nothing', ['upload-file', '--file-id', 'f'], /--file is missing/],
    ['an upload of a folder', ['upload-file', '--file-id', 'f', '--file', '/tmp'], /\/tmp is a folder/],
    ['an invalid address', ['list-tools', '--url', 'localhost:4600'], /--url or QM_URL must be a URL/],
    ['a flag before and after the command', ['--json', 'list-tools', '--json'], /--json is given twice/],
    ['a flag before a command that does not take it', ['--url', 'x', 'check'], /"check" does not take --url/],
    ['two words too many', ['whoami', 'now'], /Unexpected argument "now"/],
  ])('%s', async (_, args, says) => {
    const { code, stdout, stderr } = await runCli(args, here)

    expect(stderr).toMatch(says)
    expect([code, stdout]).toEqual([2, ''])
  })

  test('no key', async () => {
    const { code, stderr } = await runCli(['list-tools'])

    expect(code).toBe(2)
    expect(stderr).toContain('No API key. Pass --key, set QM_KEY, or save one with "quartermaster login".')
  })

  test.each([
    ['QM_KEY', ['list-tools'], { QM_KEY: 'sk_…   # your admin key' }],
    ['QM_KEY', ['list-tools'], { QM_KEY: 'sk_…' }],
    ['--key', ['list-tools', '--key', 'sk_...'], here],
    ['The key', ['login', '--key', 'sk_…'], here],
  ])('the placeholder of a guide in %s: %j', async (source, args, environment) => {
    const { code, stderr } = await runCli(args, environment)

    expect(code).toBe(2)
    expect(stderr).toContain(
      `${source} is still the placeholder sk_… from the guide. Use the key that the first start printed.`,
    )
  })

  test('a key in the wrong place, which is not printed', async () => {
    const outputs = await Promise.all(
      [
        ['sk_topsecret'],
        ['list-tools', 'sk_topsecret'],
        ['list-tools', '--url', 'sk_topsecret'],
        ['list-tools', '--key', 'sk_topsecret\nx'],
      ].map((args) => runCli(args, here)),
    )

    expect(outputs.map(({ code }) => code)).toEqual([2, 2, 2, 2])
    expect(JSON.stringify(outputs)).not.toContain('topsecret')
  })
})

test('a wrong key exits with 1 and the error of the platform, without the key', async () => {
  await using platform = await startListening()

  const ran = await runCli(['list-tools', '--key', 'sk_wrong', '--url', platform.url], as('http://127.0.0.1:9'))

  expect(ran).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'quartermaster: UNAUTHENTICATED: This API key is not valid. Check that you copied all of it. It may also have been revoked.\n',
  })
})

test('an unreachable platform exits with 3, and the message says how to start one', async () => {
  const url = await closedAddress()

  const { code, stdout, stderr } = await runCli(['list-tools'], as(url))

  expect([code, stdout]).toEqual([3, ''])
  expect(stderr).toMatch(/^quartermaster: NETWORK: The platform could not be reached: .*ECONNREFUSED/)
  expect(stderr).toContain(`Is it running at ${url}? Start it with "quartermaster up"`)
  expect(stderr).not.toContain(adminKey)
})

test('an error names the command that helps, not the route', async () => {
  await using platform = await startListening()
  const headers = ['--execute.headers.Authorization', 'Bearer ${{ secrets.MISSING }}']
  const tool = ['create-tool', '--name', 'x', '--execute.url', 'https://example.com', ...headers]
  await runCli([...tool, '--parameters.type', 'object'], as(platform.url))

  const { code, stderr } = await runCli(['call', 'x'], as(platform.url))

  expect(code).toBe(1)
  expect(stderr).toContain('Create it with quartermaster create-secret.')
})

test('a response is printed as one line of JSON, and an empty one not at all', async () => {
  await using platform = await startListening()
  const env = as(platform.url)

  const created = await runCli(['create-project', '--name', 'Second'], env)
  const { id } = JSON.parse(created.stdout)
  const deleted = await runCli(['delete-project', '--project-id', id], env)

  expect(created.stdout).toMatch(/^\{.*\}\n$/)
  expect(deleted).toEqual({ code: 0, stdout: '', stderr: '' })
})

describe('--field', () => {
  test('prints one value of the response, ready for a shell variable', async () => {
    await using platform = await startListening()
    const run = (...args: string[]) => runCli(args, as(platform.url))

    const id = await run('create-document', '--path', '/a.md', '--content', 'One', '--field', 'id')
    expect(id).toEqual({ code: 0, stdout: expect.stringMatching(/^doc_\w+\n$/), stderr: '' })
    expect((await run('list-documents', '--field', 'data.0.path')).stdout).toBe('/a.md\n')
    expect((await run('list-documents', '--field', 'total')).stdout).toBe('1\n')
  })

  test('exits with 1 if the response has no such field, and names its fields', async () => {
    await using platform = await startListening()
    const run = (...args: string[]) => runCli(args, as(platform.url))

    expect(await run('list-documents', '--field', 'data.0.id')).toMatchObject({ code: 1, stdout: '' })
    const { code, stdout, stderr } = await run(
      'create-document',
      '--path',
      '/b.md',
      '--content',
      'Two',
      '--field',
      'key',
    )
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('The response has no field "key". Its fields: id, ')
  })
})

test('a name works in place of an id if exactly one record has it', async () => {
  await using platform = await startListening()
  const tool = { name: 'everything', execute: { url: 'https://example.com' }, parameters: {} }
  const { body } = await platform.post('/tools', tool)
  await platform.post('/skills', { name: 'refunds', content: 'x' })
  const env = as(platform.url)

  const byName = await runCli(['get-tool', '--tool-id', 'everything'], env)
  const skill = await runCli(['get-skill', '--skill-id', 'refunds'], env)
  const policy = await runCli(['get-access-policy', '--access-policy-id', 'caller'], env)
  await platform.post('/api-keys', { name: 'my-app', access_policy_ids: ['pol_caller'] })
  const key = await runCli(['get-api-key', '--api-key-id', 'my-app'], env)
  const none = await runCli(['get-tool', '--tool-id', 'nothing'], env)
  const { body: second } = await platform.post('/projects', { name: 'Second' })
  await platform.post('/tools', { ...tool, project_id: second.id })
  const several = await runCli(['get-tool', '--tool-id', 'everything'], env)

  expect(JSON.parse(byName.stdout), byName.stderr).toMatchObject({ id: body.id })
  expect(JSON.parse(skill.stdout), skill.stderr).toMatchObject({ name: 'refunds' })
  expect(JSON.parse(policy.stdout), policy.stderr).toMatchObject({ id: 'pol_caller' })
  expect(JSON.parse(key.stdout), key.stderr).toMatchObject({ name: 'my-app' })
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('RESOURCE_NOT_FOUND') })
  expect(several).toMatchObject({ code: 1, stderr: expect.stringMatching(/AMBIGUOUS_NAME.*named "everything"/) })
})

describe('a value', () => {
  test('stays text if the field is text, and null clears a field', async () => {
    await using platform = await startListening()
    const env = as(platform.url)
    const tool = ['--name=123', '--type', 'client', '--parameters', '{}', '--description', '-- 7 --']

    const created = JSON.parse((await runCli(['create-tool', ...tool], env)).stdout)
    const id = ['--tool-id', created.id]
    const updated = JSON.parse(
      (await runCli(['update-tool', ...id, '--description', 'null', '--timeout-seconds', '2.5', '--auto-approve'], env))
        .stdout,
    )
    const listed = JSON.parse((await runCli(['list-tools', '--limit', '1', '--name', '123'], env)).stdout)

    expect(created).toMatchObject({ name: '123', description: '-- 7 --', parameters: {} })
    expect(updated).toMatchObject({ description: null, timeout_seconds: 2.5, auto_approve: true })
    expect(listed).toMatchObject({ total: 1, limit: 1 })
  })

  test('can come from a file or from standard input', async () => {
    await using platform = await startListening()
    await using folder = await folderWith({
      'execute.json': '{"url":"https://api.example.com","method":"GET"}\n',
      'notes.md': '# Não\n\n"quoted"\n',
    })
    const env = as(platform.url)

    const tool = await runCli(
      ['create-tool', '--name', 'from-files', '--execute', `@${folder.at('execute.json')}`, '--parameters', '-'],
      { ...env, stdin: '{"type":"object"}' },
    )
    const fromFile = await runCli(
      ['create-document', '--path', '/notes.md', '--content', `@${folder.at('notes.md')}`],
      env,
    )
    const fromInput = await runCli(['create-document', '--path', '/in.md', '--content', '-'], { ...env, stdin: '@me' })
    const escaped = await runCli(['create-document', '--path', '/at.md', '--content=@@me'], env)

    expect(JSON.parse(tool.stdout)).toMatchObject({
      execute: { url: 'https://api.example.com', method: 'GET' },
      parameters: { type: 'object' },
    })
    expect(JSON.parse(fromFile.stdout).content).toBe('# Não\n\n"quoted"\n')
    expect(JSON.parse(fromInput.stdout).content).toBe('@me')
    expect(JSON.parse(escaped.stdout).content).toBe('@me')
  })

  test('must be UTF-8 text', async () => {
    await using folder = await folderWith({ 'latin.txt': new Uint8Array([0x53, 0xe3, 0x6f]) })

    const { code, stderr } = await runCli(
      ['create-document', '--path', '/a', '--content', `@${folder.at('latin.txt')}`],
      as('http://127.0.0.1:9'),
    )

    expect([code, stderr]).toEqual([2, expect.stringContaining('is not UTF-8 text')])
  })

  test('of a list is JSON, or the flag repeated', async () => {
    await using platform = await startListening()
    const env = as(platform.url)
    const create = ['create-tool', '--type', 'platform', '--name']

    const repeated = await runCli([...create, 'a', '--actions', 'get-document', '--actions', 'search-documents'], env)
    const single = await runCli([...create, 'b', '--actions', 'get-document'], env)
    const json = await runCli([...create, 'c', '--actions', '["get-document"]'], env)

    expect(JSON.parse(repeated.stdout).actions).toEqual(['get-document', 'search-documents'])
    expect(JSON.parse(single.stdout).actions).toEqual(['get-document'])
    expect(JSON.parse(json.stdout).actions).toEqual(['get-document'])
  })
})

describe('a part of an object', () => {
  test('is a flag with dots; keys of free objects such as headers keep their case', async () => {
    await using platform = await startListening()
    await using service = await startService(({ method, headers }) => ({
      body: JSON.stringify({ method, token: headers['x-api_key'], version: headers['x-version'] }),
    }))
    const execute = ['--execute.url', service.url, '--execute.method=PUT']
    const headers = ['--execute.headers.X-Api_Key', 'secret', '--execute.headers.X-Version', '2']
    const parameters = ['--parameters.type', 'object', '--parameters.properties.days.type', 'integer']

    const created = await runCli(
      ['create-tool', '--name', 'put', ...execute, ...headers, ...parameters],
      as(platform.url),
    )
    const called = await runCli(['call', 'put', '--days', '3'], as(platform.url))

    expect(created.code, created.stderr).toBe(0)
    expect(JSON.parse(called.stdout)).toEqual({ method: 'PUT', token: 'secret', version: '2' })
  })

  test('overrides the value of its object', async () => {
    await using platform = await startListening()
    const execute = ['--execute', '{"url":"https://a.example/x","method":"GET"}', '--execute.method', 'POST']

    const { stdout, stderr } = await runCli(
      ['create-tool', '--name', 'x', '--parameters.type', 'object', ...execute, '--preset_parameters.limit', '10'],
      as(platform.url),
    )

    expect(JSON.parse(stdout || '{}'), stderr).toMatchObject({
      execute: { url: 'https://a.example/x', method: 'POST' },
      preset_parameters: { limit: 10 },
    })
  })

  test.each([
    ['an unknown one', ['--execute.ulr', 'x'], /Unknown flag --execute\.ulr\. Did you mean --execute\.url\?/],
    ['one of something else', ['--name.x', 'x'], /Unknown flag --name\.x/],
    ['one of null', ['--execute', 'null', '--execute.url', 'x'], /--execute\.url cannot be set: "execute" is given/],
    ['one given twice', ['--execute.url', 'x', '--execute.url', 'y'], /--execute\.url is given twice/],
  ])('is refused if it is %s', async (_, args, says) => {
    const { code, stderr } = await runCli(['create-tool', '--name', 'x', ...args], as('http://127.0.0.1:9'))

    expect(stderr).toMatch(says)
    expect(code).toBe(2)
  })
})

test.each([
  [['--apps', 'crm', '--apps', 'billing']],
  [['--apps', 'crm,billing']],
  [['--apps', '[{"slug":"crm"},{"slug":"billing"}]']],
  [['--apps', 'crm', '--apps', '{"slug":"billing"}']],
])('a list of records takes their names: %j', async (apps) => {
  await using platform = await startListening()
  for (const app of ['crm', 'billing']) {
    await platform.post('/tools', { name: `of-${app}`, app, type: 'client', parameters: { type: 'object' } })
  }

  const { stdout, stderr } = await runCli(['create-server', '--slug', 'desk', ...apps], as(platform.url))

  expect(JSON.parse(stdout || '{}').apps, stderr).toMatchObject([{ slug: 'crm' }, { slug: 'billing' }])
})

test('a list of texts takes names with commas, and keeps the commas of a sentence', async () => {
  await using platform = await startListening()
  const hook = ['create-webhook', '--name', 'hook', '--events', 'generation.failed,approval.requested']
  const url = ['--url', 'https://example.com/hook']

  const created = await runCli([...hook, ...url], as(platform.url))
  await platform.post('/servers', { slug: 'desk', agent_mode: true })
  const query = ['--integration-query', 'Find the contact, then call them']
  const resolved = await runCli(['resolve-actions', '--server-id', 'desk', ...query], as(platform.url))

  expect(JSON.parse(created.stdout || '{}').events, created.stderr).toEqual(['generation.failed', 'approval.requested'])
  expect(JSON.parse(resolved.stdout || '{}').results, resolved.stderr).toHaveLength(1)
})

test('--body sets the whole body, and flags override its fields', async () => {
  await using platform = await startListening()
  await using folder = await folderWith({
    'tool.json': '{"name":"one","type":"client","parameters":{"type":"object"}}',
  })
  const env = as(platform.url)

  const one = await runCli(['create-tool', '--body', `@${folder.at('tool.json')}`], env)
  const two = await runCli(['create-tool', '--body', '-', '--name', 'two'], {
    ...env,
    stdin: await readFile(folder.at('tool.json')),
  })

  expect(JSON.parse(one.stdout)).toMatchObject({ name: 'one', type: 'client' })
  expect(JSON.parse(two.stdout)).toMatchObject({ name: 'two', type: 'client' })
})

test('a command can be retried with the same --idempotency-key', async () => {
  await using platform = await startListening()
  const args = ['create-project', '--name', 'Once', '--idempotency-key', 'k1']

  const first = await runCli(args, as(platform.url))
  const second = await runCli(args, as(platform.url))

  expect(first.code).toBe(0)
  expect(second).toEqual(first)
})

test('a file is uploaded and downloaded byte for byte, by name or through a pipe', async () => {
  await using platform = await startListening()
  const bytes = Uint8Array.from({ length: 1_000_000 }, (_, index) => (index * 31) % 256)
  await using folder = await folderWith({ 'in.bin': bytes })
  const env = as(platform.url)
  const { id } = JSON.parse((await runCli(['create-file', '--path', '/in.bin'], env)).stdout)
  const file = ['--file-id', id]

  const up = await runCli(['upload-file', ...file, '--file', folder.at('in.bin')], env)
  const down = await runCli(['download-file', ...file, '--output', folder.at('out.bin')], env)
  const piped = await runCli(['upload-file', ...file, '--file', '-'], { ...env, stdin: 'São Paulo\n' })
  const printed = await runCli(['download-file', ...file], env)

  expect(JSON.parse(up.stdout).size).toBe(1_000_000)
  expect(down).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(Buffer.compare(await readFile(folder.at('out.bin')), bytes)).toBe(0)
  expect(JSON.parse(piped.stdout).size).toBe(11)
  expect(printed).toEqual({ code: 0, stdout: 'São Paulo\n', stderr: '' })
})

test('a refused upload and a download that cannot be written are reported', async () => {
  await using platform = await startListening()
  await using folder = await folderWith({ 'in.bin': new Uint8Array(5_000_000) })
  const env = as(platform.url)
  const { id } = JSON.parse((await runCli(['create-file', '--path', '/x', '--content', 'x'], env)).stdout)
  await mkdir(folder.at('taken'))

  const refused = await runCli(['upload-file', '--file-id', 'file_gone', '--file', folder.at('in.bin')], env)
  const unwritable = await runCli(['download-file', '--file-id', id, '--output', folder.at('taken')], env)

  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('RESOURCE_NOT_FOUND') })
  expect(unwritable).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot write') })
})

test('stream-calls prints a line of JSON for each event', async () => {
  await using platform = await startListening()
  await using service = await startService()
  const tool = await platform.post('/tools', { name: 'ping', execute: { url: service.url }, parameters: {} })
  const watcher = spawnCli(['stream-calls', '--tool', 'ping'], as(platform.url))
  const lines = createInterface({ input: watcher.stdout })[Symbol.asyncIterator]()

  const first = lines.next()
  // The stream opens a moment after the start, so calls are repeated until one is printed.
  let heard = false
  while (!heard) {
    await platform.post(`/tools/${tool.body.id}/call`, { input: {} })
    heard = await Promise.race([
      first.then(() => true),
      new Promise<boolean>((resolve) => setTimeout(resolve, 100, false)),
    ])
  }
  watcher.kill('SIGINT')

  const event = JSON.parse((await first).value ?? '')
  expect(event).toMatchObject({ name: expect.stringMatching(/^call\./), data: { tool: 'ping' } })
  expect(event.id).toBe(event.data.id)
})

test('a stream that the platform ends exits with 3', async () => {
  await using platform = await startListening()
  const watcher = spawnCli(['stream-calls'], as(platform.url))
  const ended = new Promise<number | null>((resolve) => watcher.once('close', resolve))
  await expect
    .poll(async () => (await platform.fetch('/metrics')).text(), { timeout: 10_000 })
    .toContain('operation="stream-calls"')

  platform.platform.drain()

  expect(await ended).toBe(3)
})
