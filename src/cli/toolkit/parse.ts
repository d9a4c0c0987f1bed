import { CommanderError, Option, Command as Parser } from 'commander'
import { didYouMean } from '../../lib/nearest.ts'
import { type Flag, type FlagValues, type Invocation, UsageError } from './command.ts'

export interface Arguments {
  /** The arguments that are not flags. */
  readonly words: readonly string[]
  readonly given: FlagValues
}

export interface ParseOptions {
  /** The largest number of words; unlimited by default. */
  readonly most?: number
  /** Whether everything from the first word on is returned unparsed. */
  readonly stopAtWord?: boolean
  /** A more specific message for an unknown flag, if there is one. */
  readonly explain?: (flag: string) => string | undefined
  /** Added to the message about an unexpected word. */
  readonly hint?: string
}

/** Parses the arguments of any command. */
export function parseArguments(
  flags: readonly Flag[],
  args: readonly string[],
  { most = Number.POSITIVE_INFINITY, stopAtWord = false, explain, hint = '' }: ParseOptions = {},
): Arguments {
  const given = new Map<string, string[]>()
  const parser = new Parser()
    .helpOption(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {}, writeOut: () => {} })
    .argument('[words...]')
    .passThroughOptions(stopAtWord)
  for (const flag of flags) for (const option of optionsOf(flag, flags, args, given)) parser.addOption(option)
  try {
    parser.parse(stopAtWord ? args : normalizeFlags(args, flags), { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    throw new UsageError(messageOf(error, flags, explain))
  }
  const excess = parser.args[most]
  if (excess !== undefined) throw new UsageError(`Unexpected argument "${excess}".${hint}`)
  return { words: parser.args, given }
}

/** The arguments of a hand-written command, with the flags that were given before its name. */
export function readArguments({ command, args, globals }: Invocation, most?: number): Arguments {
  const { words, given } = parseArguments(command.flags, args, most === undefined ? {} : { most })
  return { words, given: withGlobals(command, given, globals) }
}

export function withGlobals(
  { name, flags }: Invocation['command'],
  given: FlagValues,
  globals: FlagValues,
): FlagValues {
  for (const flag of globals.keys()) {
    if (!flags.some((one) => one.name === flag)) throw new UsageError(`"${name}" does not take --${flag}.`)
    if (given.has(flag)) throw new UsageError(`--${flag} is given twice.`)
  }
  return new Map([...given, ...globals])
}

export const textOf = ({ given }: Pick<Arguments, 'given'>, name: string): string | undefined => given.get(name)?.[0]

export const isSet = (given: FlagValues, name: string): boolean => given.has(name) && given.get(name)?.[0] !== 'false'

function optionsOf(flag: Flag, flags: readonly Flag[], args: readonly string[], given: Map<string, string[]>) {
  const { name, short, value, optional, negatable, repeats, choices } = flag
  const take = (text: string): string => {
    const isAttached = args.includes(`--${name}=${text}`)
    if (value && !isAttached && findFlag(text, flags)) throw new UsageError(`--${name} needs a value.`)
    if (given.has(name) && !repeats && value) throw new UsageError(`--${name} is given twice.`)
    if (choices && !choices.includes(text)) throw new UsageError(`--${name} must be one of ${choices.join(', ')}.`)
    given.set(name, repeats ? [...(given.get(name) ?? []), text] : [text])
    return text
  }
  const takes = value ? (optional ? ' [value]' : ' <value>') : ''
  const option = new Option(`${short ? `-${short}, ` : ''}--${name}${takes}`).preset('true').argParser(take)
  return negatable ? [option, new Option(`--no-${name}`).preset('false').argParser(take)] : [option]
}

/** The flag for an argument such as `--name` or `--name=value`. */
const findFlag = (arg: string, flags: readonly Flag[]): Flag | undefined => {
  const name = /^--([\w.-]+)(?:=|$)/.exec(arg)?.[1]
  return name === undefined ? undefined : (flags.find((flag) => flag.name === name) ?? findSimilar(name, flags))
}

const simplified = (name: string): string => name.replaceAll(/[-_]/g, '').toLowerCase()

const findSimilar = (name: string, flags: readonly Flag[]): Flag | undefined => {
  const alike = flags.filter((flag) => simplified(flag.name) === simplified(name))
  return alike.length === 1 ? alike[0] : undefined
}

/** Rewrites `--project_id` and `--projectId` to `--project-id`, because people copy names from JSON. */
function normalizeFlags(args: readonly string[], flags: readonly Flag[]): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length
  return args.map((arg, at) => {
    const flag = at < end ? findFlag(arg, flags) : undefined
    return flag ? arg.replace(/^--[\w.-]+/, () => `--${flag.name}`) : arg
  })
}

/** The message for a parse error. It omits values, because they may be secrets. */
function messageOf(
  { code, message }: CommanderError,
  flags: readonly Flag[],
  explain: ParseOptions['explain'],
): string {
  const flag = /'(-[^'\s=]*)/.exec(message)?.[1] ?? ''
  if (code === 'commander.optionMissingArgument') return `${/--[^'\s]+/.exec(message)?.[0]} needs a value.`
  const name = flag.replace(/^-+/, '')
  if (flags.some((one) => one.name === name)) return `${flag} does not take a value.`
  const names = flags.map((one) => one.name)
  return explain?.(name) ?? `Unknown flag ${flag}.${didYouMean(name, names, (one) => `--${one}`)}`
}
