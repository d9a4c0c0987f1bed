import { spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../src/config.ts'
import { createPlatform } from '../src/main.ts'
import { startProcess } from './process.ts'

const bin = fileURLToPath(new URL('../bin/quartermaster.js', import.meta.url))
const isRoot = process.getuid?.() === 0

async function folder() {
  const path = await mkdtemp(join(tmpdir(), 'quartermaster-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** A start that must fail. Root can write everywhere, so as root the test starts it as the user nobody. */
async function start(data: string, asNobody = false): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [bin, 'up', '--port', '0', '--data', data], {
    env: { PATH: process.env.PATH, QM_EMBEDDINGS: 'off' },
    timeout: 30_000,
    ...(asNobody && isRoot && { uid: 65_534, gid: 65_534 }),
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, output: out + err }
}

describe('a data folder that cannot be written to', () => {
  test('is reported in one line that says what to do, before and after the first start', async () => {
    await using data = await folder()
    await chmod(data.path, 0o555)
    const empty = await start(data.path, true)
    await chmod(data.path, 0o755)
    await (await startProcess(data.path)).stop('SIGTERM')
    await chmod(data.path, 0o555)
    const filled = isRoot ? await start(data.path, true) : empty
    await chmod(data.path, 0o755)

    for (const { code, output } of [empty, filled]) {
      expect(code, output).toBe(1)
      expect(output.trim().split('\n')).toHaveLength(1)
      expect(output).toMatch(
        /^quartermaster: The data folder \S+ cannot be written to: EACCES.* Give the user .* --data\./,
      )
    }
  })

  test.runIf(process.platform === 'linux')('is reported if the system lets nobody create it', async () => {
    const { code, output } = await start('/proc/quartermaster/data')

    expect(code).toBe(1)
    expect(output).toMatch(/^quartermaster: The data folder \S+ cannot be used: ENOENT/)
  })

  test('is reported the same way if a directory has the name of one of its files', async () => {
    await using data = await folder()
    await mkdir(join(data.path, 'pid'))

    const { code, output } = await start(data.path)

    expect(code).toBe(1)
    expect(output).toMatch(/^quartermaster: The data folder \S+ cannot be written to: EISDIR/)
    expect(output.trim().split('\n')).toHaveLength(1)
  })
})

describe.skipIf(process.platform === 'win32')('the files of a data folder', () => {
  const modes = async (path: string) =>
    Object.fromEntries(
      await Promise.all((await readdir(path)).map(async (name) => [name, (await stat(join(path, name))).mode & 0o777])),
    )

  test('are readable only by the user of the platform, even in an existing folder', async () => {
    await using data = await folder()
    await chmod(data.path, 0o755)
    const before = process.umask(0o022)
    const platform = await createPlatform(
      readConfig({}, { QM_DATA: data.path, QM_LOG_LEVEL: 'silent', QM_EMBEDDINGS: 'off' }),
    )

    const found = await modes(data.path)
    await platform.close()
    process.umask(before)

    expect(Object.keys(found)).toEqual(
      expect.arrayContaining(['quartermaster.db', 'quartermaster.db-wal', 'lock.db', 'pid']),
    )
    expect(new Set(Object.values(found))).toEqual(new Set([0o600]))
  })

  test('lose world permissions left by an earlier version, and keep group permissions', async () => {
    await using data = await folder()
    await writeFile(join(data.path, 'quartermaster.db'), '', { mode: 0o644 })
    await writeFile(join(data.path, 'lock.db'), '')
    await chmod(join(data.path, 'lock.db'), 0o640)
    const platform = await createPlatform(
      readConfig({}, { QM_DATA: data.path, QM_LOG_LEVEL: 'silent', QM_EMBEDDINGS: 'off' }),
    )

    const found = await modes(data.path)
    await platform.close()

    expect(found).toMatchObject({ 'quartermaster.db': 0o600, 'lock.db': 0o640 })
  })
})

describe('a platform that listens on a public address', () => {
  const warned = async (flags: string[], environment: Record<string, string> = {}) => {
    await using data = await folder()
    const child = spawn(process.execPath, [bin, 'up', '--port', '0', '--data', data.path, ...flags], {
      env: { PATH: process.env.PATH, QM_EMBEDDINGS: 'off', ...environment },
    })
    const stderr = text(child.stderr)
    let output = ''
    for await (const part of child.stdout) {
      output += part
      if (output.includes('ready at')) break
    }
    child.kill('SIGTERM')
    return /without TLS/.test(await stderr)
  }

  test('warns at startup unless its public URL uses TLS', async () => {
    expect(await warned(['--host', '0.0.0.0'])).toBe(true)
    expect(await warned(['--host', '0.0.0.0'], { QM_PUBLIC_URL: 'http://tools.example.com' })).toBe(true)
    expect(await warned(['--host', '0.0.0.0'], { QM_PUBLIC_URL: 'https://tools.example.com' })).toBe(false)
    expect(await warned([])).toBe(false)
  })
})
