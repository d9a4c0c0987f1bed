export type Schema = {
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly $ref?: string
  readonly [keyword: string]: unknown
}

export type Kind = 'object' | 'array' | 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json'

/** Follows references within the same document. Broken and circular ones are edited as JSON. */
export function followed(schema: Schema, root: Schema): Schema {
  let at: Schema = schema
  for (let step = 0; at.$ref !== undefined && step < 10; step++) {
    const target = at.$ref.startsWith('#/') ? lookUp(root, at.$ref.slice(2).split('/')) : undefined
    if (!target) return {}
    const { $ref: _, ...beside } = at
    at = { ...target, ...beside }
  }
  return at.$ref === undefined ? at : {}
}

function lookUp(root: Schema, path: readonly string[]): Schema | undefined {
  let at: unknown = root
  for (const part of path) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[name] : undefined
  }
  return typeof at === 'object' && at !== null ? (at as Schema) : undefined
}

/** The control for a schema. Schemas that a form cannot represent are edited as JSON. */
export function kindOf(schema: Schema): Kind {
  if (schema.enum || schema.const !== undefined) return 'choice'
  if (schema.oneOf || schema.anyOf || schema.allOf || schema.not) return 'json'
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((type) => type !== 'null')
  if (types.length !== 1) return schema.properties ? 'object' : 'json'
  switch (types[0]) {
    case 'object':
      return schema.properties && Object.keys(schema.properties).length > 0 ? 'object' : 'json'
    case 'array':
      return schema.items && typeof schema.items === 'object' ? 'array' : 'json'
    case 'string':
      return 'text'
    case 'number':
    case 'integer':
    case 'boolean':
      return types[0]
    default:
      return 'json'
  }
}

/** The depth to which a form opens by default. A recursive schema would have no end. */
export const opensTo = 2

/** The initial value of a form: the defaults of the schema. */
export function startOf(schema: Schema, root: Schema, depth = 0): unknown {
  const target = followed(schema, root)
  if (target.default !== undefined) return target.default
  if (target.const !== undefined) return target.const
  if (depth >= opensTo || kindOf(target) !== 'object') return undefined
  const required = new Set(target.required)
  const entries = Object.entries(target.properties ?? {}).flatMap(([name, property]) => {
    const isWanted = required.has(name) || followed(property, root).default !== undefined
    const value = isWanted ? startOf(property, root, depth + 1) : undefined
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(entries)
}
