import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { FieldEncoding, RequestBody } from './operation.ts'
import { followed } from './pointer.ts'
import { typeOf } from './schema-keywords.ts'
import { isReadOnly, requiredOf } from './schemas.ts'

type Kind = RequestBody['kind']

/** A body as the document defines it, in the media type that was chosen. */
export interface BodyDefinition {
  readonly mediaType: string
  readonly kind: Kind
  readonly schema: Json | undefined
  readonly encoding: Readonly<Record<string, FieldEncoding>>
}

const order: readonly Kind[] = ['json', 'form', 'multipart', 'text', 'binary']

/** The media type to send: JSON if there is a choice. Undefined if none of them can be built. */
export function chooseBody(root: JsonObject, content: JsonObject): BodyDefinition | undefined {
  const known = Object.entries(content).flatMap(([type, media]): BodyDefinition[] => {
    const schema = isObject(media) ? media.schema : undefined
    const kind = kindOf(type, root, schema)
    if (kind === undefined) return []
    const mediaType = type.includes('*') ? fallbackTypes[kind] : type
    return [{ mediaType, kind, schema, encoding: encodingOf(media as Json) }]
  })
  // A form with files can only be sent as multipart.
  const hasFiles = known.some(
    ({ kind, schema }) =>
      kind === 'multipart' && Object.values(fieldsOf(root, schema)).some((field) => isFile(root, field)),
  )
  const rank = ({ kind }: BodyDefinition) => (hasFiles && kind === 'form' ? order.length : order.indexOf(kind))
  return known.sort((a, b) => rank(a) - rank(b))[0]
}

const fallbackTypes: Readonly<Record<Kind, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data',
  text: 'text/plain',
  binary: 'application/octet-stream',
}

function kindOf(type: string, root: JsonObject, schema: Json | undefined): Kind | undefined {
  const [name = ''] = type.toLowerCase().split(';')
  const media = name.trim()
  if (/[/+]json$/.test(media) || media === 'json') return 'json'
  if (media === 'application/x-www-form-urlencoded') return 'form'
  if (media === 'multipart/form-data' || media === 'multipart/*') return 'multipart'
  if (media.startsWith('multipart/')) return undefined
  if (media.startsWith('text/') || /xml$|yaml$|graphql|javascript|csv|ndjson|jsonl|sparql|x-json/.test(media))
    return 'text'
  if (media.startsWith('*/') || media === 'application/*') return isFile(root, schema) ? 'binary' : 'json'
  return 'binary'
}

function encodingOf(media: Json): Record<string, FieldEncoding> {
  const encoding = isObject(media) && isObject(media.encoding) ? media.encoding : {}
  return Object.fromEntries(
    Object.entries(encoding).flatMap(([name, one]) => {
      if (!isObject(one)) return []
      const { style, explode, contentType } = one
      return [
        [
          name,
          {
            ...(typeof style === 'string' && { style }),
            ...(typeof explode === 'boolean' && { explode }),
            ...(typeof contentType === 'string' && { contentType: contentType.split(',')[0]?.trim() ?? '' }),
          },
        ],
      ]
    }),
  )
}

/** Raw bytes: a file in a form, or the whole body. */
export function isFile(root: JsonObject, schema: Json | undefined): boolean {
  const found = followed(root, schema)
  if (!found) return false
  const { format, type, contentMediaType, contentEncoding, properties } = found
  if (format === 'binary' || type === 'file') return true
  return typeof contentMediaType === 'string' && type === undefined && contentEncoding === undefined && !properties
}

export const isFileList = (root: JsonObject, schema: Json | undefined): boolean => {
  const found = followed(root, schema)
  return found !== undefined && typeOf(found.type) === 'array' && isFile(root, found.items)
}

/** What an argument looks like that stands for bytes. */
export const fileSchema = (description: string | undefined): JsonObject => ({
  type: 'object',
  description: `${description ? `${description.trim()} ` : ''}A file: content_base64, or the file_id of a stored file`,
  properties: {
    content_base64: { type: 'string' },
    file_id: { type: 'string' },
    filename: { type: 'string' },
  },
  additionalProperties: false,
})

/** An object schema with the fields of all its parts. */
export interface FlatObject {
  readonly fields: ReadonlyMap<string, Json>
  readonly required: readonly string[]
  readonly additional: Json | undefined
}

const deepest = 20

/** The fields of an object, to offer them as arguments; undefined if the value is no plain object. */
export function flatten(root: JsonObject, schema: Json | undefined, depth = 0): FlatObject | undefined {
  const found = followed(root, schema)
  if (!found || depth > deepest) return undefined
  const type = typeOf(found.type)
  if (type !== undefined && ![type].flat().includes('object')) return undefined
  if (found.not !== undefined || found.patternProperties !== undefined || found.if !== undefined) return undefined
  if (hasAlternatives(found.anyOf) || hasAlternatives(found.oneOf)) return undefined
  const fields = new Map<string, Json>()
  const required = new Set(requiredOf(found))
  let additional = found.additionalProperties
  const own = isObject(found.properties) ? found.properties : {}
  for (const [name, field] of Object.entries(own)) if (!isReadOnly(field)) fields.set(name, field)
  for (const part of Array.isArray(found.allOf) ? found.allOf : []) {
    const flat = flatten(root, part, depth + 1)
    if (!flat) return undefined
    for (const [name, field] of flat.fields) {
      const before = fields.get(name)
      fields.set(name, before === undefined ? field : { allOf: [before, field] })
    }
    for (const name of flat.required) required.add(name)
    additional ??= flat.additional
  }
  for (const name of required) if (!fields.has(name) && !isReadOnly(own[name])) fields.set(name, {})
  return { fields, required: [...required].filter((name) => fields.has(name)), additional }
}

/** Alternatives that only differ in which fields are required do not matter: the service checks them. */
const hasAlternatives = (parts: Json | undefined): boolean =>
  Array.isArray(parts) &&
  parts.some((part) => !isObject(part) || Object.keys(part).some((keyword) => keyword !== 'required'))

const fieldsOf = (root: JsonObject, schema: Json | undefined): Record<string, Json> =>
  Object.fromEntries(flatten(root, schema)?.fields ?? [])
