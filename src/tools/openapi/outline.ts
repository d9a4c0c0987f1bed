import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { followed } from './pointer.ts'
import { typeOf } from './schema-keywords.ts'

const largest = 4096
const maxFields = 60

/** What a response contains, in a few levels and without references, so that it cannot recurse. */
export function outline(root: JsonObject, schema: Json | undefined): JsonObject | undefined {
  for (const depth of [3, 2, 1]) {
    const result = outlined(root, schema, depth)
    if (JSON.stringify(result).length <= largest) return Object.keys(result).length > 0 ? result : undefined
  }
  return undefined
}

function outlined(root: JsonObject, schema: Json | undefined, depth: number): JsonObject {
  const found = followed(root, schema)
  if (!found) return {}
  const type = typeOf(found.type)
  const result: JsonObject = type === undefined ? {} : { type }
  const fields = fieldsOf(root, found, 0)
  if (fields.length > 0) {
    result.type = type ?? 'object'
    if (depth > 0) {
      const shown = fields.slice(0, maxFields)
      result.properties = Object.fromEntries(shown.map(([name, field]) => [name, outlined(root, field, depth - 1)]))
    }
  } else if (isObject(found.items)) result.items = depth > 0 ? outlined(root, found.items, depth - 1) : {}
  else if (type === 'array') result.items = {}
  return result
}

const deepest = 5

function fieldsOf(root: JsonObject, schema: JsonObject, depth: number): [string, Json][] {
  const own = isObject(schema.properties) ? (Object.entries(schema.properties) as [string, Json][]) : []
  if (depth === deepest) return own
  const parts = (Array.isArray(schema.allOf) ? schema.allOf : []).flatMap((part) => {
    const found = followed(root, part)
    return found ? fieldsOf(root, found, depth + 1) : []
  })
  return parts.length > 0 ? [...parts, ...own] : own
}
