import { spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { isInstalled } from './not-tested.ts'
import { temporaryFolder } from './process.ts'

export interface ShellResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** PATH without the folders that npm adds for scripts, so that `node` is the one of the user. */
const userPath = (process.env.PATH ?? '')
  .split(':')
  .filter((folder) => !folder.includes('node_modules'))
  .join(':')

/** Runs a script in bash as a new user would: with an empty home folder, and no variable but PATH, HOME and LANG. */
export async function runShell(script: string, cwd: string): Promise<ShellResult> {
  await using home = await temporaryFolder()
  const bin = join(home.path, 'bin')
  await mkdir(bin)
  if (!isInstalled('curl')) {
    const program = fileURLToPath(new URL('curl.ts', import.meta.url))
    await writeFile(join(bin, 'curl'), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`, { mode: 0o755 })
  }
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd,
    env: { PATH: `${bin}:${userPath}`, HOME: home.path, LANG: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  // A script that fails halfway may leave a program running, which would keep the output open.
  shell.once('exit', () => endGroup(shell.pid))
  const ended = new Promise<number | null>((resolve) => shell.once('close', resolve))
  const [code, stdout, stderr] = await Promise.all([ended, text(shell.stdout), text(shell.stderr)])
  return { code, stdout, stderr }
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGTERM')
  } catch {
    // No process was left.
  }
}
