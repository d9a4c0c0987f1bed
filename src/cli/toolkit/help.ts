import type { Command, CustomCommand, Described, Flag } from './command.ts'
import { exampleOf } from './example.ts'
import { commonFlags, flagOf } from './flags.ts'
import { io } from './io.ts'
import { columnsOf, paint } from './terminal.ts'

export type Lines = readonly (readonly [left: string, right: string])[]

/** Two columns. A left entry that is too wide gets a line of its own. */
export function columns(lines: Lines): string {
  const terminal = io().stdout.isTTY ? columnsOf(io().stdout) : undefined
  const most = terminal === undefined || terminal >= 100 ? 34 : 30
  const width = Math.min(most, Math.max(...lines.map(([left]) => left.length)))
  const margin = `\n${' '.repeat(width + 4)}`
  const room = terminal === undefined ? Number.POSITIVE_INFINITY : terminal - width - 4
  return lines
    .map(([left, right]) => {
      const text = wrapLines(right, room).join(margin)
      return left.length > width && right !== ''
        ? `  ${left}${margin}${text}`
        : `  ${left.padEnd(width)}  ${text}`.trimEnd()
    })
    .join('\n')
}

/** Wraps a text at spaces. */
function wrapLines(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

export const sourcesText = 'A value may be @file to read a file, or - to read standard input.'

export const heading = (text: string) => paint('bold', text)

/** The help of a hand-written command. */
export function describeCustom(command: CustomCommand): string {
  const { summary, about, flags, examples } = command
  return [
    `${summary}.`,
    usageOfCustom(command),
    ...(about ? [wrapped(about)] : []),
    ...(flags.length > 0 ? [columns(flags.map(flagLine))] : []),
    examplesText(examples.map((example) => `quartermaster ${example}`)),
  ].join('\n\n')
}

export const usageOfCustom = ({ name, usage: ways }: CustomCommand): string =>
  ways.map((way, at) => `${at === 0 ? 'Usage:' : '      '} quartermaster ${`${name} ${way}`.trim()}`).join('\n')

export const flagLine = ({ name, short, value, help, choices }: Flag) => {
  const long = short ? `-${short}, --${name}` : `--${name}`
  return [value ? `${long} <${choices?.join('|') ?? value}>` : long, help] as const
}

export const examplesText = (examples: readonly string[]) =>
  [heading(examples.length === 1 ? 'Example' : 'Examples'), ...examples.map((one) => indented(one))].join('\n')

const indented = (text: string) => text.replaceAll(/^/gm, '  ')

/** Wraps a paragraph to the terminal's width, at most 100 columns. */
export const wrapped = (text: string): string => wrapLines(text, Math.min(100, columnsOf(io().stdout))).join('\n')

/** The help of a generated command, with the hand-written one that does the same, if there is one. */
export function describeCommand(command: Command, replacement: string | undefined): string {
  const fields = command.fields.flatMap((field): Lines => {
    const parts = (field.parts ?? []).map((part) => [`  ${partName(part)} ${shape(part)}`, notes(part)] as const)
    return [[`--${flagOf(field)} ${shape(field)}`, notes(field)], ...parts]
  })
  const common = commonFlags(command).map(flagLine)
  const [method, path] = command.route.split(' ')
  return [
    `${command.summary}.`,
    ...(replacement ? [`"quartermaster ${replacement}" does the same, and is easier to use.`] : []),
    usage(command),
    `Route       ${method} /api/v1${path}\nPermission  ${command.permission}`,
    ...(fields.length > 0 ? [columns(fields)] : []),
    columns(common),
    ...(fields.length > 0 ? [sourcesText] : []),
    examplesText([exampleOf(command)]),
  ].join('\n\n')
}

/** Parts of an object are flags, too. Those of the objects in a list are given as JSON. */
const partName = ({ name }: Described): string => (name.includes('[]') ? name : `--${flagOf({ name })}`)

export function usage(command: Command): string {
  const required = command.fields
    .filter((field) => field.required)
    .map((field) => ` --${flagOf(field)} <${field.name}>`)
  return `Usage: quartermaster ${command.name}${required.join('')} [flags]`
}

/** `"a" | "b"` as `<a|b>`: in a shell, quotes would have another meaning. */
const shape = ({ type }: Described) => `<${type.replaceAll('"', '').replaceAll(' | ', '|')}>`

const notes = ({ required, default: fallback, description }: Described): string =>
  [required ? 'Required.' : '', description ? `${description}.` : '', fallback ? `Default: ${fallback}.` : '']
    .filter((note) => note !== '')
    .join(' ')

/** The help of `up`: the settings of the platform. */
export function describeUp(
  settings: readonly { flag: string; variable: string; default: string; help: string }[],
): string {
  const lines = settings.map(
    ({ flag, variable, help, default: fallback }) =>
      [
        [flag, variable].filter((name) => name !== '').join(', '),
        fallback ? `${help}. Default: ${fallback}.` : `${help}.`,
      ] as const,
  )
  return [
    'Start the platform. Stop it with Ctrl-C or SIGTERM.',
    'Usage: quartermaster up [flags]',
    columns(lines),
  ].join('\n\n')
}
