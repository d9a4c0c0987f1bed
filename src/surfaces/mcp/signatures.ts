import { isObject, type JsonObject } from '../../lib/json.ts'
import type { Action } from '../../model/tool.ts'

/** The signature of an action, for a model that writes a program. */
export const signatureOf = ({ app, name, outputSchema }: Action, schema: JsonObject): string =>
  `call(${JSON.stringify(`${app}:${name}`)}, input: ${typeIn(schema)}): Promise<${outputSchema ? typeIn(outputSchema) : 'any'}>`

const maxDepth = 4

/** A TypeScript type for a JSON Schema. What TypeScript cannot express becomes `any`. */
function typeIn(schema: unknown, depth = 0): string {
  if (!isObject(schema) || depth > maxDepth) return 'any'
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ') || 'any'
  const types = [schema.type].flat()
  return [...new Set(types.map((type) => oneType(type, schema, depth)))].join(' | ')
}

function oneType(type: unknown, schema: JsonObject, depth: number): string {
  if (type === 'string' || type === 'boolean' || type === 'null') return type
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'array') return `(${typeIn(schema.items, depth + 1)})[]`
  if (!isObject(schema.properties)) return type === 'object' ? '{ [name: string]: any }' : 'any'
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const fields = Object.entries(schema.properties).map(([name, inner]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
    return `${key}${required.has(name) ? '' : '?'}: ${typeIn(inner, depth + 1)}`
  })
  return `{ ${fields.join('; ')} }`
}
