import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { chooseBody, fileSchema, flatten, isFile, isFileList } from './body.ts'
import type { ApiDocument } from './document.ts'
import { InputFields } from './input.ts'
import { nameOperations } from './names.ts'
import {
  type ApiOperation,
  type ApiServer,
  type ApiSnapshot,
  keyOf,
  type LeftOut,
  NotCallable,
  type Parameter,
  type RequestBody,
  type SecurityScheme,
} from './operation.ts'
import { outline } from './outline.ts'
import { findPaging } from './paging.ts'
import { type FoundParameter, readParameters } from './parameters.ts'
import { followed } from './pointer.ts'
import { SchemaBuilder, shortened } from './reduce.ts'
import { RequestSchemas } from './schemas.ts'
import { readRequirements, readSecuritySchemes, withSchemes } from './security.ts'
import { readServer } from './servers.ts'

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']

/** The longest description of a tool that OpenAI accepts. */
const longestDescription = 1024

interface DocumentOperation {
  readonly key: string
  readonly method: string
  readonly path: string
  readonly operationId: string | undefined
  readonly operation: JsonObject
  readonly item: JsonObject
}

/** Converts all operations of a document. `before` has the names of the last import, by method and path. */
export function convert({ root, version }: ApiDocument, before?: ReadonlyMap<string, string>): ApiSnapshot {
  const found = findOperations(root)
  const names = nameOperations(found, before)
  const converter = new Converter(root, version)
  const operations: ApiOperation[] = []
  const leftOut: LeftOut[] = []
  for (const one of found) {
    try {
      operations.push(converter.convert(one, names.get(one.key) ?? ''))
    } catch (error) {
      if (!(error instanceof NotCallable)) throw error
      leftOut.push({ operation: one.key, reason: error.message })
    }
  }
  const { title, description } = isObject(root.info) ? root.info : {}
  const server = converter.server
  return {
    title: typeof title === 'string' ? title.slice(0, 200) : '',
    description: typeof description === 'string' ? shortened(description.trim(), longestDescription) : '',
    version,
    ...(server && { server }),
    security: converter.security,
    operations: converter.fitted(operations),
    defs: converter.defs,
    leftOut,
  }
}

function findOperations(root: JsonObject): DocumentOperation[] {
  const paths = isObject(root.paths) ? root.paths : {}
  return Object.entries(paths).flatMap(([path, value]) => {
    const item = followed(root, value as Json)
    if (!item || !path.startsWith('/')) return []
    return methods.flatMap((method) => {
      const operation = item[method]
      if (!isObject(operation)) return []
      const { operationId } = operation
      const name = method.toUpperCase()
      const id = typeof operationId === 'string' ? operationId : undefined
      return [{ key: keyOf({ method: name, path }), method: name, path, operationId: id, operation, item }]
    })
  })
}

class Converter {
  readonly server: ApiServer | undefined
  readonly security: Readonly<Record<string, SecurityScheme>>
  readonly #root: JsonObject
  readonly #schemas: RequestSchemas

  constructor(root: JsonObject, version: string) {
    this.#root = root
    this.#schemas = new RequestSchemas(root, version)
    this.security = readSecuritySchemes(root)
    this.server = readServer(root.servers)
  }

  get defs(): ReadonlyMap<string, JsonObject> {
    return this.#schemas.defs
  }

  /** Decides how far each schema has to be reduced. */
  fitted(operations: readonly ApiOperation[]): ApiOperation[] {
    const builder = new SchemaBuilder((name) => this.defs.get(name))
    return operations.map((one) => {
      const { step, size, whole } = builder.fit(one.schema)
      return { ...one, step, size, wholeSize: whole }
    })
  }

  convert({ method, path, operation, item }: DocumentOperation, name: string): ApiOperation {
    if (method === 'TRACE') throw new NotCallable('TRACE requests are not supported')
    const fields = new InputFields()
    const found = readParameters(this.#root, path, item, operation, this.security)
    const parameters = this.#addParameters(found.parameters, fields)
    const body = this.#readBody(operation, fields)
    const response = this.#successOf(operation)
    const paging = findPaging(parameters)
    const isJson = response !== undefined && /json/.test(response.accept)
    const select = isJson && method !== 'HEAD' ? fields.add('select', selectSchema, 'result', false) : undefined
    const server = readServer(operation.servers) ?? readServer(item.servers)
    const output = isJson ? outline(this.#root, response.schema) : undefined
    const { summary, deprecated } = operation
    return {
      name,
      method,
      path,
      tags: Array.isArray(operation.tags) ? operation.tags.filter((tag) => typeof tag === 'string') : [],
      ...(typeof summary === 'string' && summary.trim() !== '' && { title: shortened(summary.trim(), 200) }),
      description: describe(operation, method, path),
      ...(deprecated === true && { deprecated }),
      schema: fields.schema,
      ...{ step: 0, size: 0, wholeSize: 0 },
      ...(output && { output }),
      parameters,
      ...(body && { body }),
      ...(response && { accept: response.accept }),
      ...(select !== undefined && { select }),
      ...(paging && { paging }),
      ...(server && { server }),
      security: withSchemes(readRequirements(operation.security ?? this.#root.security, this.security), found.schemes),
    }
  }

  #addParameters(found: readonly FoundParameter[], fields: InputFields): Parameter[] {
    return found.map(({ schema, description, required, ...parameter }) => {
      const copied = this.#schemas.copy(schema, description)
      return { ...parameter, property: fields.add(parameter.name, copied, parameter.in, required) }
    })
  }

  #readBody(operation: JsonObject, fields: InputFields): RequestBody | undefined {
    if (operation.requestBody === undefined) return undefined
    const body = followed(this.#root, operation.requestBody)
    if (!body) throw new NotCallable('its requestBody refers to something that is not in the document')
    const content = isObject(body.content) ? body.content : {}
    const chosen = chooseBody(this.#root, content)
    if (!chosen) {
      if (Object.keys(content).length === 0) return undefined
      throw new NotCallable(`a body of type ${Object.keys(content).join(', ').slice(0, 200)} cannot be built`)
    }
    const { mediaType, kind, schema, encoding } = chosen
    const required = body.required === true
    const about = typeof body.description === 'string' && body.description !== '' ? body.description : undefined
    const facts = { mediaType, kind, ...(Object.keys(encoding).length > 0 && { encoding }) }
    const asProperty = (value: JsonObject): RequestBody => ({
      ...facts,
      property: fields.add('body', value, 'request', required),
      required,
    })
    if (kind === 'binary') return asProperty(fileSchema(about))
    if (kind === 'text')
      return asProperty({ type: 'string', description: `${about ? `${about} ` : ''}Sent as ${mediaType}` })
    const flat = flatten(this.#root, schema)
    if (!flat || flat.fields.size === 0) {
      if (flat && flat.additional === false) return { ...facts, required }
      const copied = this.#schemas.copy(schema)
      return asProperty(copied.description === undefined && about ? { ...copied, description: about } : copied)
    }
    const renamed: [string, string][] = []
    for (const [name, field] of flat.fields) {
      const copied = kind === 'multipart' ? this.#copyPart(field) : this.#schemas.copy(field)
      const property = fields.add(name, copied, 'body', flat.required.includes(name))
      if (property !== name) renamed.push([property, name])
    }
    if (flat.additional === true || isObject(flat.additional)) fields.additional = this.#schemas.copy(flat.additional)
    return { ...facts, ...(renamed.length > 0 && { renamed: Object.fromEntries(renamed) }), required }
  }

  #copyPart(field: Json): JsonObject {
    const about = followed(this.#root, field)?.description
    const description = typeof about === 'string' ? about : undefined
    if (isFile(this.#root, field)) return fileSchema(description)
    if (isFileList(this.#root, field)) return { type: 'array', items: fileSchema(description) }
    return this.#schemas.copy(field)
  }

  /** The media types and the schema of the first successful response. */
  #successOf({ responses }: JsonObject): { readonly accept: string; readonly schema: Json | undefined } | undefined {
    const all = isObject(responses) ? responses : {}
    const code = ['200', '201', '202', '203', '2XX', '2xx', 'default'].find((one) => Object.hasOwn(all, one))
    const response = code === undefined ? undefined : followed(this.#root, all[code])
    const content = response && isObject(response.content) ? response.content : {}
    const types = Object.keys(content).filter((type) => /^[\w.+*-]+\/[\w.+*-]+(\s*;.*)?$/.test(type))
    const json = types.find((type) => /json/.test(type)) ?? types[0]
    if (json === undefined) return undefined
    const media = content[json]
    return { accept: json, schema: isObject(media) ? media.schema : undefined }
  }
}

const selectSchema: JsonObject = {
  type: 'array',
  items: { type: 'string' },
  description: 'Fields of the result to keep, such as "id" or "user.name". In a list they apply to each item',
}

function describe({ summary, description, deprecated }: JsonObject, method: string, path: string): string {
  const texts = [summary, description].flatMap((text) =>
    typeof text === 'string' && text.trim() !== '' ? [text.trim()] : [],
  )
  const [first = '', second = ''] = texts
  const whole = withoutLinks(second.startsWith(first) ? second : texts.join('\n\n'))
  const text = whole === '' ? `${method} ${path}` : whole
  return deprecated === true
    ? `Deprecated. ${shortened(text, longestDescription - 12)}`
    : shortened(text, longestDescription)
}

/** Links cost a model tokens, and it cannot follow them. */
const withoutLinks = (text: string): string => text.replaceAll(/\[([^\]\n]{1,200})\]\([^)\s]{1,500}\)/g, '$1')
