import type { Command, Described } from './command.ts'
import { commands } from './commands.ts'
import { commonFlags, flagOf } from './flags.ts'

type Lines = readonly (readonly [left: string, right: string])[]

/** Two columns, as wide as the left one needs within reason; what is too long for it has a line of its own. */
function columns(lines: Lines): string {
  const width = Math.min(34, Math.max(...lines.map(([left]) => left.length)))
  return lines
    .map(([left, right]) =>
      left.length > width && right !== ''
        ? `  ${left}\n  ${' '.repeat(width)}  ${right}`
        : `  ${left.padEnd(width)}  ${right}`.trimEnd(),
    )
    .join('\n')
}

/** Every command, by module. */
export function overview(version: string): string {
  const modules = [...Map.groupBy(commands, ({ module }) => module)]
  const width = Math.max(...commands.map(({ name }) => name.length))
  const list = (lines: Lines) => columns(lines.map(([left, right]) => [left.padEnd(width), right]))
  return [
    `Quartermaster ${version}: tools for AI agents, issued to whoever may have them`,
    'Usage: quartermaster <command> [flags]',
    list([
      ['up', 'Run the platform'],
      ['eval resolve', 'Measure how well a server finds the right actions for your own requests'],
      ['replay', 'Serve a script as a language model, to test agents with'],
      ['help', 'Print this, or what one command takes: quartermaster help create-tool'],
      ['version', 'Print the version'],
    ]),
    ...modules.map(([name, members]) => `${name}\n${list(members.map((one) => [one.name, one.summary]))}`),
    `Commands that ask a platform take\n${columns([
      ['--url <url>', 'Where the platform is; else QM_URL, else http://127.0.0.1:4600'],
      ['--key <sk_…>', 'The API key to speak with; else QM_KEY'],
      ['--help', 'What it takes'],
    ])}`,
    'A value may be @file for what is in a file, or - for standard input.',
  ].join('\n\n')
}

export const replayUsage = `Usage: quartermaster replay <script.yaml> [--port <port>]

Serves a script as a language model, for tests of agents and of anything else that asks one: as OpenAI's
/v1/chat/completions and /v1/models, Anthropic's /v1/messages, and Google's :generateContent, streaming and not. The file
may be - for standard input. The port is 4610 unless given; 0 takes a free one. docs/guides/replay.md says how scripts
are written.`

/** What one command takes. */
export function describeCommand(command: Command): string {
  const fields = command.fields.flatMap((field): Lines => {
    const parts = (field.parts ?? []).map((part) => [`  ${part.name} ${shape(part)}`, notes(part)] as const)
    return [[`--${flagOf(field)} ${shape(field)}`, notes(field)], ...parts]
  })
  const common = commonFlags(command).map(
    ({ name, value, help }) => [value ? `--${name} <${value}>` : `--${name}`, help] as const,
  )
  const [method, path] = command.route.split(' ')
  return [
    `${command.summary}.`,
    usage(command),
    `Route       ${method} /api/v1${path}\nPermission  ${command.permission}`,
    ...(fields.length > 0 ? [columns(fields)] : []),
    columns(common),
    ...(fields.length > 0 ? ['A value may be @file for what is in a file, or - for standard input.'] : []),
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
