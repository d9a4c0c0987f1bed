import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import type { Request } from '../../sdk/send.ts'
import { type Command, type Field, type FlagValues, UsageError } from './command.ts'
import { flagOf, keyOfItems } from './flags.ts'
import { io } from './io.ts'
import { partFlagsIn, withParts } from './parts.ts'

/** Sorts the flags into the path, the query and the body of the request. */
export async function requestOf(command: Command, given: FlagValues): Promise<Request> {
  const dotted = partFlagsIn(
    command,
    [...given.keys()].map((name) => `--${name}`),
  )
  const texts = await readSources([...command.fields.map(flagOf), ...dotted.map(({ flag }) => flag)], given)
  const parts: Record<Field['where'], Record<string, unknown>> = { path: {}, query: {}, body: bodyOf(texts) }
  for (const field of command.fields) {
    const values = texts.get(flagOf(field))
    if (values) parts[field.where][field.name] = readValue(field, flagOf(field), values)
  }
  for (const where of ['query', 'body'] as const) {
    const here = dotted.filter((part) => part.where === where)
    parts[where] = withParts(parts[where], here, texts, readValue)
  }
  for (const field of command.fields) {
    if (field.where === 'path' && parts.path[field.name] === '') throw new UsageError(`--${flagOf(field)} is empty.`)
    if (field.required && parts[field.where][field.name] === undefined) {
      throw new UsageError(`--${flagOf(field)} is missing.`)
    }
  }
  const key = given.get('idempotency-key')?.[0]
  if (key !== undefined && !/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw new UsageError('--idempotency-key must be 1 to 255 printable characters.')
  }
  return {
    path: parts.path as Record<string, string>,
    query: parts.query,
    ...(command.fields.some(({ where }) => where === 'body') && { body: parts.body }),
    ...(key !== undefined && { headers: { 'idempotency-key': key } }),
  }
}

/** Resolves `@file` to the file's content and `-` to standard input. `@@` is a literal at sign. */
async function readSources(flags: readonly string[], given: FlagValues): Promise<Map<string, string[]>> {
  const sources = new Set(['body', ...flags])
  const result = new Map<string, string[]>()
  let usedBy: string | undefined
  for (const [name, values] of given) {
    if (!sources.has(name)) continue
    for (const value of values) {
      if (value === '-' && usedBy) throw new UsageError(`--${usedBy} and --${name} cannot both read standard input.`)
      if (value === '-') usedBy = name
      result.set(name, [...(result.get(name) ?? []), await readSource(name, value)])
    }
  }
  return result
}

export async function readSource(name: string, value: string): Promise<string> {
  if (value === '-') return decode(name, await buffer(io().stdin))
  if (!value.startsWith('@')) return value
  if (value.startsWith('@@')) return value.slice(1)
  const path = value.slice(1)
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    const hint = error.code === 'ENOENT' ? ' To start a text with an at sign, write @@.' : ''
    throw new UsageError(`--${name}: cannot read ${path} (${error.code}).${hint}`)
  })
  return decode(name, bytes)
}

function decode(name: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new UsageError(`--${name}: the content is not UTF-8 text.`)
  }
}

function bodyOf(texts: ReadonlyMap<string, string[]>): Record<string, unknown> {
  const [text] = texts.get('body') ?? []
  return text === undefined ? {} : parseObject('body', text)
}

/** Parses the JSON object that is the value of a flag. */
export function parseObject(flag: string, text: string): Record<string, unknown> {
  const value = parse(flag, text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new UsageError(`--${flag} must be a JSON object.`)
}

function readValue(field: Field, flag: string, texts: readonly string[]): unknown {
  const [text = ''] = texts
  const key = keyOfItems(field)
  if (key !== undefined) return readItems(key, flag, texts)
  switch (field.reads) {
    case 'text':
      return text
    case 'text or null':
      return text === 'null' ? null : text
    case 'list':
      return isJsonList(texts) ? parse(flag, text) : field.name.endsWith('args') ? texts : texts.flatMap(namesIn)
    case 'JSON or text':
      return tryParse(text) ?? text
    case 'flag': {
      const value = tryParse(text)
      if (value === undefined) throw new UsageError(`--${flag} must be ${field.type.replaceAll(' | ', ' or ')}.`)
      return value
    }
    default:
      return /^(number|integer)\b/.test(field.type) ? toNumber(flag, text) : parse(flag, text)
  }
}

const isJsonList = (texts: readonly string[]): boolean => texts.length === 1 && /^\s*(\[|null\s*$)/.test(texts[0] ?? '')

/** Splits `crm,billing`. A comma in a sentence is part of the text. */
const namesIn = (text: string): string[] => (/^[\w.:*/@-]+(,[\w.:*/@-]+)+$/.test(text) ? text.split(',') : [text])

/** A list of objects, as JSON or by the key that names them. */
function readItems(key: string, flag: string, texts: readonly string[]): unknown {
  if (isJsonList(texts)) return parse(flag, texts[0] ?? '')
  const isJson = (text: string) => /^\s*\{/.test(text)
  return texts.flatMap((text) => (isJson(text) ? [parse(flag, text)] : namesIn(text).map((name) => ({ [key]: name }))))
}

function toNumber(flag: string, text: string): unknown {
  const value = tryParse(text)
  if (value === undefined) throw new UsageError(`--${flag} must be a number.`)
  return value
}

function parse(flag: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`--${flag} is not JSON: ${(error as Error).message}.`)
  }
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
