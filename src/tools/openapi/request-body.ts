import { randomBytes } from 'node:crypto'
import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { PlatformError } from '../../model/errors.ts'
import type { FieldEncoding, RequestBody } from './operation.ts'
import { deep, encode, inQuery, type Pair, plain } from './serialize.ts'

export interface StoredFile {
  readonly bytes: Uint8Array
  readonly contentType: string
  readonly name: string
}

/** Reads a stored file for the caller, who must have access to it. */
export type LoadFile = (fileId: string) => Promise<StoredFile>

export interface EncodedBody {
  readonly contentType: string
  readonly bytes: string | Uint8Array
}

/** Writes the body in its media type; undefined if the input has none and none is required. */
export async function encodeBody(
  body: RequestBody,
  input: JsonObject,
  parameters: ReadonlySet<string>,
  loadFile: LoadFile,
): Promise<EncodedBody | undefined> {
  const { kind, mediaType: contentType } = body
  const value = body.property === undefined ? fieldsOf(body, input, parameters) : input[body.property]
  const isEmpty = value === undefined || (body.property === undefined && Object.keys(value as object).length === 0)
  if (isEmpty && !body.required) return undefined
  if (kind === 'json') return { contentType, bytes: JSON.stringify(value ?? {}) }
  if (kind === 'text') return { contentType, bytes: plain(value ?? '') }
  if (kind === 'binary') {
    const file = await fileOf(value ?? '', body.property ?? 'body', loadFile)
    return { contentType, bytes: file.bytes }
  }
  // Some documents describe a form as text.
  if (kind === 'form' && typeof value === 'string') return { contentType, bytes: value }
  const fields = isObject(value) ? value : {}
  return kind === 'form' ? { contentType, bytes: formOf(fields, body) } : multipartOf(fields, body, loadFile)
}

/** The input without parameters, under the names that the service expects. */
function fieldsOf({ renamed = {} }: RequestBody, input: JsonObject, parameters: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(
    Object.entries(input)
      .filter(([name]) => !parameters.has(name))
      .map(([name, value]) => [Object.hasOwn(renamed, name) ? (renamed[name] as string) : name, value]),
  )
}

const encodingFor = ({ encoding = {} }: RequestBody, name: string): FieldEncoding =>
  Object.hasOwn(encoding, name) ? (encoding[name] as FieldEncoding) : {}

/** By default lists are repeated, and objects are JSON. */
function formOf(fields: JsonObject, body: RequestBody): string {
  const pairs = Object.entries(fields).flatMap(([name, value]): Pair[] => {
    if (value === null || value === undefined) return []
    const { style, explode, contentType } = encodingFor(body, name)
    if (style === 'deepObject') return deep(encode(name), value)
    if (isObject(value) && style === undefined && explode === undefined) return [[encode(name), encode(plain(value))]]
    if (contentType !== undefined && /json/.test(contentType)) return [[encode(name), encode(JSON.stringify(value))]]
    const own = style ?? 'form'
    return inQuery({ in: 'query', name, property: name, style: own, explode: explode ?? own === 'form' }, value)
  })
  return pairs.map(([name, value]) => `${name}=${value}`).join('&')
}

interface Part {
  readonly name: string
  readonly filename?: string
  readonly contentType?: string | undefined
  readonly bytes: Uint8Array
}

async function multipartOf(fields: JsonObject, body: RequestBody, loadFile: LoadFile): Promise<EncodedBody> {
  const parts: Part[] = []
  for (const [name, value] of Object.entries(fields)) {
    const { contentType } = encodingFor(body, name)
    // A list is one part for each item, unless it is to be written as JSON.
    const isOne = !Array.isArray(value) || (contentType !== undefined && /json/.test(contentType))
    for (const one of isOne ? [value] : value) {
      if (one === null || one === undefined) continue
      parts.push(await partOf(name, one, contentType, loadFile))
    }
  }
  const boundary = `quartermaster-${randomBytes(16).toString('hex')}`
  const bytes = Buffer.concat([...parts.flatMap((part) => printed(part, boundary)), Buffer.from(`--${boundary}--\r\n`)])
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes }
}

async function partOf(name: string, value: Json, contentType: string | undefined, loadFile: LoadFile): Promise<Part> {
  if (isFileValue(value)) {
    const file = await fileOf(value, name, loadFile)
    const type = contentType && !contentType.includes('*') ? contentType : file.contentType
    return { name, filename: file.name, contentType: type, bytes: file.bytes }
  }
  const type = contentType ?? (typeof value === 'object' ? 'application/json' : undefined)
  return { name, contentType: type, bytes: Buffer.from(plain(value)) }
}

/** As browsers do. */
const quoted = (name: string) =>
  name.toWellFormed().replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

const printed = ({ name, filename, contentType, bytes }: Part, boundary: string): Uint8Array[] => [
  Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"${
      filename === undefined ? '' : `; filename="${quoted(filename)}"`
    }${contentType === undefined ? '' : `\r\nContent-Type: ${contentType.replaceAll(/[\r\n]/g, ' ')}`}\r\n\r\n`,
  ),
  bytes,
  Buffer.from('\r\n'),
]

const isFileValue = (value: Json): value is JsonObject =>
  isObject(value) && (typeof value.content_base64 === 'string' || typeof value.file_id === 'string')

/** `{content_base64 | file_id, filename?}`, or text. */
async function fileOf(value: Json, path: string, loadFile: LoadFile): Promise<StoredFile> {
  if (typeof value === 'string') return { bytes: Buffer.from(value), contentType: 'text/plain', name: 'file.txt' }
  const { content_base64: content, file_id: id, filename } = isObject(value) ? value : ({} as JsonObject)
  const named = typeof filename === 'string' && filename !== '' ? filename : undefined
  if (typeof id === 'string' && content === undefined) {
    const file = await loadFile(id)
    return { ...file, name: named ?? file.name }
  }
  if (typeof content !== 'string') throw fault(path, 'needs content_base64 or file_id')
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(content)) throw fault(`${path}.content_base64`, 'is not valid base64')
  return { bytes: Buffer.from(content, 'base64'), contentType: 'application/octet-stream', name: named ?? 'file' }
}

const fault = (path: string, message: string) => new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })
