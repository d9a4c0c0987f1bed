import { createRequire } from 'node:module'
import { isObject, type Json, type JsonObject } from '../../src/lib/json.ts'
import type { ApiOperation } from '../../src/tools/openapi/operation.ts'
import type { ApiRequest } from '../../src/tools/openapi/request.ts'

interface Result {
  readonly valid: boolean
  readonly errors?:
    | readonly { readonly instancePath: string; readonly message?: string; readonly schemaPath: string }[]
    | null
}

interface Backend {
  init(): Promise<unknown>
  readonly validator: { validateRequest(request: object, operation: string): Result }
}

const { OpenAPIBackend } = createRequire(import.meta.url)('openapi-backend') as {
  OpenAPIBackend: new (options: object) => Backend
}

/** Judges requests with the validator of openapi-backend, which reads the document on its own. */
export async function createJudge(definition: JsonObject, operations: readonly ApiOperation[]) {
  for (const { method, path, name } of operations) {
    const item = isObject(definition.paths) ? definition.paths[path] : undefined
    const operation = isObject(item) ? item[method.toLowerCase()] : undefined
    // It finds operations by their id, which must be unique.
    if (isObject(operation)) operation.operationId = name
  }
  const api = new OpenAPIBackend({
    definition,
    quick: true,
    strict: false,
    validate: true,
    lazyCompileValidators: true,
    ajvOpts: { strict: false, validateFormats: false, logger: false, unicodeRegExp: false },
  })
  await api.init()
  return (operation: ApiOperation, { method, url, headers, body }: ApiRequest, input: JsonObject): Result => {
    const fragment = operation.path.includes('#') ? operation.path.slice(operation.path.indexOf('#')) : ''
    const request = { method, path: `${url.pathname}${fragment}`, query: url.search.slice(1), headers: { ...headers } }
    return api.validator.validateRequest({ ...request, body: bodyOf(operation, input, body) }, operation.name)
  }
}

/** It parses only JSON, so it gets the fields of a form. Files are not among them: it leaves them out as well. */
function bodyOf({ body, parameters }: ApiOperation, input: JsonObject, sent: ApiRequest['body']): Json | undefined {
  if (sent === undefined) return undefined
  if (body?.kind === 'json') return String(sent)
  if (body?.kind !== 'form' && body?.kind !== 'multipart') return {}
  if (body.property !== undefined) return input[body.property]
  const own = new Set(parameters.map(({ property }) => property))
  const isFile = (value: Json | undefined) =>
    isObject([value].flat()[0]) && JSON.stringify(value).includes('content_base64')
  return Object.fromEntries(
    Object.entries(input)
      .filter(([name, value]) => !own.has(name) && !isFile(value))
      .map(([name, value]) => [body.renamed?.[name] ?? name, value]),
  )
}
