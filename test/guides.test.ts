import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey } from './kit.ts'

const root = new URL('..', import.meta.url).pathname

/** All that a guide tells people to type, as one script; where the platform is and the key are the test's own. */
const scriptOf = (guide: string) =>
  [...readFileSync(guide, 'utf8').matchAll(/```sh\n(.*?)```/gs)]
    .map(([, code]) => code)
    .join('\n')
    .replaceAll(/^export QM_(URL|KEY)=.*$/gm, '')
    .replaceAll('npx quartermaster', '"$NODE" bin/quartermaster.js')

/** For guides that start something of their own. */
async function freePort(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return String(port)
}

test.each(globSync('docs/guides/*.md', { cwd: root }))(
  'what %s says works as it says',
  { timeout: 60_000 },
  async (guide) => {
    await using platform = await startListening()

    const shell = spawn('bash', ['-euo', 'pipefail', '-c', scriptOf(`${root}${guide}`)], {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        NODE: process.execPath,
        PORT: await freePort(),
        QM_URL: platform.url,
        QM_KEY: adminKey,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [code, output, errors] = await Promise.all([
      new Promise((resolve) => shell.once('close', resolve)),
      text(shell.stdout),
      text(shell.stderr),
    ])

    expect(code, errors).toBe(0)
    expect(output).not.toBe('')
  },
)
