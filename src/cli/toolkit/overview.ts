import { commands } from '../generated.ts'
import { customCommands, shownCommands } from '../registry.ts'
import { globalFlags } from './flags.ts'
import { columns, flagLine, heading, type Lines, sourcesText, wrapped } from './help.ts'

/** The commands for the first days, by what you want to do. */
const everyday: Readonly<Record<string, readonly string[]>> = {
  Start: ['up', 'login', 'whoami', 'doctor'],
  Tools: ['list-tools', 'create-tool', 'import', 'call', 'create-secret'],
  'Servers and clients': ['list-servers', 'create-server', 'connect'],
  Agents: ['list-agents', 'create-agent', 'chat'],
  Operate: ['logs', 'approvals', 'create-api-key', 'invite-user'],
  'Configuration as a file': ['init', 'check', 'apply'],
}

/** The groups of generated commands: `tools`, `api-keys`. */
export const groups: readonly string[] = [...new Set(commands.map(({ module }) => module))]

const helpLine = ['help', 'Show the help of a command or a group: quartermaster help create-tool'] as const

/** The everyday commands. */
export function overview(version: string): string {
  const known = new Map([...customCommands, ...commands].map(({ name, summary }) => [name, summary]))
  const sections = Object.entries(everyday).map(([title, names]) => ({
    title,
    lines: names.map((name) => [name, known.get(name) ?? ''] as const),
  }))
  return [
    ...titleOf(version),
    listing([...sections, { title: 'More', lines: [helpLine, ['version', 'Print the version']] }]),
    '"quartermaster help --all" lists every command; "quartermaster help tools" lists a group.',
    wrapped(`Groups: ${groups.join(', ')}.`),
  ].join('\n\n')
}

/** All commands: first the hand-written ones, then the generated ones by group. */
export function everything(version: string): string {
  const custom = [...customCommands.map(lineOf), helpLine, ['version', 'Print the version'] as const]
  const generated = [...Map.groupBy(shownCommands, ({ module }) => module)]
  return [
    ...titleOf(version),
    listing([{ title: '', lines: custom }, ...generated.map(([title, all]) => ({ title, lines: all.map(lineOf) }))]),
    `${heading('Common flags')} (before or after the command)\n${columns(globalFlags.map(flagLine))}`,
    sourcesText,
    `${heading('Exit codes')}\n${columns(exitCodes)}`,
  ].join('\n\n')
}

/** The commands of one group, also the hand-written ones that replace some of them. */
export function describeGroup(group: string): string {
  const replaced = new Set(commands.filter(({ module }) => module === group).map(({ name }) => name))
  const custom = customCommands.filter(({ replaces = [] }) => replaces.some((name) => replaced.has(name)))
  const generated = shownCommands.filter(({ module }) => module === group)
  return listing([{ title: group, lines: [...custom, ...generated].map(lineOf) }])
}

const titleOf = (version: string) => [
  `Quartermaster ${version}: a tool platform for AI agents`,
  'Usage: quartermaster <command> [flags]',
]

const lineOf = ({ name, summary }: { readonly name: string; readonly summary: string }) => [name, summary] as const

/** Sections with a common width of the first column. */
function listing(sections: readonly { readonly title: string; readonly lines: Lines }[]): string {
  const width = Math.max(...sections.flatMap(({ lines }) => lines.map(([name]) => name.length)))
  return sections
    .map(({ title, lines }) => {
      const list = columns(lines.map(([name, summary]) => [name.padEnd(width), summary]))
      return title === '' ? list : `${heading(title)}\n${list}`
    })
    .join('\n\n')
}

const exitCodes: Lines = [
  ['0', 'Success'],
  ['1', 'The platform returned an error, the tool failed, or problems were found'],
  ['2', 'Wrong usage; nothing was changed'],
  ['3', 'The platform could not be reached, or a stream was interrupted'],
  ['4', 'Waiting for approval or input'],
  ['130', 'Interrupted with Ctrl-C'],
]
