import { isObject, type JsonObject } from '../../src/lib/json.ts'
import { inputSchema } from '../../src/operations/json-schema.ts'
import { type Operation, parametersOf, routeOf } from '../../src/operations/operation.ts'
import { nameOf } from '../../src/surfaces/rest/schemas.ts'

export type Schema = JsonObject

/** An input field of an operation, and its place in the request. */
export interface Field {
  readonly name: string
  readonly where: 'path' | 'query' | 'body'
  readonly schema: Schema
  readonly required: boolean
}

export function fieldsOf(operation: Operation): Field[] {
  const { method, path } = routeOf(operation)
  const input = inputSchema(operation)
  const parameters = new Map(parametersOf(path).map(({ name, field }) => [field, name]))
  const inBody = method !== 'GET' && method !== 'DELETE' && !operation.accepts
  const fields = propertiesOf(input).map((field): Field => {
    const name = parameters.get(field.name)
    if (name !== undefined) return { ...field, name, where: 'path', required: true }
    return described({ ...field, where: inBody ? 'body' : 'query' })
  })
  const first = fields.filter(({ where }) => where === 'path')
  return [...first, ...fields.filter(({ where }) => where !== 'path')]
}

/** The project has the same meaning in most operations, so that they do not describe it. */
function described(field: Field): Field {
  if (field.name !== 'project_id' || descriptionOf(field.schema) !== '') return field
  const description =
    field.where === 'query'
      ? 'Only what belongs to this project'
      : 'The project; by default, the only one that the key can access'
  return { ...field, schema: { ...field.schema, description } }
}

export const propertiesOf = (schema: Schema): Omit<Field, 'where'>[] =>
  Object.entries((schema.properties ?? {}) as Record<string, Schema>).map(([name, property]) => ({
    name,
    schema: property,
    required: ((schema.required ?? []) as string[]).includes(name),
  }))

/** The alternatives of a schema, including `null`. */
export function choicesOf(schema: Schema): Schema[] {
  const choices = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choices)) return (choices as Schema[]).flatMap(choicesOf)
  if (Array.isArray(schema.type)) return schema.type.map((type) => ({ ...schema, type }))
  return [schema]
}

/** The description of a field, or else of its first alternative that has one. */
export const descriptionOf = (schema: Schema): string =>
  [schema, ...choicesOf(schema)].flatMap(({ description }) =>
    typeof description === 'string' ? [description] : [],
  )[0] ?? ''

/** A field or nested field, as a row of a table. */
export interface Row {
  /** `execute.url`, `document.statement[].effect`. */
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly default: string
  readonly description: string
  /** Whether it is an object with any keys, whose values are text. */
  readonly texts?: true
}

export function rowOf({ name, schema, required }: Omit<Field, 'where'>): Row {
  return {
    name,
    type: [...new Set(choicesOf(schema).map(shortType))].join(' | '),
    required,
    default: schema.default === undefined || schema.default === null ? '' : JSON.stringify(schema.default),
    description: descriptionOf(schema),
    ...(choicesOf(schema).some(hasTexts) && { texts: true }),
  }
}

const hasTexts = ({ additionalProperties: values }: Schema): boolean =>
  isObject(values) && choicesOf(values as Schema).every(({ type }) => type === 'string')

export function innerRowsOf({ name, schema }: Pick<Field, 'name' | 'schema'>): Row[] {
  return choicesOf(schema).flatMap((choice) => {
    const inside = choice.type === 'array' && isObject(choice.items) ? (choice.items as Schema) : undefined
    if (inside) return innerRowsOf({ name: `${name}[]`, schema: inside })
    return propertiesOf(choice).flatMap((property) => {
      const within = { ...property, name: `${name}.${property.name}` }
      return [rowOf(within), ...innerRowsOf(within)]
    })
  })
}

/** A short name of a type. The fields of an object have their own rows. */
function shortType(schema: Schema): string {
  const name = nameOf(schema)
  if (name !== undefined) return name
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.type === 'array') {
    const inner = [...new Set(choicesOf((schema.items ?? {}) as Schema).map(shortType))].join(' | ')
    return inner.includes(' | ') ? `(${inner})[]` : `${inner}[]`
  }
  return typeof schema.type === 'string' ? schema.type : 'any'
}
