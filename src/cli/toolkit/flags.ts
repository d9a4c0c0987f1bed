import { didYouMean } from '../../lib/nearest.ts'
import { type Command, type Field, type Flag, type Reading, UsageError } from './command.ts'

/** For every command that asks a platform. */
export const platformFlags: readonly Flag[] = [
  { name: 'url', value: 'url', help: 'Where the platform is; else QM_URL, the profile, http://127.0.0.1:4600' },
  { name: 'key', value: 'sk_…', help: 'The API key to speak with; else QM_KEY, the profile' },
  { name: 'profile', value: 'name', help: 'Which saved address and key to use; else QM_PROFILE' },
]

/** For every command. */
export const outputFlags: readonly Flag[] = [
  { name: 'json', help: 'Print JSON on a terminal, too' },
  { name: 'no-color', help: 'No colours; NO_COLOR says the same' },
  { name: 'help', help: 'Print this' },
]

/** What may stand before the command, too. `--help` there is a command of its own. */
const anywhere = [...platformFlags, ...outputFlags.filter(({ name }) => name !== 'help')]

/** `--url http://… list-tools`: what stands before the command, each as one word, and the command with what follows. */
export function takeLeading(written: readonly string[]): { leading: string[]; rest: string[] } {
  const leading: string[] = []
  const rest = [...written]
  for (;;) {
    const { written: name, attached } = split(rest[0] ?? '')
    if (name === undefined || name === 'help' || name === 'version') return { leading, rest }
    const flag = anywhere.find((one) => one.name === name)
    const known = anywhere.map((one) => one.name)
    if (!flag) throw new UsageError(`${unknownFlag(name, known)} Flags of a command follow its name.`)
    rest.shift()
    const value = flag.value ? (attached ?? rest.shift()) : attached
    if (flag.value && value === undefined) throw new UsageError(`--${name} needs a value.`)
    leading.push(value === undefined ? `--${name}` : `--${name}=${value}`)
  }
}

/** What can be said beside a command's own fields. A field of the same name comes first. */
export function commonFlags({ fields, accepts, answers, route }: Command): Flag[] {
  const flags: Flag[] = [
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
    ...platformFlags,
    ...(answers ? [] : [{ name: 'field', value: 'name', help: 'Print only this field of the answer, such as id' }]),
    ...outputFlags,
  ]
  return flags.filter(({ name }) => !fields.some((field) => flagOf(field) === name))
}

/** `project_id` as `project-id`. */
export const flagOf = ({ name }: Pick<Field, 'name'>): string => name.replaceAll('_', '-')

export type Given = ReadonlyMap<string, readonly string[]>

/** Whether a flag wants a value, may stand alone, or may come again. */
type Takes = 'value' | 'flag' | 'list'

const takesOf = (reads: Reading): Takes => (reads === 'flag' || reads === 'list' ? reads : 'value')

/** The flags of an operation as they were written. */
export function readFlags(command: Command, args: readonly string[]): Given {
  const known = new Map<string, Takes>([
    ...commonFlags(command).map((flag) => [flag.name, flag.value ? 'value' : 'flag'] as const),
    ...command.fields.map((field) => [flagOf(field), takesOf(field.reads)] as const),
  ])
  const { given, words } = parse(known, args)
  const [word] = words
  if (word !== undefined) throw new UsageError(`"${word}" follows no flag: values are given as in --name value.`)
  return given
}

export interface Arguments {
  readonly words: readonly string[]
  readonly given: Given
}

/** The words and flags of a command for people. */
export function readArguments(
  flags: readonly Flag[],
  args: readonly string[],
  most = Number.POSITIVE_INFINITY,
): Arguments {
  const takes = ({ value, repeats }: Flag): Takes => (repeats ? 'list' : value ? 'value' : 'flag')
  const read = parse(new Map(flags.map((flag) => [flag.name, takes(flag)])), args)
  const over = read.words[most]
  if (over !== undefined) throw new UsageError(`"${over}" is more than was expected.`)
  for (const { name, choices } of flags) {
    const wrong = choices && read.given.get(name)?.find((value) => !choices.includes(value))
    if (wrong !== undefined) throw new UsageError(`--${name} must be one of ${choices?.join(', ')}.`)
  }
  return read
}

export const textOf = ({ given }: Arguments, name: string): string | undefined => given.get(name)?.[0]

/** Whether a flag that stands alone was given, and not as `--flag false`. */
export const isSet = (given: Given, name: string): boolean => given.has(name) && given.get(name)?.[0] !== 'false'

/** `--name value` or `--name=value`, lists perhaps more than once. */
function parse(known: ReadonlyMap<string, Takes>, args: readonly string[]): Arguments {
  const given = new Map<string, string[]>()
  const words: string[] = []
  const rest = [...args]
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const { written, attached } = split(arg)
    if (written === undefined) {
      words.push(arg)
      continue
    }
    const name = written.replaceAll('_', '-')
    const takes = known.get(name)
    if (takes === undefined) throw new UsageError(unknownFlag(written, [...known.keys()]))
    const value = attached ?? (isValue(rest[0], takes, known) ? rest.shift() : undefined)
    if (value === undefined && takes !== 'flag') throw new UsageError(`--${name} needs a value.`)
    if (given.has(name) && takes !== 'list') throw new UsageError(`--${name} is given twice.`)
    given.set(name, [...(given.get(name) ?? []), value ?? 'true'])
  }
  return { words, given }
}

function split(arg: string): { written?: string; attached?: string } {
  return /^--(?<written>[\w-]+)(?:=(?<attached>.*))?$/s.exec(arg)?.groups ?? {}
}

/** Text may begin with dashes, as long as it is no flag of the command. */
function isValue(next: string | undefined, takes: Takes, known: ReadonlyMap<string, Takes>): boolean {
  if (next === undefined) return false
  if (takes === 'flag') return /^(true|false|null)$/.test(next)
  const { written } = split(next)
  return written === undefined || !known.has(written.replaceAll('_', '-'))
}

export const unknownFlag = (written: string, known: readonly string[]): string =>
  `There is no flag --${written} here.${didYouMean(written, known, (name) => `--${name}`)}`
