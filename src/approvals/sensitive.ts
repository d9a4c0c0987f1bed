import { hidden } from '../credentials/redactor.ts'
import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import type { Sensitive } from '../model/approval.ts'

/** Where a schema declares a secret: keys, and `*` for any key or index. */
export type SecretPath = readonly string[]

const mostNodes = 5000
const deepestSchema = 30

const known = new WeakMap<JsonObject, readonly SecretPath[]>()

/** Where the input of an action holds what its schema declares secret: `writeOnly`, `format: password` or `x-secret`. */
export function secretPathsOf(schema: JsonObject): readonly SecretPath[] {
  let paths = known.get(schema)
  if (!paths) {
    paths = new SchemaReader(schema).paths
    known.set(schema, paths)
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
    if (!isObject(schema) || path.length > deepestSchema || ++this.#nodes > mostNodes) return
    const { $ref, properties, items, prefixItems, additionalProperties, patternProperties } = schema as JsonObject
    if (isDeclaredSecret(schema as JsonObject) && path.length > 0) {
      this.paths.push(path)
      return
    }
    if (typeof $ref === 'string') this.#follow($ref, path)
    for (const [key, inner] of Object.entries(isObject(properties) ? properties : {}))
      this.#read(inner as Json, [...path, key])
    const patterns = isObject(patternProperties) ? Object.values(patternProperties) : []
    const anywhere = [items, additionalProperties, ...patterns, ...(Array.isArray(prefixItems) ? prefixItems : [])]
    for (const inner of anywhere) this.#read(inner as Json, [...path, '*'])
    for (const word of ['allOf', 'anyOf', 'oneOf'] as const) {
      const branches = (schema as JsonObject)[word]
      for (const inner of Array.isArray(branches) ? branches : []) this.#read(inner, path)
    }
    for (const word of ['if', 'then', 'else'] as const) this.#read((schema as JsonObject)[word], path)
  }

  /** Within the same document. A circle ends where it comes back to the same place. */
  #follow(reference: string, path: SecretPath): void {
    const here = `${reference} ${path.join('/')}`
    if (!reference.startsWith('#') || this.#seen.has(here)) return
    this.#seen.add(here)
    const parts = reference.slice(1).split('/').slice(1)
    const keys = parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    this.#read(
      keys.reduce<Json | undefined>(
        (at, key) => (isObject(at) ? ((at as JsonObject)[key] as Json) : undefined),
        this.#root,
      ),
      path,
    )
  }
}

/** Field names under which people send credentials, compared without case, dashes and underscores. */
const secretFields = new Set([
  'password',
  'passwd',
  'passphrase',
  'secret',
  'clientsecret',
  'token',
  'accesstoken',
  'refreshtoken',
  'idtoken',
  'sessiontoken',
  'apikey',
  'xapikey',
  'privatekey',
  'secretkey',
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'credentials',
])

/** Whether a value under this name is taken for a credential, though nobody declared it one. */
export const isSecretField = (key: string): boolean => secretFields.has(key.toLowerCase().replaceAll(/[-_]/g, ''))

/** API keys of our own, wherever they stand. */
export const ownKeys = /\bsk_[A-Za-z0-9]{20,}/g

const deepest = 200

/** Who reads the arguments of a call: the person who decides on it, or a system outside, which is told of it. */
export type Reader = 'reviewer' | 'outside'

/**
 * The arguments of a call as people see them, and a list of what is hidden or looks like a credential. A reviewer sees all
 * but what the schema declares secret and our own keys, because what runs must be judged; and is told of what is hidden.
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
      Object.entries(value as JsonObject).map(([key, inner]) => {
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

/** What can be told of a value without showing it. */
function measured(value: Json): Pick<Sensitive, 'type' | 'length'> {
  if (typeof value === 'string') return { type: 'string', length: [...value].length }
  if (Array.isArray(value)) return { type: 'array', length: value.length }
  if (isObject(value)) return { type: 'object', length: Object.keys(value).length }
  return { type: value === null ? 'null' : (typeof value as 'number' | 'boolean'), length: null }
}
