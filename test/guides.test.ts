import { existsSync, globSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runCli, startListening } from './clients.ts'
import { adminKey, type TestPlatform } from './kit.ts'
import { startProcess, temporaryFolder } from './process.ts'
import { runShell } from './shell.ts'
import { sample } from './soak.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const guides = globSync('docs/guides/*.md', { cwd: root })

const blocksOf = (page: string, language: string): string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, code = '']) => code)

/**
 * All commands of a guide as one script. Readers have logged in, and fill in their own URL and free ports; this uses those
 * of the test. The TypeScript of a guide is one program, which runs where the guide runs it.
 */
async function scriptOf(page: string, url: string): Promise<string> {
  const program = blocksOf(page, 'ts').join('\n')
  const [receiver, platform] = await Promise.all([freePort(), freePort()])
  const node = `"${process.execPath}"`
  const commands = blocksOf(page, 'sh').join('\n')
  const login = 'npx quartermaster login\n'
  const key = commands.includes('${QM_KEY:?') ? `QM_KEY=${adminKey}\n` : ''
  return (key + (commands.includes(login) ? commands : login + commands))
    .replaceAll('http://127.0.0.1:4600', url)
    .replace(login, `npx quartermaster login --url ${url} <<< ${adminKey}\n`)
    .replaceAll('4700', receiver)
    .replaceAll('4610', platform)
    .replaceAll('npx quartermaster', `${node} bin/quartermaster.js`)
    .replaceAll(
      /npx node \S+\.ts$/gm,
      () => `${node} --input-type=module-typescript <<'END_OF_PROGRAM'\n${program}\nEND_OF_PROGRAM`,
    )
}

async function freePort(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return String(port)
}

async function follow(path: string, url: string): Promise<void> {
  const script = await scriptOf(readFileSync(`${root}${path}`, 'utf8'), url)
  const { code, stdout, stderr } = await runShell(script, root)

  expect(code, `${path}: ${stderr}`).toBe(0)
  expect(stdout, path).not.toBe('')
}

const kinds = [
  ...['tools', 'servers', 'skills', 'agents', 'ai-providers', 'documents', 'files', 'webhooks', 'api-keys'],
  ...[
    'access-policies',
    'approval-rules',
    'projects',
    'secrets',
    'users',
    'sign-in-providers',
    'connections',
    'auth-configs',
    'approvals?status=pending',
  ],
]

/** The ids of all records that users create. */
async function inventory(platform: TestPlatform): Promise<Record<string, string[]>> {
  const lists = kinds.map(async (kind) => {
    const { body } = await platform.get(`/${kind}`)
    return [kind, body.data.map(({ id }: { id: string }) => id)] as const
  })
  return Object.fromEntries(await Promise.all(lists))
}

test.each(guides)('%s works in a clean environment, and leaves nothing behind', { timeout: 120_000 }, async (guide) => {
  await using platform = await startListening()
  const before = await inventory(platform)

  await follow(guide, platform.url)

  expect(await inventory(platform)).toEqual(before)
})

test.each(guides)('%s puts no administrator key into a tool', (guide) => {
  const page = readFileSync(`${root}${guide}`, 'utf8')

  expect(page).not.toMatch(/Bearer \\?\$\{?QM_KEY[^\n]*"?\}/)
})

test.each(['README.md', ...guides])('pasting the commands of %s does not overwrite your key', (path) => {
  const page = readFileSync(`${root}${path}`, 'utf8')

  expect(page).not.toMatch(/QM_KEY=sk_/)
})

test('the guide on writing tools shows a poor and a good tool, and models find the good one (S4.29)', async () => {
  await using platform = await startListening()
  const page = readFileSync(`${root}docs/guides/writing-tools.md`, 'utf8')
  const examples = [...page.matchAll(/<<'END'\n(.*?)\nEND\n/gs)].map(([, json = '']) => JSON.parse(json))
  expect(examples).toHaveLength(2)
  for (const example of examples) expect((await platform.post('/tools', example)).status).toBe(201)
  const [, good] = examples
  await platform.post('/servers', { slug: 'stock-room', agent_mode: true })

  const { body } = await platform.post('/servers/stock-room/resolve', {
    integration_query: ['Is product CHR-1042 in stock?', 'How many units are available in the warehouse?'],
  })

  for (const { candidates } of body.results) {
    expect(candidates.map(({ identifier }: { identifier: string }) => identifier)).toEqual([good.name])
  }
})

test('every link in the README and the guides leads to a file and a heading that exist', () => {
  const headings = (page: string) =>
    [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w\s-]/g, '')
        .replaceAll(' ', '-'),
    )
  const broken = ['README.md', ...guides].flatMap((path) =>
    [...readFileSync(`${root}${path}`, 'utf8').matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
      .filter(([, file = '', heading]) => {
        const target = file === '' ? `${root}${path}` : join(dirname(`${root}${path}`), file)
        return !existsSync(target) || (heading && !headings(readFileSync(target, 'utf8')).includes(heading))
      })
      .map(([link]) => `${path}: ${link}`),
  )

  expect(broken).toEqual([])
})

test('the README’s first call and then guides work one after the other beside the sample project, and doctor finds no problem', {
  timeout: 300_000,
}, async () => {
  const readme = readFileSync(`${root}README.md`, 'utf8')
  const listed = [...new Set([...readme.matchAll(/docs\/guides\/[\w-]+\.md/g)].map(([path]) => path))]
  expect(listed.toSorted()).toEqual(guides.toSorted())
  await using folder = await temporaryFolder()
  await using platform = await startProcess(folder.path, {
    QM_SAMPLE: 'true',
    QM_ADMIN_KEY: adminKey,
    QM_EMBEDDINGS: 'off',
  })
  await expect.poll(() => platform.output()).toContain('A sample project was created')

  const [, firstCall = ''] = /^## A first call$(.*?)^## /ms.exec(readme) ?? []
  const { code, stdout, stderr } = await runShell(await scriptOf(firstCall, platform.url), root)
  expect(code, stderr).toBe(0)
  expect(stdout).toContain('{"currency":"BRL","per_euro":6.2}')
  // Each guide has already run alone, so a few are enough here.
  for (const guide of sample(listed, 4)) await follow(guide, platform.url)
  const { port } = new URL(platform.url)
  const doctor = await runCli(['doctor', '--port', port, '--data', folder.path, '--json'], {
    QM_URL: platform.url,
    QM_KEY: adminKey,
    QM_EMBEDDINGS: 'off',
  })

  expect(doctor.code, doctor.stdout).toBe(0)
})
