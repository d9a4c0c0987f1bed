import { version } from '../home.ts'
import { didYouMean } from '../lib/nearest.ts'
import { commands } from './generated.ts'
import { ownCommands } from './own.ts'
import { exit, Interrupted, type OwnCommand, UsageError } from './toolkit/command.ts'
import { Refused, report } from './toolkit/connection.ts'
import { flagOf, readFlags, takeLeading } from './toolkit/flags.ts'
import { describeCommand, describeOwn, describeUp, overview, usage, usageOfOwn } from './toolkit/help.ts'
import { run } from './toolkit/run.ts'

// Whoever reads only the first lines of an answer closes the pipe: that is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
process.exitCode = await main(process.argv.slice(2))

async function main(written: readonly string[]): Promise<number> {
  if (written.includes('--no-color')) process.env.NO_COLOR = '1'
  let taken: ReturnType<typeof takeLeading>
  try {
    taken = takeLeading(written.filter((arg) => arg !== '--no-color'))
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return misused(`quartermaster: ${error.message}\n"quartermaster help" lists all commands.`)
  }
  const [name, ...rest] = taken.rest
  const args = [...(name === undefined || isAboutItself(name) ? [] : placed(taken.leading, name)), ...rest]
  const wantsHelp = args.includes('--help') || args.includes('-h')
  if (name === undefined) return misused(overview(version))
  if (name === 'version' || name === '--version') return say(version)
  if (name === 'help' || name === '--help' || name === '-h') return help(args[0])
  if (wantsHelp && name !== 'complete') return help(name)
  // Asked by shells, of words that need not be right.
  if (name === 'complete') return (await import('./toolkit/completion.ts')).complete(args)
  const own = ownCommands.find((one) => one.name === name)
  return own ? perform(own, args) : remote(name, args)
}

function isAboutItself(name: string): boolean {
  return ['version', '--version', 'help', '--help', '-h', 'complete'].includes(name)
}

/** A command's own field may be called like a flag that stood before it: then the environment says what that meant. */
function placed(leading: readonly string[], name: string): string[] {
  const fields = commands.find((one) => one.name === name)?.fields ?? []
  return leading.filter((flag) => {
    const [, written = '', value = ''] = /^--([\w-]+)=?(.*)$/s.exec(flag) ?? []
    const isTaken = fields.some((field) => flagOf(field) === written)
    if (isTaken) process.env[`QM_${written.toUpperCase()}`] = value
    return !isTaken
  })
}

/** An operation of the platform. */
async function remote(name: string, args: readonly string[]): Promise<number> {
  const command = commands.find((one) => one.name === name)
  if (!command) return unknown(name)
  try {
    return await run(command, readFlags(command, args))
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return misused(
      `quartermaster: ${error.message}\n${usage(command)}\n"quartermaster ${name} --help" lists its flags.`,
    )
  }
}

/** A command for people. What it needs is loaded here. */
async function perform(own: OwnCommand, args: readonly string[]): Promise<number> {
  try {
    const runner = await own.load()
    return await runner(args, own)
  } catch (error) {
    if (error instanceof Interrupted) return exit.interrupted
    if (error instanceof Refused) return report(error.error, error.baseUrl)
    if (!(error instanceof UsageError)) throw error
    return misused(`quartermaster: ${error.message}\n${usageOfOwn(own)}`)
  }
}

async function help(name: string | undefined): Promise<number> {
  if (name === undefined) return say(overview(version))
  if (name === 'up') return say(describeUp((await import('../config.ts')).describeSettings()))
  const own = ownCommands.find((one) => one.name === name)
  if (own) return say(describeOwn(own))
  const command = commands.find((one) => one.name === name)
  return command ? say(describeCommand(command)) : unknown(name)
}

function unknown(name: string): number {
  const known = [...ownCommands, ...commands].map((command) => command.name)
  const hint = didYouMean(name, ['help', 'version', ...known])
  return misused(`quartermaster: There is no command "${name}".${hint}\n"quartermaster help" lists them all.`)
}

function misused(text: string): number {
  // A key in the wrong place is not to end up in a log.
  console.error(text.replaceAll(/sk_\w+/g, 'sk_…'))
  return exit.misused
}

function say(text: string): number {
  console.log(text)
  return exit.ok
}
