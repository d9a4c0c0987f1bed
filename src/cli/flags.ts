import { nearest } from '../model/nearest.ts'
import { type Command, type Field, type Reading, UsageError } from './command.ts'

/** What can be said beside a command's own fields. A field of the same name comes first. */
export interface CommonFlag {
  readonly name: string
  readonly value?: string
  readonly help: string
}

export function commonFlags({ fields, accepts, answers, route }: Command): CommonFlag[] {
  const flags: CommonFlag[] = [
    ...(fields.some(({ where }) => where === 'body')
      ? [{ name: 'body', value: 'json', help: 'The whole body at once; other flags are laid over it' }]
      : []),
    ...(accepts === 'bytes' ? [{ name: 'file', value: 'path', help: 'What to send; - is standard input' }] : []),
    ...(answers === 'bytes'
      ? [{ name: 'output', value: 'path', help: 'Where to write it; else to standard output' }]
      : []),
    ...(route.startsWith('POST ')
      ? [{ name: 'idempotency-key', value: 'text', help: 'A repeat with the same key gets the first answer again' }]
      : []),
    { name: 'url', value: 'url', help: 'Where the platform is; else QM_URL, else http://127.0.0.1:4600' },
    { name: 'key', value: 'sk_…', help: 'The API key to speak with; else QM_KEY' },
    { name: 'help', help: 'Print this' },
  ]
  return flags.filter(({ name }) => !fields.some((field) => flagOf(field) === name))
}

/** `project_id` as `project-id`. */
export const flagOf = ({ name }: Pick<Field, 'name'>): string => name.replaceAll('_', '-')

export type Given = ReadonlyMap<string, readonly string[]>

/** The flags as they were written: `--name value` or `--name=value`, lists perhaps more than once. */
export function readFlags(command: Command, args: readonly string[]): Given {
  const known = [...command.fields.map(flagOf), ...commonFlags(command).map(({ name }) => name)]
  const readings = new Map(command.fields.map((field) => [flagOf(field), field.reads]))
  const given = new Map<string, string[]>()
  const rest = [...args]
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const { written, attached } = split(arg)
    if (written === undefined) throw new UsageError(`"${arg}" follows no flag: values are given as in --name value.`)
    const name = written.replaceAll('_', '-')
    if (!known.includes(name)) throw new UsageError(unknownFlag(written, known))
    const reads = readings.get(name)
    const value = attached ?? (isValue(rest[0], reads, known) ? rest.shift() : undefined)
    if (value === undefined && reads !== 'flag') throw new UsageError(`--${name} needs a value.`)
    if (given.has(name) && reads !== 'list') throw new UsageError(`--${name} is given twice.`)
    given.set(name, [...(given.get(name) ?? []), value ?? 'true'])
  }
  return given
}

function split(arg: string): { written?: string; attached?: string } {
  return /^--(?<written>[\w-]+)(?:=(?<attached>.*))?$/s.exec(arg)?.groups ?? {}
}

/** Text may begin with dashes, as long as it is no flag of the command. */
function isValue(next: string | undefined, reads: Reading | undefined, known: readonly string[]): boolean {
  if (next === undefined) return false
  if (reads === 'flag') return /^(true|false|null)$/.test(next)
  const { written } = split(next)
  return written === undefined || !known.includes(written.replaceAll('_', '-'))
}

function unknownFlag(written: string, known: readonly string[]): string {
  const close = nearest(written, known).map((name) => `--${name}`)
  return `There is no flag --${written} here.${close.length > 0 ? ` Did you mean ${close.join(' or ')}?` : ''}`
}
