import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey } from './kit.ts'
import { startProcess, temporaryFolder } from './process.ts'

const root = new URL('..', import.meta.url).pathname

/**
 * All that a guide tells people to type, as one script; where the platform is and the key are the test's own. Its
 * TypeScript is one program, which runs where the guide says so.
 */
function scriptOf(guide: string): string {
  const written = readFileSync(guide, 'utf8')
  const blocks = (language: string) =>
    [...written.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, code]) => code).join('\n')
  const program = blocks('ts')
  return blocks('sh')
    .replaceAll(/^export QM_(URL|KEY)=.*$/gm, '')
    .replaceAll('npx quartermaster', '"$NODE" bin/quartermaster.js')
    .replaceAll(
      /npx node \w+\.ts$/gm,
      () => `"$NODE" --input-type=module-typescript <<'END_OF_PROGRAM'\n${program}\nEND_OF_PROGRAM`,
    )
}

/** For guides that start something of their own. */
async function freePort(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return String(port)
}

async function follow(guide: string, url: string): Promise<void> {
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', scriptOf(`${root}${guide}`)], {
    cwd: root,
    env: { PATH: process.env.PATH, NODE: process.execPath, PORT: await freePort(), QM_URL: url, QM_KEY: adminKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [code, output, errors] = await Promise.all([
    new Promise((resolve) => shell.once('close', resolve)),
    text(shell.stdout),
    text(shell.stderr),
  ])

  expect(code, `${guide}: ${errors}`).toBe(0)
  expect(output, guide).not.toBe('')
}

const guides = globSync('docs/guides/*.md', { cwd: root })

test.each(guides)('what %s says works as it says', { timeout: 60_000 }, async (guide) => {
  await using platform = await startListening()
  await follow(guide, platform.url)
})

test('the guides work one after the other, as the README lists them, beside the sample project', {
  timeout: 240_000,
}, async () => {
  const listed = [...readFileSync(`${root}README.md`, 'utf8').matchAll(/docs\/guides\/[\w-]+\.md/g)].map(
    ([path]) => path,
  )
  expect(listed.toSorted()).toEqual(guides.toSorted())
  await using folder = await temporaryFolder()
  await using platform = await startProcess(folder.path, {
    QM_SAMPLE: 'true',
    QM_ADMIN_KEY: adminKey,
    QM_EMBEDDINGS: 'off',
  })
  await expect.poll(() => platform.output()).toContain('A sample project is there')

  for (const guide of listed) await follow(guide, platform.url)
})
