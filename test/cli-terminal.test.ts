import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { commands } from '../src/cli/generated.ts'
import { customCommands } from '../src/cli/registry.ts'
import type { Field } from '../src/cli/toolkit/command.ts'
import { exampleOf } from '../src/cli/toolkit/example.ts'
import { readFlags } from '../src/cli/toolkit/flags.ts'
import { requestOf } from '../src/cli/toolkit/request.ts'
import { version } from '../src/home.ts'
import { as, closedAddress, runCli, startListening } from './clients.ts'
import { adminKey, startService } from './kit.ts'
import { onTerminal, runOnTerminal } from './terminal.ts'

const escapeKey = String.fromCharCode(27)

async function folder() {
  const path = await mkdtemp(join(tmpdir(), 'quartermaster-home-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

describe('on a terminal', () => {
  test('a list is a table that fits the terminal, with complete ids', async () => {
    await using platform = await startListening()
    const long = 'Says what the weather is like, and goes on about it at some length. '.repeat(5)
    const made = await platform.post('/tools', {
      name: 'get-weather',
      description: long,
      execute: { url: 'https://example.com' },
      parameters: {},
    })
    await platform.post('/tools', { name: 'second', execute: { url: 'https://example.com' }, parameters: {} })

    const { code, text } = await runOnTerminal(['list-tools'], as(platform.url))

    expect(code).toBe(0)
    const [head = '', ...rows] = text.trimEnd().split('\n')
    expect(head).toMatch(/^NAME +TYPE +ID +DESCRIPTION$/)
    expect(rows).toHaveLength(2)
    expect(rows.find((row) => row.startsWith('get-weather'))).toMatch(new RegExp(`http +${made.body.id} +Says .*…$`))
    for (const line of [head, ...rows]) expect(line.length).toBeLessThanOrEqual(80)
  })

  test('a record has a line for each field, and a longer list says how to see more', async () => {
    await using platform = await startListening()
    await platform.post('/projects', { name: 'Second' })

    const record = await runOnTerminal(['get-project', '--project-id', platform.projectId], as(platform.url))
    const list = await runOnTerminal(['list-projects', '--limit', '1'], as(platform.url))

    expect(record.text).toMatch(new RegExp(`^id: +${platform.projectId}\nname: +default\n`))
    expect(list.text).toContain('1–1 of 2. Show more with --offset 1.')
  })

  test('a deletion says what was deleted', async () => {
    await using platform = await startListening()
    const { body: page } = await platform.post('/documents', { path: '/x.md', content: 'x' })
    const key = await platform.post('/api-keys', { name: 'old' })

    const document = await runOnTerminal(['delete-document', '--document-id', page.id], as(platform.url))
    const revoked = await runOnTerminal(['delete-api-key', '--api-key-id', key.body.id], as(platform.url))

    expect(document.text).toBe(`Deleted document ${page.id}.\n`)
    expect(revoked.text).toBe(`Deleted API key ${key.body.id}.\n`)
  })

  test('--json prints JSON', async () => {
    await using platform = await startListening()

    const { text } = await runOnTerminal(['list-projects', '--json'], as(platform.url))

    expect(JSON.parse(text)).toMatchObject({ total: 1 })
  })

  test.each([
    [['list-projects', '--no-color'], {}],
    [['list-projects'], { NO_COLOR: '1' }],
    [['list-projects', '--json'], {}],
  ])('there are no colors with %j %j', async (args, environment) => {
    await using platform = await startListening()

    const coloured = await runOnTerminal(['list-projects'], as(platform.url))
    const { raw } = await runOnTerminal(args, { ...as(platform.url), ...environment })

    expect(coloured.raw).toContain(escapeKey)
    expect(raw).not.toContain(escapeKey)
  })

  test('stored text cannot move the cursor or change the title of the terminal', async () => {
    await using platform = await startListening()
    await platform.post('/skills', {
      name: `evil${escapeKey}[2J`,
      summary: `${escapeKey}]0;owned\u0007x`,
      content: 'x',
    })

    const { raw } = await runOnTerminal(['list-skills'], { ...as(platform.url), NO_COLOR: '1' })

    expect(raw).toContain('evil')
    expect(raw).not.toContain(escapeKey)
  })

  test('a request that takes longer than a second shows its progress', async () => {
    await using platform = await startListening()
    await using service = await startService(async () => {
      await new Promise((resolve) => setTimeout(resolve, 1600))
      return undefined
    })
    const tool = await platform.post('/tools', { name: 'slow', execute: { url: service.url }, parameters: {} })

    const { code, text } = await runOnTerminal(['call-tool', '--tool-id', tool.body.id], as(platform.url))

    expect(code).toBe(0)
    expect(text).toMatch(/Call a tool and get its output … 1 s/)
    expect(text).toMatch(/"ok": true/)
  })
})

describe('help', () => {
  test.each(commands)('of $name shows an example that parses', async (command) => {
    const example = exampleOf(command)
    const words = [...example.replaceAll(' \\\n', ' ').matchAll(/'((?:[^']|'\\'')*)'|(\S+)/g)]
      .map(([, inQuotes, bare]) => inQuotes?.replaceAll("'\\''", "'") ?? bare ?? '')
      .slice(2)

    const { body } = await requestOf(command, readFlags(command, words))

    // A value in quotes may have several lines.
    const lines = example.replaceAll(/'(?:[^']|'\\'')*'/g, "''").split('\n')
    for (const line of lines) expect(line).toMatch(/^( {2}--|quartermaster )/)
    if (command.example) expect(body ?? {}).toEqual(command.example)
  })

  const explained = ({ name, where }: Field) => where !== 'path' && /^(project_id|rate_limit)$/.test(name)

  test.each(commands.filter(({ fields }) => fields.some(explained)))(
    'of $name explains --project-id and --rate-limit',
    async ({ name }) => {
      const { stdout } = await runCli([name, '--help'])

      for (const line of stdout.match(/^ {2}--(project-id|rate-limit) .*$/gm) ?? []) {
        expect(line.replace('Required. ', '')).toMatch(/>\s+[A-Z].* .*(project|per minute)/)
      }
    },
  )

  test('of a command ends with its example, and every hand-written command has one', async () => {
    const { stdout } = await runCli(['create-tool', '--help'])

    expect(stdout).toContain(
      `quartermaster create-tool \\\n    --name get-weather \\\n    --description 'The weather in a city'`,
    )
    for (const { name, examples } of customCommands) expect(examples.length, name).toBeGreaterThan(0)
  })
})

describe('a profile', () => {
  test('is created by login if the platform accepts the key, and used from then on', async () => {
    await using platform = await startListening()
    await using home = await folder()
    const environment = { XDG_CONFIG_HOME: home.path }

    const login = await runCli(['login', '--url', platform.url], { ...environment, stdin: `${adminKey}\n` })
    const who = await runCli(['whoami'], environment)
    const listed = await runCli(['profiles'], environment)
    const out = await runCli(['logout'], environment)
    const after = await runCli(['whoami'], environment)

    expect(login).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('accepted the API key') })
    expect(JSON.parse(who.stdout)).toEqual({
      ...{ url: platform.url, key: 'sk_adm…', name: 'admin (QM_ADMIN_KEY)', id: 'key_environment' },
      ...{ project: 'all projects', projects: ['default'], access_policies: ['administrator'], created_by: null },
      platform_version: version,
    })
    expect(JSON.parse(listed.stdout).data).toEqual([
      { name: 'default', url: platform.url, key: 'sk_adm…', current: true },
    ])
    expect(out.code).toBe(0)
    expect(after).toMatchObject({ code: 2, stderr: expect.stringContaining('quartermaster login') })
    expect(JSON.stringify([login, who, listed, out])).not.toContain(adminKey)
  })

  test('is also created with login --key, before or after the command', async () => {
    await using platform = await startListening()
    await using home = await folder()
    const environment = { XDG_CONFIG_HOME: home.path }

    const after = await runCli(['login', '--url', platform.url, '--key', adminKey], environment)
    const before = await runCli(['--key', adminKey, 'login', '--url', platform.url, '--profile', 'work'], environment)
    const who = await runCli(['whoami', '--profile', 'work'], environment)

    expect([after.code, before.code, who.code]).toEqual([0, 0, 0])
    expect(JSON.stringify([after, before])).not.toContain(adminKey)
  })

  test('is saved in a file that only its owner can read, and not if the key is refused', async () => {
    await using platform = await startListening()
    await using home = await folder()
    const environment = { XDG_CONFIG_HOME: home.path }
    const file = join(home.path, 'quartermaster', 'config.json')

    const refused = await runCli(['login', '--url', platform.url], { ...environment, stdin: 'sk_wrong' })
    const before = await readFile(file, 'utf8').catch(() => undefined)
    await runCli(['login', '--url', platform.url], { ...environment, stdin: adminKey })

    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('UNAUTHENTICATED') })
    expect(before).toBeUndefined()
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })

  test('is overridden by the environment, and that by flags; its key is sent to its own address only', async () => {
    await using platform = await startListening()
    await using home = await folder()
    const environment = { XDG_CONFIG_HOME: home.path }
    const nowhere = await closedAddress()
    await runCli(['login', '--profile', 'work', '--url', platform.url], { ...environment, stdin: adminKey })

    const byProfile = await runCli(['list-projects', '--profile', 'work'], environment)
    const byVariable = await runCli(['list-projects'], { ...environment, QM_PROFILE: 'work' })
    const elsewhere = await runCli(['list-projects'], { ...environment, QM_URL: nowhere })
    const key = await runCli(['list-projects', '--key', adminKey], { ...environment, QM_KEY: 'sk_wrong' })
    const unknown = await runCli(['list-projects', '--profile', 'home'], environment)

    expect([byProfile.code, byVariable.code, key.code]).toEqual([0, 0, 0])
    expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining('No API key') })
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('Existing profiles: work.') })
  })

  test('is created on a terminal without showing the key', async () => {
    await using platform = await startListening()
    await using home = await folder()
    await using terminal = onTerminal(['login', '--url', platform.url], { XDG_CONFIG_HOME: home.path })

    await terminal.sees('API key for')
    terminal.type(`${adminKey}\r`)

    expect(await terminal.ended).toBe(0)
    expect(terminal.text()).toContain('accepted the API key. Project: default.')
    expect(terminal.text()).not.toContain('sk_admin')
  })
})
