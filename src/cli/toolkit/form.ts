import { askChoice, askText } from './ask.ts'
import { UsageError } from './command.ts'
import { unknownFlag } from './flags.ts'
import { readSource } from './request.ts'
import { harmless, oneLine, paint } from './terminal.ts'

/** A JSON Schema, as far as the command line reads it. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly items?: Schema
  readonly description?: string
  readonly default?: unknown
}

export type Input = Record<string, unknown>

/** A tool's arguments from flags: `--order-id 7` for `order_id` or `orderId`, values read as their schema says. */
export async function readInput(
  schema: Schema | undefined,
  args: readonly string[],
  own: readonly string[],
): Promise<Input> {
  const input: Input = {}
  const rest = [...args]
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const { written, attached } = /^--(?<written>[\w.-]+)(?:=(?<attached>.*))?$/s.exec(arg)?.groups ?? {}
    if (written === undefined)
      throw new UsageError(`"${arg}" follows no flag: arguments are given as in --city Recife.`)
    const name = propertyOf(schema, written, own)
    const property = schema?.properties?.[name]
    const standsAlone = typesOf(property).includes('boolean') && !/^(true|false)$/.test(rest[0] ?? '')
    const text = attached ?? (standsAlone ? 'true' : rest.shift())
    if (text === undefined) throw new UsageError(`--${written} needs a value.`)
    const value = toValue(property, await readSource(written, text), `--${written}`)
    const before = input[name]
    const isList = typesOf(property).includes('array')
    if (before !== undefined && !isList) throw new UsageError(`--${written} is given twice.`)
    input[name] = isList && before !== undefined ? [before, value].flat() : value
  }
  return input
}

const simple = (name: string) => name.replaceAll(/[-_]/g, '').toLowerCase()

function propertyOf(schema: Schema | undefined, written: string, own: readonly string[]): string {
  if (!schema?.properties) return written.replaceAll('-', '_')
  const names = Object.keys(schema.properties)
  if (names.includes(written)) return written
  const alike = names.filter((name) => simple(name) === simple(written))
  if (alike.length === 1) return alike[0] as string
  if (['url', 'key', 'profile'].includes(written)) {
    throw new UsageError(`--${written} goes before the tool's name; what follows it is for the tool.`)
  }
  throw new UsageError(unknownFlag(written, [...names.map((name) => name.replaceAll('_', '-')), ...own]))
}

const typesOf = (schema: Schema | undefined): readonly string[] =>
  schema?.type === undefined ? [] : ([schema.type].flat() as string[])

/** Text stays text where the schema says so; otherwise it is JSON, or text where it may be that, too. */
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

/** What is missing, for those who cannot be asked. */
export function missingText(schema: Schema | undefined, missing: readonly string[]): string {
  const line = (name: string) => {
    const { type, description, enum: choices } = schema?.properties?.[name] ?? {}
    const shape = choices ? choices.join('|') : [type ?? 'any'].flat().join('|')
    return `  --${name.replaceAll('_', '-')} <${shape}>${description ? `  ${oneLine(description)}` : ''}`
  }
  return ['These arguments are missing:', ...missing.map(line)].join('\n')
}

/** Asks for one argument until what is typed fits. */
export async function askFor(name: string, schema: Schema | undefined): Promise<unknown> {
  if (schema?.description) process.stderr.write(`${paint('dim', harmless(schema.description), process.stderr)}\n`)
  const texts = schema?.enum?.filter((one) => typeof one === 'string')
  if (texts && texts.length > 0 && texts.length === schema?.enum?.length) return askChoice(oneLine(name), texts)
  const fallback = schema?.default === undefined ? '' : JSON.stringify(schema.default)
  for (;;) {
    const types = typesOf(schema).join('|')
    const typed = await askText(`${oneLine(name)}${types ? paint('dim', ` ${types}`, process.stderr) : ''}`, fallback)
    try {
      if (typed !== '' || types === 'string') return toValue(schema, typed, oneLine(name))
      process.stderr.write('It is needed.\n')
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      process.stderr.write(`${error.message}\n`)
    }
  }
}
