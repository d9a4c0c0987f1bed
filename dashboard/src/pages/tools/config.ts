import { followed, kindOf, type Schema } from '../../schema-form/schema.ts'

/** Hints for forms (`x-form`) that JSON Schema cannot express. */
export interface FormHints {
  readonly control?: 'lines' | 'schema' | 'platform-actions'
  readonly placeholder?: string
  readonly add?: string
  readonly initial?: unknown
  readonly rows?: readonly (readonly string[])[]
  readonly last?: true
  readonly variants?: { readonly title: string; readonly options: readonly Variant[] }
}

export interface Variant {
  readonly title: string
  readonly fields: readonly string[]
  readonly required?: readonly string[]
}

export type Fields = Readonly<Record<string, unknown>>

export const hintsOf = (schema: Schema): FormHints => (schema['x-form'] ?? {}) as FormHints

/** Whether the value is a map of strings, such as headers. */
export const isPairs = ({ type, properties, additionalProperties }: Schema): boolean =>
  type === 'object' && properties === undefined && (additionalProperties as Schema | undefined)?.type === 'string'

/** The initial values in the form of a new tool. */
export function startConfig(schema: Schema, root: Schema = schema): Fields {
  const required = new Set(schema.required)
  const entries = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const value = startValue(followed(property, root), root, required.has(name))
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(entries)
}

function startValue(schema: Schema, root: Schema, isRequired: boolean): unknown {
  const { initial = schema.default } = hintsOf(schema)
  if (initial !== undefined || !isRequired) return initial
  const kind = kindOf(schema)
  return kind === 'object' ? startConfig(schema, root) : kind === 'text' ? '' : kind === 'array' ? [] : undefined
}

/** The value to send. Trims text, and omits optional text that is empty. */
export function cleaned(schema: Schema, value: unknown, root: Schema = schema): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const required = new Set(schema.required)
  const entries = Object.entries(value).flatMap(([name, inner]) => {
    const property = followed(schema.properties?.[name] ?? {}, root)
    const kind = kindOf(property)
    const clean = kind === 'text' && typeof inner === 'string' ? inner.trim() : inner
    if (clean === '' && kind === 'text' && !required.has(name)) return []
    return [[name, kind === 'object' ? cleaned(property, clean, root) : clean]]
  })
  return Object.fromEntries(entries)
}

/** The first variant with a value, or else the first variant. */
export const variantOf = (variants: readonly Variant[], value: Fields): Variant | undefined =>
  variants.find(({ fields }) => fields.some((field) => value[field] !== undefined)) ?? variants[0]
