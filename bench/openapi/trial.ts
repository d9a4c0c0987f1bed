import { isObject, type Json, type JsonObject } from '../../src/lib/json.ts'
import type { Api } from '../../src/tools/openapi/api.ts'
import type { ApiOperation } from '../../src/tools/openapi/operation.ts'
import { type ApiRequest, buildRequest } from '../../src/tools/openapi/request.ts'
import { authenticate } from '../../src/tools/openapi/security.ts'
import { badExample } from './contradictions.ts'
import { DoesNotCompile, type Fault, foreign, type Judge } from './judge.ts'
import { explain, overlapping, withoutFields } from './proofs.ts'
import { Sampler } from './sample.ts'

export interface TrialResult {
  /** `valid`, the name of a proof, or `invalid: …`. */
  readonly result: string
  readonly detail: string
  readonly variants: number
}

const maxVariants = 60

interface Attempt extends Omit<TrialResult, 'variants'> {
  /** What can be proven if no other sample was accepted, either. */
  last?(): string | undefined
}

/** Makes requests for an operation until the judge accepts one, or none can be made that it accepts. */
export class Trial {
  readonly #operation: ApiOperation
  readonly #api: Api
  readonly #judge: Judge
  readonly #fields: 'required' | 'all'
  readonly #schema: JsonObject

  constructor(operation: ApiOperation, api: Api, judge: Judge, fields: 'required' | 'all') {
    this.#operation = operation
    this.#api = api
    this.#judge = judge
    this.#fields = fields
    this.#schema = api.wholeSchemaOf(operation)
  }

  async run(): Promise<TrialResult> {
    const seen = new Set<string>()
    let first: Attempt | undefined
    for (let variant = 0; variant < maxVariants; variant++) {
      const input = this.#sample(variant)
      const key = JSON.stringify(input)
      if (seen.has(key)) continue
      seen.add(key)
      const attempt = await this.#tryInput(input)
      if (!attempt.result.startsWith('invalid')) return { ...attempt, variants: seen.size }
      first ??= attempt
    }
    const { result = '', detail = '', last } = first ?? {}
    return { result: last?.() ?? result, detail, variants: seen.size }
  }

  #sample(variant: number): JsonObject {
    const defs = isObject(this.#schema.$defs) ? this.#schema.$defs : {}
    const value = new Sampler(defs, this.#fields, variant).sample(this.#schema)
    const { [this.#operation.select ?? '']: _, ...input } = isObject(value) ? value : {}
    return this.#withoutEmpty(input, defs)
  }

  /** An empty list or object cannot be written into a path or a query. */
  #withoutEmpty(input: JsonObject, defs: JsonObject): JsonObject {
    const properties = isObject(this.#schema.properties) ? this.#schema.properties : {}
    const filled = this.#operation.parameters.flatMap(({ property }): [string, Json][] => {
      const value = input[property]
      if (typeof value !== 'object' || value === null || Object.keys(value).length > 0) return []
      const schema = properties[property] as JsonObject
      return [[property, new Sampler(defs, 'all', 0).sample({ minProperties: 1, minItems: 1, ...schema })]]
    })
    return { ...input, ...Object.fromEntries(filled) }
  }

  async #tryInput(input: JsonObject): Promise<Attempt> {
    const request = await this.#request(input)
    if (request instanceof Error) {
      const last = () => withoutFields(this.#judge, this.#operation)
      return { result: `invalid: not built: ${request.message}`, detail: '', last }
    }
    try {
      const body = bodyOf(this.#operation, input, request.body)
      foreign.used = false
      const { valid, errors } = this.#judge.judge(this.#operation, request, body)
      if (valid && foreign.used) return { result: 'valid, apart from a pattern that is not ECMA-262', detail: '' }
      if (valid) return { result: 'valid', detail: '' }
      const faults = errors ?? []
      const proof = explain(this.#judge, this.#operation, request, faults, body)
      if (proof) return { result: proof, detail: describe(faults) }
      const detail = `${describe(faults)} ${request.url} ${JSON.stringify(body)?.slice(0, 300)}`
      return {
        result: `invalid: ${shortened(faults)}`,
        detail,
        last: () => overlapping(faults) ?? badExample(this.#judge, faults),
      }
    } catch (error) {
      if (!(error instanceof DoesNotCompile)) throw error
      return {
        result: `the validator cannot compile the document: ${normalized(error.message)}`,
        detail: error.message,
      }
    }
  }

  async #request(input: JsonObject): Promise<ApiRequest | Error> {
    const { security } = this.#api.snapshot
    const every = Object.fromEntries(Object.keys(security).map((scheme) => [scheme, 'a1b2c3d4e5f6a1b2c3d4']))
    const { query, ...authentication } = authenticate(this.#operation.security, security, every)
    // The judge takes an API key in the query for an unknown parameter, unless the document has it as one, too.
    const declared = this.#judge.parametersOf(this.#operation)
    const known = query.filter(([name]) => declared.some((one) => one.in === 'query' && one.name === name))
    const loadFile = () => Promise.reject(new Error('no files here'))
    try {
      const options = { server: 'https://api.test', authentication: { ...authentication, query: known }, loadFile }
      const request = await buildRequest(this.#operation, input, options)
      const length = String(Buffer.byteLength(request.body ?? ''))
      return { ...request, headers: { ...addedBySettings, 'content-length': length, ...request.headers } }
    } catch (error) {
      return error as Error
    }
  }
}

/** What the settings of a tool and the HTTP client add. */
const addedBySettings = {
  host: 'api.test',
  connection: 'keep-alive',
  authorization: 'Bearer x',
  'user-agent': 'quartermaster',
  'content-type': 'application/json',
}

const describe = (faults: readonly Fault[]): string =>
  faults
    .slice(0, 3)
    .map(({ instancePath, message, schemaPath }) => `${instancePath} ${message} [${schemaPath}]`)
    .join('; ')

const shortened = ([first]: readonly Fault[]): string =>
  `${first?.instancePath.split('/')[1]}: ${first?.keyword}: ${first?.message?.slice(0, 60)}`

/** Without names and numbers, so that the same fault of two documents is counted once. */
const normalized = (message: string): string =>
  message
    .replaceAll(/document:\/\S*/g, '…')
    .replaceAll(/"[^"]*"/g, '"…"')
    .slice(0, 70)

/**
 * It parses only JSON, so it gets the fields of a form. A file is a text to it.
 */
function bodyOf({ body, parameters }: ApiOperation, input: JsonObject, sent: ApiRequest['body']): Json | undefined {
  if (sent === undefined) return undefined
  if (body?.kind === 'json') return String(sent)
  if (body?.kind !== 'form' && body?.kind !== 'multipart') return {}
  if (body.property !== undefined) return input[body.property]
  const own = new Set(parameters.map(({ property }) => property))
  return Object.fromEntries(
    Object.entries(input)
      .filter(([name]) => !own.has(name))
      .map(([name, value]) => [body.renamed?.[name] ?? name, withoutFiles(value as Json)]),
  )
}

const isFile = (value: Json): boolean => isObject(value) && typeof value.content_base64 === 'string'

const withoutFiles = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(withoutFiles)
  return isFile(value) ? 'bytes' : value
}
