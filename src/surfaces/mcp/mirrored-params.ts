import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { RequestHeaders } from '../../server/exchange.ts'

/** A field of a tool's input that a client of 2026 repeats in the header `Mcp-Param-<name>`. */
interface Mirrored {
  readonly path: readonly string[]
  readonly header: string
  readonly isNumber: boolean
}

const known = new WeakMap<JsonObject, readonly Mirrored[]>()

/** The fields that declare `x-mcp-header`, at any depth of `properties`; anywhere else the specification forbids it. */
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
    if (isObject(child)) yield* walk(child as JsonObject, [...path, key])
  }
}

export interface Mismatch {
  readonly header: string
  readonly body: string
}

/** Where headers do not repeat what the input says; undefined if they do. */
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
  path.reduce<Json | undefined>((node, key) => (isObject(node) ? (node as JsonObject)[key] : undefined), root)

/** Null, lists, objects and numbers that JSON cannot keep exactly are not repeated. */
function primitive(value: Json | undefined): string | undefined {
  if (typeof value === 'string' || typeof value === 'boolean') return String(value)
  if (typeof value !== 'number') return undefined
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value)
}

/** A header value, which is encoded as `=?base64?…?=` if it holds more than ASCII; undefined if that is not valid. */
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
