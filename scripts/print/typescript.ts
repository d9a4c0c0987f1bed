import { isObject } from '../../src/lib/json.ts'
import { choicesOf, descriptionOf, type Field, propertiesOf, type Schema } from './fields.ts'

/** A JSON Schema as a TypeScript type. */
export const typeOf = (schema: Schema, indent = ''): string =>
  [...new Set(choicesOf(schema).flatMap((choice) => typesOf(choice, indent)))].join(' | ')

function typesOf(schema: Schema, indent: string): string[] {
  for (const keyword of ['$ref', 'allOf', 'not', 'prefixItems']) {
    if (keyword in schema) throw new Error(`scripts/print/typescript.ts cannot print ${keyword} yet: teach it to.`)
  }
  if (Array.isArray(schema.enum)) return schema.enum.map(literal)
  if (schema.const !== undefined) return [literal(schema.const)]
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
    case 'number':
      return [schema.type]
    case 'integer':
      return ['number']
    case 'array':
      return [`Array<${typeOf((schema.items ?? {}) as Schema, indent)}>`]
    case 'object':
      return [objectType(schema, indent)]
    default:
      return ['unknown']
  }
}

function objectType(schema: Schema, indent: string): string {
  const { additionalProperties: others } = schema
  const properties = propertiesOf(schema)
  if (properties.length === 0) {
    return `Record<string, ${isObject(others) ? typeOf(others as Schema, indent) : 'unknown'}>`
  }
  const members = properties.map((property) => member(property, `${indent}  `))
  if (others !== false && others !== undefined) members.push(`${indent}  [key: string]: unknown\n`)
  return `{\n${members.join('')}${indent}}`
}

/** A line of an object type, with its description above it. */
export const member = ({ name, schema, required }: Omit<Field, 'where'>, indent: string): string =>
  `${comment(descriptionOf(schema), indent)}${indent}${keyOf(name)}${required ? '' : '?'}: ${typeOf(schema, indent)}\n`

export const comment = (text: string, indent: string): string =>
  text === '' ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`

const keyOf = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name))

/** A value as TypeScript writes it: text in single quotes, keys bare where they can be. */
export function literal(value: unknown): string {
  if (typeof value === 'string') {
    return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
  }
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return entries.length === 0
    ? '{}'
    : `{ ${entries.map(([key, inner]) => `${keyOf(key)}: ${literal(inner)}`).join(', ')} }`
}
