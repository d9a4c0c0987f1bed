import { Quartermaster } from '../../sdk/index.ts'
import { commands } from '../generated.ts'
import { customCommands, shownCommands } from '../registry.ts'
import { type Command, type CustomCommand, exit, type Flag } from './command.ts'
import { connectionOf } from './connection.ts'
import { flagsOf as allFlagsOf, choicesIn } from './flags.ts'
import { say } from './io.ts'
import { groups } from './overview.ts'
import { readProfiles } from './profiles.ts'

/** Prints the possible completions of the last word, one per line. */
export async function complete(args: readonly string[]): Promise<number> {
  const words = args[0] === '--' ? args.slice(1) : args
  const typed = words.at(-1) ?? ''
  const found = await candidates(words).catch(() => [])
  const fitting = found.filter((one) => one.startsWith(typed))
  if (fitting.length > 0) say(fitting.join('\n'))
  return exit.ok
}

async function candidates(words: readonly string[]): Promise<readonly string[]> {
  const [name = '', ...rest] = words
  const all = [...customCommands, ...shownCommands].map((command) => command.name)
  if (rest.length === 0) return [...all, 'help', 'version']
  if (name === 'help') return [...all, ...groups, '--all']
  const custom = customCommands.find((one) => one.name === name)
  const flags = custom ? custom.flags : flagsOf(commands.find((one) => one.name === name))
  const typed = rest.at(-1) ?? ''
  const before = rest.at(-2)
  const flag = before?.startsWith('--') ? flags.find((one) => `--${one.name}` === before) : undefined
  if (flag?.value) return valuesOf(flag)
  if (typed.startsWith('-')) return flags.map((one) => `--${one.name}`)
  return custom ? wordsOf(custom, rest) : []
}

/** The flags of a generated command, with the values that its fields may have. */
const flagsOf = (command: Command | undefined): readonly Flag[] =>
  (command ? allFlagsOf(command) : []).map((flag) => {
    const choices = flag.choices ?? choicesIn({ type: flag.value ?? '' })
    return choices.length > 0 ? { ...flag, choices } : flag
  })

async function valuesOf({ name, choices }: Flag): Promise<readonly string[]> {
  if (choices) return choices
  if (name === 'profile') return Object.keys((await readProfiles()).profiles)
  if (name === 'tool') return live((qm, signal) => qm.tools.listTools({ query: { limit: 500 }, signal }), 'name')
  if (name === 'tool-id') return live((qm, signal) => qm.tools.listTools({ query: { limit: 500 }, signal }), 'id')
  if (name === 'server') return live((qm, signal) => qm.servers.listServers({ query: { limit: 500 }, signal }), 'slug')
  return []
}

async function wordsOf(command: CustomCommand, rest: readonly string[]): Promise<readonly string[]> {
  const [first, second, ...more] = rest
  if (more.length > 0) return []
  if (second !== undefined) {
    if (command.name === 'profiles' && first === 'use') return Object.keys((await readProfiles()).profiles)
    const waiting = command.name === 'approvals' && (first === 'approve' || first === 'reject')
    if (!waiting) return []
    return live((qm, signal) => qm.approvals.listApprovals({ query: { status: 'pending' }, signal }), 'id')
  }
  if (command.name === 'call')
    return live((qm, signal) => qm.tools.listTools({ query: { limit: 500 }, signal }), 'name')
  if (command.name === 'chat')
    return live((qm, signal) => qm.agents.listAgents({ query: { limit: 500 }, signal }), 'name')
  return command.words ?? []
}

type Listing = (qm: Quartermaster, signal: AbortSignal) => Promise<{ data?: { data: readonly object[] } | undefined }>

/** Names or ids from the platform, if it responds within a second: completion must not block typing. */
async function live(list: Listing, field: string): Promise<string[]> {
  const qm = new Quartermaster(await connectionOf(new Map()))
  const { data } = await list(qm, AbortSignal.timeout(1000))
  return (data?.data ?? [])
    .map((one) => String((one as Record<string, unknown>)[field]))
    .filter((one) => /^\S+$/.test(one))
}
