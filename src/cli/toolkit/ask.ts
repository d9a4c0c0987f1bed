import { createInterface } from 'node:readline/promises'
import { text as readAll } from 'node:stream/consumers'
import { Interrupted } from './command.ts'
import { paint } from './terminal.ts'

/** Asks on the terminal, beside what the command prints. */
export async function askText(question: string, fallback = ''): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const hint = fallback === '' ? '' : paint('dim', ` (${fallback})`, process.stderr)
    const ended = new Promise<never>((_, reject) => {
      lines.once('close', () => reject(new Interrupted()))
      lines.once('SIGINT', () => reject(new Interrupted()))
    })
    const answer = await Promise.race([lines.question(`${question}${hint}: `), ended])
    return answer.trim() === '' ? fallback : answer
  } finally {
    lines.removeAllListeners('close')
    lines.close()
  }
}

export async function askChoice(question: string, choices: readonly string[], fallback?: string): Promise<string> {
  process.stderr.write(`${question}\n`)
  for (const [at, choice] of choices.entries()) process.stderr.write(`  ${at + 1}) ${choice}\n`)
  for (;;) {
    const answer = (await askText(`1-${choices.length}`, fallback)).trim()
    const chosen = choices.includes(answer) ? answer : choices[Number(answer) - 1]
    if (chosen !== undefined) return chosen
    process.stderr.write('That is none of them.\n')
  }
}

export async function askYes(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await askText(`${question} [y/N]`)).trim())
}

/** Asks for what nobody is to read over a shoulder; without a terminal, standard input is all of it. */
export async function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process
  if (!stdin.isTTY) return (await readAll(stdin)).trim()
  // First, so that not even what is typed as soon as the question appears is echoed.
  stdin.setRawMode(true).setEncoding('utf8')
  stderr.write(`${question}: `)
  try {
    let typed = ''
    for await (const keys of stdin.iterator({ destroyOnReturn: false })) {
      for (const key of keys as string) {
        if (key === '\r' || key === '\n' || key === '\x04') return typed.trim()
        if (key === '\x03') throw new Interrupted()
        if (key === '\x7f' || key === '\b') typed = typed.slice(0, -1)
        else if (key >= ' ') typed += key
      }
    }
    return typed.trim()
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
    stderr.write('\n')
  }
}
