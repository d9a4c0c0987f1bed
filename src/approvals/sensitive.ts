import { isSecretField } from '../credentials/names.ts'
import { hidden } from '../credentials/redactor.ts'
import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import type { Sensitive } from '../model/approval.ts'

/** The path of a value that a schema declares secret: keys, and `*` for any key or index. */
export type SecretPath = readonly string[]

const maxNodes = 5000
const maxSchemaDepth = 30

const cache = new WeakMap<JsonObject, readonly SecretPath[]>()

/** Paths of input values that the schema declares secret with `writeOnly`, `format: password` or `x-secret`. */
export function secretPathsOf(schema: JsonObject): readonly SecretPath[] {
  let paths = cache.get(schema)
  if (!paths) {
    paths = new SchemaReader(schema).paths
    cache.set(schema, paths)
  }
  return paths
}

const isDeclaredSecret = (schema: JsonObject): boolean =>
  schema.writeOnly === true || schema.format === 'password' || schema['x-secret'] === true

class SchemaReader {
  readonly paths: SecretPath[] = []
  readonly #root: JsonObject
  readonly #seen = new Set<string>()
  #nodes = 0

  constructor(root: JsonObject) {
    this.#root = root
    this.#read(root, [])
  }

  #read(schema: Json | undefined, path: SecretPath): void {
    if (!isObject(schema) || path.length > maxSchemaDepth || ++this.#nodes > maxNodes) return
    const { $ref, properties, items, prefixItems, additionalProperties, patternProperties } = schema
    if (isDeclaredSecret(schema) && path.length > 0) {
      this.paths.push(path)
      return
    }
    if (typeof $ref === 'string') this.#follow($ref, path)
    for (const [key, inner] of Object.entries(isObject(properties) ? properties : {})) this.#read(inner, [...path, key])
    const patterns = isObject(patternProperties) ? Object.values(patternProperties) : []
    const anywhere = [items, additionalProperties, ...patterns, ...(Array.isArray(prefixItems) ? prefixItems : [])]
    for (const inner of anywhere) this.#read(inner, [...path, '*'])
    for (const word of ['allOf', 'anyOf', 'oneOf'] as const) {
      const branches = schema[word]
      for (const inner of Array.isArray(branches) ? branches : []) this.#read(inner, path)
    }
    for (const word of ['if', 'then', 'else'] as const) this.#read(schema[word], path)
  }

  /** Follows references within the same document. Stops at cycles. */
  #follow(reference: string, path: SecretPath): void {
    const here = `${reference} ${path.join('/')}`
    if (!reference.startsWith('#') || this.#seen.has(here)) return
    this.#seen.add(here)
    const parts = reference.slice(1).split('/').slice(1)
    const keys = parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    this.#read(
      keys.reduce<Json | undefined>((at, key) => (isObject(at) ? at[key] : undefined), this.#root),
      path,
    )
  }
}

/** Matches the platform's own API keys. */
export const ownKeys = /\bsk_[A-Za-z0-9]{20,}/g

const deepest = 200

/** The audience of a call's arguments: the person who reviews it, or an external system that gets notified. */
export type Reader = 'reviewer' | 'outside'

/**
 * The arguments of a call for display, and a list of the values that are hidden or look like credentials. For a reviewer,
 * only values that the schema declares secret, the platform's API keys and very deep values are hidden, because the
 * reviewer must know what will run.
 */
export function shownInput(
  input: JsonObject,
  paths: readonly SecretPath[],
  reader: Reader,
): { readonly value: JsonObject; readonly sensitive: Sensitive[] } {
  const sensitive: Sensitive[] = []
  const note = (path: string, value: Json, reason: Sensitive['reason'], isHidden: boolean) =>
    sensitive.push({ path, ...measured(value), reason, hidden: isHidden })

  const walk = (value: Json, path: string, secrets: readonly SecretPath[], depth: number): Json => {
    if (path !== '' && secrets.some((rest) => rest.length === 0)) {
      note(path, value, 'schema', true)
      return hidden
    }
    if (depth > deepest) {
      note(path, value, 'depth', true)
      return hidden
    }
    if (typeof value === 'string') {
      const clean = value.replaceAll(ownKeys, hidden)
      if (clean !== value) note(path, value, 'api_key', true)
      return clean
    }
    const within = (key: string) =>
      secrets.flatMap((rest) => (rest[0] === key || rest[0] === '*' ? [rest.slice(1)] : []))
    if (Array.isArray(value)) {
      return value.map((item, index) => walk(item, `${path}[${index}]`, within(String(index)), depth + 1))
    }
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => {
        const place = path === '' ? key : `${path}.${key}`
        const below = within(key)
        const looksSecret = isSecretField(key) && inner !== null && typeof inner !== 'boolean'
        if (looksSecret && !below.some((rest) => rest.length === 0)) {
          note(place, inner, 'name', reader === 'outside')
          if (reader === 'outside') return [key, hidden]
        }
        return [key, walk(inner, place, below, depth + 1)]
      }),
    )
  }

  const value = walk(input, '', paths, 0) as JsonObject
  return { value, sensitive }
}

/** The type and length of a value, to describe it without showing it. */
function measured(value: Json): Pick<Sensitive, 'type' | 'length'> {
  if (typeof value === 'string') return { type: 'string', length: [...value].length }
  if (Array.isArray(value)) return { type: 'array', length: value.length }
  if (isObject(value)) return { type: 'object', length: Object.keys(value).length }
  return { type: value === null ? 'null' : (typeof value as 'number' | 'boolean'), length: null }
}
