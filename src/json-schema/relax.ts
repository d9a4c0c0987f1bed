import { isObject, type Json, type JsonObject } from '../lib/json.ts'

/** Keywords whose values are data, not schemas. */
const values = new Set(['enum', 'const', 'default', 'examples'])
/** Keywords that could reject more instead of less if their content were relaxed. */
const contrary = new Set(['not', 'if', 'then', 'else', 'oneOf'])

/** Removes patterns from a schema, and everything that depends on them. The result rejects less, never more. */
export function relaxed(schema: JsonObject, patterns: ReadonlySet<string>): JsonObject {
  const kept: JsonObject = {}
  const open = Object.keys(patternsIn(schema)).some((pattern) => patterns.has(pattern))
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'pattern' && typeof value === 'string' && patterns.has(value)) continue
    if (open && (key === 'additionalProperties' || key === 'unevaluatedProperties')) continue
    if (contrary.has(key) && holds(value, patterns)) continue
    if (key === 'patternProperties' && isObject(value)) {
      const supported = Object.entries(value).filter(([pattern]) => !patterns.has(pattern))
      kept[key] = Object.fromEntries(supported.map(([pattern, inner]) => [pattern, relaxedValue(inner, patterns)]))
    } else kept[key] = values.has(key) ? value : relaxedValue(value, patterns)
  }
  return kept
}

const patternsIn = ({ patternProperties }: JsonObject): JsonObject =>
  isObject(patternProperties) ? patternProperties : {}

function relaxedValue(value: Json, patterns: ReadonlySet<string>): Json {
  if (Array.isArray(value)) return value.map((inner) => relaxedValue(inner, patterns))
  return isObject(value) ? relaxed(value, patterns) : value
}

const holds = (value: Json, patterns: ReadonlySet<string>): boolean =>
  typeof value === 'string'
    ? patterns.has(value)
    : Array.isArray(value)
      ? value.some((inner) => holds(inner, patterns))
      : isObject(value) && Object.entries(value).some(([key, inner]) => patterns.has(key) || holds(inner, patterns))

/** The path of the first occurrence of a pattern in the schema, such as `properties.name.pattern`. */
export function pathOf(pattern: string, value: unknown, path = ''): string {
  if (!isObject(value) && !Array.isArray(value)) return ''
  for (const [key, inner] of Object.entries(value)) {
    const here = Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
    if (key === 'pattern' && inner === pattern) return here
    if (key === 'patternProperties' && isObject(inner) && Object.hasOwn(inner, pattern)) return here
    const below = pathOf(pattern, inner, here)
    if (below !== '') return below
  }
  return ''
}
