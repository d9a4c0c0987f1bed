import { isObject, type Json, type JsonObject } from '../../src/lib/json.ts'
import type { ApiOperation } from '../../src/tools/openapi/operation.ts'
import type { ApiRequest } from '../../src/tools/openapi/request.ts'
import { contradiction } from './contradictions.ts'
import { decode, type Shape } from './decode.ts'
import type { Fault, Judge } from './judge.ts'

const places = ['path', 'query', 'header', 'cookie'] as const

/** Why a refused request is right nevertheless; undefined if that cannot be proven for each fault. */
export function explain(
  judge: Judge,
  operation: ApiOperation,
  request: ApiRequest,
  faults: readonly Fault[],
  body: Json | undefined,
): string | undefined {
  const isParameter = ({ instancePath, schemaPath }: Fault) =>
    places.some((place) => instancePath.startsWith(`/${place}`) || schemaPath.startsWith(`#/properties/${place}/`))
  const ofParameters = faults.filter(isParameter)
  if (faults.length > 0 && faults.every(isOfConnection))
    return 'the document requires a header that belongs to the connection'
  const ofBody = faults.filter((fault) => !isParameter(fault))
  const reasons = [
    ...(ofParameters.length > 0
      ? [misread(judge, operation, request, ofParameters) ?? contradiction(judge, ofParameters)]
      : []),
    ...(ofBody.length > 0
      ? [
          notRead(judge, request, ofBody, body) ??
            undiscriminated(judge, ofBody) ??
            contradiction(judge, ofBody, judge.bodySchemaOf(operation)),
        ]
      : []),
  ]
  return reasons.every((reason) => reason !== undefined) ? reasons.join('; ') : undefined
}

/** The value fits several alternatives, of which the document wants exactly one, and no sample fits only one. */
export function overlapping(faults: readonly Fault[]): string | undefined {
  const isTwice = faults.some(({ keyword, params }) => keyword === 'oneOf' && Array.isArray(params?.passingSchemas))
  return isTwice ? 'the document contradicts itself: alternatives of a oneOf that overlap' : undefined
}

/** A parameter in the path is an object, and all its fields are only in responses. */
export function withoutFields(judge: Judge, operation: ApiOperation): string | undefined {
  const isEmpty = judge.parametersOf(operation).some(({ in: place, schema }) => {
    const properties = isObject(schema) ? judge.resolve(schema)?.properties : undefined
    return (
      place === 'path' &&
      isObject(properties) &&
      Object.values(properties).every((one) => isObject(one) && one.readOnly)
    )
  })
  return isEmpty ? 'the document contradicts itself: a parameter of the path has only fields of responses' : undefined
}

/** HTTP itself sets them. */
const ofConnection = new Set(['transfer-encoding', 'te', 'trailer', 'upgrade', 'keep-alive', 'expect'])

function isOfConnection({ keyword, params, instancePath }: Fault): boolean {
  return instancePath === '/header' && keyword === 'required' && ofConnection.has(String(params?.missingProperty))
}

/** The validator reads only bodies that are objects or have the exact type application/json. */
function notRead(judge: Judge, { body: sent }: ApiRequest, faults: readonly Fault[], body: Json | undefined) {
  const [only] = faults
  if (faults.length !== 1 || only?.keyword !== 'required' || only.instancePath !== '' || !sent) return undefined
  const schema = isObject(only.parentSchema?.properties) ? only.parentSchema.properties.requestBody : undefined
  const value = typeof body === 'string' ? body : undefined
  if (value === undefined || !isObject(schema) || !judge.compile(schema)(value)) return undefined
  return 'the validator does not read a form that is a text'
}

/** The discriminator names the alternative, which accepts the value. The validator ignores it. */
function undiscriminated(judge: Judge, faults: readonly Fault[]): string | undefined {
  const fault = faults.find(({ keyword }) => keyword === 'oneOf')
  const { discriminator, oneOf } = fault?.parentSchema ?? {}
  if (!fault || !isObject(discriminator) || !Array.isArray(oneOf) || !isObject(fault.data)) return undefined
  const named = fault.data[String(discriminator.propertyName)]
  const mapping = isObject(discriminator.mapping) ? discriminator.mapping : {}
  const target = typeof named === 'string' ? (mapping[named] ?? named) : undefined
  const chosen = oneOf.find(
    (one) =>
      isObject(one) && typeof one.$ref === 'string' && one.$ref.split('/').at(-1) === String(target).split('/').at(-1),
  )
  return isObject(chosen) && judge.compile(chosen)(fault.data) ? 'the validator ignores the discriminator' : undefined
}

/** The request, read back by the rules of OpenAPI, has values that the schemas of the document accept. */
function misread(
  judge: Judge,
  operation: ApiOperation,
  request: ApiRequest,
  faults: readonly Fault[],
): string | undefined {
  const parameters = judge.parametersOf(operation)
  const shapeOf = (schema: Json | undefined) => shape(judge, schema, 0)
  const namesOf = (schema: Json | undefined) => fieldNames(judge, schema, 0)
  const isRight = [true, false].some((greedy) => {
    const { values, unknown } = decode(operation.path, parameters, { shapeOf, namesOf }, request, greedy)
    const fixed = new Set(new URLSearchParams(operation.path.split('#')[0]?.split('?')[1] ?? '').keys())
    return (
      (operation.path.includes('?') || unknown.every((name) => fixed.has(name))) &&
      places.every((place) => accepts(judge, place, parameters, values))
    )
  })
  if (!isRight) return undefined
  const [first] = faults
  const place = first?.instancePath.split('/')[1] || first?.schemaPath.split('/')[2]
  return `the validator misreads the ${place}: ${feature(faults, parameters, shapeOf, operation)}`
}

/** Headers that OpenAPI excludes from parameters. */
const notParameters = new Set(['accept', 'content-type', 'authorization'])

function accepts(
  judge: Judge,
  place: string,
  parameters: readonly JsonObject[],
  values: Readonly<Record<string, JsonObject>>,
): boolean {
  const own = parameters.filter(
    ({ in: at, name }) => at === place && !(place === 'header' && notParameters.has(String(name).toLowerCase())),
  )
  const required = own.filter((one) => one.required === true).map(({ name }) => String(name))
  const schemas = Object.fromEntries(own.map((one) => [String(one.name), schemaOf(one)]))
  const typed = Object.entries(values[place] ?? {}).map(([name, value]) => [
    name,
    typedValue(value as Json, schemas[name]),
  ])
  return judge.accepts(schemas, required, Object.fromEntries(typed))
}

/** Without a type, the values of an enum say what a text stands for. */
function typedValue(value: Json, schema: Json | undefined): Json {
  if (!isObject(schema) || schema.type !== undefined || !Array.isArray(schema.enum)) return value
  return schema.enum.find((one) => String(one) === value) ?? value
}

function schemaOf({ schema, content }: JsonObject): Json {
  const [media] = isObject(content) ? Object.values(content) : []
  return (isObject(media) ? media.schema : schema) ?? {}
}

/** What about the parameter the validator does not support. */
function feature(
  faults: readonly Fault[],
  parameters: readonly JsonObject[],
  shapeOf: (schema: Json | undefined) => Shape,
  { path }: ApiOperation,
): string {
  const features = faults.map(({ instancePath, keyword }) => {
    const [, place = '', name = ''] = instancePath
      .split('/')
      .map((one) => one.replaceAll('~1', '/').replaceAll('~0', '~'))
    const parameter = parameters.find((one) => one.name === name || String(one.name).toLowerCase() === name)
    const kind = parameter && shapeOf(parameter.schema)
    if (place === 'header' && notParameters.has(name))
      return 'Accept, Content-Type and Authorization are not parameters'
    if (kind === 'list' || kind === 'object') return `${kind}s`
    if (place === 'path' || (place === '' && keyword === 'required')) {
      if (path.includes('?')) return 'a query in the template'
      if (/\{[^{}]*[^A-Za-z0-9_{}-][^{}]*\}/.test(path)) return 'placeholders with other characters'
      if (/\}[^/]*\{/.test(path)) return 'several placeholders in a segment'
      return path.split('#')[0]?.endsWith('/') ? 'a slash at the end' : 'other characters in the template'
    }
    if (path.includes('?')) return 'a query in the template'
    if (parameters.some((one) => /[[\].]/.test(String(one.name)))) return 'names with brackets'
    if (parameter?.explode === false) return 'texts with explode: false'
    return parameter === undefined ? 'objects' : keyword
  })
  return [...new Set(features)].sort().join(', ')
}

function fieldNames(judge: Judge, schema: Json | undefined, depth: number): ReadonlySet<string> {
  const found = isObject(schema) ? judge.resolve(schema) : undefined
  if (!found || depth > 5) return new Set()
  const own = isObject(found.properties) ? Object.keys(found.properties) : []
  const parts = (Array.isArray(found.allOf) ? found.allOf : []).map((part) => fieldNames(judge, part, depth + 1))
  return new Set([...own, ...parts.flatMap((part) => [...part])])
}

/** Whether a parameter is a list, an object or a plain value by its schema. */
function shape(judge: Judge, schema: Json | undefined, depth: number): Shape {
  const found = isObject(schema) ? judge.resolve(schema) : undefined
  if (!found || depth > 5) return 'value'
  const types = [found.type].flat()
  if (types.includes('array')) return 'list'
  if (types.includes('object') || isObject(found.properties)) return 'object'
  if (types.some((one) => one !== undefined && one !== 'null')) return 'value'
  if (found.items !== undefined) return 'list'
  const parts = ['allOf', 'anyOf', 'oneOf'].flatMap((name) =>
    Array.isArray(found[name]) ? (found[name] as Json[]) : [],
  )
  return parts.map((part) => shape(judge, part, depth + 1)).find((one) => one !== 'value') ?? 'value'
}
