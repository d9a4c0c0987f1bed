import { type CustomCommand, exit, type Runner, UsageError } from '../toolkit/command.ts'
import { openSession, Refused } from '../toolkit/connection.ts'
import { quoted } from '../toolkit/example.ts'
import { outputFlags } from '../toolkit/flags.ts'
import { argumentsOf, type ToolArgument } from '../toolkit/form.ts'
import { columns, describeCustom, examplesText, flagLine, heading, wrapped } from '../toolkit/help.ts'
import { note, say } from '../toolkit/io.ts'
import { parseArguments, withGlobals } from '../toolkit/parse.ts'
import { harmless, oneLine } from '../toolkit/terminal.ts'
import { type Action, actionsOf, splitWords } from './call.ts'

/** `call <tool> --help`: the description of the tool and its arguments, as flags. Without a tool, the help of `call`. */
export const describeCall: Runner = async ({ command, args, globals }) => {
  const isHelp = (arg: string) => arg === '--help' || arg === '-h'
  const { words, given } = parseArguments(
    command.flags,
    args.filter((arg) => !isHelp(arg)),
    { stopAtWord: true },
  )
  const { tool, action } = splitWords(words)
  if (tool === undefined) {
    say(describeCustom(command))
    return exit.ok
  }
  try {
    const { qm } = await openSession(withGlobals(command, given, globals))
    const actions = await actionsOf(qm, tool)
    if (!actions) throw new UsageError('This key may not read the tool.')
    say(describeTool(command, tool, actions, action))
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof Refused)) throw error
    note(`The arguments of "${oneLine(tool)}" cannot be shown: ${harmless(error.message)}\n`)
    say(describeCustom(command))
  }
  return exit.ok
}

function describeTool(
  command: CustomCommand,
  tool: string,
  actions: readonly Action[],
  wanted: string | undefined,
): string {
  const chosen = wanted === undefined && actions.length === 1 ? actions[0] : actions.find(({ name }) => name === wanted)
  if (chosen) return describeAction(command, wanted === undefined ? tool : `${tool} ${wanted}`, chosen)
  return [
    ...(wanted === undefined ? [] : [`"${tool}" has no action "${wanted}".`]),
    `Usage: quartermaster call ${tool} <action> [--argument value …]`,
    `${heading('Actions')}\n${columns(actions.map(({ name, description }) => [oneLine(name), oneLine(description ?? '')]))}`,
    `"quartermaster call ${tool} <action> --help" shows the arguments of an action.`,
  ].join('\n\n')
}

function describeAction(command: CustomCommand, called: string, action: Action): string {
  const all = argumentsOf(action.input_schema)
  const required = all.filter((one) => one.isRequired)
  const own = [...command.flags.filter(({ name }) => name === 'input' || name === 'no-wait'), ...outputFlags]
  const start = `quartermaster call ${called}`
  const shown = required.length > 0 ? required : all.slice(0, 2)
  return [
    ...(action.description ? [wrapped(oneLine(action.description))] : []),
    `Usage: ${[start, ...required.map((one) => `--${one.flag} ${shape(one)}`), '[flags]'].join(' ')}`,
    all.length > 0
      ? `${heading('Arguments')}\n${columns(all.map((one) => [`--${one.flag} ${shape(one)}`, notes(one)]))}`
      : 'This tool takes no arguments.',
    columns(own.map(flagLine)),
    examplesText([[start, ...shown.map((one) => `--${one.flag} ${quoted(exampleOf(one))}`)].join(' ')]),
  ].join('\n\n')
}

const shape = ({ schema }: ToolArgument): string => {
  const { enum: choices, type, items } = schema
  const types = [type ?? 'any'].flat().map((one) => (one === 'array' && items?.type ? `${items.type}[]` : one))
  return oneLine(`<${(choices ?? types).join('|')}>`)
}

const notes = ({ isRequired, schema: { description, default: fallback } }: ToolArgument): string =>
  [
    isRequired ? 'Required.' : '',
    description ? `${oneLine(description).replace(/\.$/, '')}.` : '',
    fallback === undefined ? '' : `Default: ${JSON.stringify(fallback)}.`,
  ]
    .filter((one) => one !== '')
    .join(' ')

/** A value to start from: the first example or option of the schema, or one that fits its type. */
function exampleOf({ schema }: ToolArgument): string {
  const known = [...(schema.examples ?? []), schema.default, ...(schema.enum ?? [])].find((one) => one !== undefined)
  if (known !== undefined) return oneLine(typeof known === 'string' ? known : JSON.stringify(known))
  const [type = 'string'] = [schema.type ?? 'string'].flat()
  return { integer: '1', number: '1', boolean: 'true', object: '{}', array: '[]' }[type as string] ?? '…'
}
