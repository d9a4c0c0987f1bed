import { spawnSync } from 'node:child_process'
import { findBrowser, unpackBrowser } from './browser-program.ts'

/** Whether a program is installed. */
export const isInstalled = (program: string): boolean => spawnSync(program, ['--version']).status === 0

/**
 * The tests need Node, npm and git. Tests that need other programs are skipped if those are missing, which is reported before
 * and after the run, so that skipped tests are noticed.
 */
export default function setup(): () => void {
  const notes = [...browserNotes(), ...programNotes()]
  const print = () => {
    for (const note of notes) console.warn(`\n NOT TESTED  ${note}`)
    if (notes.length > 0) console.warn()
  }
  print()
  return print
}

function browserNotes(): string[] {
  if (findBrowser()) return []
  try {
    unpackBrowser()
    return []
  } catch (error) {
    const reason = (error as Error).message.split('\n', 1)[0]
    return [
      `The dashboard, in a browser. No Chromium or Chrome is installed, and the one from npm does not run here (${reason}). Install one, or name one in QM_BROWSER.`,
    ]
  }
}

function programNotes(): string[] {
  const shells = ['zsh', 'fish'].filter((shell) => !isInstalled(shell))
  return [
    ...shells.map((shell) => `Completion in ${shell}, which is not installed.`),
    ...(isInstalled('curl')
      ? []
      : [
          'The curl commands of the guides with curl itself, which is not installed: a substitute made the same requests.',
        ]),
  ]
}
