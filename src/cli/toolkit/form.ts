import { askChoice, askText } from './ask.ts'
import { type Flag, type FlagValues, UsageError } from './command.ts'
import { io, note } from './io.ts'
import { parseArguments } from './parse.ts'
import { readSource } from './request.ts'
import { harmless, oneLine, paint } from './terminal.ts'

/** The parts of a JSON Schema that the command line uses. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly items?: Schema
  readonly description?: string
  readonly default?: unknown
  readonly examples?: readonly unknown[]
}

export type Input = Record<string, unknown>

export interface ToolArguments {
  readonly input: Input
  /** The flags that are not arguments of the tool. */
  readonly given: FlagValues
}

/**
 * The arguments of a tool from flags: `--order-id 7` for `order_id` or `orderId`. Values are parsed by their schema. Flags
 * of the command itself are recognised, too, unless the tool has an argument of the same name.
 */
export async function readToolArguments(
  schema: Schema | undefined,
  args: readonly string[],
  commandFlags: readonly Flag[],
): Promise<ToolArguments> {
  const properties = propertiesOf(schema, args, commandFlags)
  const own = commandFlags.filter(({ name }) => !properties.some(({ flag }) => flag.name === name))
  const { given } = parseArguments([...properties.map(({ flag }) => flag), ...own], args, {
    most: 0,
    hint: ' Give arguments as flags: --city Recife.',
    explain: (name) =>
      ['url', 'key', 'profile'].includes(name)
        ? `Write --${name} before the tool's name. The flags after it are the tool's arguments.`
        : undefined,
  })
  const input: Input = {}
  for (const { name, property, flag } of properties) {
    const texts = given.get(flag.name)
    if (!texts) continue
    const values: unknown[] = []
    for (const text of texts) {
      values.push(toValue(property, await readSource(flag.name, text), `--${flag.name}`))
    }
    input[name] = values.length === 1 ? values[0] : values.flat()
  }
  return { input, given: new Map([...given].filter(([name]) => own.some((flag) => flag.name === name))) }
}

/** One argument of a tool, for help. */
export interface ToolArgument {
  readonly flag: string
  readonly schema: Schema
  readonly isRequired: boolean
}

/** The arguments of a tool, the required ones first. */
export const argumentsOf = (schema: Schema | undefined): ToolArgument[] =>
  (schema?.properties ? propertiesOf(schema, [], []) : [])
    .map(({ name, property, flag }) => ({
      flag: flag.name,
      schema: property ?? {},
      isRequired: schema?.required?.includes(name) ?? false,
    }))
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired))

interface Property {
  readonly name: string
  readonly property: Schema | undefined
  readonly flag: Flag
}

function propertiesOf(schema: Schema | undefined, args: readonly string[], commandFlags: readonly Flag[]): Property[] {
  if (!schema?.properties) return guessProperties(args, commandFlags)
  const names = Object.keys(schema.properties).filter((name) => /^\w[\w.-]*$/.test(name))
  return names.map((name) => {
    const property = schema.properties?.[name]
    const isAlone = names.every((other) => other === name || dashed(other) !== dashed(name))
    return {
      name,
      property,
      flag: {
        name: isAlone ? dashed(name) : name,
        value: 'value',
        help: '',
        optional: typesOf(property).includes('boolean'),
        repeats: typesOf(property).includes('array'),
      },
    }
  })
}

/** Without a schema, every flag is an argument. A key may be allowed to call a tool but not to read its schema. */
function guessProperties(args: readonly string[], commandFlags: readonly Flag[]): Property[] {
  const written = args.flatMap((arg) => /^--(\w[\w.-]*)(?:=|$)/.exec(arg)?.[1] ?? [])
  const names = [...new Set(written)].filter((name) => !commandFlags.some((flag) => flag.name === name))
  return names.map((name) => ({
    name: name.replaceAll('-', '_'),
    property: undefined,
    flag: { name, value: 'value', help: '' },
  }))
}

const dashed = (name: string): string => name.replaceAll('_', '-')

const typesOf = (schema: Schema | undefined): readonly string[] =>
  schema?.type === undefined ? [] : ([schema.type].flat() as string[])

/** Text stays text if the schema says so. Otherwise it is parsed as JSON, with text as the fallback if the schema allows it. */
function toValue(schema: Schema | undefined, text: string, what: string): unknown {
  const types = typesOf(schema)
  if (types.length === 1 && types[0] === 'string') return text
  if (schema?.enum?.includes(text)) return text
  const isOfTexts = types.includes('array') && (typesOf(schema?.items).includes('string') || !schema?.items)
  if (isOfTexts && !text.trimStart().startsWith('[')) return [text]
  try {
    return JSON.parse(text)
  } catch (error) {
    if (types.length === 0 || types.includes('string')) return text
    const wanted =
      types[0] === 'object' || types[0] === 'array'
        ? 'JSON'
        : `${/^[aeiou]/.test(types[0] ?? '') ? 'an' : 'a'} ${types[0]}`
    throw new UsageError(`${what} must be ${wanted}${wanted === 'JSON' ? `: ${(error as Error).message}` : ''}.`)
  }
}

export const missingOf = (schema: Schema | undefined, input: Input): string[] =>
  (schema?.required ?? []).filter((name) => !Object.hasOwn(input, name))

/** The message about missing arguments, for when the user cannot be prompted. */
export function missingText(schema: Schema | undefined, missing: readonly string[]): string {
  const line = (name: string) => {
    const { type, description, enum: choices } = schema?.properties?.[name] ?? {}
    const shape = choices ? choices.join('|') : [type ?? 'any'].flat().join('|')
    return `  --${dashed(name)} <${shape}>${description ? `  ${oneLine(description)}` : ''}`
  }
  return ['Missing arguments:', ...missing.map(line)].join('\n')
}

/** Prompts for one argument. */
export async function askFor(name: string, schema: Schema | undefined): Promise<unknown> {
  const label = oneLine(name)
  if (schema?.description) note(paint('dim', harmless(schema.description), io().stderr))
  const texts = schema?.enum?.filter((one) => typeof one === 'string')
  if (texts && texts.length > 0 && texts.length === schema?.enum?.length) return askChoice(label, texts)
  const types = typesOf(schema).join('|')
  const answer = await askText(types ? `${label} (${types})` : label, {
    fallback: schema?.default === undefined ? '' : JSON.stringify(schema.default),
    validate: (typed) => validationError(schema, typed, label),
  })
  return toValue(schema, answer, label)
}

function validationError(schema: Schema | undefined, typed: string, label: string): string | undefined {
  if (typed === '' && typesOf(schema).join() !== 'string') return 'Required.'
  try {
    toValue(schema, typed, label)
    return undefined
  } catch (error) {
    if (error instanceof UsageError) return error.message
    throw error
  }
}
