import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { findAt, followed, segmentsOf } from './pointer.ts'
import { bundleField } from './references.ts'
import { enumOf, hasType, isTextEnum, numberOf, numeric, patternOf, typeOf } from './schema-keywords.ts'

/**
 * Copies the schemas of a document that requests use, as JSON Schema 2020-12 that every model provider accepts. References
 * stay references, to `#/$defs/…`. Nothing is dereferenced: that turns 13 MB into 73, and recursive schemas have no end.
 *
 * Faulty keywords are corrected or left out, because one bad schema would make a provider refuse all tools of a request.
 */
export class RequestSchemas {
  /** The definitions that copied schemas refer to. */
  readonly defs = new Map<string, JsonObject>()
  readonly #root: JsonObject
  /** In 3.1, keywords beside a reference count. Before, they were ignored. */
  readonly #keepsSiblings: boolean
  readonly #names = new Map<string, string>()
  readonly #pending: [name: string, schema: Json][] = []

  constructor(root: JsonObject, version: string) {
    this.#root = root
    this.#keepsSiblings = version.startsWith('3.1')
  }

  /** A description that is passed replaces that of the schema. */
  copy(schema: Json | undefined, description?: string): JsonObject {
    const copied = this.#copy(description === undefined || schema === false ? schema : described(schema, description))
    for (let next = this.#pending.pop(); next; next = this.#pending.pop()) this.defs.set(next[0], this.#copy(next[1]))
    return copied
  }

  #copy(schema: Json | undefined): JsonObject {
    if (schema === false) return { not: {} }
    if (!isObject(schema)) return {}
    if (typeof schema.$ref === 'string') return this.#reference(schema, schema.$ref)
    const type = typeOf(schema.type)
    const copied: JsonObject = {}
    if (type !== undefined) copied.type = type
    this.#copyText(schema, copied)
    this.#copyValues(schema, copied, type)
    this.#copyObject(schema, copied)
    this.#copyArray(schema, copied, type)
    this.#copyCombinations(schema, copied)
    return copied
  }

  #reference(schema: JsonObject, reference: string): JsonObject {
    const name = this.#define(reference)
    const { description } = schema
    const about: JsonObject = typeof description === 'string' ? { description } : {}
    if (name === undefined)
      return { ...about, description: `${description ?? ''} (${reference} is not in the document)`.trim() }
    if (!this.#keepsSiblings) return { $ref: `#/$defs/${name}`, ...about }
    const { $ref: _, ...siblings } = schema
    return { $ref: `#/$defs/${name}`, ...this.#copy(siblings) }
  }

  /** The name of the definition behind a reference; undefined if the document does not contain it. */
  #define(reference: string): string | undefined {
    const known = this.#names.get(reference)
    if (known !== undefined) return known === '' ? undefined : known
    const target = findAt(this.#root, reference)
    // A reference that leads back to itself describes nothing.
    const end = followed(this.#root, target)
    const name = end || typeof target === 'boolean' ? this.#nameFor(reference) : ''
    this.#names.set(reference, name)
    if (name === '') return undefined
    this.defs.set(name, {})
    this.#pending.push([name, target as Json])
    return name
  }

  #nameFor(reference: string): string {
    const segments = segmentsOf(reference) ?? []
    const own = segments[0] === bundleField ? segments.slice(1) : segments
    const at = own.findIndex((part, index) => part === 'components' && own[index + 1] === 'schemas')
    const parts = at < 0 ? own : own.slice(at + 2)
    const wanted =
      parts
        .join('_')
        .replaceAll(/[^A-Za-z0-9_.-]+/g, '_')
        .slice(-100)
        .replace(/^__proto__$/, 'proto') || 'schema'
    let name = wanted
    for (let count = 2; this.defs.has(name); count++) name = `${wanted}_${count}`
    return name
  }

  #copyText(schema: JsonObject, copied: JsonObject): void {
    const { description, format, contentEncoding, deprecated } = schema
    if (typeof description === 'string' && description.trim() !== '') copied.description = description.trim()
    if (typeof format === 'string' && format !== '') copied.format = format
    if (typeof contentEncoding === 'string') copied.contentEncoding = contentEncoding
    if (deprecated === true) copied.deprecated = true
    // Raw bytes have no JSON type. Within JSON they can only be text.
    if (typeof schema.contentMediaType === 'string' && schema.type === undefined && !isObject(schema.properties)) {
      copied.type = 'string'
    }
  }

  #copyValues(schema: JsonObject, copied: JsonObject, type: string | string[] | undefined): void {
    const values = enumOf(schema.enum, type)
    if (values.length > 0 && isTextEnum(values)) copied.enum = values
    else if (values.length > 0) copied.description = oneOfThese(copied.description, values)
    if (schema.const !== undefined) copied.const = schema.const
    if (schema.default !== undefined && schema.default !== null) copied.default = schema.default
    if (Array.isArray(schema.examples) && schema.examples.length > 0) copied.examples = schema.examples
    const pattern = patternOf(schema.pattern)
    if (pattern !== undefined) copied.pattern = pattern
    for (const [keyword, accepts] of Object.entries(numeric)) {
      if (schema[keyword] === undefined) continue
      const value = numberOf(schema[keyword])
      if (accepts(value)) copied[keyword] = value
    }
    exclude(schema, copied, 'exclusiveMinimum', 'minimum')
    exclude(schema, copied, 'exclusiveMaximum', 'maximum')
    if (schema.uniqueItems === true) copied.uniqueItems = true
  }

  /** Fields that only responses have are left out. Every required field is listed, even if nothing is known about it. */
  #copyObject(schema: JsonObject, copied: JsonObject): void {
    const fields = isObject(schema.properties) ? Object.entries(schema.properties) : []
    const readOnly = new Set(fields.flatMap(([name, field]) => (isReadOnly(field as Json) ? [name] : [])))
    const properties = fields
      .filter(([name]) => !readOnly.has(name))
      .map(([name, field]): [string, Json] => [name, this.#copy(field as Json)])
    const required = requiredOf(schema).filter((name) => !readOnly.has(name))
    const known = new Set(properties.map(([name]) => name))
    for (const name of required) if (!known.has(name)) properties.push([name, {}])
    if (properties.length > 0) copied.properties = Object.fromEntries(properties)
    if (required.length > 0) copied.required = required
    const { additionalProperties, patternProperties } = schema
    if (typeof additionalProperties === 'boolean') copied.additionalProperties = additionalProperties
    else if (isObject(additionalProperties)) copied.additionalProperties = this.#copy(additionalProperties)
    if (isObject(patternProperties)) {
      const valid = Object.entries(patternProperties).filter(([pattern]) => patternOf(pattern) === pattern)
      if (valid.length > 0) {
        copied.patternProperties = Object.fromEntries(valid.map(([name, one]) => [name, this.#copy(one as Json)]))
      }
    }
  }

  /** OpenAI and Google refuse arrays without `items`. */
  #copyArray(schema: JsonObject, copied: JsonObject, type: string | string[] | undefined): void {
    const { items, prefixItems } = schema
    if (Array.isArray(prefixItems) && prefixItems.length > 0) {
      copied.prefixItems = prefixItems.map((one) => this.#copy(one))
    }
    if (isObject(items)) copied.items = this.#copy(items)
    else if (hasType(type, 'array')) copied.items = {}
  }

  #copyCombinations(schema: JsonObject, copied: JsonObject): void {
    const [all, any, one] = ['allOf', 'anyOf', 'oneOf'].map((keyword) => {
      const parts = schema[keyword]
      return Array.isArray(parts) ? parts.map((part) => this.#titled(part)) : []
    }) as [Json[], Json[], Json[]]
    // Without discriminators and fields of responses, more than one alternative may match. Google has no oneOf, either.
    if (any.length > 0 && one.length > 0) all.push({ anyOf: one })
    if (all.length > 0) copied.allOf = all
    if (any.length > 0 || one.length > 0) copied.anyOf = any.length > 0 ? any : one
    if (isObject(schema.not)) copied.not = this.#copy(schema.not)
  }

  /** Titles tell alternatives apart. Anywhere else they repeat the name. */
  #titled(part: Json): JsonObject {
    const copied = this.#copy(part)
    return isObject(part) && typeof part.title === 'string' && copied.$ref === undefined
      ? { title: part.title, ...copied }
      : copied
  }
}

const described = (schema: Json | undefined, description: string): JsonObject => ({
  ...(isObject(schema) && schema),
  description,
})

const mostListed = 50

function oneOfThese(description: Json | undefined, values: readonly Json[]): string {
  const some = values.slice(0, mostListed).map((value) => JSON.stringify(value))
  const hint = `One of ${some.join(', ')}${values.length > mostListed ? ', …' : ''}`
  return typeof description === 'string' ? `${description} ${hint}` : hint
}

/** Old dialects have a flag that excludes the limit. Some documents use it in 3.1, too. */
function exclude(schema: JsonObject, copied: JsonObject, flag: string, limit: string): void {
  if (schema[flag] !== true || copied[limit] === undefined) return
  copied[flag] = copied[limit]
  delete copied[limit]
}

export const requiredOf = ({ required }: JsonObject): string[] =>
  Array.isArray(required) ? [...new Set(required.filter((name) => typeof name === 'string'))] : []

export const isReadOnly = (schema: Json | undefined): boolean => isObject(schema) && schema.readOnly === true
