import type { Command, Field } from './command.ts'
import { flagOf } from './flags.ts'

const width = 78

/** The operation's example as a command line to paste. Ids are placeholders. */
export function exampleOf(command: Command): string {
  const parts = command.fields.flatMap((field) => {
    const value = textOf(command, field)
    return value === undefined ? [] : [`--${flagOf(field)} ${value}`]
  })
  if (command.accepts === 'bytes') parts.push('--file report.pdf')
  if (command.answers === 'bytes') parts.push('--output report.pdf')
  return lines(`quartermaster ${command.name}`, parts)
}

function textOf({ example, route }: Command, field: Field): string | undefined {
  const value = example?.[field.name]
  if (value !== undefined) return quoted(typeof value === 'string' ? value : JSON.stringify(value))
  if (field.where === 'path') return quoted(`${field.name.replace(/_id$/, '')}_…`)
  if (field.name === 'limit' && route.startsWith('GET ')) return '10'
  return undefined
}

/** Quotes a text for a shell, if needed. */
export const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

function lines(start: string, parts: readonly string[]): string {
  const whole = [start, ...parts].join(' ')
  return whole.length <= width ? whole : [start, ...parts.map((part) => `  ${part}`)].join(' \\\n')
}
