import { isObject, type JsonObject } from '../lib/json.ts'
import type { Action } from '../model/tool.ts'

type Aliased = Pick<Action, 'schema' | 'aliases'>

const properties = (schema: JsonObject): JsonObject => (isObject(schema.properties) ? schema.properties : {})

/** Replaces aliases with the fields' own names: `document_id` becomes `id`. If both are present, the own name wins. */
export function unaliased(input: JsonObject, { aliases }: Aliased): JsonObject {
  if (!aliases || !Object.keys(aliases).some((alias) => Object.hasOwn(input, alias))) return input
  const own: JsonObject = {}
  for (const [key, value] of Object.entries(input)) {
    const name = Object.hasOwn(aliases, key) ? (aliases[key] as string) : key
    if (name === key || !Object.hasOwn(input, name)) own[name] = value
  }
  return own
}

/** The presets that apply to this action: those of its fields, and all others if it allows additional properties. */
export function presetsFor(presets: JsonObject | null, action: Aliased): JsonObject {
  if (!presets) return {}
  const known = properties(action.schema)
  const takesOthers = action.schema.additionalProperties !== false
  return Object.fromEntries(
    Object.entries(unaliased(presets, action)).filter(([key]) => Object.hasOwn(known, key) || takesOthers),
  )
}

/** The schema that callers see, without preset fields. */
export function shownSchema(schema: JsonObject, presets: JsonObject): JsonObject {
  const hidden = new Set(Object.keys(presets))
  if (hidden.size === 0) return schema
  const shown: JsonObject = { ...schema }
  if (isObject(schema.properties)) {
    shown.properties = Object.fromEntries(Object.entries(properties(schema)).filter(([key]) => !hidden.has(key)))
  }
  if (Array.isArray(schema.required)) {
    const required = schema.required.filter((key) => !hidden.has(String(key)))
    if (required.length > 0) shown.required = required
    else delete shown.required
  }
  return shown
}
