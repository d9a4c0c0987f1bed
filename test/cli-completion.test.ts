import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { as, runCli, startListening } from './clients.ts'

const bin = fileURLToPath(new URL('../bin/quartermaster.js', import.meta.url))

const completed = async (words: string[], environment: Record<string, string> = {}) => {
  const { code, stdout, stderr } = await runCli(['complete', '--', ...words], environment)
  expect([code, stderr]).toEqual([0, ''])
  return stdout.trimEnd().split('\n')
}

describe('completion', () => {
  test('knows commands, flags and the values that a flag may have', async () => {
    expect(await completed(['create-t'])).toEqual(['create-tool'])
    expect((await completed(['app'])).sort()).toEqual(['apply', 'approvals', 'approve-call'])
    expect(await completed(['create-tool', '--de'])).toEqual(['--description'])
    expect(await completed(['create-tool', '--type', ''])).toEqual(expect.arrayContaining(['http', 'mcp', 'client']))
    expect(await completed(['logs', '--status', 's'])).toEqual(['success'])
    expect(await completed(['connect', 'cla'])).toEqual(['claude-desktop', 'claude-code'])
    expect(await completed(['no-such', '--x', ''])).toEqual([''])
  })

  test('knows the names of tools, and says nothing where the platform does not', async () => {
    await using platform = await startListening()
    await platform.post('/tools', { name: 'get-weather', execute: { url: 'https://example.com' }, parameters: {} })

    expect(await completed(['call', 'get'], as(platform.url))).toEqual(['get-weather'])
    expect(await completed(['call', 'get'], as('http://127.0.0.1:9'))).toEqual([''])
    expect(await completed(['call', 'get'])).toEqual([''])
  })

  test('works in bash', async () => {
    const script = `
      quartermaster() { "$NODE" ${bin} "$@"; }
      source <(quartermaster completion bash)
      COMP_WORDS=(quartermaster create-tool --na); COMP_CWORD=2
      _quartermaster
      echo "\${COMPREPLY[@]}"
      complete -p qm`
    const shell = spawn('bash', ['--norc', '-c', script], { env: { PATH: process.env.PATH, NODE: process.execPath } })

    const [output] = await Promise.all([text(shell.stdout), new Promise((resolve) => shell.once('close', resolve))])

    expect(output.split('\n')).toEqual(['--name', 'complete -o default -F _quartermaster qm', ''])
  })

  test.each(['zsh', 'fish'])('has words for %s, and none for shells it does not know', async (shell) => {
    expect((await runCli(['completion', shell])).stdout).toContain('complete --')
    expect(await runCli(['completion', 'csh'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('bash, zsh, fish'),
    })
  })
})
