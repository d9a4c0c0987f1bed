import { isObject, type Json, type JsonObject } from '../../lib/json.ts'

/** A value that fits a schema, for dry runs. Prefers examples and defaults. */
export function sampleOf(schema: JsonObject, root: JsonObject = schema, depth = 0): Json {
  const { examples, type, properties, items } = schema
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(examples) && examples.length > 0) return examples[0] as Json
  for (const keyword of ['example', 'default'] as const) if (schema[keyword] !== undefined) return schema[keyword]
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0] as Json
  if (depth > 8) return null
  const one = (['oneOf', 'anyOf', 'allOf'] as const).map((keyword) => schema[keyword]).find(Array.isArray)
  const [first] = (one ?? []) as Json[]
  if (isObject(first)) return sampleOf(first, root, depth + 1)
  const kind = Array.isArray(type) ? type.find((name) => name !== 'null') : type
  if (kind === 'object' || isObject(properties)) {
    return Object.fromEntries(
      Object.entries(isObject(properties) ? properties : {}).map(([name, inner]) => [
        name,
        sampleOf(isObject(inner) ? inner : {}, root, depth + 1),
      ]),
    )
  }
  if (kind === 'array') return isObject(items) ? [sampleOf(items, root, depth + 1)] : []
  return typeof kind === 'string' && Object.hasOwn(scalars, kind) ? (scalars[kind] as Json) : null
}

const scalars: Readonly<Record<string, Json>> = { string: 'text', integer: 1, number: 1, boolean: true }
