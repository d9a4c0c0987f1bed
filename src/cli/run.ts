import { version } from '../home.ts'
import { didYouMean } from '../lib/nearest.ts'
import { commands } from './generated.ts'
import { customCommands, replacementOf, shownCommands } from './registry.ts'
import { type CustomCommand, exit, type FlagValues, Interrupted, InvalidFile, UsageError } from './toolkit/command.ts'
import { Refused, report } from './toolkit/connection.ts'
import { globalFlags, readFlags } from './toolkit/flags.ts'
import { describeCommand, describeCustom, describeUp, usage, usageOfCustom } from './toolkit/help.ts'
import { type Io, note, say, withIo } from './toolkit/io.ts'
import { runOperation } from './toolkit/operation.ts'
import { describeGroup, everything, groups, overview } from './toolkit/overview.ts'
import { type Arguments, parseArguments } from './toolkit/parse.ts'

/** Runs a command line. Resolves with the exit code. */
export function run(argv: readonly string[], streams: Io): Promise<number> {
  const { stdin, stdout, stderr } = streams
  const env = argv.includes('--no-color') ? { ...streams.env, NO_COLOR: '1', FORCE_COLOR: undefined } : streams.env
  return withIo({ stdin, stdout, stderr, env }, () => dispatch(argv))
}

async function dispatch(argv: readonly string[]): Promise<number> {
  let read: Arguments
  try {
    read = parseArguments([...globalFlags, { name: 'version', help: '' }], argv, { stopAtWord: true })
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    const hint = 'Flags of a command follow its name. "quartermaster help --all" lists all commands.'
    return misused(`quartermaster: ${error.message}\n${hint}`)
  }
  const [name, ...args] = read.words
  if (read.given.has('version') || name === 'version') return print(version)
  if (read.given.has('help')) return help(name)
  if (name === undefined) return misused(overview(version))
  if (name === 'help') return help(args[0])
  // Shells pass the words that are being typed, which need not be valid.
  if (name === 'complete') return (await import('./toolkit/completion.ts')).complete(args)
  const globals = new Map([...read.given].filter(([flag]) => flag !== 'no-color'))
  const custom = customCommands.find((one) => one.name === name)
  if (args.includes('--help') || args.includes('-h')) {
    return custom?.loadHelp ? runCustom({ ...custom, load: custom.loadHelp }, args, globals) : help(name)
  }
  return custom ? runCustom(custom, args, globals) : runGenerated(name, args, globals)
}

async function runGenerated(name: string, args: readonly string[], globals: FlagValues): Promise<number> {
  const command = commands.find((one) => one.name === name)
  if (!command) return unknown(name)
  try {
    return await runOperation(command, readFlags(command, args), globals)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return misused(
      `quartermaster: ${error.message}\n${usage(command)}\n"quartermaster ${name} --help" lists its flags.`,
    )
  }
}

async function runCustom(command: CustomCommand, args: readonly string[], globals: FlagValues): Promise<number> {
  try {
    const runner = await command.load()
    return await runner({ command, args, globals })
  } catch (error) {
    if (error instanceof Interrupted) return exit.interrupted
    if (error instanceof InvalidFile) return invalid(error)
    if (error instanceof Refused) return report(error.error, error.baseUrl)
    if (!(error instanceof UsageError)) throw error
    return misused(`quartermaster: ${error.message}\n${usageOfCustom(command)}`)
  }
}

async function help(name: string | undefined): Promise<number> {
  if (name === undefined) return print(overview(version))
  if (name === '--all') return print(everything(version))
  if (name === 'up') return print(describeUp((await import('../config.ts')).describeSettings()))
  const group = groups.includes(name) ? [describeGroup(name)] : []
  const custom = customCommands.find((one) => one.name === name)
  if (custom || group.length > 0) return print([...(custom ? [describeCustom(custom)] : []), ...group].join('\n\n'))
  const command = commands.find((one) => one.name === name)
  return command ? print(describeCommand(command, replacementOf(command.name))) : unknown(name)
}

function unknown(name: string): number {
  const known = [...customCommands, ...shownCommands].map((command) => command.name)
  const hint = didYouMean(name, ['help', 'version', ...known])
  return misused(`quartermaster: Unknown command "${name}".${hint}\n"quartermaster help --all" lists all commands.`)
}

function invalid({ message }: InvalidFile): number {
  note(`quartermaster: ${message}`)
  return exit.refused
}

function misused(text: string): number {
  // An API key in the wrong place must not end up in a log.
  note(text.replaceAll(/sk_\w+/g, 'sk_…'))
  return exit.misused
}

function print(text: string): number {
  say(text)
  return exit.ok
}
