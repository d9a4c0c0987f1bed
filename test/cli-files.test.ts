import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseWithComments } from '../src/cli/toolkit/json-with-comments.ts'
import { as, runCli, runProgram, startListening } from './clients.ts'
import { adminKey } from './kit.ts'

async function folder() {
  const path = await mkdtemp(join(tmpdir(), 'quartermaster-files-'))
  return {
    path,
    at: (name: string) => join(path, name),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}

describe('connect', () => {
  test.each([
    ['claude-code', 'mcpServers', 'Bearer ${QM_KEY}'],
    ['cursor', 'mcpServers', 'Bearer ${env:QM_KEY}'],
    ['windsurf', 'mcpServers', 'Bearer ${env:QM_KEY}'],
    ['vscode', 'servers', 'Bearer ${input:quartermaster-key}'],
    ['zed', 'context_servers', 'Bearer sk_…'],
    ['generic', 'mcpServers', 'Bearer sk_…'],
    ['claude-desktop', 'mcpServers', 'Bearer sk_…'],
  ])('prints the settings for %s, without the key', async (client, root, authorization) => {
    await using platform = await startListening()
    await platform.post('/servers', { slug: 'support' })

    const { code, stdout, stderr } = await runCli(['connect', client, '--server', 'support'], as(platform.url))

    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)[root].support).toBeDefined()
    expect(stdout).toContain(`${platform.url}/mcp/support`)
    expect(stdout).toContain(authorization)
    expect(stdout + stderr).not.toContain(adminKey)
  })

  test('--write keeps other settings and a backup, shows the changes, and changes nothing the second time', async () => {
    await using platform = await startListening()
    await using home = await folder()
    await platform.post('/servers', { slug: 'support' })
    const file = home.at('mcp.json')
    const before = '{\n    "mcpServers": { "other": { "url": "https://example.com" } },\n    "theme": "dark"\n}\n'
    await writeFile(file, before)
    const args = ['connect', 'cursor', '--write', '--file', file]

    const first = await runCli(args, as(platform.url))
    const written = await readFile(file, 'utf8')
    const second = await runCli(args, as(platform.url))

    expect(first.stdout).toMatch(/^\+ +"support": \{$/m)
    expect(JSON.parse(written)).toEqual({
      mcpServers: {
        other: { url: 'https://example.com' },
        support: { url: `${platform.url}/mcp/support`, headers: { Authorization: 'Bearer ${env:QM_KEY}' } },
      },
      theme: 'dark',
    })
    const copies = (await readdir(home.path)).filter((name) => name.endsWith('.bak'))
    expect(copies).toHaveLength(1)
    expect(await readFile(home.at(copies[0] ?? ''), 'utf8')).toBe(before)
    expect(second.stderr).toContain('already has these settings')
    expect(await readFile(file, 'utf8')).toBe(written)
  })

  test('the key is written only with --with-key, with a warning, and readable only by its owner', async () => {
    await using platform = await startListening()
    await using home = await folder()
    await platform.post('/servers', { slug: 'support' })
    const file = home.at('zed/settings.json')

    const refused = await runCli(['connect', 'zed', '--write', '--file', file], as(platform.url))
    const key = await platform.keyFor([{ effect: 'Allow', action: ['servers:*'] }])
    const written = await runCli(['connect', 'zed', '--write', '--with-key', '--file', file], as(platform.url, key))

    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--with-key') })
    expect(written).toMatchObject({ code: 0, stderr: expect.stringContaining('The settings contain your API key') })
    expect(written.stdout).not.toContain(key)
    expect(written.stderr).not.toContain('admin key')
    expect(JSON.parse(await readFile(file, 'utf8')).context_servers.support.headers.Authorization).toBe(`Bearer ${key}`)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })

  test('an admin key is included only with --force, and the warning says how to create another', async () => {
    await using platform = await startListening()
    await platform.post('/servers', { slug: 'support' })
    const connect = (...args: string[]) => runCli(['connect', 'cursor', ...args], as(platform.url))

    const without = await connect()
    const refused = await connect('--with-key')
    const forced = await connect('--with-key', '--force')

    const warning =
      'This is an admin key. Create one for the client: quartermaster create-api-key --name cursor --access-policy-ids pol_caller'
    expect([without.code, refused.code, forced.code]).toEqual([0, 2, 0])
    for (const { stderr } of [without, refused, forced]) expect(stderr).toContain(warning)
    expect(refused.stdout).toBe('')
    expect(refused.stderr).toContain('add --force')
    expect(forced.stdout).toContain(adminKey)
  })

  test.each([
    ['zed', 'context_servers', ['--with-key', '--force']],
    ['vscode', 'servers', []],
  ])('--write keeps the comments and the formatting of a %s file', async (client, root, more) => {
    await using platform = await startListening()
    await using home = await folder()
    await platform.post('/servers', { slug: 'support' })
    const file = home.at('settings.json')
    const lines = [
      '// Settings of Ada',
      '{',
      '    "theme": "One Dark", // by night',
      '    /* Servers at work: "quoted", {braces} */',
      `    "${root}": {`,
      '        "other": { "url": "https://example.com//mcp" }, // keep',
      '    },',
      '}',
      '',
    ]
    await writeFile(file, lines.join('\n'))

    const first = await runProgram(['connect', client, '--write', '--file', file, ...more], as(platform.url))
    const written = await readFile(file, 'utf8')
    const second = await runCli(['connect', client, '--write', '--file', file, ...more], as(platform.url))

    expect(first.code, first.stderr).toBe(0)
    for (const line of lines) expect(written.split('\n')).toContain(line)
    expect(parseWithComments(written)).toMatchObject({
      theme: 'One Dark',
      [root]: { other: { url: 'https://example.com//mcp' }, support: { url: `${platform.url}/mcp/support` } },
    })
    expect(second.stderr).toContain('already has these settings')
    expect(await readFile(file, 'utf8')).toBe(written)
  })

  test('a file that is not JSON is not changed, and missing servers and clients are named', async () => {
    await using platform = await startListening()
    await using home = await folder()
    const file = home.at('settings.json')
    await writeFile(file, '{\n  theme: dark\n}\n')
    const none = await runCli(['connect', 'cursor'], as(platform.url))
    await platform.post('/servers', { slug: 'one' })
    await platform.post('/servers', { slug: 'two' })

    const invalid = await runCli(['connect', 'cursor', '--server', 'one', '--write', '--file', file], as(platform.url))
    const which = await runCli(['connect', 'cursor'], as(platform.url))
    const unknown = await runCli(['connect', 'cursro', '--server', 'one'], as(platform.url))
    const missing = await runCli(['connect', 'cursor', '--server', 'three'], as(platform.url))

    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('create-server') })
    expect(invalid).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/not valid JSON \(.* line 2\).* not changed/),
    })
    expect(await readFile(file, 'utf8')).toBe('{\n  theme: dark\n}\n')
    expect(which).toMatchObject({ code: 2, stderr: expect.stringMatching(/--server: (one, two|two, one)/) })
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('Did you mean cursor?') })
    expect(missing.code).toBe(1)
  })
})

describe('import and export', () => {
  test('imports MCP servers from an mcpServers file, and reports entries that were skipped', async () => {
    await using platform = await startListening()
    await using home = await folder()
    await writeFile(
      home.at('mcp.json'),
      JSON.stringify({ mcpServers: { docs: { url: 'https://mcp.example.com/mcp' }, old: { url: 'ftp://x' } } }),
    )

    const { code, stdout } = await runCli(['import', 'mcp-servers', home.at('mcp.json')], as(platform.url))
    const piped = await runCli(['import', 'mcp-servers', '-'], {
      ...as(platform.url),
      stdin: '{"servers":{"more":{"type":"http","url":"https://mcp.example.com/more"}}}',
    })

    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ created: [{ name: 'docs' }], skipped: [{ name: 'old' }] })
    expect(piped.code).toBe(0)
  })

  test('exports skills as SKILL.md files, and imports them unchanged', async () => {
    await using platform = await startListening()
    await using home = await folder()
    for (const name of ['refunds', 'returns']) {
      await platform.post('/skills', { name, summary: `About ${name}`, content: `# ${name}\n\nLook first.\n` })
    }

    const out = await runCli(['export', 'skills', home.at('skills')], as(platform.url))
    const again = await runCli(['export', 'skills', home.at('skills')], as(platform.url))
    const back = await runCli(['import', 'skills', home.at('skills')], as(platform.url))
    await mkdir(home.at('empty'))
    const empty = await runCli(['import', 'skills', home.at('empty')], as(platform.url))

    expect(JSON.parse(out.stdout).written).toHaveLength(2)
    expect(JSON.parse(again.stdout).written).toMatchObject([{ state: 'same' }, { state: 'same' }])
    expect(JSON.parse(back.stdout)).toMatchObject({ created: [], skipped: [] })
    expect(JSON.parse(back.stdout).updated).toHaveLength(2)
    expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining('No SKILL.md') })
  })

  test('reports what an import of skills left out: scripts, and unknown front matter', async () => {
    await using platform = await startListening()
    await using home = await folder()
    await mkdir(home.at('refunds/scripts'), { recursive: true })
    await writeFile(home.at('refunds/scripts/pay.py'), 'pass')
    await writeFile(
      home.at('refunds/SKILL.md'),
      '---\nname: refunds\ndescription: How\nlicense: MIT\nmetadata:\n  apps: crm\n  author: Ada\n---\nRun scripts/pay.py.\n',
    )

    const { code, stdout } = await runCli(['import', 'skills', home.path], as(platform.url))

    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      created: [{ name: 'refunds', apps: ['crm'] }],
      not_taken_over: [
        { path: 'refunds/SKILL.md', field: 'license' },
        { path: 'refunds/SKILL.md', field: 'metadata.author' },
        { path: 'refunds/scripts/pay.py' },
      ],
    })
  })

  test('skills whose names map to one folder get separate folders, the same every time', async () => {
    await using platform = await startListening()
    await using other = await startListening()
    await using home = await folder()
    const names = ['Pay Back', 'pay-back', 'PAY BACK', 'pay-back-2', '退款']
    for (const name of names) await platform.post('/skills', { name, content: `This is ${name}.` })

    const out = await runCli(['export', 'skills', home.path], as(platform.url))
    const again = await runCli(['export', 'skills', home.path, '--force'], as(platform.url))
    const back = await runCli(['import', 'skills', home.path], as(other.url))
    const { data } = (await other.get('/skills')).body

    expect(JSON.parse(out.stdout).written).toEqual(
      ['pay-back', 'pay-back-2', 'pay-back-3', 'pay-back-2-2', 'skill'].map((name) => ({
        path: `${name}/SKILL.md`,
        state: 'written',
      })),
    )
    expect(new Set(JSON.parse(again.stdout).written.map(({ state }: { state: string }) => state))).toEqual(
      new Set(['same']),
    )
    expect(back.code).toBe(0)
    expect(data.map(({ name, content }: { name: string; content: string }) => [name, content]).sort()).toEqual(
      names.map((name) => [name, `This is ${name}.`]).sort(),
    )
  })
})
