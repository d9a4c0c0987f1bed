import { structuredPatch } from 'diff'
import { harmless, paint } from './terminal.ts'

/** The lines that differ between two texts, with two lines of context. */
export function difference(before: string, after: string): string {
  const { hunks } = structuredPatch('', '', harmless(before), harmless(after), '', '', { context: 2 })
  return hunks
    .map(({ lines }) =>
      lines
        .filter((line) => !line.startsWith('\\'))
        .map(painted)
        .join('\n'),
    )
    .join('\n  …\n')
}

function painted(line: string): string {
  const text = `${line.slice(0, 1)} ${line.slice(1)}`
  if (line.startsWith('+')) return paint('green', text)
  return line.startsWith('-') ? paint('red', text) : text
}
