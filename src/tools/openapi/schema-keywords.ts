import type { Json } from '../../lib/json.ts'

const types = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])

/** What documents write instead of a type of JSON Schema. */
const misnamed: Readonly<Record<string, string | undefined>> = {
  int: 'integer',
  int32: 'integer',
  int64: 'integer',
  long: 'integer',
  float: 'number',
  double: 'number',
  decimal: 'number',
  bool: 'boolean',
  str: 'string',
  text: 'string',
  date: 'string',
  datetime: 'string',
  'date-time': 'string',
  uuid: 'string',
  uri: 'string',
  url: 'string',
  file: 'string',
  binary: 'string',
  list: 'array',
  map: 'object',
}

const typeNamed = (name: Json): string | undefined => {
  const lower = String(name).toLowerCase()
  return types.has(lower) ? lower : Object.hasOwn(misnamed, lower) ? misnamed[lower] : undefined
}

/** The type or types, corrected; undefined if none is known. */
export function typeOf(value: Json | undefined): string | string[] | undefined {
  if (typeof value === 'string') return typeNamed(value)
  if (!Array.isArray(value)) return undefined
  const known = [...new Set(value.flatMap((one) => typeNamed(one) ?? []))]
  return known.length > 1 ? known : known[0]
}

export const hasType = (type: string | string[] | undefined, wanted: string): boolean =>
  Array.isArray(type) ? type.includes(wanted) : type === wanted

/**
 * Unique values that fit the type: YAML turns `yes` and `1` into other types than the document says. Google refuses empty
 * texts and null. A field that can be null can also be left out.
 */
export function enumOf(value: Json | undefined, type: string | string[] | undefined): Json[] {
  if (!Array.isArray(value)) return []
  const values = new Map<string, Json>()
  for (const one of value) {
    const fitting = coerced(one, type)
    if (fitting !== '' && fitting !== null) values.set(JSON.stringify(fitting), fitting)
  }
  return [...values.values()]
}

/** Google accepts only enums of texts. Other values are in the description. */
export const isTextEnum = (values: readonly Json[]): boolean => values.every((one) => typeof one === 'string')

function coerced(value: Json, type: string | string[] | undefined): Json {
  if (type === 'string' && (typeof value === 'number' || typeof value === 'boolean')) return String(value)
  const isNumeric = type === 'integer' || type === 'number'
  if (isNumeric && typeof value === 'string' && /^-?\d{1,15}(\.\d+)?$/.test(value)) return Number(value)
  return value
}

/**
 * A pattern that is a valid regular expression. Some documents write it with the slashes of a literal, or escape characters
 * that need no escape, such as `\\_`, which JSON Schema does not allow.
 */
export function patternOf(value: Json | undefined): string | undefined {
  if (typeof value !== 'string' || value.length > 2000) return undefined
  const [, inner] = /^\/(\^.*\$)\/[a-z]*$/s.exec(value) ?? []
  const pattern = inner ?? value
  return [pattern, withoutNeedlessEscapes(pattern)].find(isExpression)
}

const isExpression = (pattern: string): boolean => {
  try {
    new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}

/** A hyphen within brackets gets or keeps its escape, unless it means a range. A brace without a count is a character. */
function withoutNeedlessEscapes(pattern: string): string {
  let isClass = false
  const ranged = pattern.replaceAll(/(\\[wWdDsS])-(?=[^\]])/g, '$1\\-')
  return ranged.replaceAll(/\\.|[[\]]|\{\d+(?:,\d*)?\}|[{}]/gs, (one) => {
    if (one === '[' || one === ']') isClass = one === '['
    else if (one === '{' || one === '}') return isClass ? one : `\\${one}`
    if (!one.startsWith('\\')) return one
    const escaped = one[1] ?? ''
    if (escaped === '-') return isClass ? one : escaped
    return /[\w^$\\.*+?()[\]{}|/]/.test(escaped) && escaped !== '_' ? one : escaped
  })
}

/** Keywords whose value is a number, and which numbers they accept. */
export const numeric: Readonly<Record<string, (value: number) => boolean>> = {
  minimum: Number.isFinite,
  maximum: Number.isFinite,
  exclusiveMinimum: Number.isFinite,
  exclusiveMaximum: Number.isFinite,
  multipleOf: (value) => Number.isFinite(value) && value > 0,
  ...Object.fromEntries(
    ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'].map((name) => [
      name,
      (value: number) => Number.isSafeInteger(value) && value >= 0,
    ]),
  ),
}

export const numberOf = (value: Json | undefined): number =>
  typeof value === 'string' && value.trim() !== '' ? Number(value) : typeof value === 'number' ? value : Number.NaN
