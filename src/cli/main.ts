import { readFileSync } from 'node:fs'
import { nearest } from '../model/nearest.ts'
import { UsageError } from './command.ts'
import { commands } from './commands.ts'
import { evalUsage, evaluate, Refused, readEval } from './eval.ts'
import { readFlags } from './flags.ts'
import { describeCommand, describeUp, overview, replayUsage, usage } from './help.ts'
import { connectionOf, report, run } from './run.ts'

// Whoever reads only the first lines of an answer closes the pipe: that is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
process.exitCode = await main(process.argv.slice(2))

async function main([name, ...args]: readonly string[]): Promise<number> {
  const wantsHelp = args.includes('--help') || args.includes('-h')
  if (name === undefined) return misused(overview(version()))
  if (name === 'version' || name === '--version') return say(version())
  if (name === 'help' || name === '--help' || name === '-h') return help(args[0])
  if (name === 'up') return wantsHelp ? help(name) : up(args)
  if (name === 'eval') return wantsHelp ? help(name) : measure(args)
  if (name === 'replay') return wantsHelp ? help(name) : play(args)
  if (wantsHelp) return help(name)
  return remote(name, args)
}

async function remote(name: string, args: readonly string[]): Promise<number> {
  const command = commands.find((one) => one.name === name)
  if (!command) return unknown(name)
  try {
    return await run(command, readFlags(command, args), version())
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return misused(
      `quartermaster: ${error.message}\n${usage(command)}\n"quartermaster ${name} --help" lists its flags.`,
    )
  }
}

/** How well a server answers a team's own requests. */
async function measure(args: readonly string[]): Promise<number> {
  try {
    const { file, serverId, given } = readEval(args)
    const connection = connectionOf({ fields: [] }, given)
    try {
      return say(await evaluate(file, serverId, connection))
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      return report(error.error, connection)
    }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return misused(`quartermaster: ${error.message}\n${evalUsage.split('\n')[0]}`)
  }
}

/** A model that answers as a script says, for tests. Loaded here, as the platform is below. */
async function play(args: readonly string[]): Promise<number> {
  const { replay } = await import('./replay.ts')
  try {
    return await replay(args)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return misused(`quartermaster: ${error.message}\n${replayUsage.split('\n')[0]}`)
  }
}

/** The server is loaded here and nowhere else, so that the other commands start at once. */
async function up(args: readonly string[]): Promise<number> {
  const server = await import('./up.ts')
  try {
    return await server.up(args)
  } catch (error) {
    console.error(server.isOperatorMistake(error) ? `quartermaster: ${error.message}` : error)
    return 1
  }
}

async function help(name: string | undefined): Promise<number> {
  if (name === undefined) return say(overview(version()))
  if (name === 'up') return say(describeUp((await import('../config.ts')).describeSettings()))
  if (name === 'eval') return say(evalUsage)
  if (name === 'replay') return say(replayUsage)
  const command = commands.find((one) => one.name === name)
  return command ? say(describeCommand(command)) : unknown(name)
}

function unknown(name: string): number {
  const close = nearest(name, ['up', 'eval', 'replay', 'help', 'version', ...commands.map((command) => command.name)])
  const hint = close.length > 0 ? ` Did you mean ${close.map((one) => `"${one}"`).join(' or ')}?` : ''
  return misused(`quartermaster: There is no command "${name}".${hint}\n"quartermaster help" lists them all.`)
}

function misused(text: string): number {
  // A key in the wrong place is not to end up in a log.
  console.error(text.replaceAll(/sk_\w+/g, 'sk_…'))
  return 2
}

function say(text: string): number {
  console.log(text)
  return 0
}

function version(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
}
