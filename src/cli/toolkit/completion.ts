import { Quartermaster } from '../../sdk/index.ts'
import { commands } from '../generated.ts'
import { ownCommands } from '../own.ts'
import { type Command, exit, type Flag, type OwnCommand } from './command.ts'
import { connectionOf } from './connection.ts'
import { commonFlags, flagOf } from './flags.ts'
import { readProfiles } from './profiles.ts'

/** Prints what may stand where the last of these words is being typed, one to a line. */
export async function complete(args: readonly string[]): Promise<number> {
  const words = args[0] === '--' ? args.slice(1) : args
  const typed = words.at(-1) ?? ''
  const found = await candidates(words).catch(() => [])
  const fitting = found.filter((one) => one.startsWith(typed))
  if (fitting.length > 0) console.log(fitting.join('\n'))
  return exit.ok
}

async function candidates(words: readonly string[]): Promise<readonly string[]> {
  const [name = '', ...rest] = words
  const all = [...ownCommands, ...commands].map((command) => command.name)
  if (rest.length === 0) return [...all, 'help', 'version']
  if (name === 'help') return all
  const own = ownCommands.find((one) => one.name === name)
  const flags = own ? own.flags : flagsOf(commands.find((one) => one.name === name))
  const typed = rest.at(-1) ?? ''
  const before = rest.at(-2)
  const flag = before?.startsWith('--') ? flags.find((one) => `--${one.name}` === before) : undefined
  if (flag?.value) return valuesOf(flag)
  if (typed.startsWith('-')) return flags.map((one) => `--${one.name}`)
  return own ? wordsOf(own, rest) : []
}

/** The flags of an operation; the values that a field may have stand in its type. */
const flagsOf = (command: Command | undefined): readonly Flag[] =>
  command
    ? [
        ...command.fields.map((field): Flag => {
          const choices = [...field.type.matchAll(/"([^"]+)"/g)].map(([, choice = '']) => choice)
          return { name: flagOf(field), value: field.type, help: '', ...(choices.length > 0 && { choices }) }
        }),
        ...commonFlags(command),
      ]
    : []

async function valuesOf({ name, choices }: Flag): Promise<readonly string[]> {
  if (choices) return choices
  if (name === 'profile') return Object.keys((await readProfiles()).profiles)
  if (name === 'tool') return live((qm, signal) => qm.tools.listTools({ query: { limit: 500 }, signal }), 'name')
  if (name === 'tool-id') return live((qm, signal) => qm.tools.listTools({ query: { limit: 500 }, signal }), 'id')
  if (name === 'server') return live((qm, signal) => qm.servers.listServers({ query: { limit: 500 }, signal }), 'slug')
  return []
}

async function wordsOf(own: OwnCommand, rest: readonly string[]): Promise<readonly string[]> {
  const [first, second, ...more] = rest
  if (more.length > 0) return []
  if (second !== undefined) {
    if (own.name === 'profiles' && first === 'use') return Object.keys((await readProfiles()).profiles)
    const waiting = own.name === 'approvals' && (first === 'approve' || first === 'reject')
    if (!waiting) return []
    return live((qm, signal) => qm.approvals.listApprovals({ query: { status: 'pending' }, signal }), 'id')
  }
  if (own.name === 'call') return live((qm, signal) => qm.tools.listTools({ query: { limit: 500 }, signal }), 'name')
  if (own.name === 'chat') return live((qm, signal) => qm.agents.listAgents({ query: { limit: 500 }, signal }), 'name')
  return own.words ?? []
}

type Listing = (qm: Quartermaster, signal: AbortSignal) => Promise<{ data?: { data: readonly object[] } | undefined }>

/** What the platform has now, if it says so within a second: nobody waits longer for a tab. */
async function live(list: Listing, field: string): Promise<string[]> {
  const qm = new Quartermaster(await connectionOf({ fields: [] }, new Map()))
  const { data } = await list(qm, AbortSignal.timeout(1000))
  return (data?.data ?? [])
    .map((one) => String((one as Record<string, unknown>)[field]))
    .filter((one) => /^\S+$/.test(one))
}
