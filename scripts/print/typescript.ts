import { isObject } from '../../src/lib/json.ts'
import { nameOf } from '../../src/surfaces/rest/schemas.ts'
import { choicesOf, descriptionOf, type Field, propertiesOf, type Schema } from './fields.ts'

/** A JSON Schema as a TypeScript type. */
export const typeOf = (schema: Schema, indent = ''): string =>
  [...new Set(choicesOf(schema).flatMap((choice) => typesOf(choice, indent)))].join(' | ')

function typesOf(schema: Schema, indent: string): string[] {
  for (const keyword of ['allOf', 'not', 'prefixItems']) {
    if (keyword in schema) throw new Error(`scripts/print/typescript.ts cannot print ${keyword} yet: teach it to.`)
  }
  const name = nameOf(schema)
  if (name !== undefined) return [name]
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
  if (others !== false && others !== undefined) members.push('[key: string]: unknown')
  return block(members, indent)
}

/** The members of an object type in braces, on one line if they fit and none has a description. */
export function block(members: readonly string[], indent: string): string {
  const line = `{ ${members.join('; ')} }`
  if (line.length <= 100 && !/\n|\/\*\*/.test(line)) return line
  return `{\n${members.map((one) => `${indent}  ${one}\n`).join('')}${indent}}`
}

/** A member of an object type, with its description above it. */
export const member = ({ name, schema, required }: Omit<Field, 'where'>, indent: string): string =>
  `${comment(descriptionOf(schema), indent)}${keyOf(name)}${required ? '' : '?'}: ${typeOf(schema, indent)}`

/** A description as a JSDoc comment, and the indentation of the next line. */
export const comment = (text: string, indent: string): string =>
  text === '' ? '' : `/** ${text.replaceAll('*/', '*\\/')} */\n${indent}`

const keyOf = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name))

/** A value as a TypeScript literal, with single quotes, and unquoted keys if possible. */
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
