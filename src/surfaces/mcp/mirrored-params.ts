import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { RequestHeaders } from '../../server/exchange.ts'

/** An input field that a 2026 client repeats in the header `Mcp-Param-<name>`. */
interface Mirrored {
  readonly path: readonly string[]
  readonly header: string
  readonly isNumber: boolean
}

const known = new WeakMap<JsonObject, readonly Mirrored[]>()

/** Fields with `x-mcp-header`, at any depth of `properties`. The specification forbids it elsewhere. */
function mirroredIn(schema: JsonObject): readonly Mirrored[] {
  let found = known.get(schema)
  if (!found) {
    found = [...walk(schema, [])]
    known.set(schema, found)
  }
  return found
}

function* walk(schema: JsonObject, path: readonly string[]): Generator<Mirrored> {
  const { 'x-mcp-header': name, type, properties } = schema
  if (typeof name === 'string' && path.length > 0) {
    yield { path, header: `Mcp-Param-${name}`, isNumber: type === 'integer' || type === 'number' }
  }
  if (!isObject(properties)) return
  for (const [key, child] of Object.entries(properties)) {
    if (isObject(child)) yield* walk(child, [...path, key])
  }
}

export interface Mismatch {
  readonly header: string
  readonly body: string
}

/** A header that differs from the input, if there is one. */
export function findMismatch(schema: JsonObject, input: JsonObject, headers: RequestHeaders): Mismatch | undefined {
  for (const { path, header, isNumber } of mirroredIn(schema)) {
    const value = valueAt(input, path)
    const text = primitive(value)
    if (text === undefined) continue
    const sent = headers[header.toLowerCase()]
    const body = `${path.join('.')}=${JSON.stringify(value)}`
    if (sent === undefined) return { header, body: `the body carries ${body} but the ${header} header is absent` }
    const decoded = decodeHeader(sent)
    if (decoded === undefined) return { header, body: `the ${header} header carries an invalid Base64 sentinel value` }
    const isSame = decoded === text || (isNumber && decimal.test(decoded) && Number(decoded) === value)
    if (!isSame)
      return { header, body: `the ${header} header decodes to ${JSON.stringify(decoded)} but the body carries ${body}` }
  }
  return undefined
}

const decimal = /^-?\d+(\.\d+)?$/

const valueAt = (root: Json, path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>((node, key) => (isObject(node) ? node[key] : undefined), root)

/** Null, arrays, objects and numbers without an exact JSON form are not mirrored. */
function primitive(value: Json | undefined): string | undefined {
  if (typeof value === 'string' || typeof value === 'boolean') return String(value)
  if (typeof value !== 'number') return undefined
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value)
}

/** Decodes a header value: `=?base64?…?=` if it contains more than ASCII. Undefined if it is invalid. */
export function decodeHeader(value: string): string | undefined {
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(value) ?? []
  if (encoded === undefined) return value
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(encoded)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(encoded, 'base64'))
  } catch {
    return undefined
  }
}
