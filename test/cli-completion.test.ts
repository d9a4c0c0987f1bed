import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { as, runCli, startListening } from './clients.ts'
import { isInstalled } from './not-tested.ts'

const bin = fileURLToPath(new URL('../bin/quartermaster.js', import.meta.url))

const completed = async (words: string[], environment: Record<string, string> = {}) => {
  const { code, stdout, stderr } = await runCli(['complete', '--', ...words], environment)
  expect([code, stderr]).toEqual([0, ''])
  return stdout.trimEnd().split('\n')
}

/** Runs a script in a shell that has the program on its PATH, under both names, and returns the lines it prints. */
async function inShell(shell: string, args: string[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-shell-'))
  try {
    for (const name of ['quartermaster', 'qm']) {
      await writeFile(join(folder, name), `#!/bin/sh\nexec "${process.execPath}" "${bin}" "$@"\n`, { mode: 0o755 })
    }
    const environment = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, TERM: 'dumb' }
    const child = spawn(shell, args, { env: environment, timeout: 20_000 })
    const [output] = await Promise.all([text(child.stdout), new Promise((resolve) => child.once('close', resolve))])
    return output.trim().split('\n')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

describe('completion', () => {
  test('completes commands, flags and the values of flags', async () => {
    expect((await completed(['create-t'])).sort()).toEqual(['create-tool', 'create-trusted-issuer'])
    expect((await completed(['app'])).sort()).toEqual(['apply', 'approvals'])
    expect(await completed(['create-tool', '--de'])).toEqual(['--description'])
    expect(await completed(['create-tool', '--type', ''])).toEqual(expect.arrayContaining(['http', 'mcp', 'client']))
    expect(await completed(['logs', '--status', 's'])).toEqual(['success'])
    expect(await completed(['connect', 'cla'])).toEqual(['claude-desktop', 'claude-code'])
    expect(await completed(['no-such', '--x', ''])).toEqual([''])
  })

  test('completes the names of tools, and prints nothing if the platform cannot be reached', async () => {
    await using platform = await startListening()
    await platform.post('/tools', { name: 'get-weather', execute: { url: 'https://example.com' }, parameters: {} })

    expect(await completed(['call', 'get'], as(platform.url))).toEqual(['get-weather'])
    expect(await completed(['call', 'get'], as('http://127.0.0.1:9'))).toEqual([''])
    expect(await completed(['call', 'get'])).toEqual([''])
  })

  test('works in bash', async () => {
    const script = `
      source <(quartermaster completion bash)
      COMP_WORDS=(quartermaster create-tool --na); COMP_CWORD=2
      _quartermaster
      echo "\${COMPREPLY[@]}"
      complete -p qm`

    const lines = await inShell('bash', ['--norc', '-c', script])

    expect(lines).toEqual(['--name', 'complete -o default -F _quartermaster qm'])
  })

  test.skipIf(!isInstalled('fish'))('works in fish, with file names as the fallback', async () => {
    const script = `
      quartermaster completion fish | source
      complete -C "qm create-tool --na"
      complete -C "quartermaster logs --status s"
      complete -C "quartermaster import CHANGE"`

    expect(await inShell('fish', ['--no-config', '-c', script])).toEqual(['--name', 'success', 'CHANGELOG.md'])
  })

  test.skipIf(!isInstalled('zsh'))('works in zsh', async () => {
    // zsh completes only interactive input, so the test types into a shell on a pseudoterminal.
    const script = `
      zmodload zsh/zpty
      zpty typed zsh -f -i
      zpty -w typed 'PS1=; autoload -U compinit; compinit -u -D; source <(quartermaster completion zsh); print REA''DY'
      zpty -r typed shown '*READY*'
      zpty -n -w typed $'qm create-tool --na\\t'
      zpty -r typed shown '*--name*'
      print found
      zpty -d typed`

    expect(await inShell('zsh', ['-f', '-c', script])).toEqual(['found'])
  })

  test('refuses unknown shells', async () => {
    const { code, stderr } = await runCli(['completion', 'csh'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('bash, zsh, fish')])
  })
})
