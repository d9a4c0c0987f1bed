import { createRequire } from 'node:module'
import type { Ajv, ValidateFunction } from 'ajv'
import { isObject, type Json, type JsonObject } from '../../src/lib/json.ts'
import type { ApiOperation } from '../../src/tools/openapi/operation.ts'
import { findAt } from '../../src/tools/openapi/pointer.ts'
import type { ApiRequest } from '../../src/tools/openapi/request.ts'

export interface Fault {
  readonly instancePath: string
  readonly message?: string
  readonly keyword: string
  readonly schemaPath: string
  readonly schema?: unknown
  readonly parentSchema?: JsonObject
  readonly data?: unknown
  readonly params?: JsonObject
}

export interface Verdict {
  readonly valid: boolean
  readonly errors?: readonly Fault[] | null
}

interface Validator {
  validateRequest(request: object, operation: string): Verdict
}

const { OpenAPIValidator } = createRequire(import.meta.url)('openapi-backend') as {
  OpenAPIValidator: new (options: object) => Validator
}

const base = 'document:/'

/** The schema of the document cannot be compiled: it breaks JSON Schema or has a reference to nothing. */
export class DoesNotCompile extends Error {}

/**
 * Judges requests with the validator of openapi-backend, which reads the document on its own. Schemas keep their references
 * and are compiled once per document: a dereferenced copy of the largest documents does not fit into memory.
 */
export class Judge {
  readonly #root: JsonObject
  readonly #contexts = new Map<string, Ajv>()
  #last: { readonly name: string; readonly validator: Validator } | undefined

  /** The document is changed. */
  constructor(root: JsonObject) {
    this.#root = root
    const keepsSiblings = String(root.openapi).startsWith('3.1')
    readable(root, keepsSiblings)
  }

  judge(operation: ApiOperation, { method, url, headers }: ApiRequest, body: Json | undefined): Verdict {
    const fragment = operation.path.includes('#') ? operation.path.slice(operation.path.indexOf('#')) : ''
    const request = { method, path: `${url.pathname}${fragment}`, query: url.search.slice(1), headers: { ...headers } }
    const validator = this.#validatorFor(operation)
    try {
      return validator.validateRequest({ ...request, ...(body !== undefined && { body }) }, operation.name)
    } catch (error) {
      throw new DoesNotCompile((error as Error).message)
    }
  }

  /** The parameters of an operation as the document has them. */
  parametersOf({ method, path }: Pick<ApiOperation, 'method' | 'path'>): readonly JsonObject[] {
    const { item, operation } = this.#find(method, path)
    const own: Json[] = [operation.parameters, item.parameters].flatMap((one) => (Array.isArray(one) ? one : []))
    const found = own.flatMap((one): JsonObject[] => {
      const parameter = this.#followed(one)
      return parameter ? [parameter] : []
    })
    const unique = new Map([...found].reverse().map((one) => [`${one.in} ${one.name}`, one]))
    return [...unique.values()]
  }

  /** The schema of the body that the validator checks. */
  bodySchemaOf({ method, path }: Pick<ApiOperation, 'method' | 'path'>): Json | undefined {
    const { operation } = this.#find(method, path)
    const content = this.#followed(operation.requestBody)?.content
    const types = ['application/json', 'multipart/form-data', 'application/x-www-form-urlencoded']
    const media = isObject(content) ? types.map((type) => content[type]).find((one) => one !== undefined) : undefined
    return isObject(media) ? media.schema : undefined
  }

  /** Whether values satisfy schemas of the document, with the validator's own rules for types of parameters. */
  accepts(schemas: Readonly<Record<string, Json>>, required: readonly string[], values: JsonObject): boolean {
    const shared = this.#context('paramsValidator', new (ajvClass())(options(true)))
    const validate = compiled(shared, { type: 'object', properties: schemas, required: [...required] })
    return validate(structuredClone(values))
  }

  /** Compiles a schema of the document on its own, without the types of parameters. */
  compile(schema: JsonObject): ValidateFunction {
    return compiled(this.#context('requestBodyValidator', new (ajvClass())(options(false))), schema)
  }

  /** The object behind a reference, as the judge has it. */
  resolve(schema: JsonObject): JsonObject | undefined {
    return this.#followed(schema)
  }

  #find(method: string, path: string): { item: JsonObject; operation: JsonObject } {
    const paths = isObject(this.#root.paths) ? this.#root.paths : {}
    const item = this.#followed(paths[path]) ?? {}
    const operation = item[method.toLowerCase()]
    return { item, operation: isObject(operation) ? operation : {} }
  }

  #validatorFor({ name, method, path }: ApiOperation): Validator {
    if (this.#last?.name === name) return this.#last.validator
    const { operation } = this.#find(method, path)
    const { requestBody, ...rest } = operation
    const body = requestBody === undefined ? undefined : this.#followed(requestBody)
    const whole = {
      ...rest,
      operationId: name,
      parameters: this.parametersOf({ method, path }),
      ...(body && { requestBody: { content: {}, ...body } }),
    }
    const validator = new OpenAPIValidator({
      definition: { paths: { [path]: { [method.toLowerCase()]: whole } } },
      lazyCompileValidators: true,
      ajvOpts: options(false),
      customizeAjv: (ajv: Ajv, _: object, context: string) => {
        const shared = this.#context(context, ajv)
        return { compile: (schema: JsonObject) => compiled(shared, schema) }
      },
    })
    this.#last = { name, validator }
    return validator
  }

  #context(name: string, fresh: Ajv): Ajv {
    const known = this.#contexts.get(name)
    if (known) return known
    fresh.addSchema(this.#root, base, undefined, false)
    this.#contexts.set(name, fresh)
    return fresh
  }

  #followed(value: Json | undefined): JsonObject | undefined {
    if (!isObject(value) || typeof value.$ref !== 'string') return isObject(value) ? value : undefined
    let current: Json | undefined = value
    for (let steps = 0; isObject(current) && typeof current.$ref === 'string'; steps++) {
      if (steps === 20) return undefined
      current = findAt(this.#root, current.$ref.replace(base, ''))
    }
    return isObject(current) ? current : undefined
  }
}

/** The schema of an operation is needed once, those that it refers to are kept. */
function compiled(ajv: Ajv, schema: JsonObject): ValidateFunction {
  const validate = ajv.compile(schema)
  ajv.removeSchema(schema)
  return validate
}

const ajvClass = (): (new (options: object) => Ajv) => createRequire(import.meta.url)('ajv').default

const options = (coerceTypes: boolean) => ({
  coerceTypes,
  strict: false,
  validateFormats: false,
  validateSchema: false,
  inlineRefs: false,
  logger: false,
  verbose: true,
  code: { regExp: Object.assign(expression, { code: '' }) },
})

/**
 * Patterns that are not ECMA-262: classes and anchors of Java and Ruby, such as `\\p{Alnum}`, and literals such as `/^a$/i`,
 * which match nothing. They accept every value, and `used` tells that one did.
 */
export const foreign = { used: false }

const accepting: Pick<RegExp, 'test'> = {
  test: () => {
    foreign.used = true
    return true
  },
}

/** As JSON Schema says, or else as documents were written before. */
function expression(pattern: string): Pick<RegExp, 'test'> {
  if (/^\/\^.*\$\/[a-z]*$/s.test(pattern)) return accepting
  try {
    return new RegExp(pattern, 'u')
  } catch {
    const isForeign = /\\[pP]\{|\\[AzZ]|\[\[:|\(\?[a-z]+\)|&&\[|[*+?]\+/.test(pattern)
    return isForeign ? accepting : new RegExp(pattern)
  }
}

/**
 * References get the id under which the validator knows the document. The dialect of 3.0 is translated where the validator
 * does not know it: `nullable` has no effect without a type, exclusive limits are flags, a reference has no siblings, and fields
 * that are only in responses are not required.
 */
function readable(value: Json | undefined, keepsSiblings: boolean): void {
  if (Array.isArray(value)) for (const one of value) readable(one, keepsSiblings)
  if (!isObject(value)) return
  if (typeof value.$ref === 'string') {
    if (value.$ref.startsWith('#')) value.$ref = `${base}${value.$ref}`
    if (!keepsSiblings) for (const key of Object.keys(value)) if (key !== '$ref') delete value[key]
  }
  // Examples may have such fields. To the validator they would be names of schemas.
  for (const name of ['$id', '$anchor', '$dynamicAnchor']) if (typeof value[name] === 'string') delete value[name]
  const { properties, required } = value
  if (Array.isArray(required) && isObject(properties)) {
    value.required = required.filter((name) => {
      const field = typeof name === 'string' ? properties[name] : undefined
      return !isObject(field) || field.readOnly !== true
    })
  }
  if (typeof value.nullable === 'boolean' && value.type === undefined) delete value.nullable
  for (const [flag, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof value[flag] !== 'boolean') continue
    const exclusive = value[flag] && value[limit] !== undefined
    if (exclusive) value[flag] = value[limit] as Json
    else delete value[flag]
  }
  for (const one of Object.values(value)) readable(one as Json, keepsSiblings)
}
