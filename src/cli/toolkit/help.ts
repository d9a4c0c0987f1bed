import { commands } from '../generated.ts'
import { ownCommands } from '../own.ts'
import type { Command, Described, Flag, OwnCommand } from './command.ts'
import { exampleOf } from './example.ts'
import { commonFlags, flagOf } from './flags.ts'
import { columnsOf, paint } from './terminal.ts'

type Lines = readonly (readonly [left: string, right: string])[]

/** Two columns, as wide as the left one needs within reason; what is too long for it has a line of its own. */
function columns(lines: Lines): string {
  const terminal = process.stdout.isTTY ? columnsOf(process.stdout) : undefined
  const most = terminal === undefined || terminal >= 100 ? 34 : 30
  const width = Math.min(most, Math.max(...lines.map(([left]) => left.length)))
  const margin = `\n${' '.repeat(width + 4)}`
  const room = terminal === undefined ? Number.POSITIVE_INFINITY : terminal - width - 4
  return lines
    .map(([left, right]) => {
      const text = broken(right, room).join(margin)
      return left.length > width && right !== ''
        ? `  ${left}${margin}${text}`
        : `  ${left.padEnd(width)}  ${text}`.trimEnd()
    })
    .join('\n')
}

/** A text in lines of at most so many characters, broken between words. */
function broken(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** Every command: those for people first, then the operations, by module. */
export function overview(version: string): string {
  const modules = [...Map.groupBy(commands, ({ module }) => module)]
  const width = Math.max(...commands.map(({ name }) => name.length))
  const list = (lines: Lines) => columns(lines.map(([left, right]) => [left.padEnd(width), right]))
  return [
    `Quartermaster ${version}: tools for AI agents, issued to whoever may have them`,
    'Usage: quartermaster <command> [flags]',
    list([
      ...ownCommands.map(({ name, summary }) => [name, summary] as const),
      ['help', 'Print this, or what one command takes: quartermaster help create-tool'],
      ['version', 'Print the version'],
    ]),
    ...modules.map(([name, members]) => `${heading(name)}\n${list(members.map((one) => [one.name, one.summary]))}`),
    `Commands that ask a platform take, before the command or after it,\n${columns([
      ['--url <url>', 'Where the platform is; else QM_URL, the profile, http://127.0.0.1:4600'],
      ['--key <sk_…>', 'The API key to speak with; else QM_KEY, the profile'],
      ['--profile <name>', 'Which saved address and key to use; else QM_PROFILE'],
      ['--json', 'Print JSON on a terminal, too'],
      ['--no-color', 'No colours; NO_COLOR says the same'],
      ['--help', 'What it takes, with an example'],
    ])}`,
    'A value may be @file for what is in a file, or - for standard input.',
    `Exit codes\n${columns([
      ['0', 'Done'],
      ['1', 'The platform refused it, the tool failed, or something was found wrong'],
      ['2', 'Wrong usage; the platform was asked to change nothing'],
      ['3', 'The platform cannot be reached, or a stream broke off'],
      ['4', 'It waits for a person'],
      ['130', 'Ended by Ctrl-C'],
    ])}`,
  ].join('\n\n')
}

const heading = (text: string) => paint('bold', text)

/** What a command for people takes. */
export function describeOwn(command: OwnCommand): string {
  const { summary, about, flags, examples } = command
  return [
    `${summary}.`,
    usageOfOwn(command),
    ...(about ? [wrapped(about)] : []),
    ...(flags.length > 0 ? [columns(flags.map(flagLine))] : []),
    examplesText(examples.map((example) => `quartermaster ${example}`)),
  ].join('\n\n')
}

export const usageOfOwn = ({ name, usage: ways }: OwnCommand): string =>
  ways.map((way, at) => `${at === 0 ? 'Usage:' : '      '} quartermaster ${`${name} ${way}`.trim()}`).join('\n')

const flagLine = ({ name, value, help, choices }: Flag) =>
  [value ? `--${name} <${choices?.join('|') ?? value}>` : `--${name}`, help] as const

const examplesText = (examples: readonly string[]) =>
  [heading(examples.length === 1 ? 'Example' : 'Examples'), ...examples.map((one) => indented(one))].join('\n')

const indented = (text: string) => text.replaceAll(/^/gm, '  ')

/** A paragraph, at the terminal's width within reason. */
const wrapped = (text: string): string => broken(text, Math.min(100, columnsOf(process.stdout))).join('\n')

/** What one command takes. */
export function describeCommand(command: Command): string {
  const fields = command.fields.flatMap((field): Lines => {
    const parts = (field.parts ?? []).map((part) => [`  ${part.name} ${shape(part)}`, notes(part)] as const)
    return [[`--${flagOf(field)} ${shape(field)}`, notes(field)], ...parts]
  })
  const common = commonFlags(command).map(flagLine)
  const [method, path] = command.route.split(' ')
  return [
    `${command.summary}.`,
    usage(command),
    `Route       ${method} /api/v1${path}\nPermission  ${command.permission}`,
    ...(fields.length > 0 ? [columns(fields)] : []),
    columns(common),
    ...(fields.length > 0 ? ['A value may be @file for what is in a file, or - for standard input.'] : []),
    examplesText([exampleOf(command)]),
  ].join('\n\n')
}

export function usage(command: Command): string {
  const required = command.fields
    .filter((field) => field.required)
    .map((field) => ` --${flagOf(field)} <${field.name}>`)
  return `Usage: quartermaster ${command.name}${required.join('')} [flags]`
}

/** `"a" | "b"` as `<a|b>`: on a command line quotes would be the shell's. */
const shape = ({ type }: Described) => `<${type.replaceAll('"', '').replaceAll(' | ', '|')}>`

const notes = ({ required, default: fallback, description }: Described): string =>
  [required ? 'Required.' : '', description ? `${description}.` : '', fallback ? `Default ${fallback}.` : '']
    .filter((note) => note !== '')
    .join(' ')

/** What the platform itself is started with. */
export function describeUp(
  settings: readonly { flag: string; variable: string; default: string; help: string }[],
): string {
  const lines = settings.map(
    ({ flag, variable, help, default: fallback }) =>
      [
        [flag, variable].filter((name) => name !== '').join(', '),
        fallback ? `${help}. Default ${fallback}.` : `${help}.`,
      ] as const,
  )
  return ['Run the platform until it is told to stop.', 'Usage: quartermaster up [flags]', columns(lines)].join('\n\n')
}
